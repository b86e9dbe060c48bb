//! A plan as text: what would run, without running it.

use ipcost_model::units::{counted, duration_text};
use ipcost_model::{LatencyMode, Multiplicity, Plan};

pub fn render(plan: &Plan) -> String {
    let mut out = String::new();
    let count = plan.measurable().count();
    let epochs = match plan.epochs_exact {
        Some(exact) => format!("exactly {}", counted(exact, "epoch")),
        None => format!("about {} in {}", counted(plan.epochs_expected, "epoch"), duration_text(plan.budget)),
    };
    let comparisons = plan.contrasts.len() + plan.over_pace.len();
    // Too few epochs have a note of their own.
    let is_too_short = plan.epochs_exact.is_some_and(|exact| exact < plan.epochs_needed);
    let verdicts = match comparisons == 0 || is_too_short {
        true => String::new(),
        false => format!("; verdicts are possible from epoch {}", plan.epochs_needed),
    };
    out.push_str(&format!(
        "{}, {}, {epochs}{verdicts}\n",
        counted(count as u64, "cell"),
        counted(comparisons as u64, "comparison")
    ));
    let wrong = in_percent(plan.alpha);
    let trust = match plan.multiplicity {
        Multiplicity::Headline => format!("at most {wrong} of such runs have a wrong verdict"),
        Multiplicity::Explored => format!("at most {wrong} of the verdicts are expected to be wrong"),
    };
    out.push_str(&format!("margin {}, {trust}, seed {}\n", in_percent(plan.margin), plan.seed));
    let latency = match plan.latency {
        LatencyMode::Off => "not measured",
        LatencyMode::Tail => "after each batch",
        LatencyMode::LeadIn => "before each batch",
        LatencyMode::Inline => "of every operation",
    };
    out.push_str(&format!(
        "{} an epoch; each cell: {} ms of warm-up, then a batch of {} ms; latency: {latency}\n",
        counted(plan.rounds, "round"),
        plan.lead_in.as_millis(),
        plan.batch.as_millis()
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

/// With as many digits as it was given.
fn in_percent(share: f64) -> String {
    format!("{} %", (share * 1e8).round() / 1e6)
}
