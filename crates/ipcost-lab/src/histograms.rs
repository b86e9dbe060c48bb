//! Histograms in messages of peers: HdrHistogram's version 2 encoding in Base64.

use std::fmt::Display;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::Deserializer;
use ipcost_model::protocol::{Done, LatencyKind};
use ipcost_stats::Histogram;

use crate::error::PeerFault;

/// Where the number of significant digits stands in the encoding: after the cookie, the length and the offset, four bytes each.
const DIGITS: std::ops::Range<usize> = 12..16;
/// The most significant digits: with more a peer could ask for much memory in a few bytes.
const MOST_DIGITS: u32 = 3;

/// What a peer tells of each operation, as a list, a histogram, or both; so many operations have it at the most.
pub fn reported(done: &Done, kind: LatencyKind, most: u64) -> Result<Histogram, PeerFault> {
    let mut histogram = Histogram::of(done.values(kind).to_vec());
    if let Some(text) = done.histograms.get(kind.name()) {
        let more = read(text).map_err(|reason| PeerFault::Histogram { kind, reason: Box::new(reason) })?;
        // What is too much to be counted must not be added up.
        if more.count() > most {
            return Err(PeerFault::LongHistogram { kind, count: more.count(), most });
        }
        histogram.add(&more);
    }
    Ok(histogram)
}

pub fn read(text: &str) -> Result<Histogram, PeerFault> {
    let undecodable =
        |format, error: &dyn Display| PeerFault::Undecodable { format, error: error.to_string() };
    let bytes = STANDARD.decode(text).map_err(|error| undecodable("Base64", &error))?;
    let digits = bytes.get(DIGITS).and_then(|digits| digits.try_into().ok()).map(u32::from_be_bytes);
    if digits.is_none_or(|digits| digits > MOST_DIGITS) {
        return Err(PeerFault::Digits(MOST_DIGITS));
    }
    let read = Deserializer::new().deserialize::<u64, _>(&mut &bytes[..]);
    let read = read.map_err(|error| undecodable("in HdrHistogram's version 2 encoding", &error))?;
    let counts =
        read.iter_recorded().map(|step| (step.value_iterated_to(), step.count_since_last_iteration()));
    Histogram::of_counts(counts).ok_or(PeerFault::Counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Serializer, V2Serializer};

    fn text(digits: u8, values: &[u64]) -> String {
        let mut histogram =
            hdrhistogram::Histogram::<u64>::new_with_bounds(1, 60_000_000_000, digits).unwrap();
        values.iter().for_each(|value| histogram.record(*value).unwrap());
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
        STANDARD.encode(bytes)
    }

    #[test]
    fn what_was_written_is_read() {
        let values = [1, 7, 7, 2_000, 1_000_000];
        let found = read(&text(3, &values)).unwrap();
        let exact = Histogram::of(values.to_vec());
        assert_eq!((found.count(), found.value_at(0.5)), (5, 7));
        assert!(found.max() >= exact.max() && found.max() < exact.max() + exact.max() / 1_000);
    }

    #[test]
    fn no_more_operations_are_told_of_than_there_were() {
        let of = |text: String| Done {
            late_ns: vec![3],
            histograms: [("late_ns".to_owned(), text)].into(),
            ..Done::default()
        };
        let done = of(text(3, &[1, 7, 7]));
        assert_eq!(reported(&done, LatencyKind::Late, 4).unwrap().count(), 4);
        assert_eq!(reported(&done, LatencyKind::Latency, 4).unwrap().count(), 0);
        for most in [0, 2] {
            let error = reported(&done, LatencyKind::Late, most).unwrap_err().to_string();
            assert_eq!(error, format!("sent a histogram late_ns of 3 operations, and {most} were asked for"));
        }
        assert!(
            reported(&of("%%".to_owned()), LatencyKind::Late, 4)
                .unwrap_err()
                .to_string()
                .contains("not Base64")
        );
    }

    #[test]
    fn what_is_none_is_refused_before_memory_is_taken() {
        for (text, says) in [
            ("%%".to_owned(), "not Base64"),
            (STANDARD.encode("short"), "no header"),
            (text(5, &[1]), "more than 3"),
            (STANDARD.encode([0_u8; 40]), "version 2"),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
