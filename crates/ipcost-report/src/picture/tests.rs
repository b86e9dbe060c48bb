//! Pictures as programs see them: every mark where its value belongs, and nothing from outside that is more than text.

use ipcost_model::{CellRecord, Document, Estimate, Multiplicity, OptionValue};
use roxmltree::{Document as Xml, Node};

use super::*;
use crate::fixture;

fn picture(document: &Document, chart: Chart) -> Picture {
    draw(document, chart, Background::White).unwrap_or_else(|error| panic!("{}: {error}", chart.name()))
}

fn drawn(document: &Document, chart: Chart) -> String {
    picture(document, chart).svg()
}

/// The same cells of pattern `stream` in three sizes, over two transports.
fn sizes() -> Document {
    let mut document = fixture::document();
    let model = document.cells[4].clone();
    let table = document.workloads[1].clone();
    document.cells.clear();
    document.workloads.clear();
    document.contrasts.clear();
    for size in [64, 4_096, 65_536] {
        let mut table = table.clone();
        table.cells.clear();
        for (index, transport) in ["pipe", "unix"].into_iter().enumerate() {
            let id = format!("stream/{transport}/{size}/c1");
            let median = size as f64 * (index + 1) as f64;
            table.cells.push(id.clone());
            let mut point = model.point.clone();
            (point.size, point.transport) = (size, transport.to_owned());
            document.cells.push(CellRecord {
                id,
                label: transport.to_owned(),
                point,
                wall_ns_per_op: Some(Estimate { median, lo: Some(median * 0.9), hi: Some(median * 1.2) }),
                bytes_per_s: Some(1e9 * size as f64 / median),
                ..model.clone()
            });
        }
        table.work.size = size;
        (table.baseline, table.fastest) = (Some(table.cells[1].clone()), None);
        document.workloads.push(table);
    }
    document
}

fn of_class<'a>(xml: &'a Xml<'a>, class: &'a str) -> impl Iterator<Item = Node<'a, 'a>> {
    xml.descendants().filter(move |node| node.attribute("class") == Some(class))
}

fn number(node: Node<'_, '_>, attribute: &str) -> f64 {
    node.attribute(attribute).unwrap_or_else(|| panic!("no {attribute}")).parse().unwrap()
}

fn circle<'a>(node: Node<'a, 'a>) -> Option<Node<'a, 'a>> {
    node.descendants().find(|inner| inner.has_tag_name("circle"))
}

fn texts(xml: &Xml<'_>) -> Vec<String> {
    let nodes = xml.descendants().filter(|node| node.has_tag_name("text"));
    nodes.map(|node| node.text().unwrap_or_default().trim().to_owned()).collect()
}

#[test]
fn a_point_lies_where_the_axis_says() {
    let document = fixture::document();
    let text = drawn(&document, Chart::Cost);
    let xml = Xml::parse(&text).unwrap();
    let axes: Vec<_> = of_class(&xml, "axis").collect();
    assert_eq!(axes.len(), document.workloads.len(), "a panel a workload");
    let cells: Vec<_> = of_class(&xml, "cell").collect();
    assert_eq!(cells.len(), document.cells.len());
    for (cell, node) in document.cells.iter().zip(cells) {
        let title = node.first_element_child().and_then(|title| title.text()).unwrap();
        assert!(title.starts_with(&text::clean(&cell.label)), "{title}");
        let axis = axes[usize::from(cell.pattern == ipcost_model::Pattern::Stream)];
        let place = |value: f64| {
            let [from, to, start, end] =
                ["data-from", "data-to", "data-start", "data-end"].map(|name| number(axis, name));
            start + (value - from) / (to - from) * (end - start)
        };
        match cell.wall_ns_per_op {
            Some(cost) => {
                assert!((number(circle(node).unwrap(), "cx") - place(cost.median)).abs() < 0.02, "{title}");
                let interval =
                    node.descendants().find(|inner| inner.attribute("class") == Some("interval")).unwrap();
                let outlines: String = interval.children().filter_map(|path| path.attribute("d")).collect();
                for bound in [cost.lo.unwrap(), cost.hi.unwrap()] {
                    let x = (place(bound) * 100.0).round() / 100.0;
                    assert!(outlines.contains(&format!("L{x} ")), "{title}: no {x} in {outlines}");
                }
            }
            None => assert!(circle(node).is_none(), "{title}"),
        }
    }
    let diamonds = xml.descendants().filter(|node| node.attribute("stroke-width") == Some("1.5")).count();
    assert_eq!(diamonds, 2, "both modes");
    assert!(texts(&xml).contains(&"51–91 % of epochs".to_owned()));
}

#[test]
fn every_picture_names_its_cells_its_origin_and_what_is_missing() {
    let mut document = fixture::document();
    document.cells[3].label =
        "a label that is so long that there is no room for all of it in any picture at all".to_owned();
    for chart in [Chart::Cost, Chart::Forest] {
        let text = drawn(&document, chart);
        let xml = Xml::parse(&text).unwrap();
        let texts = texts(&xml);
        for part in [
            "seed 7",
            "A processor, 2 cores",
            "ipcost 0.1.0",
            "warnings: steal",
            "Unavailable: tcp6: IPv6 loopback cannot be used.",
        ] {
            assert!(
                texts.iter().any(|text| text.contains(part)),
                "{}: no {part:?} in {texts:?}",
                chart.name()
            );
        }
        for label in ["pipe", "unix", "tcp6"] {
            assert!(texts.iter().any(|text| text == label), "{}: {label}", chart.name());
        }
        assert!(texts.iter().any(|text| text.starts_with("a label") && text.ends_with('…')), "{texts:?}");
        assert!(text.contains(&document.cells[3].label), "the whole label is the title of its marks");
    }
}

#[test]
fn an_unbounded_interval_is_hollow_and_in_dashes() {
    let mut document = fixture::document();
    let cost = document.cells[1].wall_ns_per_op.as_mut().unwrap();
    (cost.lo, cost.hi) = (None, None);
    for (chart, unbounded) in [(Chart::Cost, 1), (Chart::Forest, 1)] {
        let text = drawn(&document, chart);
        let xml = Xml::parse(&text).unwrap();
        let found: Vec<_> = of_class(&xml, "interval unbounded").collect();
        assert_eq!(found.len(), unbounded, "{}", chart.name());
        let dashes = found[0].children().filter(|path| path.attribute("stroke-dasharray") == Some("3 3"));
        assert_eq!(dashes.count(), 2);
        let point = circle(found[0].parent_element().unwrap()).unwrap();
        assert_eq!(point.attribute("fill"), Some(ink::PAPER));
        assert!(texts(&xml).iter().any(|text| text.contains("no interval yet")));
    }
}

#[test]
fn ratios_lie_on_one_axis_with_the_margin_around_one() {
    let document = fixture::document();
    let text = drawn(&document, Chart::Forest);
    let xml = Xml::parse(&text).unwrap();
    let axes: Vec<_> = of_class(&xml, "axis").collect();
    assert_eq!(axes.len(), 1);
    let [from, to, start, end] =
        ["data-from", "data-to", "data-start", "data-end"].map(|name| number(axes[0], name));
    let place = |value: f64| start + (value / from).ln() / (to / from).ln() * (end - start);
    let band = axes[0].children().find(|node| node.has_tag_name("rect")).unwrap();
    assert!((number(band, "x") - place(0.98)).abs() < 0.02);
    assert!((number(band, "x") + number(band, "width") - place(1.02)).abs() < 0.03);
    let of = |label: &str| {
        let node = of_class(&xml, "cell").find(|node| {
            node.first_element_child()
                .and_then(|title| title.text())
                .is_some_and(|text| text.starts_with(label))
        });
        number(circle(node.unwrap()).unwrap(), "cx")
    };
    assert!((of("pipe: 0.53") - place(0.531)).abs() < 0.02);
    assert!((of("tcp: baseline") - place(1.0)).abs() < 0.02);
    let mut explored = document;
    explored.analysis.multiplicity = Multiplicity::Explored;
    assert!(
        drawn(&explored, Chart::Forest).contains("expected to be wrong"),
        "another promise is worded otherwise"
    );
}

#[test]
fn lines_rise_with_cost_and_end_at_their_names() {
    let mut document = sizes();
    document.cells[3].wall_ns_per_op.as_mut().unwrap().hi = None;
    let text = drawn(&document, Chart::Size);
    let xml = Xml::parse(&text).unwrap();
    let lines: Vec<_> = of_class(&xml, "line").collect();
    assert_eq!(lines.len(), 2);
    for line in &lines {
        let points: Vec<_> = line.children().filter(|node| node.has_tag_name("circle")).collect();
        let at = |name| points.iter().map(|point| number(*point, name)).collect::<Vec<f64>>();
        assert_eq!(points.len(), 3);
        assert!(at("cx").windows(2).all(|pair| pair[0] < pair[1]), "larger is further right");
        assert!(at("cy").windows(2).all(|pair| pair[0] > pair[1]), "more expensive is higher");
    }
    let areas: Vec<usize> =
        of_class(&xml, "band").map(|band| band.children().filter(Node::is_element).count()).collect();
    assert_eq!(areas, [2, 0], "a band ends where an interval does");
    assert_eq!(of_class(&xml, "interval unbounded").count(), 1);
    let texts = texts(&xml);
    for part in ["pipe", "unix", "64 B", "4 KiB", "64 KiB", "Stream: cost by size of message"] {
        assert!(texts.iter().any(|text| text == part), "{part:?} is not in {texts:?}");
    }
}

/// A stream over two transports with its receive buffer at three places.
fn places() -> Document {
    let mut document = sizes();
    for (cell, place) in document.cells.iter_mut().zip([0, 0, 16, 16, 2_048, 2_048]) {
        cell.size = 32_769;
        cell.label = format!("{}, {place}", cell.transport);
        cell.options.set("recv_offset", OptionValue::Int(place)).unwrap();
    }
    document
}

#[test]
fn places_within_a_page_lie_on_an_even_axis() {
    let text = drawn(&places(), Chart::Layout);
    let xml = Xml::parse(&text).unwrap();
    let lines: Vec<_> = of_class(&xml, "line").collect();
    assert_eq!(lines.len(), 2);
    for line in &lines {
        let points = line.children().filter(|node| node.has_tag_name("circle"));
        let x: Vec<f64> = points.map(|point| number(point, "cx")).collect();
        assert_eq!(x.len(), 3);
        let share = (x[1] - x[0]) / (x[2] - x[0]);
        assert!((share - 16.0 / 2_048.0).abs() < 0.002, "{x:?}");
    }
    let texts = texts(&xml);
    for part in ["pipe", "unix", "512", "4096", "Stream of 32769 B: cost by place of the receive buffer"] {
        assert!(texts.iter().any(|text| text == part), "{part:?} is not in {texts:?}");
    }
}

#[test]
fn a_page_has_the_chart_without_what_it_says_in_words() {
    let (whole, plain) = (drawn(&places(), Chart::Layout), plain(&places(), Chart::Layout).unwrap().svg());
    let texts_of = |svg: &str| texts(&Xml::parse(svg).unwrap());
    assert!(texts_of(&whole).len() > texts_of(&plain).len());
    let is_title = |text: &String| text.contains("cost by place");
    assert!(texts_of(&whole).iter().any(is_title) && !texts_of(&plain).iter().any(is_title));
    assert_eq!(of_class(&Xml::parse(&plain).unwrap(), "line").count(), 2);
}

#[test]
fn bars_are_grouped_by_size_and_longer_where_more_is_carried() {
    let document = sizes();
    let text = drawn(&document, Chart::Throughput);
    let xml = Xml::parse(&text).unwrap();
    let bars =
        of_class(&xml, "cell").filter_map(|cell| cell.children().find(|node| node.has_tag_name("rect")));
    let lengths: Vec<f64> = bars.map(|bar| number(bar, "width")).collect();
    assert_eq!(lengths.len(), 6);
    assert!(lengths.chunks(2).all(|pair| pair[0] > pair[1] * 1.1 && pair[1] > 0.0), "{lengths:?}");
    let texts = texts(&xml);
    for part in ["64 B messages", "64 KiB messages", "8000 Mbit/s (6670 – 8890)", "4000 Mbit/s (3330 – 4440)"]
    {
        assert!(texts.iter().any(|text| text == part), "{part:?} is not in {texts:?}");
    }
}

#[test]
fn every_kind_of_field_and_none_that_names_a_winner_without_a_claim() {
    let document = fixture::in_sizes();
    let text = drawn(&document, Chart::Cheapest);
    let xml = Xml::parse(&text).unwrap();
    let fields: Vec<(String, Vec<&str>)> = of_class(&xml, "cell")
        .map(|cell| {
            let title = cell.first_element_child().and_then(|title| title.text()).unwrap_or_default();
            let groups = cell.descendants().filter(|node| node.has_tag_name("g")).skip(1);
            (title.trim().to_owned(), groups.filter_map(|group| group.attribute("class")).collect())
        })
        .collect();
    insta::assert_debug_snapshot!(fields);
    for (title, marks) in &fields {
        let open = title.contains("(open)") || title.ends_with("measured");
        assert_eq!(open, !marks.contains(&"known"), "{title}: {marks:?}");
    }
    insta::assert_debug_snapshot!(texts(&xml));
}

#[test]
fn fields_line_up_under_their_sizes() {
    let text = drawn(&fixture::in_sizes(), Chart::Cheapest);
    let xml = Xml::parse(&text).unwrap();
    let axis = of_class(&xml, "axis").next().unwrap();
    let middles: Vec<f64> = axis
        .children()
        .filter(|node| node.has_tag_name("text"))
        .skip(1)
        .map(|text| number(text, "x"))
        .collect();
    assert_eq!(middles.len(), 3);
    for field in of_class(&xml, "cell") {
        for text in field.children().filter(|node| node.has_tag_name("text")) {
            assert!(middles.contains(&number(text, "x")), "{text:?} {middles:?}");
        }
    }
    picture(&fixture::in_sizes(), Chart::Cheapest).png().unwrap();
}

#[test]
fn a_map_of_thousands_of_fields_stays_bounded_and_says_so() {
    let mut document = fixture::in_sizes();
    let (table, cells) = (document.workloads[0].clone(), document.cells[..4].to_vec());
    for concurrency in 2..80 {
        for size in 1..40 {
            let mut table = table.clone();
            (table.work.size, table.work.concurrency) = (size, concurrency);
            let id = |id: &String| format!("{id}/{size}/{concurrency}");
            table.cells = table.cells.iter().map(id).collect();
            table.baseline = table.baseline.as_ref().map(id);
            let fastest = table.fastest.as_mut().unwrap();
            (fastest.cell, fastest.runner_up) = (id(&fastest.cell), id(&fastest.runner_up));
            for cell in &cells {
                let mut cell = CellRecord { id: id(&cell.id), ..cell.clone() };
                (cell.size, cell.concurrency) = (size, concurrency);
                document.cells.push(cell);
            }
            document.workloads.push(table);
        }
    }
    let picture = picture(&document, Chart::Cheapest);
    picture.png().unwrap();
    let text = picture.svg();
    let xml = Xml::parse(&text).unwrap();
    assert!(of_class(&xml, "cell").count() <= 16 * 40);
    let texts = texts(&xml);
    for part in ["Not shown: 40 more rows.", "Not shown: 26 larger sizes."] {
        assert!(texts.iter().any(|text| text.contains(part)), "{part:?} is not in {texts:?}");
    }
}

#[test]
fn what_a_document_cannot_show_is_refused_with_what_would_help() {
    let mut document = fixture::document();
    let refusal =
        |document: &Document, chart| draw(document, chart, Background::White).unwrap_err().to_string();
    assert!(refusal(&document, Chart::Size).contains("--sizes"));
    assert!(refusal(&document, Chart::Layout).contains("sweep layout"));
    assert!(refusal(&document, Chart::Cheapest).contains("--sizes 64,4KiB,64KiB"));
    assert!(refusal(&sizes(), Chart::Cheapest).contains("two transports"), "nothing was compared");
    document.contrasts.clear();
    assert!(refusal(&document, Chart::Forest).contains("two transports"));
    document.workloads.truncate(1);
    assert!(refusal(&document, Chart::Throughput).contains("--patterns stream"));
    document.cells.iter_mut().for_each(|cell| cell.wall_ns_per_op = None);
    assert!(refusal(&document, Chart::Cost).contains("nothing was measured"));
}

#[test]
fn text_from_outside_stays_text() {
    let hostile = "</text><script>alert(1)</script>\"'&amp;<!--]]>\u{1}\u{7f}\u{ffff}";
    for (mut document, charts) in [
        (fixture::document(), [Chart::Cost, Chart::Forest]),
        (sizes(), [Chart::Size, Chart::Throughput]),
        (fixture::in_sizes(), [Chart::Cheapest, Chart::Cost]),
    ] {
        document.cells[1].label = hostile.to_owned();
        document.cells[1].transport = hostile.to_owned();
        document.cells[2].reason = Some(hostile.to_owned());
        document.host.cpu = hostile.to_owned();
        document.tool.version = hostile.to_owned();
        document.started = hostile.to_owned();
        document.warnings.push(ipcost_model::Warning { code: hostile.to_owned(), message: String::new() });
        for chart in charts {
            let picture = picture(&document, chart);
            let text = picture.svg();
            let xml = Xml::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", chart.name()));
            let known = ["svg", "g", "title", "text", "path", "rect", "circle"];
            let foreign = xml.descendants().find(|node| {
                node.is_comment() || node.is_element() && !known.contains(&node.tag_name().name())
            });
            assert!(foreign.is_none(), "{}: {foreign:?}", chart.name());
            let titles = xml.descendants().filter(|node| node.has_tag_name("title"));
            assert!(
                titles.filter_map(|title| title.text()).any(|text| text.contains("<script>")),
                "{}",
                chart.name()
            );
            picture.png().unwrap();
        }
    }
}

#[test]
fn wild_numbers_are_drawn_within_the_picture() {
    let mut document = sizes();
    let wild = [
        (5e-324, None, Some(f64::MAX)),
        (f64::MAX, Some(0.0), None),
        (1.0, Some(0.0), Some(1e300)),
        (0.0, Some(0.0), Some(0.0)),
    ];
    for (cell, (median, lo, hi)) in document.cells.iter_mut().zip(wild) {
        cell.wall_ns_per_op = Some(Estimate { median, lo, hi });
        cell.bytes_per_s = Some(1.0 / median.max(1e-300));
    }
    for chart in [Chart::Cost, Chart::Size, Chart::Throughput] {
        let text = drawn(&document, chart);
        let xml = Xml::parse(&text).unwrap();
        for point in xml.descendants().filter(|node| node.has_tag_name("circle")) {
            assert!((LEFT..=RIGHT).contains(&number(point, "cx")), "{}: {point:?}", chart.name());
        }
        assert!(!text.contains("NaN") && !text.contains("inf\""), "{}", chart.name());
    }
}

#[test]
fn forty_cells_fit_and_far_too_many_are_no_bitmap() {
    let mut document = sizes();
    let (table, cell) = (document.workloads[0].clone(), document.cells[0].clone());
    let grow = |document: &mut Document, count: usize| {
        document.workloads = vec![table.clone()];
        document.cells.clear();
        document.workloads[0].cells.clear();
        (document.workloads[0].baseline, document.workloads[0].fastest) = (None, None);
        for index in 0..count {
            let id = format!("cell {index}");
            document.workloads[0].cells.push(id.clone());
            document.cells.push(CellRecord { label: id.clone(), id, ..cell.clone() });
        }
        picture(document, Chart::Cost)
    };
    let text = grow(&mut document, 40).svg();
    let height = number(Xml::parse(&text).unwrap().root_element(), "height");
    assert!((900.0..1_400.0).contains(&height), "{height}");
    #[cfg(feature = "png")]
    assert!(matches!(grow(&mut document, 1_000).png(), Err(PictureError::TooTall { .. })));
}

#[cfg(feature = "png")]
#[test]
fn a_bitmap_has_two_pixels_a_unit_the_background_and_ink() {
    for (background, corner) in [(Background::White, [255; 4]), (Background::Transparent, [0; 4])] {
        let picture = draw(&fixture::document(), Chart::Cost, background).unwrap();
        let height = picture.height;
        let bytes = picture.png().unwrap();
        let mut reader = ::png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((f64::from(info.width), f64::from(info.height)), (WIDTH * 2.0, height * 2.0));
        assert_eq!(pixels[..4], corner);
        let dark = |row: &[u8]| {
            row.chunks_exact(4)
                .filter(|pixel| pixel[3] > 200 && pixel[..3].iter().all(|part| *part < 90))
                .count()
        };
        // The title: there is text, so the embedded typeface was found.
        let title = &pixels[info.line_size * 40..info.line_size * 80];
        assert!(dark(title) > 1_000, "{}", dark(title));
    }
}

#[test]
fn names_of_charts_are_read_and_suggested() {
    assert!(Chart::ALL.iter().all(|chart| chart.name().parse() == Ok(*chart)));
    assert!("sizes".parse::<Chart>().unwrap_err().to_string().contains("did you mean \"size\""));
    assert!("black".parse::<Background>().unwrap_err().to_string().contains("transparent"));
}

#[test]
fn one_small_picture_as_a_whole() {
    let mut document = fixture::document();
    document.workloads.truncate(1);
    document.cells.truncate(4);
    insta::assert_snapshot!(drawn(&document, Chart::Forest));
}

#[test]
fn floors_are_lines_at_their_cost() {
    let document = fixture::with_floors();
    let text = drawn(&document, Chart::Cost);
    let xml = Xml::parse(&text).unwrap();
    let floors: Vec<f64> = of_class(&xml, "floor").map(|node| number(node, "data-at")).collect();
    assert_eq!(floors, [3_810.0; 3], "one for each cell that has one");
    let axis = of_class(&xml, "axis").next().unwrap();
    assert!(number(axis, "data-from") <= 3_810.0, "the axis has room for it");
    assert!(texts(&xml).iter().any(|text| text.contains("2.58 × floor")), "{:?}", texts(&xml));
    assert!(texts(&xml).iter().any(|text| text.starts_with("Dashed line: the floor")));
    let without = drawn(&fixture::document(), Chart::Cost);
    assert!(!without.contains("floor"));
}

/// The documents' floor in the picture of sizes, from each cell's median.
fn floors_of_sizes(floor: impl Fn(&CellRecord) -> f64) -> Document {
    let model = fixture::with_floors().cells[0].floor.clone().unwrap();
    let mut document = sizes();
    for cell in &mut document.cells {
        cell.floor = Some(ipcost_model::FloorRecord { ns_per_op: floor(cell), ..model.clone() });
    }
    document
}

#[test]
fn lines_of_one_floor_share_it() {
    let shared = drawn(&floors_of_sizes(|cell| cell.size as f64 / 2.0), Chart::Size);
    let xml = Xml::parse(&shared).unwrap();
    assert_eq!(of_class(&xml, "floor").count(), 1);
    assert!(texts(&xml).contains(&"floor".to_owned()));
    let own = drawn(&floors_of_sizes(|cell| cell.wall_ns_per_op.unwrap().median / 2.0), Chart::Size);
    let xml = Xml::parse(&own).unwrap();
    assert_eq!(of_class(&xml, "floor").count(), 2);
    assert!(texts(&xml).contains(&"floor of pipe".to_owned()), "{:?}", texts(&xml));
}

#[test]
fn one_core_and_two_stand_side_by_side() {
    let document = fixture::on_one_core_and_on_two();
    for chart in [Chart::Cost, Chart::Forest, Chart::Throughput] {
        let text = drawn(&document, chart);
        let xml = Xml::parse(&text).unwrap();
        let axes: Vec<[f64; 2]> = of_class(&xml, "axis")
            .map(|axis| ["start", "end"].map(|end| number(axis, &format!("data-{end}"))))
            .collect();
        for sides in axes.chunks(2) {
            assert!(sides[0][1] < sides[1][0] && sides[1][1] <= RIGHT, "{}: {axes:?}", chart.name());
        }
        // A cell on one core and the same on two stand on one line, and its name stands there once.
        let names = texts(&xml);
        assert_eq!(
            names.iter().filter(|name| *name == "unix").count(),
            if chart == Chart::Throughput { 1 } else { 2 }
        );
        let height = |node: Node<'_, '_>| circle(node).map(|circle| number(circle, "cy"));
        let heights: Vec<Option<f64>> = of_class(&xml, "cell").map(height).collect();
        let mut half: Vec<f64> = heights.into_iter().flatten().collect();
        half.sort_by(f64::total_cmp);
        assert!(half.chunks(2).all(|pair| pair[0] == pair[1]), "{}: {half:?}", chart.name());
    }
}
