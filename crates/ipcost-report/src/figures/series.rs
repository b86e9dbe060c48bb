//! Cells that do the same work in several sizes, or with buffers at several places: what the lines of pictures
//! and of the page go through.

use std::collections::HashMap;

use ipcost_model::pace::Pause;
use ipcost_model::units::size_text;
use ipcost_model::{
    CellRecord, Document, Estimate, Mode, Options, Pattern, Placement, SpeaksFirst, Work, fixed_offset,
};

use super::colours;
use crate::words;

/// How far points of one size are set apart, so that none hides the others; and all of them together, at most.
const BESIDE: f64 = 5.0;
const MOST_BESIDE: f64 = 40.0;
/// Where on the axis of pauses none at all is drawn, nanoseconds.
pub const NO_PAUSE_NS: u64 = 1_000;
/// How lines of one colour are told apart.
pub const DASHES: [&str; 4] = ["none", "7 3", "2 3", "9 3 2 3"];

/// What lies across a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Across {
    /// The size of a message.
    Size,
    /// Where receive buffers begin, bytes after a page.
    Place,
    /// How long a worker pauses before every operation, nanoseconds.
    Pause,
}

impl Across {
    /// Whether cells of another pace are other values of what lies across, and not other work.
    fn is_pace(self) -> bool {
        self == Self::Pause
    }
}

/// The same work at several values of what lies across.
pub struct SeriesPanel<'a> {
    /// What is done, without what lies across.
    pub title: String,
    /// What a cost is the cost of.
    pub operation: &'static str,
    /// In the order of the document.
    pub lines: Vec<CellLine<'a>>,
}

/// The cells of a panel that have a name in common.
pub struct CellLine<'a> {
    pub label: &'a str,
    pub colour: &'static str,
    /// Which tell lines of one colour apart.
    pub dashes: &'static str,
    /// How far its points lie beside their values, in units of the picture.
    pub beside: f64,
    /// By what lies across, rising.
    pub points: Vec<MeasuredCell<'a>>,
}

/// A cell of a line.
pub struct MeasuredCell<'a> {
    /// What lies across, bytes.
    pub at: u64,
    /// Of one operation, nanoseconds.
    pub cost: Estimate,
    /// The two groups of its epochs, where there are two.
    pub modes: &'a [Mode],
    /// The least that this could cost here, nanoseconds.
    pub floor_ns: Option<f64>,
}

/// What the least cost of the same work is, by what lies across.
pub struct FloorLine {
    /// The lines that it is the floor of; empty where it is that of all.
    pub of: Vec<String>,
    /// What lies across, and nanoseconds.
    pub points: Vec<(u64, f64)>,
}

impl FloorLine {
    /// What it is called.
    pub fn name(&self) -> String {
        if self.of.is_empty() { "floor".to_owned() } else { format!("floor of {}", self.of.join(", ")) }
    }
}

impl SeriesPanel<'_> {
    /// Every value that was measured, rising.
    pub fn values(&self) -> Vec<u64> {
        let mut values: Vec<u64> =
            self.lines.iter().flat_map(|line| &line.points).map(|point| point.at).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    /// The floors of its lines, each once: most transports have the same.
    pub fn floors(&self) -> Vec<FloorLine> {
        let mut found: Vec<FloorLine> = Vec::new();
        let mut without = false;
        for line in &self.lines {
            let floor = |point: &MeasuredCell<'_>| Some((point.at, point.floor_ns?));
            let points: Vec<(u64, f64)> = line.points.iter().filter_map(floor).collect();
            if points.is_empty() {
                without = true;
                continue;
            }
            match found.iter_mut().find(|known| known.points == points) {
                Some(known) => known.of.push(line.label.to_owned()),
                None => found.push(FloorLine { of: vec![line.label.to_owned()], points }),
            }
        }
        if let ([only], false) = (found.as_mut_slice(), without) {
            only.of.clear();
        }
        found
    }
}

/// What is alike but for what lies across.
pub struct Alike<T> {
    /// The work of the first.
    pub work: Work,
    /// Whether replies are as large as requests throughout.
    pub mirrors: bool,
    /// In the order given.
    pub items: Vec<T>,
}

/// Groups of the same work but for what lies across, in the order given.
pub fn alike<T>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(&T) -> Work,
    across: Across,
) -> Vec<Alike<T>> {
    let items: Vec<T> = items.into_iter().collect();
    let kind = |work: Work| {
        let size = if across == Across::Size { 0 } else { work.size };
        let pace = if across.is_pace() { Options::default() } else { work.pace };
        Work { reply: 0, size, pace, ..work }
    };
    // What a reply is like: as large as the request throughout, or else of one size a group.
    let mut mirrors: HashMap<Work, bool> = HashMap::new();
    for work in items.iter().map(&work) {
        let alike = work.size == work.reply;
        *mirrors.entry(kind(work)).or_insert(true) &= alike;
    }
    let mut places: HashMap<Work, usize> = HashMap::new();
    let mut groups: Vec<Alike<T>> = Vec::new();
    for item in items {
        let work = work(&item);
        let kind = kind(work.clone());
        let mirrors = mirrors[&kind];
        let any_reply = mirrors || work.speaks_first == SpeaksFirst::Server;
        let key = Work { reply: if any_reply { 0 } else { work.reply }, ..kind };
        let place = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.items.push(item),
            None => groups.push(Alike { work, mirrors, items: vec![item] }),
        }
    }
    groups
}

/// Every panel, those with a single value among them.
pub fn panels(document: &Document, across: Across) -> Vec<SeriesPanel<'_>> {
    // Floors are what cells are seen against, not transports to choose from.
    let cells = document.cells.iter().filter(|cell| cell.pattern != Pattern::Floor);
    let groups = alike(cells, |cell| cell.work(), across);
    let panels = groups.iter().map(|Alike { work, mirrors, items }| SeriesPanel {
        title: name(work, *mirrors, across),
        operation: match work.pattern {
            Pattern::Rr => "round trip",
            Pattern::Stream => "message",
            Pattern::Connect => "connection",
            Pattern::Floor => "operation",
        },
        lines: lines(document, items, across),
    });
    panels.collect()
}

/// What is done, without what lies across: `Round trip, 4 at once, apart`.
pub fn name(work: &Work, mirrors: bool, across: Across) -> String {
    if work.request.is_some() {
        return asked(work);
    }
    let mut name = match work.pattern {
        Pattern::Rr => "Round trip",
        Pattern::Stream => "Stream",
        Pattern::Connect if work.speaks_first == SpeaksFirst::Server => "Connection per reply",
        Pattern::Connect => "Connection per request",
        Pattern::Floor => "Floor",
    }
    .to_owned();
    if across != Across::Size {
        name.push_str(&format!(" of {}", size_text(work.size)));
    }
    if work.pattern != Pattern::Stream && work.speaks_first == SpeaksFirst::Client && !mirrors {
        name.push_str(&format!(", replies of {}", size_text(work.reply)));
    }
    name.push_str(&how_many_and_where(work));
    if let Some(pace) = words::pace(work).filter(|_| !across.is_pace()) {
        name.push_str(&format!(", {pace}"));
    }
    name
}

fn asked(work: &Work) -> String {
    words::request(work) + &how_many_and_where(work)
}

fn how_many_and_where(work: &Work) -> String {
    let mut text = String::new();
    if work.concurrency > 1 {
        text.push_str(&format!(", {} at once", work.concurrency));
    }
    if work.placement != Placement::Free {
        text.push_str(&format!(", {}", work.placement));
    }
    text
}

/// The size that lies across: what the side sends that speaks first.
pub fn size(work: &Work) -> u64 {
    if work.speaks_first == SpeaksFirst::Server { work.reply } else { work.size }
}

fn lines<'a>(document: &Document, cells: &[&'a CellRecord], across: Across) -> Vec<CellLine<'a>> {
    let mut lines: Vec<CellLine<'a>> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.available) {
        // Neither nothing nor for nothing: there is no place for that on a logarithmic axis.
        let (at, label) = match across {
            Across::Size => (Some(size(&cell.work())).filter(|size| *size > 0), &cell.label),
            // Labels name the place.
            Across::Place => (fixed_offset(&cell.options, "recv_offset").map(u64::from), &cell.transport),
            Across::Pause => {
                let pause = cell.cell.pause().filter(Pause::is_plain);
                // Back to back lies where a pause would be that no one notices.
                (pause.map(|pause| pause.mean_ns.max(NO_PAUSE_NS)), &cell.label)
            }
        };
        let Some((at, cost)) = at.zip(cell.wall_ns_per_op.filter(|cost| cost.median > 0.0)) else { continue };
        let floor_ns = cell.floor.as_ref().map(|floor| floor.ns_per_op).filter(|ns| *ns > 0.0);
        let point = MeasuredCell { at, cost, modes: &cell.modes, floor_ns };
        if let Some(line) = lines.iter_mut().find(|line| line.label == label) {
            line.points.push(point);
            continue;
        }
        let colour = colours::of(document, &cell.transport);
        let twins = lines.iter().filter(|line| line.colour == colour).count();
        lines.push(CellLine {
            label,
            colour,
            dashes: DASHES[twins % DASHES.len()],
            beside: 0.0,
            points: vec![point],
        });
    }
    let count = lines.len() as f64;
    for (index, line) in lines.iter_mut().enumerate() {
        line.beside = match across {
            Across::Size => (index as f64 - (count - 1.0) / 2.0) * BESIDE.min(MOST_BESIDE / count),
            Across::Place | Across::Pause => 0.0,
        };
        line.points.sort_by_key(|point| point.at);
    }
    lines
}
