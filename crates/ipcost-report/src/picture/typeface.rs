//! The embedded typeface: how wide its letters are, and their outlines.

use std::io::Read;
use std::sync::LazyLock;

use flate2::read::DeflateDecoder;
use skrifa::charmap::Charmap;
use skrifa::instance::{LocationRef, Size};
use skrifa::metrics::GlyphMetrics;
use skrifa::outline::{DrawSettings, OutlineGlyphCollection, OutlinePen};
use skrifa::{FontRef, GlyphId, MetadataProvider};

use super::text::Face;

/// See `fonts/NOTICE`.
static REGULAR: LazyLock<Vec<u8>> =
    LazyLock::new(|| unpacked(include_bytes!(concat!(env!("OUT_DIR"), "/Inter-Regular-subset.deflate"))));
static SEMI_BOLD: LazyLock<Vec<u8>> =
    LazyLock::new(|| unpacked(include_bytes!(concat!(env!("OUT_DIR"), "/Inter-SemiBold-subset.deflate"))));

static REGULAR_TYPEFACE: LazyLock<Typeface> = LazyLock::new(|| Typeface::new(&REGULAR));
static SEMI_BOLD_TYPEFACE: LazyLock<Typeface> = LazyLock::new(|| Typeface::new(&SEMI_BOLD));

fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut font = Vec::new();
    DeflateDecoder::new(packed).read_to_end(&mut font).expect("the build packed it");
    font
}

/// The typeface in which text is set.
pub fn of(face: Face) -> &'static Typeface {
    if face.bold { &SEMI_BOLD_TYPEFACE } else { &REGULAR_TYPEFACE }
}

pub struct Typeface {
    characters: Charmap<'static>,
    metrics: GlyphMetrics<'static>,
    outlines: OutlineGlyphCollection<'static>,
    /// Its own units, over the size of the text.
    units: f64,
}

impl Typeface {
    fn new(data: &'static [u8]) -> Self {
        let font = FontRef::new(data).expect("the typeface is embedded");
        let (size, place) = (Size::unscaled(), LocationRef::default());
        Self {
            characters: font.charmap(),
            metrics: font.glyph_metrics(size, place),
            outlines: font.outline_glyphs(),
            units: f64::from(font.metrics(size, place).units_per_em),
        }
    }

    /// How far the next letter is to the right, over the size of the text; nothing for a letter that the typeface does not have.
    pub fn advance(&self, letter: char) -> Option<f64> {
        let glyph = self.characters.map(letter)?;
        self.metrics.advance_width(glyph).map(|advance| f64::from(advance) / self.units)
    }

    /// Draws the outline of a letter, in [`units`](Self::units) and with up positive; a box where there is no such letter.
    pub fn draw(&self, letter: char, pen: &mut impl OutlinePen) {
        let glyph = self.characters.map(letter).unwrap_or(GlyphId::NOTDEF);
        let outline = self.outlines.get(glyph).expect("every letter has an outline");
        let settings = DrawSettings::unhinted(Size::unscaled(), LocationRef::default());
        outline.draw(settings, pen).expect("the embedded outlines are whole");
    }

    /// The units of outlines over the size of the text.
    pub fn units(&self) -> f64 {
        self.units
    }
}

#[cfg(test)]
mod tests {
    use skrifa::outline::pen::SvgPen;

    use super::*;

    fn outline(typeface: &Typeface, letter: char) -> String {
        let mut pen = SvgPen::new();
        typeface.draw(letter, &mut pen);
        pen.to_string()
    }

    #[test]
    fn every_letter_has_an_outline_and_a_width() {
        for typeface in [&*REGULAR_TYPEFACE, &*SEMI_BOLD_TYPEFACE] {
            let known = typeface.characters.mappings().filter_map(|(letter, _)| char::from_u32(letter));
            let known: Vec<char> = known.collect();
            assert!(known.len() > 500, "{}", known.len());
            for letter in known {
                assert!(
                    typeface.advance(letter).is_some_and(|advance| (0.0..3.0).contains(&advance)),
                    "{letter:?}"
                );
                assert!(letter.is_whitespace() || !outline(typeface, letter).is_empty(), "{letter:?}");
            }
        }
    }

    #[test]
    fn what_the_typeface_does_not_have_is_a_box() {
        assert_eq!(REGULAR_TYPEFACE.advance('字'), None);
        assert!(!outline(&REGULAR_TYPEFACE, '字').is_empty());
    }
}
