//! What it costs that operations come one by one, with pauses between them, and not back to back.

use ipcost_lab::LabError;
use ipcost_model::pace::THINK;
use ipcost_model::{Document, Job, LatencyMode, Matrix, OptionLists, OptionName, OptionValue, Size};
use ipcost_report::over_pace;
use ipcost_report::page::{Figure, Frame, Page, Section};
use ipcost_report::picture::{self, Chart};

use super::{PaceRequest, PaceSweep};

/// A cell for each transport, placement and pause.
///
/// # Errors
/// Fewer than two pauses, or a pause that none may have.
pub fn pace_job(request: &PaceRequest) -> Result<Job, LabError> {
    if request.think_ns.len() < 2 {
        return Err(LabError::Refused(
            "one pause makes no curve; give --think at least two, such as 0,10ms".to_owned(),
        ));
    }
    let name = OptionName::find(THINK).map_err(LabError::Refused)?;
    let mut values = Vec::new();
    for think_ns in &request.think_ns {
        values.push(name.spec().check(OptionValue::Int(*think_ns)).map_err(LabError::Refused)?);
    }
    let mut options = OptionLists::default();
    options.0.insert(name, values);
    let matrix = Matrix {
        pattern: vec![request.pattern].into(),
        transport: request.transports.clone().into(),
        size: vec![Size(request.size)].into(),
        placement: request.placements.clone().into(),
        client: vec![request.client.clone()].into(),
        server: vec![request.server.clone()].into(),
        options,
        ..Matrix::default()
    };
    Ok(Job {
        cells: vec![matrix],
        baseline: request.transports.last().cloned(),
        budget: request.budget,
        margin: Some(request.margin),
        epochs: request.epochs,
        seed: request.seed,
        latency: Some(LatencyMode::Off),
        ..Job::default()
    })
}

/// The page of `sweep pace`: a table and a sentence for each transport, and the curve.
pub fn page_of_pace<'a>(_: &'a PaceSweep, document: &'a Document) -> Page<'a> {
    let mut page = Page::new("What a pause between operations costs");
    page.blocks.extend(over_pace::sections(document).into_iter().map(Section::open));
    let figure =
        Figure::new("A line for each transport: what an operation costs, by the pause before it.", |frame| {
            match frame {
                Frame::Page => picture::plain(document, Chart::Pace),
                Frame::File(background) => picture::draw(document, Chart::Pace, background),
            }
        });
    page.blocks.push(figure.named(Chart::Pace).into());
    page
}

#[cfg(test)]
mod tests {
    use ipcost_model::{NATIVE, Pattern, Placement};

    use super::*;

    fn request(think_ns: &[u64]) -> PaceRequest {
        PaceRequest {
            transports: vec!["unix".to_owned(), "tcp".to_owned()],
            pattern: Pattern::Rr,
            size: 64,
            think_ns: think_ns.to_vec(),
            placements: vec![Placement::Together, Placement::Apart],
            client: NATIVE.to_owned(),
            server: NATIVE.to_owned(),
            margin: 0.05,
            budget: None,
            epochs: None,
            seed: None,
        }
    }

    #[test]
    fn each_pause_is_a_table_of_both_transports() {
        let job = pace_job(&request(&[0, 5_000_000])).unwrap();
        let cells = ipcost_lab::lab::cells_anywhere(&job, &[]).unwrap();
        assert_eq!((cells.cells.len(), cells.workloads.len()), (8, 4));
        assert!(cells.workloads.iter().all(|table| table.cells.len() == 2 && table.baseline.is_some()));
    }

    #[test]
    fn what_makes_no_curve_is_refused() {
        for (asked, says) in [(&[0][..], "at least two"), (&[0, 99_000_000_000], "from 0 to 60s")] {
            let error = pace_job(&request(asked)).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
