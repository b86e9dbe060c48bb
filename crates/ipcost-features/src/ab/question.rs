//! What a run with two arms is asked, and its plan.

use ipcost_lab::planning::ALPHA;
use ipcost_lab::{Answered, CampaignState, Contrasts, Lab, LabError, Needed, PlanSettings, Question};
use ipcost_model::{Job, Metric, Plan, Point, Verdict};

use super::paired::{PairedArms, pairs};
use crate::compare::{cell_level, groups, levels};

/// Every cell in arm B against the same in arm A.
#[derive(Debug, Clone, Copy)]
pub struct ArmsQuestion;

/// What a job asks: its two arms, or its own contrasts.
pub fn question(job: &Job) -> &'static dyn Question {
    if job.ab.is_some() { &ArmsQuestion } else { &Contrasts }
}

/// Plans a job, with or without arms. With arms, cells have what the upper levels leave of alpha.
pub fn plan(lab: &Lab, job: &Job, seed: u64) -> Result<Plan, LabError> {
    if job.ab.is_none() {
        return lab.plan_job(job, seed);
    }
    let expanded = lab.cells(job)?;
    let cells: Vec<&Point> =
        expanded.workloads.iter().filter_map(|table| Some(&expanded.cells[table.baseline?].point)).collect();
    let settings = PlanSettings { level: Some(cell_level(&cells)), ..PlanSettings::of(job, seed) };
    lab.plan(expanded, &settings)
}

impl Question for ArmsQuestion {
    fn answered(&self, so_far: &CampaignState) -> Answered {
        let plan = &so_far.plan;
        let all = pairs(&plan.cells.iter().map(|cell| &cell.point).collect::<Vec<&Point>>());
        let (measured, evidence) = PairedArms::of(&so_far.batches(), Metric::Wall, &all);
        let points: Vec<&Point> = measured.iter().map(|pair| &plan.cells[pair.a].point).collect();
        if points.is_empty() {
            return Answered::default();
        }
        let found = levels(&evidence, &points, groups(&points), points.len(), plan.margin);
        let is_known = |(place, alpha): (usize, &f64)| {
            let ratios = evidence.cell_shift(place, *alpha).and_then(|shift| shift.ratios());
            Verdict::of(ratios, plan.margin).is_answer()
        };
        let resolved = found.cell_alpha.iter().enumerate().filter(|cell| is_known(*cell)).count();
        let needed = if resolved == points.len() { Needed::Nothing } else { Needed::Everything };
        debug_assert!(found.cell_alpha.iter().all(|alpha| *alpha <= ALPHA));
        Answered { resolved: resolved as u32, of: points.len() as u32, needed }
    }
}
