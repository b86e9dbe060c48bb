use std::collections::BTreeMap;

use proptest::prelude::*;
use roxmltree::{Document, Node};

use super::*;

fn side(stacks: &[(&str, u64)], cpu_ns: f64, waits: &[(&str, f64)]) -> FlameSide {
    FlameSide {
        stacks: stacks.iter().map(|(stack, weight)| ((*stack).to_owned(), *weight)).collect(),
        cpu_ns,
        waits: waits.iter().map(|(call, ns)| CallWait { call: (*call).to_owned(), ns: *ns }).collect(),
    }
}

fn cell(label: &str, client: FlameSide, server: FlameSide) -> FlameCell {
    FlameCell { label: label.to_owned(), sides: Sides { client, server } }
}

fn tcp() -> FlameCell {
    let client =
        side(&[("peer;send", 1), ("peer;send;tcp_sendmsg_[k]", 3)], 4_000.0, &[("recvfrom", 2_000.0)]);
    let server =
        side(&[("peer;recv;tcp_recvmsg_[k]", 7), ("peer;work", 7)], 1_400.0, &[("fdatasync", 600.0)]);
    cell("rr/tcp/64/c1/free", client, server)
}

fn unix() -> FlameCell {
    let client = side(&[("peer;send", 1), ("peer;send;unix_stream_sendmsg_[k]", 1)], 2_000.0, &[]);
    let server = side(&[("peer;work", 5)], 900.0, &[("fdatasync", 600.0)]);
    cell("rr/unix/64/c1/free", client, server)
}

/// A frame of the picture.
#[derive(Debug, Clone)]
struct Drawn {
    title: String,
    x: f64,
    y: f64,
    width: f64,
    /// Of the difference, and how far it is from grey.
    colour: Option<(String, f64)>,
}

impl Drawn {
    fn is(&self, name: &str) -> bool {
        self.title.strip_prefix(name).is_some_and(|rest| rest.starts_with([':', ' ']))
    }
}

fn drawn(svg: &str) -> Vec<Drawn> {
    let document = Document::parse(svg).unwrap();
    let frames = document.descendants().filter(|node| node.attribute("class") == Some("frame"));
    frames.map(of_frame).collect()
}

fn of_frame(frame: Node<'_, '_>) -> Drawn {
    let mut bars = frame.children().filter(|child| child.has_tag_name("rect"));
    let bar = bars.next().unwrap();
    let number = |name: &str| bar.attribute(name).unwrap().parse().unwrap();
    let colour = |bar: Node<'_, '_>| {
        let share = bar.attribute("fill-opacity").map_or(1.0, |share| share.parse().unwrap());
        (bar.attribute("fill").unwrap().to_owned(), share)
    };
    Drawn {
        title: frame.first_element_child().unwrap().text().unwrap().to_owned(),
        x: number("x"),
        y: number("y"),
        width: number("width"),
        colour: bars.next().map(colour),
    }
}

fn named<'a>(frames: &'a [Drawn], name: &str) -> &'a Drawn {
    frames.iter().find(|frame| frame.is(name)).unwrap_or_else(|| panic!("no {name}: {frames:?}"))
}

fn assert_ratio(frames: &[Drawn], name: &str, other: &str, expected: f64) {
    let ratio = named(frames, name).width / named(frames, other).width;
    assert!((ratio - expected).abs() < 0.001, "{name} / {other}: {ratio}, not {expected}");
}

/// What the picture says above the frames.
fn words(svg: &str) -> String {
    let document = Document::parse(svg).unwrap();
    let canvas = document.root_element().children().find(|node| node.has_tag_name("g")).unwrap();
    let lines = canvas.children().filter(|node| node.has_tag_name("text")).filter_map(|node| node.text());
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

#[test]
fn widths_are_times_per_operation() {
    let svg = draw(&tcp(), None).unwrap();
    let frames = drawn(&svg);
    // 8 000 ns: of the client 4 000 on the processor and 2 000 waiting, of the server 1 400 and 600.
    assert_ratio(&frames, "client", "rr/tcp/64/c1/free", 6.0 / 8.0);
    assert_ratio(&frames, "server", "client", 2.0 / 6.0);
    assert_ratio(&frames, "tcp_sendmsg", "send", 3.0 / 4.0);
    assert_ratio(&frames, "send", "client", 4.0 / 6.0);
    assert_ratio(&frames, "waits in recvfrom", "client", 2.0 / 6.0);
    assert_ratio(&frames, "waits in fdatasync", "server", 0.6 / 2.0);
    assert_ratio(&frames, "work", "recv", 1.0);
    assert!(
        named(&frames, "tcp_sendmsg").title.contains("(kernel): 3000 ns per operation, 50.0 % of its side")
    );
    let said = words(&svg);
    assert!(said.contains("rr/tcp/64/c1/free: ns per operation"), "{said}");
}

#[test]
fn frames_stand_on_those_that_call_them() {
    let frames = drawn(&draw(&tcp(), None).unwrap());
    for (inner, outer) in
        [("client", "rr/tcp/64/c1/free"), ("tcp_sendmsg", "send"), ("waits in recvfrom", "client")]
    {
        let (inner, outer) = (named(&frames, inner), named(&frames, outer));
        assert!(inner.y < outer.y, "{inner:?} {outer:?}");
        assert!(inner.x >= outer.x - 0.01, "{inner:?} {outer:?}");
        assert!(inner.x + inner.width <= outer.x + outer.width + 0.02, "{inner:?} {outer:?}");
    }
}

#[test]
fn differences_are_coloured_on_one_scale() {
    let svg = draw(&tcp(), Some(&unix())).unwrap();
    let frames = drawn(&svg);
    let colour = |name: &str| named(&frames, name).colour.clone().unwrap();
    let [client, sent, work, sync] = ["client", "tcp_sendmsg", "work", "waits in fdatasync"].map(colour);
    // 4 000 ns more is the most; 3 000 ns that the baseline lacks; 200 ns less; no difference.
    assert_eq!([client.1, sent.1, work.1, sync.1], [1.0, 0.75, 0.05, 0.0]);
    assert_eq!(client.0, sent.0);
    assert_ne!(client.0, work.0);
    assert!(named(&frames, "work").title.ends_with("200 ns less than in rr/unix/64/c1/free"));
    assert!(named(&frames, "client").title.ends_with("4000 ns more than in rr/unix/64/c1/free"));
}

#[test]
fn what_only_the_baseline_does_is_said() {
    let said = words(&draw(&tcp(), Some(&unix())).unwrap());
    assert!(said.contains("rr/tcp/64/c1/free against rr/unix/64/c1/free: ns per operation"), "{said}");
    assert!(said.contains("Only in rr/unix/64/c1/free: client: unix_stream_sendmsg 1000 ns"), "{said}");
    let alike = words(&draw(&tcp(), Some(&tcp())).unwrap());
    assert!(!alike.contains("Only in"), "{alike}");
}

#[test]
fn equal_cells_have_one_colour() {
    let frames = drawn(&draw(&tcp(), Some(&tcp())).unwrap());
    assert!(
        frames.iter().all(|frame| frame.colour.as_ref().is_some_and(|(_, share)| *share == 0.0)),
        "{frames:?}"
    );
}

#[test]
fn a_side_without_samples_keeps_its_time() {
    let lone = cell("cell", side(&[], 1_000.0, &[]), side(&[("peer;work", 1)], 3_000.0, &[]));
    let frames = drawn(&draw(&lone, None).unwrap());
    assert_ratio(&frames, "server", "client", 3.0);
}

#[test]
fn nothing_to_draw_is_an_error() {
    let empty = cell("cell", side(&[], 0.0, &[]), side(&[("peer;work", 1)], 0.0, &[]));
    let error = FlameError::Empty { label: "cell".to_owned() };
    assert_eq!(draw(&empty, None), Err(error.clone()));
    assert_eq!(draw(&tcp(), Some(&empty)), Err(error.clone()));
    assert_eq!(error.to_string().lines().count(), 1);
}

#[test]
fn a_time_that_is_none_is_an_error() {
    for wrong in [f64::NAN, f64::INFINITY, -1.0] {
        let cpu = cell("cell", side(&[], wrong, &[]), side(&[], 1.0, &[]));
        let error = draw(&cpu, None).unwrap_err().to_string();
        assert!(error.starts_with("the processor time of the client of cell is"), "{error}");
        let wait = cell("cell", side(&[], 1.0, &[]), side(&[], 1.0, &[("poll", wrong)]));
        let error = draw(&wait, None).unwrap_err().to_string();
        assert!(error.starts_with("the wait in poll of the server of cell is"), "{error}");
    }
}

#[test]
fn hostile_names_are_only_text() {
    let script = "<script>alert(1)</script>";
    let attribute = "\" onload=\"alert(1)' onclick='alert(2)";
    let nothing = "]]> --> \u{0} \u{1b}[31m \u{fffe} \u{ffff} \u{202e}";
    let stack = format!("{script};{attribute};{nothing}");
    let names = [script, attribute, nothing];
    for name in names {
        let client = side(&[(&stack, 1)], 10.0, &[(name, 10.0)]);
        let hostile = cell(name, client.clone(), client);
        for svg in [draw(&hostile, None), draw(&hostile, Some(&tcp())), draw(&tcp(), Some(&hostile))] {
            assert_harmless(&svg.unwrap());
        }
    }
    let svg = draw(&cell(script, side(&[(&stack, 1)], 10.0, &[]), FlameSide::default()), None).unwrap();
    assert!(drawn(&svg).iter().filter(|frame| frame.is(script)).count() == 2, "the names stay readable");
}

/// Nothing that a browser would run or load.
fn assert_harmless(svg: &str) {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
    for element in document.descendants().filter(Node::is_element) {
        let name = element.tag_name().name();
        assert!(["svg", "title", "g", "rect", "path", "text"].contains(&name), "{name}: {svg}");
        for attribute in element.attributes() {
            let name = attribute.name();
            assert!(!name.starts_with("on") && !name.contains("href") && name != "style", "{name}: {svg}");
        }
    }
}

#[test]
fn deep_stacks_are_cut() {
    let deep = vec!["f"; 100_000].join(";");
    let svg = draw(&cell("cell", side(&[(&deep, 1)], 10.0, &[]), FlameSide::default()), None).unwrap();
    assert!((200..400).contains(&drawn(&svg).len()));
}

#[test]
fn thousands_of_functions_stay_a_small_picture() {
    let stacks: BTreeMap<String, u64> = (0..50_000).map(|number| (format!("peer;f{number}"), 1)).collect();
    let client = FlameSide { stacks, cpu_ns: 10.0, waits: Vec::new() };
    let svg = draw(&cell("cell", client, FlameSide::default()), None).unwrap();
    assert!(drawn(&svg).len() < 20);
}

proptest! {
    #[test]
    fn any_names_make_well_formed_svg(
        label in ".{0,40}",
        stacks in proptest::collection::btree_map(".{0,40}", any::<u64>(), 0..6),
        call in ".{0,40}",
        cpu_ns in 0.0..1e12,
    ) {
        let waits = vec![CallWait { call, ns: 1.0 }];
        let client = FlameSide { stacks, cpu_ns, waits };
        assert_harmless(&draw(&cell(&label, client, FlameSide::default()), None).unwrap());
    }
}
