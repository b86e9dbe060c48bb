//! The embedded typeface: how wide its letters are, and their outlines. `cargo xtask glyphs` writes the tables from the fonts.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::text::Face;

/// See `fonts/NOTICE`.
static REGULAR: LazyLock<Typeface> =
    LazyLock::new(|| Typeface::read(include_str!("../../fonts/Inter-Regular.glyphs")));
static SEMI_BOLD: LazyLock<Typeface> =
    LazyLock::new(|| Typeface::read(include_str!("../../fonts/Inter-SemiBold.glyphs")));

/// The typeface in which text is set.
pub fn of(face: Face) -> &'static Typeface {
    if face.bold { &SEMI_BOLD } else { &REGULAR }
}

pub struct Typeface {
    /// Its own units, over the size of the text.
    units: f64,
    /// The advance of each letter in its units, and the commands of its outline, as in paths of SVG but with up positive.
    letters: HashMap<char, (f64, &'static str)>,
    /// The outline of a letter that it does not have.
    #[cfg_attr(not(feature = "png"), expect(dead_code, reason = "only bitmaps draw outlines"))]
    box_outline: &'static str,
}

impl Typeface {
    fn read(table: &'static str) -> Self {
        const TABLE: &str = "the table was written by a program";
        let mut lines = table.lines();
        let units = lines.next().and_then(|line| line.parse().ok()).expect(TABLE);
        let parts = |line: &'static str| {
            let (letter, rest) = line.split_once(' ').expect(TABLE);
            let (advance, outline) = rest.split_once(' ').unwrap_or((rest, ""));
            (letter, advance.parse().expect(TABLE), outline)
        };
        let (_, _, box_outline) = lines.next().map(parts).expect(TABLE);
        let letter = |line| {
            let (letter, advance, outline) = parts(line);
            let letter = u32::from_str_radix(letter, 16).ok().and_then(char::from_u32).expect(TABLE);
            (letter, (advance, outline))
        };
        Self { units, letters: lines.map(letter).collect(), box_outline }
    }

    /// How far the next letter is to the right, over the size of the text; nothing for a letter that the typeface does not have.
    pub fn advance(&self, letter: char) -> Option<f64> {
        self.letters.get(&letter).map(|(advance, _)| advance / self.units)
    }
}

#[cfg(feature = "png")]
impl Typeface {
    /// Draws the outline of a letter, in [`units`](Self::units) and with up positive; a box where there is no such letter.
    pub fn draw(&self, letter: char, pen: &mut impl Pen) {
        let outline = self.letters.get(&letter).map_or(self.box_outline, |(_, outline)| outline);
        let mut words = outline.split_ascii_whitespace();
        while let Some(command) = words.next() {
            let mut point =
                || [(); 2].map(|()| words.next().and_then(|word| word.parse().ok()).expect("a number"));
            match command {
                "M" => pen.move_to(point()),
                "L" => pen.line_to(point()),
                "Q" => pen.quad_to(point(), point()),
                "C" => pen.cubic_to(point(), point(), point()),
                _ => pen.close(),
            }
        }
    }

    /// The units of outlines over the size of the text.
    pub fn units(&self) -> f64 {
        self.units
    }
}

/// What draws outlines; each takes the point where it ends last, after those that bend it.
#[cfg(feature = "png")]
pub trait Pen {
    fn move_to(&mut self, to: [f32; 2]);
    fn line_to(&mut self, to: [f32; 2]);
    fn quad_to(&mut self, by: [f32; 2], to: [f32; 2]);
    fn cubic_to(&mut self, by: [f32; 2], then_by: [f32; 2], to: [f32; 2]);
    fn close(&mut self);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_has_a_width_and_other_scripts_have_none() {
        for typeface in [&*REGULAR, &*SEMI_BOLD] {
            assert!(typeface.letters.len() > 500, "{}", typeface.letters.len());
            for (letter, (_, outline)) in &typeface.letters {
                assert!((0.0..3.0).contains(&typeface.advance(*letter).unwrap()), "{letter:?}");
                assert!(
                    letter.is_whitespace() || outline.starts_with("M ") && outline.ends_with('Z'),
                    "{letter:?}"
                );
            }
        }
        assert_eq!(REGULAR.advance('字'), None);
    }
}
