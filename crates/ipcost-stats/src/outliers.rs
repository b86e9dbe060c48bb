//! Values far from the others.

use crate::proportion::student_quantile;

/// Which of `values` are outliers of a normal distribution, at most `most` of them: the generalised extreme studentised deviate test
/// (Rosner, "Percentage points for a generalized ESD many-outlier procedure", Technometrics 25, 1983). The chance that any is
/// found where there is none is about `alpha`: a half more of about ten values. Several outliers do not hide one another. Fewer than five values have none.
///
/// Returns their places in `values`.
///
/// # Panics
/// If `alpha` is not between 0 and 1.
pub fn outliers(values: &[f64], most: usize, alpha: f64) -> Vec<usize> {
    assert!(alpha > 0.0 && alpha < 1.0, "alpha is {alpha}");
    const FEWEST: usize = 5;
    let n = values.len();
    if n < FEWEST {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    // The most extreme value is the first or the last of those that are left.
    let (mut from, mut to) = (0, n);
    let (mut removed, mut found) = (Vec::new(), 0);
    for step in 1..=most.min(n - FEWEST + 1) {
        let left = order[from..to].iter().map(|place| values[*place]);
        let count = (to - from) as f64;
        let mean = left.clone().sum::<f64>() / count;
        let deviation = (left.map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
        let [below, above] = [mean - values[order[from]], values[order[to - 1]] - mean];
        let extreme = if below > above { from } else { to - 1 };
        removed.push(order[extreme]);
        if below > above {
            from += 1
        } else {
            to -= 1
        }
        let t = student_quantile(1.0 - alpha / (2.0 * count), count - 2.0);
        let critical = (count - 1.0) * t / ((count - 2.0 + t * t) * count).sqrt();
        if below.max(above) > critical * deviation && deviation > 0.0 {
            found = step;
        }
    }
    removed.truncate(found);
    removed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// The data of Rosner's paper, whose three largest values are outliers though the two largest alone are not.
    const PUBLISHED: [f64; 54] = [
        -0.25, 0.68, 0.94, 1.15, 1.20, 1.26, 1.26, 1.34, 1.38, 1.43, 1.49, 1.49, 1.55, 1.56, 1.58, 1.65,
        1.69, 1.70, 1.76, 1.77, 1.81, 1.91, 1.94, 1.96, 1.99, 2.06, 2.09, 2.10, 2.14, 2.15, 2.23, 2.24, 2.26,
        2.35, 2.37, 2.40, 2.47, 2.54, 2.62, 2.64, 2.90, 2.92, 2.92, 2.93, 3.21, 3.26, 3.30, 3.59, 3.68, 4.30,
        4.64, 5.34, 5.42, 6.01,
    ];

    #[test]
    fn published_outliers() {
        assert_eq!(outliers(&PUBLISHED, 10, 0.05), [53, 52, 51]);
        assert!(outliers(&PUBLISHED, 2, 0.05).is_empty());
    }

    #[test]
    fn normal_values_seldom_have_any_and_equal_or_few_ones_never() {
        let mut random = Random::new(3);
        let alarms = (0..400).filter(|_| {
            let values: Vec<f64> = (0..12).map(|_| random.normal()).collect();
            !outliers(&values, 3, 0.05).is_empty()
        });
        let alarms = alarms.count();
        assert!((4..40).contains(&alarms), "{alarms} of 400");
        assert!(outliers(&[1.0; 9], 3, 0.05).is_empty());
        assert!(outliers(&[1.0, 1.1, 0.9, 50.0], 3, 0.05).is_empty());
    }
}
