use ipcost_model::FigurePlace;
use roxmltree::{Document as Xml, Node};

use super::*;
use crate::fixture::document as made;
use crate::picture::ink;

fn value(transport: &str, published: Option<f64>, measured: Option<f64>) -> FigureValue {
    let around = |median: f64| Estimate { median, lo: Some(median * 0.8), hi: Some(median * 1.25) };
    FigureValue { transport: transport.into(), published, measured: measured.map(around), cell: None }
}

/// Two block sizes over two methods, of which one was not measured, in one size.
pub(crate) fn bars() -> PublishedFigure {
    let place = |label: &str| FigurePlace { label: label.into(), at: None };
    let series =
        |label: &str, values: [FigureValue; 2]| FigureSeries { label: label.into(), values: values.into() };
    PublishedFigure {
        title: "Throughput by method".into(),
        kind: FigureKind::Bars,
        logarithmic: true,
        across: "method".into(),
        panels: vec![FigurePanel {
            title: String::new(),
            unit: FigureUnit::Mbits,
            places: vec![place("pipe"), place("Unix socket")],
            series: vec![
                series(
                    "100 B",
                    [value("pipe", Some(278.062607), Some(400.0)), value("unix", Some(246.0), Some(120.0))],
                ),
                series(
                    "1 MB",
                    [value("pipe", Some(9_039.0), Some(20_000.0)), value("unix", Some(41_335.0), None)],
                ),
            ],
        }],
        note: Some("A note.".into()),
        source: Some("A. Author, \"Sockets\", a blog, 2018".into()),
        url: Some("https://example.org/sockets".into()),
        published_on: "a laptop".into(),
        alpha: 0.05,
    }
}

/// Two lines over three sizes, of which one was measured at two alone.
fn lines() -> PublishedFigure {
    let sizes = [1.0, 1_024.0, 262_144.0];
    let place = |size: f64| FigurePlace { label: size.to_string(), at: Some(size) };
    let series = |label: &str, scale: f64, measured: [bool; 3]| FigureSeries {
        label: label.into(),
        values: sizes
            .iter()
            .zip(measured)
            .map(|(size, is)| {
                let published = scale * (20_000.0 + size);
                value(label, Some(published), is.then_some(published * 0.3))
            })
            .collect(),
    };
    PublishedFigure {
        kind: FigureKind::Lines,
        across: "size".into(),
        panels: vec![FigurePanel {
            title: "Server buffer".into(),
            unit: FigureUnit::Nanoseconds,
            places: sizes.map(place).into(),
            series: vec![series("unix", 1.0, [true; 3]), series("tcp", 4.0, [true, false, true])],
        }],
        ..bars()
    }
}

fn svg(figure: &PublishedFigure) -> String {
    draw(figure, &made(), Background::White).unwrap().svg()
}

fn of_class<'a>(xml: &'a Xml<'a>, class: &'a str) -> Vec<Node<'a, 'a>> {
    xml.descendants().filter(|node| node.attribute("class") == Some(class)).collect()
}

fn number(node: &Node<'_, '_>, attribute: &str) -> f64 {
    node.attribute(attribute).unwrap_or_else(|| panic!("no {attribute}")).parse().unwrap()
}

fn texts(svg: &str) -> Vec<String> {
    let xml = Xml::parse(svg).unwrap();
    let nodes = xml.descendants().filter(|node| node.has_tag_name("text"));
    nodes.map(|node| node.text().unwrap_or_default().trim().to_owned()).collect()
}

#[test]
fn one_picture_as_a_whole() {
    insta::assert_snapshot!(svg(&bars()));
}

#[test]
fn bars_end_where_the_axis_says_and_say_which_is_which() {
    let svg = svg(&bars());
    let xml = Xml::parse(&svg).unwrap();
    let axis = of_class(&xml, "axis")[0];
    let [from, to, start, end] =
        ["data-from", "data-to", "data-start", "data-end"].map(|name| number(&axis, name));
    let place = |value: f64| start + (value / from).ln() / (to / from).ln() * (end - start);
    let pairs = of_class(&xml, "pair");
    assert_eq!(pairs.len(), 4);
    for pair in &pairs {
        let published = number(pair, "data-published");
        let outline = pair.children().find(|node| node.attribute("fill") == Some("none")).unwrap();
        let y = (place(published) * 100.0).round() / 100.0;
        assert!(outline.attribute("d").unwrap().contains(&format!(" {y}L")), "{published}: {outline:?}");
        let Some(measured) = pair.attribute("data-measured") else { continue };
        let bar = pair.children().find(|node| node.has_tag_name("rect")).unwrap();
        assert!((number(&bar, "y") - place(measured.parse().unwrap())).abs() < 0.02);
        assert!((number(&bar, "y") + number(&bar, "height") - start).abs() < 0.02, "it begins at the axis");
        assert!(pair.children().any(|node| node.attribute("class") == Some("interval")));
    }
    assert_eq!(pairs.iter().filter(|pair| pair.attribute("data-measured").is_none()).count(), 1);
    let titles: Vec<_> =
        pairs.iter().map(|pair| pair.first_element_child().unwrap().text().unwrap()).collect();
    assert_eq!(titles[0].trim(), "pipe, 100 B: published 278.062607 Mbit/s; measured 400 Mbit/s (320 – 500)");
    assert!(titles[3].ends_with("measured nothing"), "{titles:?}");
}

#[test]
fn what_was_published_is_dashed_and_hollow_and_what_was_measured_is_not() {
    let svg = svg(&lines());
    let xml = Xml::parse(&svg).unwrap();
    let series = of_class(&xml, "series");
    assert_eq!(series.len(), 2);
    for (node, measured) in series.iter().zip([3, 2]) {
        let circles: Vec<_> = node.children().filter(|node| node.has_tag_name("circle")).collect();
        let hollow = circles.iter().filter(|node| node.attribute("fill") == Some(ink::PAPER)).count();
        assert_eq!((hollow, circles.len() - hollow), (3, measured));
        let dashed = node.children().filter(|node| node.attribute("stroke-dasharray") == Some(PUBLISHED));
        assert_eq!(dashed.count(), 1);
    }
    let texts = texts(&svg);
    for name in
        ["unix, published", "unix, measured", "tcp, published", "10 µs", "262144", "time (logarithmic)"]
    {
        assert!(texts.iter().any(|text| text == name), "{name}: {texts:?}");
    }
}

#[test]
fn the_words_say_where_both_come_from() {
    let all = texts(&svg(&bars())).join(" ");
    for part in [
        "Outlined bars: as published. Filled bars: measured here",
        "intervals at 95 %",
        "1 published value was not measured in this run.",
        "A note.",
        "Source: A. Author, \"Sockets\", a blog, 2018, https://example.org/sockets",
        "Published on: a laptop",
        "Measured on: A processor, 2 cores, linux 6.1.0; ipcost 0.1.0; 2026-01-01T00:00:00Z",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
}

#[test]
fn one_side_alone_is_drawn_and_neither_is_an_error() {
    let without = |measured: bool, published: bool| {
        let mut figure = bars();
        for value in
            figure.panels.iter_mut().flat_map(|panel| &mut panel.series).flat_map(|series| &mut series.values)
        {
            value.measured = value.measured.filter(|_| measured);
            value.published = value.published.filter(|_| published);
        }
        figure
    };
    let published = texts(&svg(&without(false, true))).join(" ");
    assert!(published.contains("Nothing was measured here"), "{published}");
    assert!(!published.contains("in this run"), "{published}");
    let measured = texts(&svg(&without(true, false))).join(" ");
    assert!(!measured.contains("as published"), "{measured}");
    let nothing = draw(&without(false, false), &made(), Background::White).unwrap_err();
    assert!(matches!(nothing, PictureError::NothingPublished));
    let empty = PublishedFigure { panels: Vec::new(), ..bars() };
    assert!(draw(&empty, &made(), Background::White).is_err());
}

/// Figures with absurd values and texts.
pub(crate) fn absurd() -> Vec<PublishedFigure> {
    const NUMBERS: [f64; 10] = [
        0.0,
        -1.0,
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1e-300,
        1.0,
        5e-324,
    ];
    const HOSTILE: &str = "</svg><script>alert(1)</script>\"'&\u{1b}[41m\u{202e}\u{fffe}";
    let mut all = Vec::new();
    for number in NUMBERS {
        for (kind, logarithmic) in
            [(FigureKind::Bars, true), (FigureKind::Bars, false), (FigureKind::Lines, true)]
        {
            let mut figure = if kind == FigureKind::Bars { bars() } else { lines() };
            figure.logarithmic = logarithmic;
            figure.panels[0].places[0].at = Some(number);
            figure.panels[0].series[0].values[0].published = Some(number);
            let measured = Estimate { median: number, lo: Some(number), hi: None };
            figure.panels[0].series[1].values[0].measured = Some(measured);
            figure.panels[0].series[0].values[1].measured =
                Some(Estimate { median: 7.0, lo: Some(number), hi: Some(number) });
            figure.alpha = number;
            all.push(figure);
        }
    }
    for mut figure in [bars(), lines()] {
        for text in [&mut figure.title, &mut figure.across, &mut figure.published_on] {
            *text = HOSTILE.into();
        }
        (figure.note, figure.source) = (Some(HOSTILE.into()), Some(HOSTILE.into()));
        figure.url = Some(format!("javascript:{HOSTILE}"));
        let panel = &mut figure.panels[0];
        panel.title = HOSTILE.repeat(9);
        panel.places.iter_mut().for_each(|place| place.label = HOSTILE.into());
        for series in &mut panel.series {
            series.label = HOSTILE.repeat(7);
            series.values.iter_mut().for_each(|value| value.transport = HOSTILE.into());
        }
        all.push(figure.clone());
        // More places than values, more values than places, nothing at all, and very many.
        figure.panels[0].places.truncate(1);
        all.push(figure.clone());
        figure.panels[0].places.clear();
        all.push(figure.clone());
        let mut many = lines();
        let (series, place) = (many.panels[0].series[0].clone(), many.panels[0].places[1].clone());
        many.panels[0].series = vec![series; 60];
        many.panels[0].places = vec![place; 500];
        many.kind = figure.kind;
        all.push(many);
    }
    all
}

#[test]
fn absurd_figures_are_drawn() {
    for (index, figure) in absurd().into_iter().enumerate() {
        let Ok(picture) = draw(&figure, &made(), Background::White) else { continue };
        let svg = picture.svg();
        let xml = Xml::parse(&svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
        assert!(!xml.descendants().any(|node| node.has_tag_name("script")));
        assert!(!svg.contains(|c: char| c.is_control() && c != '\n'));
        let drawn = svg.split("d=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        assert!(drawn.into_iter().all(|path| !path.contains("NaN") && !path.contains("inf")), "{svg}");
        // Bitmaps have the same marks and take long.
        if index % 8 == 0 {
            let _ = picture.png();
        }
    }
}
