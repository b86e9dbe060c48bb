//! Quantities as people write them: sizes, durations, percentages.

use std::time::Duration;

use crate::error::ModelError;

/// The largest message a cell may carry, in bytes (1 GiB): each peer holds one in memory.
pub const MAX_SIZE_BYTES: u64 = 1 << 30;

/// Parses a size in bytes: a whole number with an optional unit.
///
/// `K`, `M`, `G`, also as `k`, `m`, `g` and `KiB`, `MiB`, `GiB`, are powers of 1024; `kB`, `MB`, `GB` are powers of 1000. `KB` may be
/// either, and is refused.
pub fn parse_size(text: &str) -> Result<u64, ModelError> {
    let wrong = || amount(text, "size", "write bytes as 64, 16KiB or 1MiB");
    let digits = text.chars().take_while(|c| c.is_ascii_digit() || *c == '_').count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.replace('_', "").parse().map_err(|_| wrong())?;
    let factor: u64 = match unit.trim_start() {
        "" | "B" => 1,
        "K" | "k" | "KiB" => 1 << 10,
        "M" | "m" | "MiB" => 1 << 20,
        "G" | "g" | "GiB" => 1 << 30,
        "KB" | "kb" | "Kb" => {
            return Err(ModelError::Kilobytes { text: text.to_owned(), number });
        }
        "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return Err(wrong()),
    };
    number.checked_mul(factor).ok_or_else(wrong)
}

/// Parses a duration such as `30s`, `2min` or `1h 30m`; a bare number is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, ModelError> {
    let time = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => humantime::parse_duration(text).ok(),
    };
    match time {
        Some(time) if time <= CENTURY => Ok(time),
        Some(_) => Err(ModelError::Century(text.to_owned())),
        None => Err(amount(text, "duration", "write it as 30s, 2min or 1h")),
    }
}

fn amount(text: &str, what: &'static str, write: &'static str) -> ModelError {
    ModelError::Amount { text: text.to_owned(), what, write }
}

/// What clocks and sums of durations surely hold.
pub(crate) const CENTURY: Duration = Duration::from_secs(100 * 366 * 24 * 3600);

/// The duration of so many seconds of a record, which anybody may have written: nothing if it is negative or no number, and a century
/// at most.
pub fn duration_of(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.clamp(0.0, CENTURY.as_secs_f64())).unwrap_or_default()
}

/// Parses a proportion: `2%` or `0.02`.
///
/// # Errors
/// One line that says what was expected; a proportion is at least 0 and below 1.
pub fn parse_proportion(text: &str) -> Result<f64, ModelError> {
    let wrong = || amount(text, "proportion", "write it as 2% or 0.02, from 0 to below 100%");
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map_err(|_| wrong())? / 100.0,
        None => text.parse::<f64>().map_err(|_| wrong())?,
    };
    if (0.0..1.0).contains(&value) { Ok(value) } else { Err(wrong()) }
}

/// Parses a time such as `200us`, `1.5 ms` or `2s`, in nanoseconds; `us` may be written `µs`.
pub fn parse_time_ns(text: &str) -> Result<f64, ModelError> {
    let units = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9)];
    quantity(text, &units).ok_or_else(|| amount(text, "time", "write it as 800ns, 200us or 1.5ms"))
}

/// Parses operations a second, such as `50000` or `50k/s`; `k`, `M` and `G` are powers of 1000.
pub fn parse_rate(text: &str) -> Result<f64, ModelError> {
    let text = text.trim();
    let units = [("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9)];
    quantity(text.strip_suffix("/s").unwrap_or(text), &units)
        .ok_or_else(|| amount(text, "rate", "write it as 50000, 50k/s or 1.2M/s"))
}

/// Parses bytes a second, such as `500MB/s` or `1.5 GiB/s`; `kB`, `MB`, `GB` are powers of 1000, `KiB`, `MiB`,
/// `GiB` of 1024.
pub fn parse_throughput(text: &str) -> Result<f64, ModelError> {
    let text = text.trim();
    let powers_of_1000 = [("", 1.0), ("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)];
    let powers_of_1024 = [("KiB", 1024.0), ("MiB", 1_048_576.0), ("GiB", 1_073_741_824.0)];
    quantity(text.strip_suffix("/s").unwrap_or(text), &[&powers_of_1000[..], &powers_of_1024].concat())
        .ok_or_else(|| amount(text, "throughput", "write it as 500MB/s or 1.5GiB/s"))
}

/// A positive number with one of the units.
fn quantity(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let digits = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_'))).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.replace('_', "").parse().ok()?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    let value = number * factor;
    (value.is_finite() && value > 0.0).then_some(value)
}

/// A size as people say it: `64 B`, `16 KiB`, `1 MiB`; never rounded.
pub fn size_text(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    UNITS
        .iter()
        .find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit))
        .map_or_else(|| format!("{bytes} B"), |(unit, name)| format!("{} {name}", bytes / unit))
}

/// A time of whole nanoseconds with all its digits: `10 ms`, `1.5 µs`.
pub fn time_text(ns: u64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let (unit, name) = units.into_iter().find(|(unit, _)| ns as f64 >= *unit).unwrap_or((1.0, "ns"));
    format!("{} {name}", ns as f64 / unit)
}

/// A rate as people type it: `5000/s`, `20k/s`, `1.5M/s`; never rounded.
pub fn rate_text(per_s: u64) -> String {
    match per_s {
        0..10_000 => format!("{per_s}/s"),
        _ if per_s.is_multiple_of(100_000) && per_s >= 1_000_000 => format!("{}M/s", per_s as f64 / 1e6),
        _ if per_s.is_multiple_of(100) => format!("{}k/s", per_s as f64 / 1e3),
        _ => format!("{per_s}/s"),
    }
}

/// `1 epoch`, `3 epochs`.
pub fn counted(count: impl Into<u64>, noun: &str) -> String {
    let count = count.into();
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A share in whole per cent: `12 %`.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A duration for people, in whole seconds, or in tenths below ten seconds: `4.2 s`, `31 s`, `2 min 5 s`.
pub fn duration_text(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let whole = seconds.round() as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..120 => format!("{whole} s"),
        120..7200 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_duration_is_longer_than_clocks_and_sums_hold() {
        for text in ["1e19", "18000000000000000000s", "inf", "101years"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert_eq!(parse_duration("1h"), Ok(Duration::from_secs(3600)));
        for (seconds, shown) in
            [(1e300, CENTURY), (f64::INFINITY, CENTURY), (f64::NAN, Duration::ZERO), (-1.0, Duration::ZERO)]
        {
            assert_eq!(duration_of(seconds), shown, "{seconds}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(parse_size("64"), Ok(64));
        assert_eq!(parse_size("16KiB"), Ok(16_384));
        assert_eq!(parse_size("16 KiB"), Ok(16_384));
        assert_eq!(parse_size("1M"), Ok(1 << 20));
        assert_eq!(parse_size("4k"), Ok(4096));
        assert_eq!(
            parse_size("4KB").unwrap_err().to_string(),
            "\"4KB\" may be 4000 or 4096 bytes; write 4000 or 4KiB"
        );
        assert_eq!(parse_size("2kB"), Ok(2_000));
        assert_eq!(parse_size("1_000"), Ok(1_000));
        for wrong in ["", "x", "-1", "1.5K", "64Q", "99999999999G"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(parse_duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_duration("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("2min"), Ok(Duration::from_secs(120)));
        for wrong in ["", "soon", "-1", "nan", "1e300", "inf"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn proportions() {
        assert_eq!(parse_proportion("2%"), Ok(0.02));
        assert_eq!(parse_proportion("0.02"), Ok(0.02));
        for wrong in ["", "two", "-1%", "100%", "NaN"] {
            assert!(parse_proportion(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_and_rates() {
        assert_eq!(parse_time_ns("200us"), Ok(200_000.0));
        assert_eq!(parse_time_ns("7.13 µs"), Ok(7_130.0));
        assert_eq!(parse_time_ns("2s"), Ok(2e9));
        assert_eq!(parse_rate("140 k/s"), Ok(140_000.0));
        assert_eq!(parse_rate("1_000"), Ok(1_000.0));
        assert_eq!(parse_throughput("1.23 GB/s"), Ok(1.23e9));
        assert_eq!(parse_throughput("1KiB/s"), Ok(1024.0));
        for wrong in ["", "200", "-1us", "0us", "1.2.3ms", "us", "5 min", "infs", "1e3us"] {
            assert!(parse_time_ns(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "fast", "-1", "0", "5GB/s"] {
            assert!(parse_rate(wrong).is_err(), "{wrong}");
        }
        assert!(parse_throughput("5k/s").is_err());
    }

    #[test]
    fn texts() {
        assert_eq!(size_text(64), "64 B");
        assert_eq!(size_text(16_384), "16 KiB");
        assert_eq!(size_text(1_500), "1500 B");
        let rates = [200, 5_000, 12_345, 20_000, 150_500, 1_500_000].map(rate_text);
        assert_eq!(rates, ["200/s", "5000/s", "12345/s", "20k/s", "150.5k/s", "1.5M/s"]);
        assert_eq!([800, 1_500, 10_000_000].map(time_text), ["800 ns", "1.5 µs", "10 ms"]);
        assert_eq!(duration_text(Duration::from_millis(4_240)), "4.2 s");
        assert_eq!(duration_text(Duration::from_secs(125)), "2 min 5 s");
    }

    proptest! {
        #[test]
        fn a_size_text_reads_back(bytes in 1u64..MAX_SIZE_BYTES * 4) {
            prop_assert_eq!(parse_size(&size_text(bytes)), Ok(bytes));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = parse_size(&text);
            let _ = parse_duration(&text);
            let _ = parse_proportion(&text);
            let _ = parse_time_ns(&text);
            let _ = parse_rate(&text);
            let _ = parse_throughput(&text);
        }
    }
}
