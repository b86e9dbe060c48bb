//! A picture as a bitmap, with the embedded typeface, so that it looks the same wherever it was made.

use std::io::{self, Write};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

use super::bitmap::Bitmap;
use super::ink::{Anchor, Canvas, Mark, PAPER, Point};
use super::outline::{dashed, diamond, disc, line};
use super::text::{ELLIPSIS, Face};
use super::{Background, Picture, PictureError, typeface};

/// Pixels for one unit of the picture: sharp on screens of today.
const PIXELS_PER_UNIT: f64 = 2.0;
/// The tallest bitmap, in pixels; what is taller, most programs refuse to show.
const MOST_PIXELS_TALL: u64 = 32_000;

/// Draws a picture as PNG, with two pixels for every unit.
///
/// # Errors
/// Where it would be too tall.
pub fn render(picture: &Picture) -> Result<Vec<u8>, PictureError> {
    let [width, height] = [picture.width, picture.height].map(|units| (units * PIXELS_PER_UNIT) as u64);
    if height > MOST_PIXELS_TALL {
        return Err(PictureError::TooTall { height, most: MOST_PIXELS_TALL });
    }
    let paper = (picture.background == Background::White).then_some(PAPER);
    let mut bitmap = Bitmap::new(width as usize, height as usize, paper);
    draw(&picture.canvas, &mut bitmap);
    Ok(encoded(&bitmap).expect("memory takes everything"))
}

fn draw(canvas: &Canvas, bitmap: &mut Bitmap) {
    for mark in canvas.marks() {
        if let Mark::Group(marks) = mark {
            draw(marks, bitmap);
        }
        for Area { mut contours, colour, opacity } in areas(mark) {
            for point in contours.iter_mut().flatten() {
                *point = (point.0 * PIXELS_PER_UNIT, point.1 * PIXELS_PER_UNIT);
            }
            bitmap.fill(&contours, colour, opacity);
        }
    }
}

/// What is filled at once, in units of the picture.
struct Area {
    contours: Vec<Vec<Point>>,
    colour: &'static str,
    opacity: f64,
}

/// The areas of a mark, from below to above.
fn areas(mark: &Mark) -> Vec<Area> {
    let area = |points, colour, opacity| Area { contours: vec![points], colour, opacity };
    match mark {
        Mark::Group(_) => Vec::new(),
        Mark::Text { at, anchor, face, colour, text } => letters(text, *at, *anchor, *face)
            .map(|contours| Area { contours, colour, opacity: 1.0 })
            .collect(),
        Mark::Lines { points, colour, thickness, dashes } => dashed(points, &lengths(dashes))
            .into_iter()
            .map(|piece| area(line(&piece, *thickness), *colour, 1.0))
            .collect(),
        Mark::Area { points, colour, opacity } => vec![area(points.clone(), *colour, *opacity)],
        Mark::Rectangle { from, to, colour, opacity } => {
            vec![area(vec![*from, (to.0, from.1), *to, (from.0, to.1)], *colour, *opacity)]
        }
        Mark::Disc { centre, radius, colour, ring: None } => vec![area(disc(*centre, *radius), *colour, 1.0)],
        Mark::Disc { centre, radius, colour, ring: Some(thickness) } => vec![
            area(disc(*centre, radius + thickness / 2.0), *colour, 1.0),
            area(disc(*centre, radius - thickness / 2.0), PAPER, 1.0),
        ],
        Mark::Diamond { centre, radius, colour, thickness } => {
            // Half the thickness across a side is so much more at a tip.
            let more = thickness / 2.0 * std::f64::consts::SQRT_2;
            vec![
                area(diamond(*centre, radius + more), *colour, 1.0),
                area(diamond(*centre, radius - more), PAPER, 1.0),
            ]
        }
    }
}

/// The lengths of dashes and gaps; none for a whole line.
fn lengths(dashes: &str) -> Vec<f64> {
    dashes.split(' ').map_while(|length| length.parse().ok()).collect()
}

/// The outline of every letter of a line of text, where it belongs. White space is one space, and none at the ends, as in SVG.
fn letters(text: &str, (x, y): Point, anchor: Anchor, face: Face) -> impl Iterator<Item = Vec<Vec<Point>>> {
    let typeface = typeface::of(face);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut letters: Vec<char> = text.chars().collect();
    // The typeface has few scripts; an ellipsis in the place of a run of letters of another is better than a box for each.
    letters
        .iter_mut()
        .filter(|letter| typeface.advance(**letter).is_none())
        .for_each(|letter| *letter = ELLIPSIS);
    letters.dedup_by(|next, letter| *next == ELLIPSIS && *letter == ELLIPSIS);
    let drawn: Vec<_> = letters.into_iter().map(|letter| typeface.drawn(letter)).collect();
    let width: f64 = drawn.iter().map(|(advance, _)| advance * face.size).sum();
    let mut next = match anchor {
        Anchor::Start => x,
        Anchor::Middle => x - width / 2.0,
        Anchor::End => x - width,
    };
    drawn.into_iter().map(move |(advance, mut contours)| {
        for point in contours.iter_mut().flatten() {
            *point = (next + point.0 * face.size, y - point.1 * face.size);
        }
        next += advance * face.size;
        contours
    })
}

/// The bitmap as a file ([PNG](https://www.w3.org/TR/png-3/)).
fn encoded(bitmap: &Bitmap) -> io::Result<Vec<u8>> {
    /// Eight bits each of red, green, blue and opacity; packed with zlib; from top to bottom.
    const FORMAT: [u8; 5] = [8, 6, 0, 0, 0];
    /// Rows as they are, which for drawings packs better than differences to their neighbours.
    const NO_FILTER: u8 = 0;
    let (width, height) = bitmap.size();
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::default());
    for y in 0..height {
        packer.write_all(&[NO_FILTER])?;
        packer.write_all(&bitmap.row(y).flatten().collect::<Vec<u8>>())?;
    }
    let mut size = [width, height].map(|pixels| (pixels as u32).to_be_bytes()).concat();
    size.extend(FORMAT);
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, content) in [(b"IHDR", size), (b"IDAT", packer.finish()?), (b"IEND", Vec::new())] {
        let mut sum = Crc::new();
        sum.update(kind);
        sum.update(&content);
        file.extend((content.len() as u32).to_be_bytes());
        file.extend(kind);
        file.extend(content);
        file.extend(sum.sum().to_be_bytes());
    }
    Ok(file)
}
