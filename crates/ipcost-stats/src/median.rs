//! Order statistics.

/// The median: the middle value, or the mean of the two middle ones; `None` if empty.
///
/// Values must not be NaN.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// The `q`-quantile of ascending values by linear interpolation (Hyndman and Fan's type 7).
///
/// # Panics
/// If `sorted` is empty or `q` is outside 0 to 1.
pub fn quantile_sorted(sorted: &[f64], q: f64) -> f64 {
    assert!(!sorted.is_empty() && (0.0..=1.0).contains(&q), "a quantile of nothing, or outside 0 to 1");
    let place = q * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = place.ceil() as usize;
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

/// The `q`-quantile of ascending values by nearest rank: the least value that at least a share `q` does not exceed.
///
/// Unlike an interpolated one, it is a value that occurred, and it never understates the quantile.
///
/// # Panics
/// If `sorted` is empty or `q` is outside 0 to 1.
pub fn nearest_rank<T: Copy>(sorted: &[T], q: f64) -> T {
    assert!(!sorted.is_empty() && (0.0..=1.0).contains(&q), "a quantile of nothing, or outside 0 to 1");
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
    }

    #[test]
    fn nearest_ranks_are_values_that_occurred() {
        let values: Vec<u64> = (1..=200).collect();
        assert_eq!(nearest_rank(&values, 0.5), 100);
        assert_eq!(nearest_rank(&values, 0.99), 198);
        assert_eq!((nearest_rank(&values, 0.0), nearest_rank(&values, 1.0)), (1, 200));
        assert_eq!(nearest_rank(&[7, 9, 12], 0.99), 12);
    }

    #[test]
    fn quantiles_interpolate() {
        let values = [10.0, 20.0, 30.0, 40.0];
        assert_eq!(quantile_sorted(&values, 0.0), 10.0);
        assert_eq!(quantile_sorted(&values, 0.5), 25.0);
        assert_eq!(quantile_sorted(&values, 1.0), 40.0);
    }
}
