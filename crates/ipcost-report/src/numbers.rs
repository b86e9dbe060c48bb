//! Numbers as people read them: three significant digits and a unit.

/// Three significant digits, no exponent.
pub fn three_digits(value: f64) -> String {
    let places = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        _ => 3,
    };
    format!("{value:.places$}")
}

fn with_unit(value: f64, units: &[(f64, &str)]) -> String {
    // The largest unit in which the value, once rounded, is at least 1.
    let fits = |unit: &&(f64, &str)| value.abs() / unit.0 >= 0.9995;
    let (factor, name) = units.iter().find(fits).or(units.last()).expect("at least one unit");
    format!("{} {name}", three_digits(value / factor))
}

/// A time from nanoseconds; less than a clock can tell is none.
pub fn time(ns: f64) -> String {
    if ns.abs() < 0.05 {
        return "0 ns".to_owned();
    }
    with_unit(ns, &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")])
}

/// A difference of times, which may be negative or nothing at all.
pub fn signed_time(ns: f64) -> String {
    if ns == 0.0 {
        return "0".to_owned();
    }
    let sign = if ns < 0.0 { "−" } else { "" };
    format!("{sign}{}", time(ns.abs()))
}

/// A time of whole nanoseconds with all its digits.
pub fn exact_time(ns: u64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let (unit, name) = units.into_iter().find(|(unit, _)| ns as f64 >= *unit).unwrap_or((1.0, "ns"));
    format!("{} {name}", ns as f64 / unit)
}

/// The interval of a time from nanoseconds, in one unit; nothing while it is unbounded.
pub fn time_interval(lo: Option<f64>, hi: Option<f64>) -> Option<String> {
    let (lo, hi) = lo.zip(hi)?;
    let largest = lo.abs().max(hi.abs());
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let (unit, name) = units.into_iter().find(|(unit, _)| largest >= *unit).unwrap_or((1.0, "ns"));
    let to = if lo < 0.0 { " to " } else { "–" };
    Some(format!("{}{to}{} {name}", signed(lo / unit), signed(hi / unit)))
}

/// A number that may be negative, with the sign that differences of times have.
pub fn signed(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "" };
    format!("{sign}{}", three_digits(value.abs()))
}

/// How often something happens in one operation.
pub fn per_operation(count: f64) -> String {
    match count.abs() {
        v if v >= 99.95 => format!("{count:.0}"),
        v if v >= 0.995 => format!("{count:.1}"),
        v if v >= 0.000_95 => format!("{count:.3}"),
        v if v > 0.0 => format!("{count:.6}"),
        _ => "0".to_owned(),
    }
}

/// A count, with its thousands apart: `12 400`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let first = match digits.len() % 3 {
        0 => 3,
        some => some,
    };
    if digits.len() < 5 {
        return digits;
    }
    let (head, rest) = digits.split_at(first);
    let rest = rest.as_bytes().chunks(3).map(|group| String::from_utf8_lossy(group));
    rest.fold(head.to_owned(), |text, group| format!("{text}\u{a0}{group}"))
}

/// A rate a second.
pub fn rate(per_second: f64) -> String {
    with_unit(per_second, &[(1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")])
}

/// Bytes a second, in powers of 1000.
pub fn throughput(bytes_per_second: f64) -> String {
    with_unit(bytes_per_second, &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")])
}

/// How many decimals a ratio is shown with: more where it is close to 1 or small.
fn places(ratio: f64) -> usize {
    match ratio {
        v if v >= 99.5 => 0,
        v if v >= 9.95 => 1,
        v if v > 0.0 && v < 0.009_95 => (1.0 - v.log10().floor()).min(9.0) as usize,
        v if (0.95..=1.05).contains(&v) || v < 0.0995 => 3,
        _ => 2,
    }
}

pub fn ratio(value: f64) -> String {
    format!("{value:.0$}", places(value))
}

/// The interval of a value, in parentheses; where there is none after many epochs, their range in brackets.
pub fn bounds(value: f64, (lo, hi): (Option<f64>, Option<f64>), range: Option<(f64, f64)>) -> String {
    let range = range.and_then(|(least, most)| interval(value, Some(least), Some(most)));
    match (interval(value, lo, hi), range) {
        (Some(held), _) => format!("({held})"),
        (None, Some(seen)) => format!("[{seen}]"),
        (None, None) => "(no interval)".to_owned(),
    }
}

/// An end of an interval that is so many times as far off, or more, says nothing: a denominator was next to nothing.
const NO_BOUND: f64 = 1e3;

/// The interval of a ratio, as precise as the ratio itself; nothing while it is unbounded.
pub fn interval(around: f64, lo: Option<f64>, hi: Option<f64>) -> Option<String> {
    let places = places(around);
    let (lo, hi) = (lo?, hi?);
    let (no_lower, no_upper) = (lo > 0.0 && lo * NO_BOUND < around, around > 0.0 && hi > around * NO_BOUND);
    match (no_lower, no_upper) {
        (false, false) => Some(format!("{lo:.places$}–{hi:.places$}")),
        (false, true) => Some(format!("{lo:.places$} or more, no upper bound")),
        (true, false) => Some(format!("{hi:.places$} or less, no lower bound")),
        (true, true) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_whatever_the_size() {
        assert_eq!(time(7.0), "7.00 ns");
        assert_eq!(time(999.9), "1.00 µs");
        assert_eq!(time(7_126.0), "7.13 µs");
        assert_eq!(time(16_000.0), "16.0 µs");
        assert_eq!(time(123_456.0), "123 µs");
        assert_eq!(time(2.5e9), "2.50 s");
        assert_eq!(time(0.25), "0.250 ns");
        assert_eq!(time(-0.01), "0 ns");
        assert_eq!([1_001_000, 5_000, 7].map(exact_time), ["1.001 ms", "5 µs", "7 ns"]);
        assert_eq!(time_interval(Some(-340.0), Some(8_020.0)).as_deref(), Some("−0.340 to 8.02 µs"));
        assert_eq!(time_interval(Some(5_800.0), None), None);
        assert_eq!(
            [250.0, 1.0, 0.25, 0.000_036, 0.0].map(per_operation),
            ["250", "1.0", "0.250", "0.000036", "0"]
        );
        assert_eq!(rate(140_350.0), "140 k/s");
        assert_eq!(throughput(1.234e9), "1.23 GB/s");
    }

    #[test]
    fn ratios() {
        assert_eq!(ratio(0.5312), "0.53");
        assert_eq!(ratio(0.0312), "0.031");
        assert_eq!(ratio(19.08), "19.1");
        assert_eq!(ratio(350.0), "350");
        assert_eq!(
            (ratio(0.000_413).as_str(), ratio(0.009_9).as_str(), ratio(0.0).as_str()),
            ("0.00041", "0.0099", "0.000")
        );
        assert_eq!(ratio(0.9962), "0.996");
        assert_eq!(interval(0.53, Some(0.51), Some(0.55)).as_deref(), Some("0.51–0.55"));
        assert_eq!(interval(1.003, Some(0.98), Some(1.2)).as_deref(), Some("0.980–1.200"));
        assert_eq!(interval(1.0, None, None), None);
        let far = |lo, hi| interval(2.5, Some(lo), Some(hi));
        assert_eq!(far(1.24, 29_178_247.73).as_deref(), Some("1.24 or more, no upper bound"));
        assert_eq!(far(1e-9, 3.0).as_deref(), Some("3.00 or less, no lower bound"));
        assert_eq!(far(1e-9, 1e9), None);
        assert_eq!(far(0.0, 3.0).as_deref(), Some("0.00–3.00"), "nothing is a bound");
    }
}
