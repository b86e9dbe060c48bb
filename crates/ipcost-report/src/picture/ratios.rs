//! Ratios of any kind with their intervals, in rows.

use super::ink::{Canvas, INK, QUIET};
use super::rows::{self, Axis, PanelColumns, PictureRow, RowGroup, RowMark};
use super::scale::{Extent, Scale};
use super::{Background, LEAD, Picture, PictureError, bare, framed, paragraph, paragraphs};
use crate::figures::colours::PALETTE;
use crate::figures::forest::{Forest, ForestGroup};
use crate::figures::ticks;

pub fn draw(forest: &Forest, background: Background) -> Result<Picture, PictureError> {
    framed(&forest.title, [forest.how.clone()], background, |canvas, y| {
        let y = paragraph(canvas, &forest.about, LEAD, QUIET, y + 3.0);
        let y = paragraph(canvas, &forest.reading, LEAD, QUIET, y + 3.0);
        let y = body(forest, canvas, y + 8.0)? + 12.0;
        Ok(paragraphs(canvas, forest.notes.iter().cloned(), LEAD, INK, y) + 8.0)
    })
}

/// The rows alone, for a page that has the rest in words.
pub fn plain(forest: &Forest) -> Result<Picture, PictureError> {
    bare(&forest.title, |canvas, y| Ok(body(forest, canvas, y)? + 6.0))
}

fn body(forest: &Forest, canvas: &mut Canvas, top: f64) -> Result<f64, PictureError> {
    if forest.panels.iter().all(|panel| panel.rows.is_empty()) {
        return Err(PictureError::NothingMeasured);
    }
    let sides = vec![forest.panels.iter().map(group).collect::<Vec<RowGroup>>()];
    let columns = PanelColumns::of(&sides)[0];
    let axis = Axis {
        scale: Scale::logarithmic(&extent(forest), columns.start, columns.end),
        tick: &ticks::number,
        caption: "← costs less · ratio of costs (logarithmic) · costs more →".to_owned(),
        bars: false,
        band: Some(forest.band),
        line: Some(1.0),
    };
    Ok(rows::draw(canvas, &sides[0], columns, &axis, top))
}

fn group(panel: &ForestGroup) -> RowGroup {
    let rows = panel.rows.iter().map(|row| PictureRow {
        label: row.label.clone(),
        strong: row.strong,
        colour: PALETTE[row.slot % PALETTE.len()].light,
        mark: RowMark::Known { median: row.ratio, lo: row.lo, hi: row.hi },
        figures: row.figures.clone(),
        modes: Vec::new(),
        floor: None,
        tall: false,
    });
    RowGroup { title: panel.title.clone(), rows: rows.collect() }
}

fn extent(forest: &Forest) -> Extent {
    let mut extent = Extent::default();
    [1.0, forest.band.0, forest.band.1].into_iter().for_each(|value| extent.add(value));
    for row in forest.panels.iter().flat_map(|panel| &panel.rows) {
        extent.add_within(row.ratio, [row.lo, row.hi]);
    }
    extent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::forest::ForestRow;

    #[test]
    fn every_row_is_drawn_and_none_are_refused() {
        let row = |ratio: f64, lo| ForestRow {
            label: "web1 <b>".to_owned(),
            strong: ratio > 1.0,
            slot: 40,
            ratio,
            lo,
            hi: Some(ratio * 1.1),
            figures: "0.5 (0.4–0.6)".to_owned(),
        };
        let panel = ForestGroup { title: "rr".to_owned(), rows: vec![row(0.5, Some(0.45)), row(1.2, None)] };
        let mut forest = Forest {
            title: "unix over tcp".to_owned(),
            about: "2 hosts".to_owned(),
            reading: "A row a host.".to_owned(),
            panels: vec![panel],
            band: (1.0 / 1.05, 1.05),
            notes: vec!["They disagree.".to_owned()],
            how: "somehow".to_owned(),
        };
        for picture in [draw(&forest, Background::White).unwrap(), plain(&forest).unwrap()] {
            let svg = picture.svg();
            roxmltree::Document::parse(&svg).unwrap();
            assert!(svg.contains("web1 &lt;b&gt;") && !svg.contains("NaN"), "{svg}");
        }
        forest.panels.clear();
        assert!(draw(&forest, Background::White).is_err());
    }
}
