//! ipcost's figure: `ipcost run` as a user would start it, with one cell.

use anyhow::{Context, Result, ensure};
use ipcost_model::Placement;
use serde_json::Value;
use tempfile::TempDir;

use super::comparisons::{ComparedFigure, ToolComparison};
use crate::common::ipcost;
use xtask::shell::{command, path_text};

/// Measures the cell for the same work in one batch, which lasts about as long as the tools run; the result is in
/// nanoseconds.
pub fn measure(comparison: &ToolComparison, placement: Placement) -> Result<f64> {
    let scratch = TempDir::new()?;
    let (job, json) = (scratch.path().join("job.toml"), scratch.path().join("run.json"));
    std::fs::write(&job, job_text(comparison, placement))?;
    let program = ipcost();
    let words =
        [path_text(&program)?, "run", path_text(&job)?, "--quiet", "--no-save", "--json", path_text(&json)?];
    let output = command(&words).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    figure(&serde_json::from_slice(&std::fs::read(&json)?)?, comparison.figure)
}

fn job_text(comparison: &ToolComparison, placement: Placement) -> String {
    let latency = match comparison.figure {
        ComparedFigure::Mean => "off",
        ComparedFigure::Median => "inline",
    };
    let cell = comparison.cell;
    format!(
        "latency = \"{latency}\"\nepochs = 1\nbatch = \"1s\"\ntimeout = \"120s\"\n\
         [[cells]]\n{cell}\nplacement = \"{placement}\"\n"
    )
}

fn figure(document: &Value, figure: ComparedFigure) -> Result<f64> {
    let cell = &document["cells"][0];
    ensure!(cell["available"] == true, "the cell is unavailable: {}", cell["reason"]);
    match figure {
        ComparedFigure::Mean => &cell["wall_ns_per_op"]["median"],
        ComparedFigure::Median => &cell["latency_ns"]["p50"],
    }
    .as_f64()
    .context("the document has no such figure")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_figure_is_the_cells_cost_or_its_median_latency() {
        let cell =
            json!({"available": true, "wall_ns_per_op": {"median": 2171.8}, "latency_ns": {"p50": 2113}});
        let document = json!({"cells": [cell]});
        assert_eq!(figure(&document, ComparedFigure::Mean).unwrap(), 2171.8);
        assert_eq!(figure(&document, ComparedFigure::Median).unwrap(), 2113.0);
    }

    #[test]
    fn a_cell_that_was_not_measured_is_an_error_with_its_reason() {
        let document = json!({"cells": [{"available": false, "reason": "redis-server is missing"}]});
        let error = figure(&document, ComparedFigure::Mean).unwrap_err().to_string();
        assert!(error.contains("redis-server is missing"), "{error}");
    }
}
