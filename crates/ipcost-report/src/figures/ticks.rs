//! Ticks: where an axis may have them, and numbers as short as an axis can say them.

/// The leading digits at which a logarithmic axis has ticks, the finest choice first.
pub const DIGITS: [&[f64]; 4] =
    [&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], &[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
/// More of them, for an axis of less than a decade.
const BETWEEN: [f64; 15] = [1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
/// The values for which there are ticks; an axis that goes on has none beyond.
const LABELLED: (f64, f64) = (1e-6, 1e15);

/// Values with their texts for logarithmic axes between these values, the finest choice first; an axis shows those in its range.
pub fn logarithmic(least: f64, most: f64, text: impl Fn(f64) -> String) -> Vec<Vec<(f64, String)>> {
    let (first, last) = decades(least, most);
    let ladder = |digits: &[f64], every: usize| -> Vec<(f64, String)> {
        let decades = (first - 1..=last + 1).filter(|decade| decade.rem_euclid(every as i32) == 0);
        let values = decades.flat_map(|decade| digits.iter().map(move |digit| digit * 10f64.powi(decade)));
        values.map(|value| (value, text(value))).collect()
    };
    let finest: Vec<f64> = (10..20)
        .map(|count| f64::from(count) / 10.0)
        .chain((10..25).map(|count| f64::from(count) / 5.0))
        .chain((10..20).map(|count| f64::from(count) / 2.0))
        .collect();
    let fine = [finest.as_slice(), &BETWEEN].into_iter().chain(DIGITS);
    let coarse = (2..=(last - first).max(2) as usize).map(|every| ladder(&[1.0], every));
    fine.map(|digits| ladder(digits, 1)).chain(coarse).collect()
}

fn decades(least: f64, most: f64) -> (i32, i32) {
    let least = least.clamp(LABELLED.0, LABELLED.1);
    let most = most.clamp(least, LABELLED.1);
    (least.log10().floor() as i32, most.log10().ceil() as i32)
}

/// A share in per cent, as short as it can be said.
pub fn percent(share: f64) -> String {
    plain(share * 100.0)
}

/// A tick of a ratio or a rate.
pub fn number(value: f64) -> String {
    plain(value)
}

/// A tick of a time from nanoseconds, in the unit of `like` where there is one.
pub fn time(value: f64, like: Option<f64>) -> String {
    const UNITS: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
    if value == 0.0 {
        return "0".to_owned();
    }
    let fits = |unit: &&(f64, &str)| like.unwrap_or(value) / unit.0 >= 0.9995;
    let (factor, name) = UNITS.iter().find(fits).unwrap_or(&UNITS[3]);
    format!("{} {name}", plain(value / factor))
}

/// At most four significant digits, and no zeros at the end of a fraction.
pub fn plain(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor();
    if !(-6.0..9.0).contains(&magnitude) {
        return format!("{value:.0e}");
    }
    let places = (3.0 - magnitude).max(0.0) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0.02, 0.5, 1.0, 300.0, 30_000.0, 0.0].map(number),
            ["0.02", "0.5", "1", "300", "30000", "0"]
        );
        assert_eq!([0.95, 0.999, 0.025].map(percent), ["95", "99.9", "2.5"]);
        assert_eq!(number(1e12), "1e12");
    }

    #[test]
    fn times_have_the_unit_of_their_axis() {
        assert_eq!([500.0, 1e3, 2e6, 1e9].map(|ns| time(ns, None)), ["500 ns", "1 µs", "2 ms", "1 s"]);
        assert_eq!([0.0, 500.0, 1_500.0].map(|ns| time(ns, Some(2_000.0))), ["0", "0.5 µs", "1.5 µs"]);
    }

    #[test]
    fn every_axis_finds_a_ladder_with_a_few_ticks() {
        let within = |ladder: &[(f64, String)], from: f64, to: f64| {
            ladder.iter().filter(|(value, _)| (from..=to).contains(value)).count()
        };
        for most in [4, 7, 16] {
            let ladders = logarithmic(1.0, 1e7, number);
            for (from, to) in [(1.0, 1e7), (7.0, 7.9), (950.0, 1_060.0), (3.0, 40.0), (200.0, 30_000.0)] {
                let found =
                    ladders.iter().map(|ladder| within(ladder, from, to)).find(|count| *count <= most);
                assert!(found.is_some_and(|count| count >= 2), "{from}–{to}: {found:?}");
            }
        }
        assert!(logarithmic(5e-324, f64::MAX, number).iter().flatten().all(|(value, _)| value.is_finite()));
    }
}
