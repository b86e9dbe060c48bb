//! Order statistics.

/// The median: the middle value, or the mean of the two in the middle; `None` of nothing.
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
/// Where `sorted` is empty or `q` is outside 0 to 1.
pub fn quantile_sorted(sorted: &[f64], q: f64) -> f64 {
    assert!(!sorted.is_empty() && (0.0..=1.0).contains(&q), "a quantile of nothing, or outside 0 to 1");
    let place = q * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = place.ceil() as usize;
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
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
    fn quantiles_interpolate() {
        let values = [10.0, 20.0, 30.0, 40.0];
        assert_eq!(quantile_sorted(&values, 0.0), 10.0);
        assert_eq!(quantile_sorted(&values, 0.5), 25.0);
        assert_eq!(quantile_sorted(&values, 1.0), 40.0);
    }
}
