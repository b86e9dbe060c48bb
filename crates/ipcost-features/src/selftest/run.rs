//! Campaigns whose truth is known, for as long as the budget lasts.

use std::time::{Duration, Instant};

use ipcost_lab::lab::{envelope, fresh_seed};
use ipcost_lab::progress::Silent;
use ipcost_lab::{CampaignState, Contrasts, Lab, LabError, PlanSettings};
use ipcost_model::{Stopped, parse_job};
use ipcost_sys::interrupt::Interrupt;

use super::noise::Disturbance;
use super::{EPOCHS, Noise, SELFTEST_SCHEMA, SelfTest, SelftestTally, equal_job, slowed_job};

/// What `selftest` was asked to do.
#[derive(Debug, Clone, Copy)]
pub struct SelfTestRequest {
    pub budget: Duration,
    pub noise: Noise,
    pub seed: Option<u64>,
}

/// Tests the tool on this machine; `tell` hears what is known so far, and after how long. `true` beside the record where it was
/// interrupted.
pub fn run(
    request: SelfTestRequest,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(&SelftestTally, Duration),
) -> Result<(SelfTest, bool), LabError> {
    let began = Instant::now();
    let envelope = envelope(SELFTEST_SCHEMA);
    let seed = request.seed.unwrap_or_else(fresh_seed);
    let noise = Disturbance::start(request.noise)?;
    let mut tally = SelftestTally::default();
    let mut spent = [Duration::ZERO; 2];
    let mut longest = [Duration::ZERO; 2];
    let mut interrupted = false;
    let mut campaigns = 0;
    loop {
        // Both kinds in turn, so that an early answer has some of each; and at least one of each.
        let kind = usize::from(spent[1] < spent[0]);
        if spent[kind] > Duration::ZERO && began.elapsed() + longest[kind] > request.budget {
            break;
        }
        let job = if kind == 0 { equal_job() } else { slowed_job() };
        let at = Instant::now();
        campaigns += 1;
        let mut outcome = campaign(&job, seed.wrapping_add(campaigns), interrupt)?;
        if let Some(error) = outcome.failure.take() {
            return Err(error.into());
        }
        if outcome.stopped == Stopped::Interrupted {
            interrupted = true;
            break;
        }
        if kind == 0 {
            tally.add_equal(&outcome)
        } else {
            tally.add_slowed(&outcome)
        }
        spent[kind] += at.elapsed();
        longest[kind] = longest[kind].max(at.elapsed());
        tell(&tally, began.elapsed());
    }
    drop(noise);
    let test = SelfTest {
        envelope,
        noise: request.noise,
        seed,
        elapsed_s: began.elapsed().as_secs_f64(),
        epochs: EPOCHS,
        rates: tally.rates(seed),
        detections: tally.detections(),
    };
    Ok((test, interrupted))
}

/// One campaign, with real processes of its own.
fn campaign(job: &str, seed: u64, interrupt: &Interrupt) -> Result<CampaignState, LabError> {
    let job = parse_job(job).map_err(|error| LabError::Failed(error.to_string()))?;
    let lab = Lab::open(&job, &mut |_| ())?;
    let settings = PlanSettings { epochs: Some(EPOCHS), ..PlanSettings::of(&job, seed) };
    let plan = lab.plan(lab.cells(&job)?, &settings)?;
    Ok(lab.run(plan, &Contrasts, interrupt, |_| Silent)?.0)
}
