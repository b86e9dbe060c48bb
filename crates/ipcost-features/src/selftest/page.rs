//! A self-test as a page.

use ipcost_model::units::{duration_of, duration_text};
use ipcost_report::page::{Column, Field, FieldValue, Page, Paragraph, Section, Table, Tone};

use crate::selftest::{Detection, Noise, Promise, SelfTest, SelftestRate};

pub fn page(test: &SelfTest) -> Page<'static> {
    let mut page = Page::new(format!("How often it is wrong on this machine{}", under(test.noise)));
    let tone = match test.promise() {
        Promise::Broken => Tone::Bad,
        Promise::Kept | Promise::Undecided => Tone::Plain,
    };
    page.answer.push(Paragraph { text: sentence(test).to_owned(), tone }.into());
    page.blocks.push(rates(test).into());
    page.blocks.push(Section::new("detections", "Time to detect a difference").with(detections(test)).open());
    page.notes.push(
        Paragraph::quiet(format!(
            "64 B round trips over unix; campaigns of {} epochs; {} in all; seed {}",
            test.epochs,
            duration_text(duration_of(test.elapsed_s)),
            test.seed
        ))
        .into(),
    );
    page
}

fn under(noise: Noise) -> &'static str {
    match noise {
        Noise::Quiet => "",
        Noise::Cpu => ", next to processes that take the processors in bursts",
        Noise::Quota => ", under a CPU quota",
    }
}

fn rates(test: &SelfTest) -> Table {
    const COLUMNS: [Column; 6] = [
        Column::text("how often"),
        Column::number("count"),
        Column::number("rate"),
        Column::text("interval"),
        Column::number("promised"),
        Column::text("verdict"),
    ];
    let row = |rate: &SelftestRate| {
        let share = (rate.of > 0).then(|| FieldValue::Share(rate.count as f64 / rate.of as f64));
        let held = rate.lo.zip(rate.hi).map(|(lo, hi)| format!("({}–{})", percent(lo), percent(hi)));
        let tone = match rate.promise {
            Some(Promise::Kept) => Tone::Good,
            Some(Promise::Broken) => Tone::Bad,
            _ => Tone::Open,
        };
        vec![
            FieldValue::Name(rate.what.clone()).into(),
            FieldValue::Name(format!("{} of {}", rate.count, rate.of)).into(),
            Field::maybe(share),
            Field::maybe(held.map(FieldValue::Name)),
            Field::maybe(rate.at_most.map(|most| FieldValue::Name(format!("≤ {}", percent(most))))),
            Field::maybe(rate.promise.map(|promise| FieldValue::Name(promise.to_string()))).toned(tone),
        ]
    };
    Table::new(&COLUMNS).rows(test.rates.iter().map(row))
}

fn detections(test: &SelfTest) -> Table {
    const COLUMNS: [Column; 5] = [
        Column::number("slowdown"),
        Column::number("measured"),
        Column::text("interval"),
        Column::text("found"),
        Column::number("median time"),
    ];
    let row = |found: &Detection| {
        let times = match found.of {
            0 => format!("not in {:.0} s", found.within_s),
            of => format!("{} of {of} in {:.0} s", found.found, found.within_s),
        };
        vec![
            FieldValue::Share(found.slowdown).into(),
            Field::maybe(found.ratio.map(FieldValue::Ratio)),
            Field::maybe(found.ratio.map(|ratio| FieldValue::Interval(ratio, found.lo, found.hi))),
            FieldValue::Name(times).into(),
            Field::maybe(found.median_s.map(|seconds| FieldValue::Cost(seconds * 1e9))),
        ]
    };
    Table::new(&COLUMNS).rows(test.detections.iter().map(row))
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
    use ipcost_report::fixture;

    use super::*;
    use crate::selftest::SELFTEST_SCHEMA;

    #[test]
    fn rates_and_detections() {
        let rate = |what: &str, count, of, promise| SelftestRate {
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
        fixture::assert_fits(&page(&test));
        let kept = anstream::adapter::strip_str(&page(&test).terminal(false, usize::MAX)).to_string();
        insta::assert_snapshot!(kept);
        test.rates.push(rate("x", 9, 72, Promise::Broken));
        assert!(page(&test).markdown().contains("do not trust"));
    }
}
