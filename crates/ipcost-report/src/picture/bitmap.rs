//! Areas as pixels: every pixel takes as much of a colour as the area covers of it.

use std::ops::Range;

use super::ink::Point;

/// Pixels in rows from the top: red, green and blue, each times the share of light that is held back, and that share.
pub struct Bitmap {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 4]>,
}

impl Bitmap {
    /// A sheet of one colour, or with nothing on it.
    pub fn new(width: usize, height: usize, colour: Option<&str>) -> Self {
        let pixel = colour.map_or([0; 4], |colour| with_share(parts(colour), 255));
        Self { width, height, pixels: vec![pixel; width * height] }
    }

    /// Fills the area within closed contours, whose last points lead back to the first; a contour that goes the other way
    /// round within another is a hole.
    pub fn fill(&mut self, contours: &[Vec<Point>], colour: &str, opacity: f64) {
        let edges: Vec<(Point, Point)> = contours
            .iter()
            .flat_map(|points| points.iter().copied().zip(points.iter().copied().cycle().skip(1)))
            .collect();
        let rows = pixels(edges.iter().map(|((_, y), _)| *y), self.height);
        let columns = pixels(edges.iter().map(|((x, _), _)| *x), self.width);
        let colour = parts(colour);
        let mut steps = vec![0.0; self.width + 1];
        for y in rows {
            steps[columns.start..=columns.end].fill(0.0);
            for edge in &edges {
                add_edge(&mut steps, *edge, y as f64);
            }
            let mut covered = 0.0;
            let row = &mut self.pixels[y * self.width..][..self.width];
            for (pixel, step) in row[columns.clone()].iter_mut().zip(&steps[columns.clone()]) {
                covered += step;
                // What overlaps covers no pixel more than wholly.
                let share = (f64::abs(covered).min(1.0) * opacity * 255.0).round() as u8;
                if share > 0 {
                    *pixel = over(with_share(colour, share), *pixel);
                }
            }
        }
    }

    /// Width and height.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// A row as red, green, blue and opacity.
    pub fn row(&self, y: usize) -> impl Iterator<Item = [u8; 4]> {
        self.pixels[y * self.width..][..self.width].iter().map(|[red, green, blue, share]| {
            let whole = |part: &u8| match share {
                0 => 0,
                share => (u32::from(*part) * 255 / u32::from(*share)).min(255) as u8,
            };
            [whole(red), whole(green), whole(blue), *share]
        })
    }
}

/// The pixels that coordinates lie in, of so many.
fn pixels(coordinates: impl Iterator<Item = f64> + Clone, count: usize) -> Range<usize> {
    let first = (coordinates.clone().fold(f64::INFINITY, f64::min).max(0.0) as usize).min(count);
    let end = (coordinates.fold(0.0, f64::max).ceil() as usize).min(count);
    first..end.max(first)
}

/// Adds to every column by how much the cover of the row at `top` grows there because of this edge. Summed from the left,
/// these are the covers (as in [font-rs](https://medium.com/@raphlinus/inside-the-fastest-font-renderer-in-the-world-75ae5270c445)).
fn add_edge(steps: &mut [f64], (from, to): (Point, Point), top: f64) {
    let (upper, lower, sign) = if from.1 < to.1 { (from, to, 1.0) } else { (to, from, -1.0) };
    let [start, end] = [upper.1.max(top), lower.1.min(top + 1.0)];
    if start >= end {
        return;
    }
    let right = (steps.len() - 1) as f64;
    let x_at = |y: f64| {
        let x = upper.0 + (lower.0 - upper.0) * (y - upper.1) / (lower.1 - upper.1);
        x.clamp(0.0, right)
    };
    let (a, b) = (x_at(start), x_at(end));
    let (left, right) = (a.min(b), a.max(b));
    let tall = (end - start) * sign;
    for column in left as usize..=(right as usize) {
        let within = |x: f64| x.clamp(column as f64, column as f64 + 1.0) - column as f64;
        let (enters, leaves) = (within(left), within(right));
        let part = if right > left { tall * (leaves - enters) / (right - left) } else { tall };
        let share_of_column = part * (1.0 - (enters + leaves) / 2.0);
        steps[column] += share_of_column;
        if let Some(next) = steps.get_mut(column + 1) {
            *next += part - share_of_column;
        }
    }
}

/// One layer over another.
fn over(upper: [u8; 4], lower: [u8; 4]) -> [u8; 4] {
    let shines_through = 255 - u32::from(upper[3]);
    std::array::from_fn(|part| upper[part] + ((u32::from(lower[part]) * shines_through + 127) / 255) as u8)
}

fn with_share(colour: [u8; 3], share: u8) -> [u8; 4] {
    let [red, green, blue] = colour.map(|part| ((u32::from(part) * u32::from(share) + 127) / 255) as u8);
    [red, green, blue, share]
}

/// Red, green and blue of `#rrggbb`.
fn parts(colour: &str) -> [u8; 3] {
    let part = |at: usize| colour.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    [1, 3, 5].map(|at| part(at).expect("colours are constants of six digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opacities(bitmap: &Bitmap) -> Vec<Vec<u8>> {
        (0..bitmap.height).map(|y| bitmap.row(y).map(|pixel| pixel[3]).collect()).collect()
    }

    fn filled(contours: &[&[Point]]) -> Vec<Vec<u8>> {
        let mut bitmap = Bitmap::new(4, 3, None);
        bitmap.fill(&contours.iter().map(|points| points.to_vec()).collect::<Vec<_>>(), "#000000", 1.0);
        opacities(&bitmap)
    }

    #[test]
    fn a_pixel_takes_as_much_colour_as_is_covered() {
        let rectangle = filled(&[&[(0.5, 1.0), (3.0, 1.0), (3.0, 2.25), (0.5, 2.25)]]);
        assert_eq!(rectangle, [[0, 0, 0, 0], [128, 255, 255, 0], [32, 64, 64, 0]]);
        let triangle = filled(&[&[(0.0, 0.0), (2.0, 2.0), (0.0, 2.0)]]);
        assert_eq!(triangle, [[128, 0, 0, 0], [255, 128, 0, 0], [0, 0, 0, 0]]);
        let flat = filled(&[&[(0.0, 0.0), (4.0, 0.0), (0.0, 1.0)]]);
        assert_eq!(flat[0], [223, 159, 96, 32]);
    }

    #[test]
    fn what_goes_the_other_way_round_is_a_hole_and_overlaps_are_none() {
        let outer: &[Point] = &[(0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (0.0, 3.0)];
        let inner: &[Point] = &[(1.0, 1.0), (1.0, 2.0), (3.0, 2.0), (3.0, 1.0)];
        let hole = filled(&[outer, inner]);
        assert_eq!(hole, [[255; 4], [255, 0, 0, 255], [255; 4]]);
        let reversed: Vec<Point> = inner.iter().rev().copied().collect();
        assert_eq!(filled(&[outer, &reversed]), [[255; 4]; 3]);
    }

    #[test]
    fn what_lies_outside_is_cut_off() {
        let wide = filled(&[&[(-9.0, -9.0), (99.0, -9.0), (99.0, 1.0), (-9.0, 1.0)]]);
        assert_eq!(wide, [[255; 4], [0; 4], [0; 4]]);
        assert_eq!(filled(&[&[(9.0, 0.0), (12.0, 0.0), (12.0, 3.0)]]), [[0; 4]; 3]);
        let nowhere = [(f64::NAN, 0.0), (1.0, f64::INFINITY), (f64::NEG_INFINITY, 2.0)];
        filled(&[&nowhere]);
    }

    #[test]
    fn colours_mix_by_their_opacity() {
        let sheet: &[Point] = &[(0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (0.0, 3.0)];
        let mut bitmap = Bitmap::new(4, 3, Some("#ffffff"));
        bitmap.fill(&[sheet.to_vec()], "#ff0000", 0.2);
        assert_eq!(bitmap.row(1).next(), Some([255, 204, 204, 255]));
        let mut clear = Bitmap::new(4, 3, None);
        clear.fill(&[sheet.to_vec()], "#4080c0", 0.5);
        let [red, green, blue, share] = clear.row(1).next().unwrap();
        assert_eq!(share, 128);
        for (part, wanted) in [(red, 0x40_u8), (green, 0x80), (blue, 0xc0)] {
            assert!(part.abs_diff(wanted) <= 1, "{part} for {wanted}");
        }
    }
}
