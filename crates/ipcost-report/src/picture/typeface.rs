//! The embedded typeface: how wide its letters are, and their outlines.
//!
//! Reads what `fonts/` holds and no more: TrueType outlines without hints, a character map of format 4, components that
//! are moved and not scaled. The crates that read every typeface take longer to compile than the rest of the program.
//! See the [OpenType specification](https://learn.microsoft.com/en-us/typography/opentype/spec/).

use std::io::Read;
use std::sync::LazyLock;

use flate2::read::DeflateDecoder;

use super::ink::Point;
use super::text::Face;

/// See `fonts/NOTICE`.
static REGULAR: LazyLock<Vec<u8>> =
    LazyLock::new(|| unpacked(include_bytes!(concat!(env!("OUT_DIR"), "/Inter-Regular-subset.deflate"))));
static SEMI_BOLD: LazyLock<Vec<u8>> =
    LazyLock::new(|| unpacked(include_bytes!(concat!(env!("OUT_DIR"), "/Inter-SemiBold-subset.deflate"))));

/// The box that is drawn for letters that the typeface does not have.
const NOT_DEFINED: u16 = 0;
/// Straight lines instead of a curve: more than can be seen at the size of a title.
const LINES_PER_CURVE: usize = 6;

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

/// A typeface. Lengths are over the size of the text; up is positive.
pub struct Typeface {
    data: &'static [u8],
    character_map: usize,
    outlines: usize,
    places_of_outlines: usize,
    advances: usize,
    /// Glyphs from the last of these on are as wide as that.
    last_advance: u16,
    units: f64,
}

impl Typeface {
    fn new(data: &'static [u8]) -> Self {
        let table = |tag: &[u8; 4]| {
            let mut entries = data[12..].chunks_exact(16).take(usize::from(u16_at(data, 4)));
            let entry = entries.find(|entry| entry.starts_with(tag)).expect("the table is embedded");
            u32_at(entry, 8) as usize
        };
        let maps = table(b"cmap");
        Self {
            data,
            character_map: maps + u32_at(data, maps + 8) as usize,
            outlines: table(b"glyf"),
            places_of_outlines: table(b"loca"),
            advances: table(b"hmtx"),
            last_advance: u16_at(data, table(b"hhea") + 34) - 1,
            units: f64::from(u16_at(data, table(b"head") + 18)),
        }
    }

    /// How far the next letter is to the right; nothing for a letter that the typeface does not have.
    pub fn advance(&self, letter: char) -> Option<f64> {
        self.glyph(letter).map(|glyph| self.advance_of(glyph))
    }

    /// The advance of a letter and its outline, areas within areas being holes; a box where there is no such letter.
    pub fn drawn(&self, letter: char) -> (f64, Vec<Vec<Point>>) {
        let glyph = self.glyph(letter).unwrap_or(NOT_DEFINED);
        let mut contours = Vec::new();
        self.add_contours(glyph, (0.0, 0.0), &mut contours);
        for point in contours.iter_mut().flatten() {
            *point = (point.0 / self.units, point.1 / self.units);
        }
        (self.advance_of(glyph), contours)
    }

    fn glyph(&self, letter: char) -> Option<u16> {
        let letter = u16::try_from(u32::from(letter)).ok()?;
        let map = self.character_map;
        let twice_segments = usize::from(self.u16(map + 6));
        let last_letters = map + 14;
        let first_letters = last_letters + twice_segments + 2;
        let deltas = first_letters + twice_segments;
        let offsets = deltas + twice_segments;
        let segment =
            (0..twice_segments).step_by(2).find(|segment| self.u16(last_letters + segment) >= letter)?;
        let first = self.u16(first_letters + segment);
        let delta = self.u16(deltas + segment);
        let glyph = match (letter.checked_sub(first)?, self.u16(offsets + segment)) {
            (_, 0) => letter.wrapping_add(delta),
            (index, offset) => {
                match self.u16(offsets + segment + usize::from(offset) + 2 * usize::from(index)) {
                    NOT_DEFINED => NOT_DEFINED,
                    glyph => glyph.wrapping_add(delta),
                }
            }
        };
        (glyph != NOT_DEFINED).then_some(glyph)
    }

    fn advance_of(&self, glyph: u16) -> f64 {
        f64::from(self.u16(self.advances + 4 * usize::from(glyph.min(self.last_advance)))) / self.units
    }

    /// Adds the contours of a glyph, moved, in units of the typeface.
    fn add_contours(&self, glyph: u16, moved: Point, contours: &mut Vec<Vec<Point>>) {
        let place = self.places_of_outlines + 2 * usize::from(glyph);
        let [start, end] = [place, place + 2].map(|place| self.outlines + 2 * usize::from(self.u16(place)));
        if start == end {
            return;
        }
        // After the number of contours, and the box around them.
        match usize::try_from(self.i16(start)) {
            Ok(count) => self.add_own_contours(start + 10, count, moved, contours),
            Err(_) => self.add_components(start + 10, moved, contours),
        }
    }

    fn add_components(&self, mut at: usize, moved: Point, contours: &mut Vec<Vec<Point>>) {
        const WORDS: u16 = 0x01;
        const MORE: u16 = 0x20;
        loop {
            let (flags, glyph) = (self.u16(at), self.u16(at + 2));
            let (x, y, length) = if flags & WORDS == 0 {
                (self.i8(at + 4), self.i8(at + 5), 6)
            } else {
                (self.i16(at + 4), self.i16(at + 6), 8)
            };
            self.add_contours(glyph, (moved.0 + f64::from(x), moved.1 + f64::from(y)), contours);
            if flags & MORE == 0 {
                return;
            }
            at += length;
        }
    }

    fn add_own_contours(&self, at: usize, count: usize, moved: Point, contours: &mut Vec<Vec<Point>>) {
        const ON_CURVE: u8 = 0x01;
        const REPEATED: u8 = 0x08;
        // For x, and in the next bit for y: the step is a byte; that it is positive, or else that there is none.
        const SHORT: u8 = 0x02;
        const POSITIVE_OR_NONE: u8 = 0x10;

        let ends: Vec<usize> = (0..count).map(|index| usize::from(self.u16(at + 2 * index)) + 1).collect();
        let points = ends.last().copied().unwrap_or(0);
        let hints = at + 2 * count;
        let mut at = hints + 2 + usize::from(self.u16(hints));
        let mut next = || {
            at += 1;
            self.data[at - 1]
        };
        let mut flags = Vec::with_capacity(points);
        while flags.len() < points {
            let flag = next();
            let times = if flag & REPEATED == 0 { 1 } else { 1 + usize::from(next()) };
            flags.extend(std::iter::repeat_n(flag, times));
        }
        let [x, y] = [(0, moved.0), (1, moved.1)].map(|(bit, moved)| {
            let mut place = moved;
            let step = |flag: &u8| {
                place += match (flag & SHORT << bit != 0, flag & POSITIVE_OR_NONE << bit != 0) {
                    (true, true) => f64::from(next()),
                    (true, false) => -f64::from(next()),
                    (false, true) => 0.0,
                    (false, false) => f64::from(i16::from_be_bytes([next(), next()])),
                };
                place
            };
            flags.iter().map(step).collect::<Vec<f64>>()
        });
        let mut start = 0;
        for end in ends {
            let on_curve = |index: usize| flags[index] & ON_CURVE != 0;
            let points: Vec<(Point, bool)> =
                (start..end).map(|index| ((x[index], y[index]), on_curve(index))).collect();
            contours.push(flattened(&points));
            start = end;
        }
    }

    fn u16(&self, at: usize) -> u16 {
        u16_at(self.data, at)
    }

    fn i16(&self, at: usize) -> i16 {
        self.u16(at).cast_signed()
    }

    fn i8(&self, at: usize) -> i16 {
        i16::from(self.data[at].cast_signed())
    }
}

fn u16_at(data: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([data[at], data[at + 1]])
}

fn u32_at(data: &[u8], at: usize) -> u32 {
    u32::from(u16_at(data, at)) << 16 | u32::from(u16_at(data, at + 2))
}

/// A contour of straight lines, from points on the curve and, between them, points that bend it (quadratic splines). Half-way
/// between two that bend it lies one on the curve.
fn flattened(points: &[(Point, bool)]) -> Vec<Point> {
    let middle = |a: Point, b: Point| ((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0);
    let mut whole: Vec<(Point, bool)> = Vec::with_capacity(2 * points.len());
    for (index, (point, on_curve)) in points.iter().enumerate() {
        let (before, before_on_curve) = points[(index + points.len() - 1) % points.len()];
        if !on_curve && !before_on_curve {
            whole.push((middle(before, *point), true));
        }
        whole.push((*point, *on_curve));
    }
    let Some(first) = whole.iter().position(|(_, on_curve)| *on_curve) else { return Vec::new() };
    whole.rotate_left(first);
    let mut lines = Vec::new();
    for (index, (point, on_curve)) in whole.iter().enumerate() {
        if *on_curve {
            lines.push(*point);
            continue;
        }
        let (from, to) = (whole[index - 1].0, whole[(index + 1) % whole.len()].0);
        for step in 1..LINES_PER_CURVE {
            let share = step as f64 / LINES_PER_CURVE as f64;
            let towards = |a: Point, b: Point| (a.0 + (b.0 - a.0) * share, a.1 + (b.1 - a.1) * share);
            lines.push(towards(towards(from, *point), towards(*point, to)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use skrifa::instance::{LocationRef, Size};
    use skrifa::outline::{DrawSettings, OutlinePen};
    use skrifa::{FontRef, MetadataProvider};

    use super::*;

    /// Corners and ends of curves, and how many contours there are.
    #[derive(Default)]
    struct Seen(Vec<Point>, usize);

    impl OutlinePen for Seen {
        fn move_to(&mut self, x: f32, y: f32) {
            self.0.push((x.into(), y.into()));
            self.1 += 1;
        }
        fn line_to(&mut self, x: f32, y: f32) {
            self.0.push((x.into(), y.into()));
        }
        fn quad_to(&mut self, _: f32, _: f32, x: f32, y: f32) {
            self.0.push((x.into(), y.into()));
        }
        fn curve_to(&mut self, _: f32, _: f32, _: f32, _: f32, _: f32, _: f32) {
            panic!("TrueType has no cubic curves");
        }
        fn close(&mut self) {}
    }

    #[test]
    fn letters_are_those_that_skrifa_reads() {
        for (typeface, data) in [(&*REGULAR_TYPEFACE, &REGULAR), (&*SEMI_BOLD_TYPEFACE, &SEMI_BOLD)] {
            let font = FontRef::new(data).unwrap();
            let metrics = font.glyph_metrics(Size::unscaled(), LocationRef::default());
            let outlines = font.outline_glyphs();
            let mut known = 0;
            for letter in '\0'..='\u{1ffff}' {
                let glyph = font.charmap().map(letter);
                assert_eq!(typeface.glyph(letter).map(u32::from), glyph.map(|glyph| glyph.to_u32()));
                let Some(glyph) = glyph else { continue };
                known += 1;
                let advance = metrics.advance_width(glyph).unwrap();
                assert_eq!(typeface.advance(letter), Some(f64::from(advance) / typeface.units), "{letter:?}");
                let mut seen = Seen::default();
                let settings = DrawSettings::unhinted(Size::unscaled(), LocationRef::default());
                outlines.get(glyph).unwrap().draw(settings, &mut seen).unwrap();
                let (_, contours) = typeface.drawn(letter);
                assert_eq!(contours.len(), seen.1, "{letter:?}");
                let drawn: Vec<Point> = contours.into_iter().flatten().collect();
                for (x, y) in seen.0 {
                    let is_it = |(px, py): &Point| {
                        (px * typeface.units - x).abs() < 1e-6 && (py * typeface.units - y).abs() < 1e-6
                    };
                    assert!(drawn.iter().any(is_it), "{letter:?}: {x}, {y}");
                }
            }
            assert!(known > 500, "{known}");
        }
    }

    #[test]
    fn what_the_typeface_does_not_have_is_a_box() {
        let (advance, contours) = REGULAR_TYPEFACE.drawn('字');
        assert_eq!(REGULAR_TYPEFACE.advance('字'), None);
        assert!(advance > 0.3 && !contours.is_empty(), "{advance}");
    }
}
