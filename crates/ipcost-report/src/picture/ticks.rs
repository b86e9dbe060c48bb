//! Numbers as short as an axis can say them.

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
}
