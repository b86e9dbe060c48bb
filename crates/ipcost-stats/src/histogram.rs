//! Many values in little space: how often each occurred, to three significant digits.

/// Values below this have a bin each; above, every power of two has half as many bins.
const EXACT: u64 = 2048;
const BITS: u32 = EXACT.ilog2();
const HALF: u64 = EXACT / 2;
/// One past the last bin.
const BINS: u64 = EXACT + (u64::BITS - BITS) as u64 * HALF;

/// How often values occurred: each known to one part in 1 024, and below 2 048 exactly.
///
/// The bins are those of HdrHistogram (Gil Tene) with three significant digits. Only non-empty bins take space, some
/// two bytes each: ten thousand histograms fit where plain arrays of all bins would not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    /// For every bin in ascending order, its distance from the one before and its count, as LEB128 numbers.
    packed: Vec<u8>,
    count: u64,
    max: u64,
}

impl Histogram {
    /// The histogram of values in any order.
    pub fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        let bins: Vec<u64> = values.iter().map(|value| bin(*value)).collect();
        let counted = bins.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64));
        Self::packed(counted, values.last().copied().unwrap_or(0))
    }

    /// The histogram of values, ascending, each with how often it occurred; `None` if there are more than can be counted.
    pub fn of_counts(values: impl IntoIterator<Item = (u64, u64)>) -> Option<Self> {
        let (mut bins, mut max, mut total) = (Vec::<(u64, u64)>::new(), 0, 0_u64);
        for (value, count) in values.into_iter().filter(|(_, count)| *count > 0) {
            total = total.checked_add(count)?;
            max = value.max(max);
            match bins.last_mut() {
                Some((at, before)) if *at == bin(value) => *before += count,
                _ => bins.push((bin(value), count)),
            }
        }
        bins.is_sorted_by(|a, b| a.0 < b.0).then(|| Self::packed(bins.into_iter(), max))
    }

    /// The histogram with these [`Histogram::bins`] and largest value; `None` if they contradict each other.
    pub fn from_bins(bins: &[u64], max: u64) -> Option<Self> {
        let (pairs, []) = bins.as_chunks::<2>() else { return None };
        let mut found = Vec::with_capacity(pairs.len());
        let (mut at, mut total) = (0_u64, 0_u64);
        for (index, [distance, count]) in pairs.iter().enumerate() {
            at = at.checked_add(*distance).filter(|at| *at < BINS)?;
            total = total.checked_add(*count)?;
            if *count == 0 || (index > 0 && *distance == 0) {
                return None;
            }
            found.push((at, *count));
        }
        let fits = found.last().map_or(max == 0, |(last, _)| bin(max) == *last);
        fits.then(|| Self::packed(found.into_iter(), max))
    }

    /// For every non-empty bin, in ascending order: its distance from the one before, then its count.
    pub fn bins(&self) -> Vec<u64> {
        let mut before = 0;
        let distance = |(at, count): (u64, u64)| {
            let distance = at - before;
            before = at;
            [distance, count]
        };
        self.each().flat_map(distance).collect()
    }

    /// Adds the values of another histogram.
    pub fn add(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        let (mut own, mut others) = (self.each().peekable(), other.each().peekable());
        let merged = std::iter::from_fn(|| match (own.peek(), others.peek()) {
            (Some(a), Some(b)) if a.0 == b.0 => {
                let together = (a.0, a.1 + b.1);
                own.next();
                others.next();
                Some(together)
            }
            (Some(a), Some(b)) if b.0 < a.0 => others.next(),
            (Some(_), _) => own.next(),
            (None, _) => others.next(),
        });
        let together = Self::packed(merged, self.max.max(other.max));
        drop((own, others));
        *self = together;
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The largest value, exactly; 0 if empty.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The nearest-rank value: the quantile's share of the values does not exceed it. 0 if empty.
    pub fn value_at(&self, quantile: f64) -> u64 {
        let rank = ((quantile * self.count as f64).ceil() as u64).max(1);
        let mut passed = 0;
        let found = self.each().find(|(_, count)| {
            passed += count;
            passed >= rank
        });
        found.map_or(self.max, |(at, _)| largest_in(at).min(self.max))
    }

    /// How many values exceed another, as far as bins tell: those in its own bin do not.
    pub fn above(&self, value: u64) -> u64 {
        let own = bin(value);
        self.each().filter(|(at, _)| *at > own).map(|(_, count)| count).sum()
    }

    fn packed(bins: impl Iterator<Item = (u64, u64)>, max: u64) -> Self {
        let mut histogram = Self { packed: Vec::new(), count: 0, max };
        let mut before = 0;
        for (at, count) in bins {
            write(&mut histogram.packed, at - before);
            write(&mut histogram.packed, count);
            histogram.count += count;
            before = at;
        }
        histogram.packed.shrink_to_fit();
        histogram
    }

    fn each(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut rest = self.packed.as_slice();
        let mut at = 0;
        std::iter::from_fn(move || {
            at += read(&mut rest)?;
            Some((at, read(&mut rest)?))
        })
    }
}

fn bin(value: u64) -> u64 {
    if value < EXACT {
        return value;
    }
    let shift = u64::from(value.ilog2() + 1 - BITS);
    EXACT + (shift - 1) * HALF + (value >> shift) - HALF
}

fn largest_in(bin: u64) -> u64 {
    if bin < EXACT {
        return bin;
    }
    let (shift, place) = ((bin - EXACT) / HALF + 1, (bin - EXACT) % HALF + HALF);
    (((u128::from(place) + 1) << shift) - 1) as u64
}

fn write(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn read(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nearest_rank;
    use proptest::prelude::*;

    #[test]
    fn every_bin_ends_where_the_next_begins() {
        for at in 0..BINS - 1 {
            assert_eq!(bin(largest_in(at)), at);
            assert_eq!(bin(largest_in(at) + 1), at + 1);
        }
        assert_eq!((bin(u64::MAX), largest_in(BINS - 1)), (BINS - 1, u64::MAX));
    }

    #[test]
    fn a_thousand_usual_latencies_take_little_room() {
        let values: Vec<u64> = (0..1000).map(|index| 5_000 + index * 7 % 3_000).collect();
        let histogram = Histogram::of(values);
        assert!(histogram.packed.len() < 2_500, "{}", histogram.packed.len());
    }

    #[test]
    fn bins_that_contradict_themselves_are_refused() {
        assert_eq!(Histogram::from_bins(&[], 0), Some(Histogram::default()));
        assert_eq!(Histogram::from_bins(&[5, 1, 2, 3], 7), Some(Histogram::of(vec![5, 7, 7, 7])));
        for (bins, max) in [
            (&[5][..], 5),
            (&[5, 0], 5),
            (&[5, 1, 0, 1], 5),
            (&[5, 1], 6),
            (&[], 3),
            (&[BINS, 1], u64::MAX),
            (&[u64::MAX, 1, 5, 1], 4),
            (&[1, u64::MAX, 1, 1], 2),
        ] {
            assert_eq!(Histogram::from_bins(bins, max), None, "{bins:?}");
        }
    }

    proptest! {
        #[test]
        fn says_what_the_values_say(
            values in prop::collection::vec(prop_oneof![0..5_000_u64, any::<u64>()], 1..200),
            more in prop::collection::vec(0..100_000_u64, 0..50),
            quantile in 0.0..=1.0,
        ) {
            let mut histogram = Histogram::of(values.clone());
            histogram.add(&Histogram::of(more.clone()));
            let mut all = [values, more].concat();
            prop_assert_eq!(&histogram, &Histogram::of(all.clone()));
            all.sort_unstable();
            prop_assert_eq!(Histogram::of_counts(all.iter().map(|value| (*value, 1))), Some(histogram.clone()));
            prop_assert_eq!(Histogram::from_bins(&histogram.bins(), histogram.max()), Some(histogram.clone()));
            all.sort_unstable();
            prop_assert_eq!((histogram.count(), Some(&histogram.max())), (all.len() as u64, all.last()));
            let (exact, found) = (nearest_rank(&all, quantile), histogram.value_at(quantile));
            prop_assert!(found >= exact && (found - exact) as f64 <= exact as f64 / 1024.0, "{} {}", exact, found);
        }
    }
}
