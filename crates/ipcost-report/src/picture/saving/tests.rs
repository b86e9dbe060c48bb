use roxmltree::{Document as Xml, Node};

use super::*;
use crate::figures::saving::tests::{absurd, curves};
use crate::fixture::document as made;

fn svg(curves: &Curves) -> String {
    draw(curves, &made(), Background::White).unwrap().svg()
}

fn of_class<'a>(node: &Node<'a, 'a>, class: &'a str) -> Vec<Node<'a, 'a>> {
    node.descendants().filter(|node| node.attribute("class") == Some(class)).collect()
}

fn number(node: &Node<'_, '_>, attribute: &str) -> f64 {
    node.attribute(attribute).unwrap_or_else(|| panic!("{attribute}")).parse().unwrap()
}

fn corners(path: &Node<'_, '_>) -> Vec<CanvasPoint> {
    let outline = path.attribute("d").unwrap().trim_start_matches('M').trim_end_matches('Z');
    let point = |pair: &str| {
        let (x, y) = pair.split_once(' ').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    outline.split('L').map(point).collect()
}

/// What programs read from an axis: where work and shares are.
fn places(panel: &Node<'_, '_>) -> (impl Fn(f64) -> f64, impl Fn(f64) -> f64) {
    let axis = of_class(panel, "axis")[0];
    let [zero, from, to, start, end] =
        ["data-zero", "data-work-from", "data-work-to", "data-work-start", "data-work-end"]
            .map(|name| number(&axis, name));
    let [low, high, bottom, top] =
        ["data-from", "data-to", "data-start", "data-end"].map(|name| number(&axis, name));
    let across = move |work: f64| match work < from {
        true => zero + work / from * (start - zero),
        false => start + (work / from).ln() / (to / from).ln() * (end - start),
    };
    (across, move |share: f64| bottom + (share - low) / (high - low) * (top - bottom))
}

#[test]
fn the_mark_is_where_the_line_falls_to_the_margin() {
    let curves = curves();
    let svg = svg(&curves);
    let xml = Xml::parse(&svg).unwrap();
    let panels = of_class(&xml.root(), "panel");
    let marks: Vec<usize> = panels.iter().map(|panel| of_class(panel, "until").len()).collect();
    assert_eq!(marks, [1, 0], "none where the line is below from the start");
    let (across, up) = places(&panels[0]);
    let mark = of_class(&panels[0], "until")[0];
    let tips = corners(&mark.children().filter(|node| node.has_tag_name("path")).nth(1).unwrap());
    let (x, y) = ((tips[1].0 + tips[3].0) / 2.0, (tips[0].1 + tips[2].1) / 2.0);
    // 20 µs are 5 % of 400 µs, of which 50 are the least request.
    assert!((x - across(350_000.0)).abs() < 0.05, "{x} {}", across(350_000.0));
    assert!((y - up(0.05)).abs() < 0.05, "{y} {}", up(0.05));
    // The line itself comes through it.
    let line =
        corners(&of_class(&panels[0], "line")[0].children().find(|node| node.has_tag_name("path")).unwrap());
    let after = line.iter().position(|at| at.0 > x).unwrap();
    let ((x0, y0), (x1, y1)) = (line[after - 1], line[after]);
    let on_line = y0 + (x - x0) / (x1 - x0) * (y1 - y0);
    assert!((on_line - y).abs() < 0.5, "{on_line} {y}");
}

#[test]
fn points_and_lines_are_where_their_values_are_and_no_work_is_at_the_left() {
    let curves = curves();
    let svg = svg(&curves);
    let xml = Xml::parse(&svg).unwrap();
    for (panel, shown) in of_class(&xml.root(), "panel").iter().zip(&curves.panels) {
        let (across, up) = places(panel);
        for (request, point) in of_class(panel, "request").iter().zip(&shown.requests) {
            let circle = request.children().find(|node| node.has_tag_name("circle")).unwrap();
            assert!((number(&circle, "cx") - across(point.work_ns.max(0.0))).abs() < 0.05);
            assert!((number(&circle, "cy") - up(point.share.median)).abs() < 0.05);
        }
        let line =
            corners(&of_class(panel, "line")[0].children().find(|node| node.has_tag_name("path")).unwrap());
        let zero = number(&of_class(panel, "axis")[0], "data-zero");
        assert!((line[0].0 - zero).abs() < 0.05 && (line[0].1 - up(shown.line[0].1)).abs() < 0.05);
        assert!(line.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1), "it falls");
    }
}

#[test]
fn all_panels_have_the_same_axes_on_which_intervals_below_zero_are_too() {
    let svg = svg(&curves());
    let xml = Xml::parse(&svg).unwrap();
    let ends = |axis: &Node<'_, '_>| ["data-from", "data-to", "data-work-to"].map(|name| number(axis, name));
    let axes: Vec<[f64; 3]> = of_class(&xml.root(), "axis").iter().map(ends).collect();
    assert!(axes.len() == 2 && axes[0] == axes[1], "{axes:?}");
    assert!(axes[0][0] <= -0.02 && axes[0][1] >= 0.42 && axes[0][2] == 1e7, "{axes:?}");
}

#[test]
fn names_hide_neither_each_other_nor_intervals() {
    let mut curves = curves();
    // All at the same place.
    let request = curves.panels[0].requests[1].clone();
    curves.panels[0].requests = vec![request; 4];
    let svg = svg(&curves);
    let xml = Xml::parse(&svg).unwrap();
    let names = of_class(&of_class(&xml.root(), "panel")[0], "names")[0];
    let mut places: Vec<f64> =
        names.children().filter(|it| it.has_tag_name("text")).map(|it| number(&it, "y")).collect();
    places.sort_by(f64::total_cmp);
    assert_eq!(places.len(), 5);
    assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= LABEL.size), "{places:?}");
}

#[test]
fn one_picture_as_a_whole() {
    let mut curves = curves();
    curves.panels.truncate(1);
    curves.panels[0].line.retain(|(work_ns, _)| *work_ns == 0.0 || (work_ns.log10().fract()) == 0.0);
    insta::assert_snapshot!(svg(&curves));
}

#[test]
fn the_words_say_how_to_read_it_and_where_it_comes_from() {
    let svg = svg(&curves());
    let xml = Xml::parse(&svg).unwrap();
    let texts: Vec<&str> = xml.descendants().filter_map(|node| node.text()).map(str::trim).collect();
    let all = texts.join(" ");
    let host = made().host.cpu;
    for part in [
        "PostgreSQL 15.18: the share of a request",
        "The line is an upper bound",
        "margin, 5 %: below, it no longer matters",
        "below 5 % from 350 µs of work on",
        "from 350 µs on",
        "no longer matters",
        "Not drawn: on any core",
        host.as_str(),
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
}

#[test]
fn curves_without_a_panel_are_refused() {
    let nothing = Curves { panels: Vec::new(), ..curves() };
    let refused = draw(&nothing, &made(), Background::White).unwrap_err();
    assert!(refused.to_string().contains("ipcost app NAME"), "{refused}");
}

#[test]
fn absurd_curves_are_drawn() {
    for (index, curves) in absurd().into_iter().enumerate() {
        for picture in [draw(&curves, &made(), Background::White), plain(&curves)] {
            let picture = picture.unwrap();
            let svg = picture.svg();
            let xml = Xml::parse(&svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
            assert!(!xml.descendants().any(|node| node.has_tag_name("script")));
            assert!(!svg.contains(|c: char| c.is_control() && c != '\n'));
            let mut drawn = svg.split("d=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
            assert!(drawn.all(|path| !path.contains("NaN") && !path.contains("inf")), "{svg}");
            assert!(!svg.contains("=\"NaN") && !svg.contains("=\"inf"), "{svg}");
            // Bitmaps have the same marks and take long.
            if index % 8 == 0 {
                picture.png().unwrap();
            }
        }
    }
}
