//! Cells that do the same work in several sizes, or with buffers at several places: what the lines of pictures
//! and of the page go through.

use std::collections::HashMap;

use ipcost_model::pace::Pause;
use ipcost_model::units::size_text;
use ipcost_model::{CellRecord, Document, Options, Pattern, Placement, SpeaksFirst, Work, fixed_offset};

use super::colours;
use super::lines::{LinePoint, LinesPanel, NamedLine};
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
pub fn panels(document: &Document, across: Across) -> Vec<LinesPanel> {
    // Floors are what cells are seen against, not transports to choose from.
    let cells = document.cells.iter().filter(|cell| cell.pattern != Pattern::Floor);
    let groups = alike(cells, |cell| cell.work(), across);
    let panel = |Alike { work, mirrors, items }: &Alike<&CellRecord>| {
        let operation = match work.pattern {
            Pattern::Rr => "round trip",
            Pattern::Stream => "message",
            Pattern::Connect => "connection",
            Pattern::Floor => "operation",
        };
        let (lines, floors) = lines(document, items, across);
        LinesPanel { title: name(work, *mirrors, across), operation, floors: merged(&lines, floors), lines }
    };
    groups.iter().map(panel).collect()
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

/// The cells by name, and what each of a line's points could cost here at least, where that is known.
fn lines(
    document: &Document,
    cells: &[&CellRecord],
    across: Across,
) -> (Vec<NamedLine>, Vec<Vec<(f64, f64)>>) {
    let (mut lines, mut floors): (Vec<NamedLine>, Vec<Vec<(f64, f64)>>) = (Vec::new(), Vec::new());
    for cell in cells.iter().filter(|cell| cell.available) {
        // Neither nothing nor for nothing: there is no place for that on a logarithmic axis.
        let (at, label) = match across {
            Across::Size => (Some(size(&cell.work())).filter(|size| *size > 0), &cell.label),
            // Labels name the place.
            Across::Place => (fixed_offset(cell.options.recv_offset()).map(u64::from), &cell.transport),
            Across::Pause => {
                let pause = cell.cell.pause().filter(Pause::is_plain);
                // Back to back lies where a pause would be that no one notices.
                (pause.map(|pause| pause.mean_ns.max(NO_PAUSE_NS)), &cell.label)
            }
        };
        let Some((at, cost)) = at.zip(cell.wall_ns_per_op.filter(|cost| cost.median > 0.0)) else { continue };
        let x = at as f64;
        let place = lines.iter().position(|line| line.name == *label).unwrap_or_else(|| {
            let colour = colours::of(document, &cell.transport);
            let twins = lines.iter().filter(|line| line.colour == colour).count();
            let dashes = DASHES[twins % DASHES.len()];
            lines.push(NamedLine { name: label.clone(), colour, dashes, ..NamedLine::default() });
            floors.push(Vec::new());
            lines.len() - 1
        });
        let modes = cell.modes.iter().map(|mode| mode.wall_ns_per_op).collect();
        let point = LinePoint { x, ns: cost.median, ends: Some([cost.lo, cost.hi]), modes };
        lines[place].points.push(point);
        let floor = cell.floor.as_ref().map(|floor| floor.ns_per_op).filter(|ns| *ns > 0.0);
        floors[place].extend(floor.map(|ns| (x, ns)));
    }
    let count = lines.len() as f64;
    for (index, line) in lines.iter_mut().enumerate() {
        line.beside = match across {
            Across::Size => (index as f64 - (count - 1.0) / 2.0) * BESIDE.min(MOST_BESIDE / count),
            Across::Place | Across::Pause => 0.0,
        };
        line.points.sort_by(|a, b| a.x.total_cmp(&b.x));
        floors[index].sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    (lines, floors)
}

/// The floors of lines, each once: most transports have the same. The floor of all is called no more than that.
fn merged(lines: &[NamedLine], floors: Vec<Vec<(f64, f64)>>) -> Vec<(String, Vec<(f64, f64)>)> {
    let is_of_all = floors.windows(2).all(|pair| pair[0] == pair[1]);
    let mut found: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for (line, points) in lines.iter().zip(floors).filter(|(_, points)| !points.is_empty()) {
        match found.iter_mut().find(|(_, known)| *known == points) {
            _ if is_of_all => found = vec![("floor".to_owned(), points)],
            Some((name, _)) => name.push_str(&format!(", {}", line.name)),
            None => found.push((format!("floor of {}", line.name), points)),
        }
    }
    found
}
