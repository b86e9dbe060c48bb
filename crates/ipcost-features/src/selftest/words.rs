//! A self-test on a terminal.

use anstyle::{AnsiColor, Style};
use ipcost_model::units::{duration_of, duration_text};
use ipcost_report::grid::{Column, Grid, Piece};
use ipcost_report::numbers::{interval, ratio};

use crate::selftest::{Noise, Promise, SelfTest};

const BOLD: Style = Style::new().bold();
const DIMMED: Style = Style::new().dimmed();

const RATES: [Column; 6] = [
    Column::new("how often", false, 0),
    Column::new("count", true, 0),
    Column::new("rate", true, 0),
    Column::new("", false, 0),
    Column::new("promised", true, 0),
    Column::new("", false, 0),
];
const DETECTIONS: [Column; 5] = [
    Column::new("slowdown", true, 0),
    Column::new("measured", true, 0),
    Column::new("", false, 0),
    Column::new("found", true, 0),
    Column::new("median time", true, 0),
];

/// Draws a self-test in `room` columns of text.
pub fn render(test: &SelfTest, room: usize) -> String {
    let mut out = format!("{BOLD}How often it is wrong on this machine{}{BOLD:#}\n", under(test.noise));
    rates(test).render(&mut out, room);
    out.push_str(&format!("\n{BOLD}Time to detect a difference{BOLD:#}\n"));
    detections(test).render(&mut out, room);
    out.push_str(&format!("\n{}\n", sentence(test)));
    out.push_str(&format!(
        "{DIMMED}64 B round trips over unix; campaigns of {} epochs; {} in all; seed {}{DIMMED:#}\n",
        test.epochs,
        duration_text(duration_of(test.elapsed_s)),
        test.seed
    ));
    out
}

fn under(noise: Noise) -> &'static str {
    match noise {
        Noise::Quiet => "",
        Noise::Cpu => ", next to processes that take the processors in bursts",
        Noise::Quota => ", under a CPU quota",
    }
}

fn rates(test: &SelfTest) -> Grid {
    let mut grid = Grid::new(&RATES);
    for rate in &test.rates {
        let share = if rate.of == 0 { String::new() } else { percent(rate.count as f64 / rate.of as f64) };
        let bounds = rate.lo.zip(rate.hi).map(|(lo, hi)| format!("({}–{})", percent(lo), percent(hi)));
        let style = match rate.promise {
            Some(Promise::Kept) => AnsiColor::Green.on_default(),
            Some(Promise::Broken) => AnsiColor::Red.on_default(),
            _ => DIMMED,
        };
        grid.row(vec![
            rate.what.clone().into(),
            format!("{} of {}", rate.count, rate.of).into(),
            share.into(),
            bounds.unwrap_or_default().into(),
            rate.at_most.map_or_else(String::new, |most| format!("≤ {}", percent(most))).into(),
            Piece::styled(rate.promise.map_or_else(String::new, |promise| promise.to_string()), style),
        ]);
    }
    grid
}

fn detections(test: &SelfTest) -> Grid {
    let mut grid = Grid::new(&DETECTIONS);
    for found in &test.detections {
        let measured = found.ratio.map_or_else(String::new, |measured| format!("{} ×", ratio(measured)));
        let bounds = found.ratio.and_then(|measured| interval(measured, found.lo, found.hi));
        grid.row(vec![
            format!("{:.0} %", found.slowdown * 100.0).into(),
            measured.into(),
            bounds.map_or_else(String::new, |bounds| format!("({bounds})")).into(),
            match found.of {
                0 => format!("not in {:.0} s", found.within_s),
                of => format!("{} of {of} in {:.0} s", found.found, found.within_s),
            }
            .into(),
            found.median_s.map_or_else(String::new, |seconds| format!("{seconds:.1} s")).into(),
        ]);
    }
    grid
}

fn sentence(test: &SelfTest) -> &'static str {
    match test.promise() {
        Promise::Kept => "Every rate is as promised.",
        Promise::Broken => {
            "A rate is worse than promised: do not trust verdicts measured under these conditions."
        }
        Promise::Undecided => "Too few campaigns to decide every rate; give a larger --budget.",
    }
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        percent if percent > 0.0 && percent < 0.95 => format!("{percent:.2} %"),
        percent if percent > 0.0 && percent < 10.0 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use ipcost_model::{Envelope, Host, Tool};

    use super::*;
    use crate::selftest::{Detection, Rate, SELFTEST_SCHEMA};

    #[test]
    fn rates_and_detections() {
        let rate = |what: &str, count, of, promise| Rate {
            code: "aa".into(),
            what: what.into(),
            count,
            of,
            lo: Some(0.0),
            hi: Some(0.041),
            at_most: Some(0.05),
            promise: Some(promise),
        };
        let mut test = SelfTest {
            envelope: Envelope {
                schema: SELFTEST_SCHEMA.into(),
                tool: Tool::of_version("0"),
                host: Host::default(),
                started: String::new(),
            },
            noise: Noise::Cpu,
            seed: 7,
            elapsed_s: 180.0,
            epochs: 20,
            rates: vec![rate("equal cells are told apart", 0, 72, Promise::Kept)],
            detections: vec![Detection {
                slowdown: 0.05,
                found: 9,
                of: 9,
                within_s: 22.0,
                median_s: Some(2.13),
                ratio: Some(1.0494),
                lo: Some(1.031),
                hi: Some(1.066),
            }],
        };
        let kept = anstream::adapter::strip_str(&render(&test, usize::MAX)).to_string();
        insta::assert_snapshot!(kept);
        test.rates.push(rate("x", 9, 72, Promise::Broken));
        assert!(render(&test, usize::MAX).contains("do not trust"));
    }
}
