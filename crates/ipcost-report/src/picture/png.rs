//! A picture as a bitmap, with the embedded typeface, so that it looks the same wherever it was made.

use ::png::{BitDepth, ColorType, DeflateCompression, Encoder, EncodingError, Filter};
use tiny_skia::{
    Color, FillRule, Paint, Path, PathBuilder, Pixmap, Rect, Shader, Stroke, StrokeDash, Transform,
};

use super::ink::{Anchor, Canvas, CanvasPoint, Mark, PAPER, WHOLE, diamond};
use super::text::{ELLIPSIS, Face};
use super::typeface::{self, Pen};
use super::{Background, Picture, PictureError};

/// Pixels for one unit of the picture: sharp on screens of today.
const PIXELS_PER_UNIT: f64 = 2.0;
/// The tallest bitmap, in pixels; what is taller, most programs refuse to show.
const MOST_PIXELS_TALL: u64 = 32_000;
/// Enough for drawings, whose rows are much alike.
const COMPRESSION: DeflateCompression = DeflateCompression::Level(6);

/// Draws a picture as PNG, with two pixels for every unit.
pub fn render(picture: &Picture) -> Result<Vec<u8>, PictureError> {
    let [width, height] = [picture.width, picture.height].map(|units| (units * PIXELS_PER_UNIT) as u64);
    if height > MOST_PIXELS_TALL {
        return Err(PictureError::TooTall { height, most: MOST_PIXELS_TALL });
    }
    let mut bitmap = Pixmap::new(width as u32, height as u32).expect("a picture has a size");
    if picture.background == Background::White {
        bitmap.fill(colour(PAPER, 1.0));
    }
    draw(&picture.canvas, &mut bitmap);
    Ok(encoded(bitmap).expect("memory takes everything"))
}

fn draw(canvas: &Canvas, bitmap: &mut Pixmap) {
    for mark in canvas.marks() {
        match mark {
            Mark::Group(marks) => draw(marks, bitmap),
            Mark::Text { at, anchor, face, colour, text } => {
                fill(bitmap, letters(text, *at, *anchor, *face), colour, 1.0);
            }
            Mark::Lines { points, colour, thickness, dashes } => {
                stroke(bitmap, through(points, false), colour, *thickness, dashes);
            }
            Mark::Area { points, colour, opacity } => fill(bitmap, through(points, true), colour, *opacity),
            Mark::Rectangle { from, to, colour, opacity } => {
                let area = Rect::from_ltrb(from.0 as f32, from.1 as f32, to.0 as f32, to.1 as f32);
                fill(bitmap, area.map(PathBuilder::from_rect), colour, *opacity);
            }
            Mark::Disc { centre, radius, colour, ring } => {
                let disc = PathBuilder::from_circle(centre.0 as f32, centre.1 as f32, *radius as f32);
                match ring {
                    None => fill(bitmap, disc, colour, 1.0),
                    Some(thickness) => hollow(bitmap, disc, colour, *thickness),
                }
            }
            Mark::Diamond { centre, radius, colour, thickness } => {
                hollow(bitmap, through(&diamond(*centre, *radius), true), colour, *thickness);
            }
        }
    }
}

/// A path is missing if it has no extent, or one without a number.
fn fill(bitmap: &mut Pixmap, path: Option<Path>, colour: &str, opacity: f64) {
    if let Some(path) = path {
        bitmap.fill_path(&path, &paint(colour, opacity), FillRule::Winding, to_pixels(), None);
    }
}

fn stroke(bitmap: &mut Pixmap, path: Option<Path>, colour: &str, thickness: f64, dashes: &str) {
    if let Some(path) = path {
        let stroke = Stroke { width: thickness as f32, dash: pattern(dashes), ..Stroke::default() };
        bitmap.stroke_path(&path, &paint(colour, 1.0), &stroke, to_pixels(), None);
    }
}

/// A line around paper.
fn hollow(bitmap: &mut Pixmap, path: Option<Path>, colour: &str, thickness: f64) {
    fill(bitmap, path.clone(), PAPER, 1.0);
    stroke(bitmap, path, colour, thickness, WHOLE);
}

fn to_pixels() -> Transform {
    Transform::from_scale(PIXELS_PER_UNIT as f32, PIXELS_PER_UNIT as f32)
}

fn paint(name: &str, opacity: f64) -> Paint<'static> {
    Paint { shader: Shader::SolidColor(colour(name, opacity)), ..Paint::default() }
}

/// The colour `#rrggbb`.
fn colour(name: &str, opacity: f64) -> Color {
    let part = |at: usize| name.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    let [red, green, blue] = [1, 3, 5].map(|at| part(at).expect("colours are constants of six digits"));
    Color::from_rgba8(red, green, blue, (opacity * 255.0).round() as u8)
}

/// The lengths of dashes and gaps; none for a whole line.
fn pattern(dashes: &str) -> Option<StrokeDash> {
    StrokeDash::new(dashes.split(' ').map_while(|length| length.parse().ok()).collect(), 0.0)
}

/// Straight lines through points.
fn through(points: &[CanvasPoint], is_closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (index, (x, y)) in points.iter().enumerate() {
        match index {
            0 => path.move_to(*x as f32, *y as f32),
            _ => path.line_to(*x as f32, *y as f32),
        }
    }
    if is_closed {
        path.close();
    }
    path.finish()
}

/// The outlines of a line of text. White space is one space, and none at the ends, as in SVG.
fn letters(text: &str, (x, y): CanvasPoint, anchor: Anchor, face: Face) -> Option<Path> {
    let typeface = typeface::of(face);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut letters: Vec<char> = text.chars().collect();
    // The typeface has few scripts; an ellipsis in place of a run of letters of another is better than a box for each.
    letters
        .iter_mut()
        .filter(|letter| typeface.advance(**letter).is_none())
        .for_each(|letter| *letter = ELLIPSIS);
    letters.dedup_by(|next, letter| *next == ELLIPSIS && *letter == ELLIPSIS);
    let advance = |letter: char| typeface.advance(letter).unwrap_or(0.0) * face.size;
    let width: f64 = letters.iter().map(|letter| advance(*letter)).sum();
    let start = match anchor {
        Anchor::Start => x,
        Anchor::Middle => x - width / 2.0,
        Anchor::End => x - width,
    };
    let mut pen = PathPen { path: PathBuilder::new(), at: (start, y), scale: face.size / typeface.units() };
    for letter in letters {
        typeface.draw(letter, &mut pen);
        pen.at.0 += advance(letter);
    }
    pen.path.finish()
}

/// Moves letters to their places.
struct PathPen {
    path: PathBuilder,
    /// Where the letter begins on the base line.
    at: CanvasPoint,
    scale: f64,
}

impl PathPen {
    fn placed(&self, [x, y]: [f32; 2]) -> (f32, f32) {
        ((self.at.0 + f64::from(x) * self.scale) as f32, (self.at.1 - f64::from(y) * self.scale) as f32)
    }
}

impl Pen for PathPen {
    fn move_to(&mut self, to: [f32; 2]) {
        let (x, y) = self.placed(to);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, to: [f32; 2]) {
        let (x, y) = self.placed(to);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, by: [f32; 2], to: [f32; 2]) {
        let ((bx, by), (x, y)) = (self.placed(by), self.placed(to));
        self.path.quad_to(bx, by, x, y);
    }

    fn cubic_to(&mut self, by: [f32; 2], then_by: [f32; 2], to: [f32; 2]) {
        let ((ax, ay), (bx, by), (x, y)) = (self.placed(by), self.placed(then_by), self.placed(to));
        self.path.cubic_to(ax, ay, bx, by, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

/// The bitmap as a file.
fn encoded(bitmap: Pixmap) -> Result<Vec<u8>, EncodingError> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, bitmap.width(), bitmap.height());
    encoder.set_color(ColorType::Rgba);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_deflate_compression(COMPRESSION);
    // Rows as they are, which for drawings packs better than differences to their neighbours.
    encoder.set_filter(Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&bitmap.take_demultiplied())?;
    writer.finish()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLACK: &str = "#000000";

    fn drawn(marks: impl FnOnce(&mut Canvas)) -> Pixmap {
        let mut canvas = Canvas::of("test");
        marks(&mut canvas);
        let mut bitmap = Pixmap::new(40, 40).unwrap();
        draw(&canvas, &mut bitmap);
        bitmap
    }

    #[track_caller]
    fn assert_opacity(bitmap: &Pixmap, (x, y): (u32, u32), wanted: u8) {
        let found = bitmap.pixel(x, y).unwrap().alpha();
        assert!(found.abs_diff(wanted) <= 2, "{found}, not {wanted}, at {x}, {y}");
    }

    #[test]
    fn a_pixel_takes_as_much_colour_as_is_covered() {
        let bitmap = drawn(|canvas| canvas.rectangle((1.25, 2.0), (5.0, 4.0), BLACK, 0.6));
        for (pixel, opacity) in [((1, 5), 0), ((2, 5), 76), ((3, 5), 153), ((9, 7), 153), ((10, 7), 0)] {
            assert_opacity(&bitmap, pixel, opacity);
        }
    }

    #[test]
    fn dashes_leave_gaps_and_lines_are_as_thick_as_they_are_told() {
        let bitmap = drawn(|canvas| canvas.dashes((0.0, 5.0), (20.0, 5.0), BLACK, 2.0));
        for (pixel, opacity) in
            [((2, 7), 0), ((2, 8), 255), ((2, 11), 255), ((2, 12), 0), ((8, 9), 0), ((14, 9), 255)]
        {
            assert_opacity(&bitmap, pixel, opacity);
        }
    }

    #[test]
    fn rings_and_diamonds_are_filled_with_paper_and_letters_have_holes() {
        let bitmap = drawn(|canvas| canvas.point((10.0, 10.0), 5.0, BLACK, true));
        let colour = |bitmap: &Pixmap, x, y| bitmap.pixel(x, y).unwrap().demultiply().red();
        assert_eq!((colour(&bitmap, 20, 20), colour(&bitmap, 29, 20)), (255, 0));
        let bitmap = drawn(|canvas| canvas.diamond((10.0, 10.0), 5.0, BLACK));
        assert_eq!((colour(&bitmap, 20, 20), colour(&bitmap, 29, 20)), (255, 0));
        let letter = |canvas: &mut Canvas| {
            canvas.text((10.0, 15.0), Anchor::Middle, Face { size: 18.0, bold: true }, BLACK, "O");
        };
        let bitmap = drawn(letter);
        assert_opacity(&bitmap, (20, 17), 0);
        assert!(bitmap.pixels()[17 * 40..18 * 40].iter().filter(|pixel| pixel.alpha() == 255).count() >= 8);
    }

    #[test]
    fn what_has_no_place_is_not_drawn() {
        let bitmap = drawn(|canvas| {
            canvas.area(&[(f64::NAN, 0.0), (1.0, f64::INFINITY), (3.0, 3.0)], BLACK, 1.0);
            canvas.line((1.0, 1.0), (1.0, 1.0), BLACK, 1.0);
            canvas.rectangle((90.0, 0.0), (120.0, 30.0), BLACK, 1.0);
        });
        assert!(bitmap.data().iter().all(|part| *part == 0));
    }
}
