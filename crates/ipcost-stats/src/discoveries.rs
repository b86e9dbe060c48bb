//! Many questions explored at once.

/// The largest number R of `all` questions that are answered if each is asked at R/`all` of the level; 0 if there is none.
///
/// `answered` counts the answers for a number R; it must not count more for a smaller one, whose intervals are wider. Of the
/// intervals of the R, the expected share that misses is then at most the level, however the questions depend on each other, and on
/// whichever grounds they were selected. That is so if the intervals come from e-values (e-BY: Xu, Wang and Ramdas, "Post-selection inference
/// for e-value based confidence intervals", EJS 18, 2024).
pub fn answered_together(all: usize, answered: impl Fn(usize) -> usize) -> usize {
    let mut most = all;
    loop {
        let told = answered(most);
        if told >= most {
            return most;
        }
        // Fewer mean a stricter level, at which no other one can be answered.
        most = told;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of questions that are answered at these shares of the level and above.
    fn found(needed: &[f64]) -> usize {
        let all = needed.len();
        let answered =
            |many: usize| needed.iter().filter(|least| **least <= many as f64 / all as f64).count();
        answered_together(all, answered)
    }

    #[test]
    fn one_alone_needs_what_bonferroni_asks_and_company_helps() {
        assert_eq!(found(&[0.26, 2.0, 2.0, 2.0]), 0);
        assert_eq!(found(&[0.25, 2.0, 2.0, 2.0]), 1);
        assert_eq!(found(&[2.0, 0.5, 2.0, 0.4]), 2);
        assert_eq!(found(&[1.0; 4]), 4);
        assert_eq!(found(&[]), 0);
    }
}
