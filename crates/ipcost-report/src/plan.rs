//! A plan as text: what would run, without running it.

use ipcost_model::units::{counted, duration_text};
use ipcost_model::{Multiplicity, Plan};

pub fn render(plan: &Plan) -> String {
    let mut out = String::new();
    let count = plan.measurable().count();
    let epochs = match plan.epochs_exact {
        Some(exact) => format!("exactly {exact} epochs"),
        None => format!("about {} in {}", counted(plan.epochs_expected, "epoch"), duration_text(plan.budget)),
    };
    out.push_str(&format!(
        "{count} cells, {epochs}, each of {} of {} ms after {} ms of lead-in\n",
        counted(plan.rounds, "round"),
        plan.batch.as_millis(),
        plan.lead_in.as_millis()
    ));
    let promise = match plan.multiplicity {
        Multiplicity::Headline => {
            format!(
                "{} headline contrasts share alpha {} ({:.5} each)",
                plan.family, plan.alpha, plan.alpha_each
            )
        }
        Multiplicity::Explored => format!(
            "an explored grid of {} contrasts: of those with a verdict, at most {} % are expected to be wrong (e-BH)",
            plan.contrasts.len(),
            plan.alpha * 100.0
        ),
    };
    out.push_str(&format!(
        "{promise}; the first finite intervals come after {}\n",
        counted(plan.epochs_needed, "epoch")
    ));
    out.push_str(&format!(
        "margin {} %, latency {}, seed {}\n",
        plan.margin * 100.0,
        plan.latency,
        plan.seed
    ));
    for workload in &plan.workloads {
        out.push('\n');
        for index in &workload.cells {
            let cell = &plan.cells[*index];
            let note = match &cell.unavailable {
                Some(reason) => format!("  unavailable: {reason}"),
                None if workload.baseline == Some(*index) => "  baseline".to_owned(),
                None => String::new(),
            };
            out.push_str(&format!("{}{note}\n", cell.id));
        }
    }
    for note in &plan.notes {
        out.push_str(&format!("\nnote: {note}\n"));
    }
    out
}
