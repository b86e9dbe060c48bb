//! Whether a replication can be measured as it is written.

use super::{ClaimTest, Replication, Software, cells_of_run, conditions};
use crate::FeatureError;

/// Checks that every test of a replication names a cell of each run it is meant for, and exactly one.
pub fn check(replication: &Replication) -> Result<(), FeatureError> {
    conditions::check(replication)?;
    for run in &replication.runs {
        let cells = cells_of_run(run)?;
        for condition in &replication.conditions {
            if run.software == Software::Original {
                conditions::cells(replication, condition, run.software, &cells)?;
            }
        }
        for effect in replication.effects.iter().filter(|effect| is_of(effect, run.software)) {
            ensure_beside(effect)?;
            for side in effect.sides() {
                side.find(&cells).map_err(|error| error.at(format!("effect \"{}\"", effect.about)))?;
            }
        }
        for claim in &replication.claims {
            let tests = claim.tests.iter().filter(|test| test.is_for(run.software));
            for test in tests {
                let of_claim = format!("claim \"{}\"", claim.text);
                check_test(test).map_err(|error| error.at(&of_claim))?;
                for side in test.sides() {
                    let of_test =
                        |error: FeatureError| error.at(format!("{of_claim}, test \"{}\"", test.about));
                    side.find(&cells).map_err(of_test)?;
                }
            }
        }
    }
    Ok(())
}

/// What this tool prefers stands beside what was published, and never in its place.
fn ensure_beside(effect: &ClaimTest) -> Result<(), FeatureError> {
    match (effect.decides, &effect.b) {
        (false, Some(_)) => Ok(()),
        (true, _) => Err(FeatureError::EffectDecides(effect.about.clone())),
        (_, None) => Err(FeatureError::EffectAlone(effect.about.clone())),
    }
}

fn check_test(test: &ClaimTest) -> Result<(), FeatureError> {
    let wrong = match test {
        ClaimTest { same_system_calls: true, b: None, .. } => FeatureError::CallsAlone,
        ClaimTest { same_system_calls: true, .. } => return Ok(()),
        ClaimTest { than: Some(_), b: None, .. } => FeatureError::RatioAlone,
        ClaimTest { decides: true, below: None, above: None, .. } => FeatureError::Unbounded,
        _ => return Ok(()),
    };
    Err(wrong(test.about.clone()))
}

/// Whether a run shows an effect: the original software's, where it does not say.
pub(super) fn is_of(effect: &ClaimTest, software: Software) -> bool {
    effect.software.unwrap_or(Software::Original) == software
}
