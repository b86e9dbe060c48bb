//! Lines and discs as the areas that they cover.

use super::ink::Point;

/// The longest point that a corner is drawn out to, in halves of the thickness; as in SVG.
const MITER_LIMIT: f64 = 4.0;

/// The area of a line through points.
pub fn line(points: &[Point], thickness: f64) -> Vec<Point> {
    let mut points = points.to_vec();
    points.dedup();
    if points.len() < 2 {
        return Vec::new();
    }
    let mut outline = side(&points, thickness / 2.0);
    points.reverse();
    outline.extend(side(&points, thickness / 2.0));
    outline
}

/// The line moved to its right.
fn side(points: &[Point], by: f64) -> Vec<Point> {
    let normals: Vec<Point> = points
        .windows(2)
        .map(|ends| {
            let (dx, dy) = (ends[1].0 - ends[0].0, ends[1].1 - ends[0].1);
            let length = dx.hypot(dy);
            (-dy / length, dx / length)
        })
        .collect();
    let moved = |(x, y): Point, (dx, dy): Point| (x + dx * by, y + dy * by);
    let mut side = Vec::with_capacity(points.len() + 2);
    for (index, point) in points.iter().enumerate() {
        // The first has no line before it, the last none after it.
        let before = normals[index.saturating_sub(1)];
        let after = normals[index.min(normals.len() - 1)];
        let parallel = 1.0 + before.0 * after.0 + before.1 * after.1;
        if 2.0 / parallel <= MITER_LIMIT * MITER_LIMIT {
            side.push(moved(*point, ((before.0 + after.0) / parallel, (before.1 + after.1) / parallel)));
        } else {
            side.extend([moved(*point, before), moved(*point, after)]);
        }
    }
    side
}

/// The pieces of a line of dashes: lengths of lines and gaps in turn, none for a whole line.
pub fn dashed(points: &[Point], pattern: &[f64]) -> Vec<Vec<Point>> {
    if pattern.is_empty() {
        return vec![points.to_vec()];
    }
    let mut lengths = pattern.iter().copied().cycle().enumerate();
    let mut next = || lengths.next().expect("a pattern goes on for ever");
    let (mut index, mut left) = next();
    let mut pieces = vec![points.iter().take(1).copied().collect::<Vec<Point>>()];
    for ends in points.windows(2) {
        let (mut from, to) = (ends[0], ends[1]);
        let mut distance = (to.0 - from.0).hypot(to.1 - from.1);
        while distance > left {
            let share = left / distance;
            from = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
            distance -= left;
            if index % 2 == 0 {
                pieces.last_mut().expect("there is the first").push(from);
            } else {
                pieces.push(vec![from]);
            }
            (index, left) = next();
        }
        left -= distance;
        if index % 2 == 0 {
            pieces.last_mut().expect("there is the first").push(to);
        }
    }
    pieces
}

/// The area of a disc.
pub fn disc((x, y): Point, radius: f64) -> Vec<Point> {
    // An angle of 1/64 of a circle departs from it by less than a hundredth of the radii that are drawn.
    (0..64)
        .map(|step| f64::from(step) / 64.0 * std::f64::consts::TAU)
        .map(|angle| (x + radius * angle.cos(), y + radius * angle.sin()))
        .collect()
}

/// The area of a square on its tip.
pub fn diamond((x, y): Point, radius: f64) -> Vec<Point> {
    vec![(x - radius, y), (x, y - radius), (x + radius, y), (x, y + radius)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_close(outline: &[Point], wanted: &[Point]) {
        let close = |(a, b): (&Point, &Point)| (a.0 - b.0).abs() < 1e-9 && (a.1 - b.1).abs() < 1e-9;
        assert!(outline.len() == wanted.len() && outline.iter().zip(wanted).all(close), "{outline:?}");
    }

    #[test]
    fn lines_are_as_thick_as_they_are_told_and_corners_are_pointed() {
        assert_close(
            &line(&[(0.0, 0.0), (5.0, 0.0)], 2.0),
            &[(0.0, 1.0), (5.0, 1.0), (5.0, -1.0), (0.0, -1.0)],
        );
        let corner = line(&[(0.0, 0.0), (5.0, 0.0), (5.0, 5.0)], 2.0);
        assert_close(&corner, &[(0.0, 1.0), (4.0, 1.0), (4.0, 5.0), (6.0, 5.0), (6.0, -1.0), (0.0, -1.0)]);
        let hairpin = line(&[(0.0, 0.0), (5.0, 0.0), (0.0, 0.1)], 2.0);
        assert!(hairpin.iter().all(|(x, _)| *x < 6.1), "a sharp corner is cut off: {hairpin:?}");
        assert!(line(&[(1.0, 1.0), (1.0, 1.0)], 2.0).is_empty());
    }

    #[test]
    fn dashes_go_round_corners() {
        let points = [(0.0, 0.0), (4.0, 0.0), (4.0, 6.0)];
        let pieces = dashed(&points, &[3.0, 2.0]);
        let round_the_corner = dashed(&points, &[3.0, 0.5]);
        assert_eq!(pieces, [[(0.0, 0.0), (3.0, 0.0)], [(4.0, 1.0), (4.0, 4.0)]]);
        assert_eq!(round_the_corner[1], [(3.5, 0.0), (4.0, 0.0), (4.0, 2.5)]);
        assert_eq!(dashed(&[(0.0, 0.0), (0.0, 4.0)], &[3.0, 3.0]), [vec![(0.0, 0.0), (0.0, 3.0)]]);
        assert_eq!(dashed(&points, &[]), [points.to_vec()]);
    }
}
