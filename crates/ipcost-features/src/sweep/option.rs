//! Transports over several values of one option, in the same rounds: `ipcost sweep layout`, `pace` and `work`.

use std::time::Duration;

use ipcost_lab::LabError;
use ipcost_model::job::duration;
use ipcost_model::pace::THINK;
use ipcost_model::{
    CellRecord, Document, Job, LatencyMode, Matrix, OptionLists, OptionName, OptionValue, Pattern, Placement,
    Size,
};
use ipcost_report::page::{Page, Section};
use ipcost_report::picture::Chart;
use ipcost_report::{over_pace, run_page};
use serde::{Deserialize, Serialize};

use super::{layout, work};

/// The version of the record.
pub const OPTION_SCHEMA: &str = "ipcost-sweep-option/1";

/// Transports over several values of one option.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OptionSweep {
    pub schema: String,
    pub request: OptionRequest,
}

/// What has several values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "over", rename_all = "lowercase")]
pub enum Over {
    /// Where receive buffers begin, bytes after a page.
    Layout {
        /// Where send buffers begin, bytes after a page.
        send_offset: u64,
    },
    /// How long a worker pauses before every operation, nanoseconds.
    Pace,
    /// How long the server computes before it answers, nanoseconds.
    Work,
}

/// What such a sweep was asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OptionRequest {
    /// What has several values.
    #[serde(flatten)]
    pub over: Over,
    /// The transports; two for [`Over::Work`].
    pub transports: Vec<String>,
    /// What is done over them.
    pub pattern: Pattern,
    /// Bytes of a message.
    pub size: u64,
    /// The values, in the unit of what has them.
    pub values: Vec<u64>,
    /// Where the two processes run, one after the other.
    pub placements: Vec<Placement>,
    /// The peer that plays the client.
    pub client: String,
    /// The peer that plays the server.
    pub server: String,
    /// The relative difference that matters.
    pub margin: f64,
    /// How long it may take.
    #[serde(default, with = "duration", skip_serializing_if = "Option::is_none")]
    pub budget: Option<Duration>,
    /// Exactly this many epochs.
    pub epochs: Option<u32>,
    /// The seed of every random order.
    pub seed: Option<u64>,
}

impl Over {
    fn option(self) -> &'static str {
        match self {
            Self::Layout { .. } => "recv_offset",
            Self::Pace => THINK,
            Self::Work => "server_work",
        }
    }

    /// Never the bare name of a transport: each cell is compared with the one of the same work, not with the cell of
    /// that name. Pauses need no label, for each is a table of its own.
    fn label(self, transport: &str, value: u64) -> Option<String> {
        match self {
            Self::Layout { .. } => Some(format!("{transport}, {value}")),
            Self::Pace => None,
            Self::Work => Some(format!("{transport}, {} of work", work::amount(value))),
        }
    }

    fn single_value(self) -> &'static str {
        match self {
            Self::Layout { .. } => {
                "one place compares with nothing; give --recv-offsets at least two, such as 0,16"
            }
            Self::Pace => "one pause makes no curve; give --think at least two, such as 0,10ms",
            Self::Work => "one amount of work makes no curve; give --work at least two, such as 0,100us",
        }
    }
}

impl OptionRequest {
    /// The cell of a transport and a value.
    pub(super) fn cell<'a>(
        &self,
        document: &'a Document,
        transport: &str,
        value: u64,
    ) -> Option<&'a CellRecord> {
        let is_it = |cell: &&CellRecord| {
            let set = cell.options.iter().find(|(name, _)| name.spec().name == self.over.option());
            cell.transport == transport && set.map_or(value == 0, |(_, set)| *set == OptionValue::Int(value))
        };
        document.cells.iter().find(is_it)
    }
}

/// A cell for each transport, placement and value.
///
/// # Errors
/// Fewer than two values, one that the option does not take, or other than two transports where two are compared.
pub fn option_job(request: &OptionRequest) -> Result<Job, LabError> {
    let OptionRequest { over, transports, values, .. } = request;
    if *over == Over::Work && (transports.len() != 2 || transports[0] == transports[1]) {
        let reason = "a sweep over work compares two transports; give --transports A,B";
        return Err(LabError::Refused(reason.to_owned()));
    }
    if values.len() < 2 {
        return Err(LabError::Refused(over.single_value().to_owned()));
    }
    // Cells with labels of their own take a matrix each.
    let at_once = if *over == Over::Pace { usize::MAX } else { 1 };
    let mut cells = Vec::new();
    for values in values.chunks(at_once) {
        let mut options = OptionLists::default();
        if let Over::Layout { send_offset } = over {
            add(&mut options, "send_offset", *send_offset)?;
        }
        // No work is no option.
        for value in values.iter().filter(|value| *over != Over::Work || **value > 0) {
            add(&mut options, over.option(), *value)?;
        }
        cells.extend(transports.chunks(at_once).map(|transports| Matrix {
            label: over.label(&transports[0], values[0]),
            pattern: vec![request.pattern].into(),
            transport: transports.to_vec().into(),
            size: vec![Size(request.size)].into(),
            placement: request.placements.clone().into(),
            client: vec![request.client.clone()].into(),
            server: vec![request.server.clone()].into(),
            options: options.clone(),
            ..Matrix::default()
        }));
    }
    let is_layout = matches!(over, Over::Layout { .. });
    let first = cells.first().and_then(|first| first.label.clone());
    Ok(Job {
        cells,
        baseline: if is_layout { first } else { transports.last().cloned() },
        budget: request.budget,
        margin: Some(request.margin),
        epochs: request.epochs,
        seed: request.seed,
        latency: Some(LatencyMode::Off),
        // The median place takes every place.
        keep_all: is_layout,
        ..Job::default()
    })
}

fn add(options: &mut OptionLists, name: &str, value: u64) -> Result<(), LabError> {
    let name = OptionName::find(name)?;
    let value = name.spec().check(OptionValue::Int(value))?;
    options.0.entry(name).or_default().push(value);
    Ok(())
}

/// The page of what has several values.
pub(super) fn page<'a>(request: &'a OptionRequest, document: &'a Document) -> Page<'a> {
    match request.over {
        Over::Layout { send_offset } => layout::page(request, send_offset, document),
        Over::Pace => pace_page(document),
        Over::Work => work::page(request, document),
    }
}

/// A table and a sentence for each transport, and the curve.
fn pace_page(document: &Document) -> Page<'_> {
    let mut page = Page::new("What a pause between operations costs");
    page.blocks.extend(over_pace::sections(document).into_iter().map(Section::open));
    let reading = "A line for each transport: what an operation costs, by the pause before it.";
    page.blocks.push(run_page::chart(document, Chart::Pace, reading).into());
    page
}

#[cfg(test)]
pub(super) mod tests {
    use ipcost_lab::lab::cells_anywhere;
    use ipcost_model::{Expanded, NATIVE, PlannedCell};

    use super::*;

    const LAYOUT: Over = Over::Layout { send_offset: 16 };

    pub fn request(over: Over, transports: &[&str], values: &[u64]) -> OptionRequest {
        OptionRequest {
            over,
            transports: transports.iter().map(|name| (*name).to_owned()).collect(),
            pattern: Pattern::Rr,
            size: 64,
            values: values.to_vec(),
            placements: vec![Placement::Together],
            client: NATIVE.to_owned(),
            server: NATIVE.to_owned(),
            margin: 0.05,
            budget: Some(Duration::from_secs(30)),
            epochs: None,
            seed: None,
        }
    }

    #[test]
    fn each_value_is_a_cell_of_each_transport_with_what_it_is_compared_with() {
        let names_by_place = ["unix, 0", "tcp, 0", "unix, 64", "tcp, 64"];
        let names_by_work =
            ["unix, none of work", "tcp, none of work", "unix, 64 ns of work", "tcp, 64 ns of work"];
        let names_by_pause = ["unix", "unix", "tcp", "tcp"];
        // Of each table: the cells that its own are compared with.
        let by_place = &[&[None, Some(0), Some(0), Some(0)][..]][..];
        let by_work = &[&[Some(1), None, Some(3), Some(1)][..]][..];
        let by_pause = &[&[Some(2), None][..], &[Some(3), None], &[Some(6), None], &[Some(7), None]][..];
        let (one, both) = (vec![Placement::Together], vec![Placement::Together, Placement::Apart]);
        for (over, placements, names, against) in [
            (LAYOUT, &one, names_by_place, by_place),
            (Over::Work, &one, names_by_work, by_work),
            (Over::Pace, &both, names_by_pause, by_pause),
        ] {
            let placements = placements.clone();
            let request = OptionRequest { placements, ..request(over, &["unix", "tcp"], &[0, 64]) };
            let Expanded { cells, workloads, .. } =
                cells_anywhere(&option_job(&request).unwrap(), &[]).unwrap();
            let labels: Vec<&str> = cells.iter().map(|cell| cell.label.as_str()).collect();
            assert_eq!(labels, names.repeat(request.placements.len()));
            let compared: Vec<&[Option<usize>]> = workloads.iter().map(|table| &table.against[..]).collect();
            assert_eq!(compared, against, "{over:?}");
            let name = OptionName::find(over.option()).unwrap();
            let is_set =
                |cell: &&PlannedCell| cell.options.iter().any(|set| set == (name, &OptionValue::Int(64)));
            assert_eq!(cells.iter().filter(is_set).count(), cells.len() / 2);
        }
    }

    #[test]
    fn a_request_is_read_as_it_was_written() {
        for over in [LAYOUT, Over::Pace, Over::Work] {
            let request = request(over, &["unix", "tcp"], &[0, 64]);
            let record = serde_json::to_value(&request).unwrap();
            assert_eq!(serde_json::from_value::<OptionRequest>(record).unwrap(), request);
        }
    }

    #[test]
    fn what_makes_no_curve_is_refused() {
        let two = &["unix", "tcp"][..];
        for (over, transports, values, says) in [
            (LAYOUT, two, &[0][..], "give --recv-offsets at least two"),
            (LAYOUT, two, &[0, 4096], "from 0 to 4095"),
            (Over::Pace, two, &[0], "give --think at least two"),
            (Over::Pace, two, &[0, 99_000_000_000], "from 0 to 60s"),
            (Over::Work, two, &[0], "give --work at least two"),
            (Over::Work, two, &[0, 99_000_000_000], "from 1ns to 60s"),
            (Over::Work, &["unix"], &[0, 1], "two transports"),
            (Over::Work, &["unix", "unix"], &[0, 1], "two transports"),
        ] {
            let error = option_job(&request(over, transports, values)).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
