//! Cells that do the same work in several sizes: what the lines of the picture of sizes go through.

use ipcost_model::units::size_text;
use ipcost_model::{CellRecord, Document, Estimate, Mode, Pattern, Placement, SpeaksFirst};

use super::colours;

/// How far points of one size are set apart, so that none hides the others; and all of them together, at most.
const BESIDE: f64 = 5.0;
const MOST_BESIDE: f64 = 40.0;
/// How lines of one colour are told apart.
const DASHES: [&str; 4] = ["none", "7 3", "2 3", "9 3 2 3"];

/// The same work in several sizes.
pub struct Panel<'a> {
    /// What is done, without the size.
    pub title: String,
    /// What a cost is the cost of.
    pub operation: &'static str,
    /// In the order of the document.
    pub lines: Vec<Line<'a>>,
}

/// The cells of a panel that have a name in common.
pub struct Line<'a> {
    /// The name.
    pub label: &'a str,
    /// Of the transport.
    pub colour: &'static str,
    /// Which tell lines of one colour apart.
    pub dashes: &'static str,
    /// How far its points lie beside their sizes, in units of the picture.
    pub beside: f64,
    /// By size, rising.
    pub points: Vec<Measured<'a>>,
}

/// A cell of a line.
pub struct Measured<'a> {
    /// Of a message, bytes.
    pub size: u64,
    /// Of one operation, nanoseconds.
    pub cost: Estimate,
    /// The two groups of its epochs, where there are two.
    pub modes: &'a [Mode],
    /// The least that this could cost here, nanoseconds.
    pub floor_ns: Option<f64>,
}

/// What the least cost of the same work is, by size.
pub struct FloorLine {
    /// The lines that it is the floor of; empty where it is that of all.
    pub of: Vec<String>,
    /// Size, and nanoseconds.
    pub points: Vec<(u64, f64)>,
}

impl FloorLine {
    /// What it is called.
    pub fn name(&self) -> String {
        if self.of.is_empty() { "floor".to_owned() } else { format!("floor of {}", self.of.join(", ")) }
    }
}

impl Panel<'_> {
    /// Every size that was measured, rising.
    pub fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> =
            self.lines.iter().flat_map(|line| &line.points).map(|point| point.size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// The floors of its lines, each once: most transports have the same.
    pub fn floors(&self) -> Vec<FloorLine> {
        let mut found: Vec<FloorLine> = Vec::new();
        let mut without = false;
        for line in &self.lines {
            let floor = |point: &Measured<'_>| Some((point.size, point.floor_ns?));
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

/// Every panel, those with a single size among them.
pub fn panels(document: &Document) -> Vec<Panel<'_>> {
    // What a reply is like: as large as the request throughout, or else of one size a panel.
    let alike = |cell: &CellRecord, other: &CellRecord| {
        cell.pattern == other.pattern
            && cell.concurrency == other.concurrency
            && cell.placement == other.placement
            && cell.speaks_first == other.speaks_first
    };
    let mirrors = |cell: &CellRecord| {
        document.cells.iter().filter(|other| alike(cell, other)).all(|other| other.size == other.reply)
    };
    let same_reply = |cell: &CellRecord, other: &CellRecord| {
        cell.reply == other.reply || cell.speaks_first == SpeaksFirst::Server || mirrors(cell)
    };
    let mut groups: Vec<Vec<&CellRecord>> = Vec::new();
    // Floors are what cells are seen against, not transports to choose from.
    for cell in document.cells.iter().filter(|cell| cell.pattern != Pattern::Floor) {
        match groups.iter_mut().find(|group| alike(cell, group[0]) && same_reply(cell, group[0])) {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    let panels = groups.iter().map(|cells| Panel {
        title: name(cells[0], mirrors(cells[0])),
        operation: match cells[0].pattern {
            Pattern::Rr => "round trip",
            Pattern::Stream => "message",
            Pattern::Connect => "connection",
            Pattern::Floor => "operation",
        },
        lines: lines(document, cells),
    });
    panels.collect()
}

fn name(cell: &CellRecord, mirrors: bool) -> String {
    let mut name = match cell.pattern {
        Pattern::Rr => "Round trip",
        Pattern::Stream => "Stream",
        Pattern::Connect if cell.speaks_first == SpeaksFirst::Server => "Connection per reply",
        Pattern::Connect => "Connection per request",
        Pattern::Floor => "Floor",
    }
    .to_owned();
    if cell.pattern != Pattern::Stream && cell.speaks_first == SpeaksFirst::Client && !mirrors {
        name.push_str(&format!(", replies of {}", size_text(cell.reply)));
    }
    if cell.concurrency > 1 {
        name.push_str(&format!(", {} at once", cell.concurrency));
    }
    if cell.placement != Placement::Free {
        name.push_str(&format!(", {}", cell.placement));
    }
    name
}

fn lines<'a>(document: &Document, cells: &[&'a CellRecord]) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.available) {
        let size = if cell.speaks_first == SpeaksFirst::Server { cell.reply } else { cell.size };
        // Neither nothing nor for nothing: there is no place for that on a logarithmic axis.
        let Some(cost) = cell.wall_ns_per_op.filter(|cost| cost.median > 0.0 && size > 0) else { continue };
        let floor_ns = cell.floor.as_ref().map(|floor| floor.ns_per_op).filter(|ns| *ns > 0.0);
        let point = Measured { size, cost, modes: &cell.modes, floor_ns };
        if let Some(line) = lines.iter_mut().find(|line| line.label == cell.label) {
            line.points.push(point);
            continue;
        }
        let colour = colours::of(document, &cell.transport);
        let twins = lines.iter().filter(|line| line.colour == colour).count();
        lines.push(Line {
            label: &cell.label,
            colour,
            dashes: DASHES[twins % DASHES.len()],
            beside: 0.0,
            points: vec![point],
        });
    }
    let count = lines.len() as f64;
    for (index, line) in lines.iter_mut().enumerate() {
        line.beside = (index as f64 - (count - 1.0) / 2.0) * BESIDE.min(MOST_BESIDE / count);
        line.points.sort_by_key(|point| point.size);
    }
    lines
}
