//! A picture as a bitmap, with the embedded typeface, so that it looks the same wherever it was made.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::PictureError;
use super::text::{REGULAR, SEMI_BOLD};

/// Pixels for one unit of the picture: sharp on screens of today.
const PIXELS_PER_UNIT: f32 = 2.0;
/// The tallest bitmap, in pixels; what is taller, most programs refuse to show.
const MOST_PIXELS_TALL: u64 = 32_000;

/// Turns a picture from SVG into PNG, with two pixels for every unit.
///
/// # Errors
/// Where it would be too tall, or is no SVG.
pub fn render(svg: &str) -> Result<Vec<u8>, PictureError> {
    let wrong = |error: &dyn std::fmt::Display| PictureError::Bitmap(error.to_string());
    let mut options = Options::default();
    for data in [REGULAR, SEMI_BOLD] {
        options.fontdb_mut().load_font_data(data.to_vec());
    }
    let tree = Tree::from_str(svg, &options).map_err(|error| wrong(&error))?;
    let size = tree.size().to_int_size();
    let pixels = |units: u32| (f64::from(units) * f64::from(PIXELS_PER_UNIT)) as u64;
    let (width, height) = (pixels(size.width()), pixels(size.height()));
    if height > MOST_PIXELS_TALL {
        return Err(PictureError::TooTall { height, most: MOST_PIXELS_TALL });
    }
    let mut bitmap = Pixmap::new(width as u32, height as u32).ok_or_else(|| wrong(&"it has no size"))?;
    resvg::render(&tree, Transform::from_scale(PIXELS_PER_UNIT, PIXELS_PER_UNIT), &mut bitmap.as_mut());
    bitmap.encode_png().map_err(|error| wrong(&error))
}
