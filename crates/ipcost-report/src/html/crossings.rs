//! Where the cheaper of two lines changes.

use std::collections::BTreeMap;

use ipcost_model::CellRecord;
use ipcost_model::units::size_text;

use super::pairs::{Pairs, Quantity, Source};
use crate::figures::series::{Line, SeriesPanel};
use crate::words::escaped;

/// How many lines of a panel are held against one another.
pub const MOST_CROSSED: usize = 100;
/// The most crossings of a panel that only seem so.
const MOST_SEEMING: usize = 200;

/// Two lines change places between two sizes.
pub struct Crossing {
    /// The lines, by their places in the panel.
    pub lines: (usize, usize),
    /// The last size before.
    pub from: u64,
    /// The first size after.
    pub to: u64,
    /// Whether both directions are known; else only the medians change places.
    pub known: bool,
    /// The same in words.
    pub text: String,
}

/// The crossings of a panel, the known ones first.
pub fn crossings(panel: &SeriesPanel<'_>, quantity: Quantity, pairs: &Pairs<'_>) -> Vec<Crossing> {
    let by_size: Vec<BTreeMap<u64, &CellRecord>> =
        panel.lines.iter().take(MOST_CROSSED).map(cells_by_size).collect();
    let mut found = Vec::new();
    for first in 0..by_size.len() {
        for second in first + 1..by_size.len() {
            let both = (&by_size[first], &by_size[second]);
            for (known, from, to, first_cheaper) in of_two(both.0, both.1, quantity, pairs) {
                let (one, other) = if first_cheaper { (first, second) } else { (second, first) };
                let text = text(&panel.lines[one], &panel.lines[other], known, (from, to));
                found.push(Crossing { lines: (first, second), from, to, known, text });
            }
        }
    }
    found.sort_by_key(|crossing| !crossing.known);
    let sure = found.iter().filter(|crossing| crossing.known).count();
    found.truncate(sure + MOST_SEEMING);
    found
}

fn cells_by_size<'a>(line: &Line<'a>) -> BTreeMap<u64, &'a CellRecord> {
    let mut cells = BTreeMap::new();
    line.points.iter().for_each(|point| {
        cells.entry(point.at).or_insert(point.cell);
    });
    cells
}

/// Whether it is known, the sizes before and after, and whether the first is cheaper before.
type ChangeOfOrder = (bool, u64, u64, bool);

fn of_two<'a>(
    first: &BTreeMap<u64, &'a CellRecord>,
    second: &BTreeMap<u64, &'a CellRecord>,
    quantity: Quantity,
    pairs: &Pairs<'a>,
) -> Vec<ChangeOfOrder> {
    let mut found: Vec<ChangeOfOrder> = Vec::new();
    // The last size at which it was so, and which of the two was cheaper.
    type Last = Option<(u64, i8)>;
    let (mut known, mut seeming): (Last, Last) = (None, None);
    for (size, one) in first {
        let Some(other) = second.get(size) else { continue };
        let ratio = pairs.compare(quantity, one, other);
        let sure =
            ratio.filter(|ratio| ratio.source != Source::Quotient).map_or(0, |ratio| ratio.direction());
        let [one, other] = [one, other].map(|cell| quantity.of(cell).map(|cost| cost.median));
        let sign = one.zip(other).map_or(0, |(one, other)| one.total_cmp(&other) as i8);
        match (known, seeming) {
            (Some((from, before)), _) if sure != 0 && before != sure => {
                found.push((true, from, *size, sure > 0))
            }
            (_, Some((from, before))) if sign != 0 && before != sign => {
                found.push((false, from, *size, sign > 0))
            }
            _ => {}
        }
        known = if sure == 0 { known } else { Some((*size, sure)) };
        seeming = if sign == 0 { seeming } else { Some((*size, sign)) };
    }
    // What is known says more than what only seems so in the same range.
    let sure: Vec<ChangeOfOrder> = found.iter().copied().filter(|(known, ..)| *known).collect();
    let within = |from: u64, to: u64| sure.iter().any(|(_, start, end, _)| *start <= from && to <= *end);
    found.retain(|(known, from, to, _)| *known || !within(*from, *to));
    found
}

fn text(cheaper: &Line<'_>, then: &Line<'_>, known: bool, (from, to): (u64, u64)) -> String {
    let (cheaper, then) = (escaped(cheaper.label), escaped(then.label));
    let (from, to) = (size_text(from), size_text(to));
    if known {
        format!("{cheaper} is cheaper up to {from}, {then} from {to}: the two cross between.")
    } else {
        format!("{cheaper} and {then} seem to cross between {from} and {to}, by their medians alone.")
    }
}
