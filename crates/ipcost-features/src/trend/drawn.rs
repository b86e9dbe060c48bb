//! A trend as a picture has it.

use ipcost_report::timeline::{ChangeMark, Timeline, TimelinePoint};

use super::page::{about, how, sentence, sentences, title};
use super::record::{Trend, TrendRun};

/// What the picture shows.
pub fn timeline(trend: &Trend) -> Timeline {
    let mark = |change: &super::TrendChange| ChangeMark {
        at: change.at as usize,
        ratio: change.ratio,
        sentence: sentence(trend, change),
    };
    Timeline {
        title: title(trend),
        about: about(trend),
        is_ratio: trend.against.is_some(),
        points: trend.runs.iter().map(point).collect(),
        marks: trend.changes.iter().map(mark).collect(),
        notes: sentences(trend),
        how: how(trend),
    }
}

fn point(run: &TrendRun) -> TimelinePoint {
    TimelinePoint {
        day: run.started.get(..10).unwrap_or(&run.started).to_owned(),
        name: format!("{} of {}", run.id, run.started),
        value: run.value,
        level: run.level,
    }
}
