use roxmltree::{Document as Xml, Node};

use super::*;
use crate::figures::claims::tests::{absurd, claims};
use crate::fixture::document as made;
use crate::picture::ink;

fn svg(claims: &FigureClaims) -> String {
    draw(claims, &made(), Background::White).unwrap().svg()
}

fn of_class<'a>(node: &Node<'a, 'a>, class: &'a str) -> Vec<Node<'a, 'a>> {
    node.descendants().filter(|node| node.attribute("class") == Some(class)).collect()
}

fn number(node: &Node<'_, '_>, attribute: &str) -> f64 {
    node.attribute(attribute).unwrap_or_else(|| panic!("{attribute}")).parse().unwrap()
}

#[test]
fn all_panels_of_a_claim_have_one_axis_and_a_row_a_test() {
    let svg = svg(&claims());
    let xml = Xml::parse(&svg).unwrap();
    let panels = of_class(&xml.root(), "panel");
    let rows: Vec<usize> = panels.iter().map(|panel| of_class(panel, "test").len()).collect();
    assert_eq!(rows, [3, 3, 3, 1, 2]);
    let axis = |panel: &Node<'_, '_>| {
        let axis = of_class(panel, "axis")[0];
        ["data-from", "data-to"].map(|name| number(&axis, name))
    };
    assert!(axis(&panels[0]) == axis(&panels[1]) && axis(&panels[1]) == axis(&panels[2]));
    assert!(axis(&panels[0])[0] < 0.54 && axis(&panels[0])[1] > 1.43, "intervals are on it");
    assert!(axis(&panels[3])[0] < 1.0 && axis(&panels[3])[1] > 24.0, "1 and both bounds are on it");
}

#[test]
fn what_holds_fails_or_is_open_differs_in_shape_and_in_words() {
    let svg = svg(&claims());
    let xml = Xml::parse(&svg).unwrap();
    let panels = of_class(&xml.root(), "panel");
    let shape = |row: &Node<'_, '_>| {
        let circle = row.children().find(|node| node.has_tag_name("circle"));
        match circle.and_then(|circle| circle.attribute("fill")) {
            None => "diamond",
            Some(ink::PAPER) => "ring",
            Some(_) => "disc",
        }
    };
    let shapes = |panel: usize| of_class(&panels[panel], "test").iter().map(shape).collect::<Vec<_>>();
    assert_eq!(shapes(0), ["ring", "ring", "ring"]);
    assert_eq!(shapes(1), ["disc", "disc", "diamond"]);
    let texts: Vec<&str> = panels[1].descendants().filter_map(|node| node.text()).map(str::trim).collect();
    for word in ["on one core", "depends", "1024 B", "0.80 holds", "1.30 fails", "1"] {
        assert!(texts.contains(&word), "{word}: {texts:?}");
    }
}

#[test]
fn marks_are_where_their_values_are_on_the_axis() {
    let svg = svg(&claims());
    let xml = Xml::parse(&svg).unwrap();
    for panel in of_class(&xml.root(), "panel") {
        let axis = of_class(&panel, "axis")[0];
        let [from, to, start, end] =
            ["data-from", "data-to", "data-start", "data-end"].map(|name| number(&axis, name));
        for row in of_class(&panel, "test") {
            let value = number(&row, "data-value");
            let share = (value / from).ln() / (to / from).ln();
            let Some(circle) = row.children().find(|node| node.has_tag_name("circle")) else { continue };
            assert!((number(&circle, "cx") - (start + share * (end - start))).abs() < 0.02);
        }
    }
}

#[test]
fn bounds_are_dashed_and_the_claimed_side_is_shaded() {
    let svg = svg(&claims());
    let xml = Xml::parse(&svg).unwrap();
    let panels = of_class(&xml.root(), "panel");
    let dashed = |row: &Node<'_, '_>| {
        row.children().filter(|node| node.attribute("stroke-dasharray") == Some("4 3")).count()
    };
    let shades = |row: &Node<'_, '_>| row.children().filter(|node| node.has_tag_name("rect")).count();
    let below = of_class(&panels[0], "test")[0];
    let within = of_class(&panels[3], "test")[0];
    assert_eq!((dashed(&below), dashed(&within)), (1, 2));
    assert_eq!((shades(&below), shades(&within)), (1, 1));
}

#[test]
fn the_words_say_how_to_read_it_what_is_not_drawn_and_where_it_comes_from() {
    let svg = svg(&claims());
    let xml = Xml::parse(&svg).unwrap();
    let texts: Vec<&str> = xml.descendants().filter_map(|node| node.text()).map(str::trim).collect();
    let all = texts.join(" ");
    for part in [
        "Which is faster?",
        "1. depends: “A Unix socket is faster at every size.”",
        "unix over tcp (ratio, logarithmic)",
        "at most 5 % are expected to be wrong",
        "Not drawn, as it has no ratios: 4. fails: “It writes to disk.”",
        "Source: a blog",
        "Measured on: A processor, 2 cores",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
}

#[test]
fn one_picture_as_a_whole() {
    let mut claims = claims();
    claims.claims.truncate(1);
    claims.claims[0].conditions.truncate(2);
    insta::assert_snapshot!(svg(&claims));
}

#[test]
fn claims_without_any_value_are_refused() {
    let nothing = FigureClaims { claims: claims().claims.split_off(3), ..claims() };
    assert!(matches!(
        draw(&nothing, &made(), Background::White),
        Err(PictureError::Lacks { chart: Chart::Claims, .. })
    ));
}

#[test]
fn absurd_claims_are_drawn() {
    for (index, claims) in absurd().into_iter().enumerate() {
        let Ok(picture) = draw(&claims, &made(), Background::White) else { continue };
        for picture in claims.claims.iter().filter_map(|claim| plain(claim).ok()).chain([picture]) {
            let svg = picture.svg();
            let xml = Xml::parse(&svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
            assert!(!xml.descendants().any(|node| node.has_tag_name("script")));
            assert!(!svg.contains(|c: char| c.is_control() && c != '\n'));
            let mut drawn = svg.split("d=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
            assert!(drawn.all(|path| !path.contains("NaN") && !path.contains("inf")), "{svg}");
            // Bitmaps have the same marks and take long.
            if index % 8 == 0 {
                let _ = picture.png();
            }
        }
    }
}
