//! ipcost's figure: `ipcost run` as a user would start it, with one cell.

use anyhow::{Context, Result, ensure};
use ipcost_model::{Document, Placement, read_document};

use super::comparisons::{ComparedFigure, ToolComparison};
use crate::common::ipcost_run;

/// Measures the cell for the same work in one batch, which lasts about as long as the tools run; the result is in
/// nanoseconds.
pub fn measure(comparison: &ToolComparison, placement: Placement) -> Result<f64> {
    let document = read_document(&ipcost_run(&job_text(comparison, placement), &[])?)?;
    figure(&document, comparison.figure)
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

fn figure(document: &Document, figure: ComparedFigure) -> Result<f64> {
    let cell = document.cells.first().context("the document has no cell")?;
    ensure!(cell.available, "the cell is unavailable: {}", cell.reason.as_deref().unwrap_or_default());
    let found = match figure {
        ComparedFigure::Mean => cell.wall_ns_per_op.map(|cost| cost.median),
        ComparedFigure::Median => cell.latency_ns.map(|latency| latency.p50 as f64),
    };
    found.context("the document has no such figure")
}

#[cfg(test)]
mod tests {
    use ipcost_report::fixture;

    use super::*;

    #[test]
    fn the_figure_is_the_cells_cost_or_its_median_latency() {
        let document = fixture::document();
        assert_eq!(figure(&document, ComparedFigure::Mean).unwrap(), 7_130.0);
        assert_eq!(figure(&document, ComparedFigure::Median).unwrap(), 7_000.0);
    }

    #[test]
    fn a_cell_that_was_not_measured_is_an_error_with_its_reason() {
        let mut document = fixture::document();
        document.cells.retain(|cell| !cell.available);
        let error = figure(&document, ComparedFigure::Mean).unwrap_err().to_string();
        assert!(error.contains("IPv6 loopback cannot be used"), "{error}");
    }
}
