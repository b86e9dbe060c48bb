//! The runs as a line of bars, for terminals.

use ipcost_report::numbers::{ratio, time};

use ipcost_report::page::{Paragraph, Tone};

use crate::trend::Trend;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Before the first run of a new level.
const MARK: char = '│';
/// The most runs of a line.
const MOST: usize = 100;
/// What the ends of the range take, in columns of text.
const WORDS: usize = 30;
/// The least range, as a factor: smaller differences do not fill the line.
const LEAST_RANGE: f64 = 1.1;

/// The latest runs that fit, from the lowest to the highest value, with a mark at each change.
pub fn line(trend: &Trend, room: usize) -> Paragraph {
    let most = room.saturating_sub(WORDS + trend.changes.len()).clamp(10, MOST);
    let first = trend.runs.len().saturating_sub(most);
    let values: Vec<f64> = trend.runs[first..].iter().map(|run| run.value.median).collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = values.iter().copied().fold(0.0, f64::max);
    if values.is_empty() {
        return Paragraph::default();
    }
    let range = (largest / least).max(LEAST_RANGE).ln();
    let mut bars = String::new();
    for (index, value) in values.iter().enumerate() {
        if trend.changes.iter().any(|change| change.at as usize == first + index) {
            bars.push(MARK);
        }
        let share = (value / least).ln() / range;
        bars.push(BARS[((share * BARS.len() as f64) as usize).min(BARS.len() - 1)]);
    }
    let shown = |value: f64| if trend.against.is_some() { ratio(value) } else { time(value) };
    Paragraph { text: format!("{bars}  {} to {}", shown(least), shown(largest)), tone: Tone::Strong }
}
