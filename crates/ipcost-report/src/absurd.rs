//! Documents that are sound in form and absurd in content: every renderer copes with them.

use ipcost_model::{Document, read_document};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::formats::{Content, FORMATS, Format};
use crate::picture::{self, Background, Chart};
use crate::{fixture, json as json_text, otava, run_page};

type Render = fn(&Document) -> String;

/// The renderers of a document that are no [`FORMATS`].
const RENDERERS: &[(&str, Render)] = &[
    ("terminal", |document| {
        run_page::page(document).terminal(false, 80) + &run_page::all_warnings(document, 80)
    }),
    ("wide terminal", |document| run_page::page(document).terminal(true, usize::MAX)),
    ("otava", |document| otava::render(vec![otava::OtavaRow::of(document, "run")]).0),
    // A chart that a document has nothing for is refused, which is text, too.
    ("picture", |document| {
        let draw = |chart: &Chart| picture::draw(document, *chart, Background::default());
        Chart::ALL
            .iter()
            .map(draw)
            .map(|drawn| drawn.map_or_else(|error| error.to_string(), |drawn| drawn.svg()))
            .collect()
    }),
    ("json", |document| {
        let mut out = Vec::new();
        json_text::write(document, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }),
];

/// Draws it with everything; what is drawn is text that obeys no one.
fn draw_all(document: &Document) {
    draw(document, &|_| true);
}

/// The same with the renderers that are wanted.
fn draw(document: &Document, is_wanted: &dyn Fn(&str) -> bool) {
    let page = run_page::page(document);
    let text = |format: &Format, samples: bool| {
        let content = Content { document: Some(document), page: &&page, answer: None, data: None, samples };
        (format.render)(&content)
    };
    let formats = FORMATS.iter().filter(|format| is_wanted(format.flag));
    let formats =
        formats.flat_map(|format| [false, true].map(|samples| (format.flag, text(format, samples))));
    let others = RENDERERS.iter().filter(|(name, _)| is_wanted(name));
    let others = others.map(|(name, render)| (*name, render(document)));
    for (name, shown) in others.chain(formats) {
        let raw = |c: char| c.is_control() && c != '\n' && !(c == '\u{1b}' && name.ends_with("terminal"));
        assert!(!shown.contains(raw), "{name} shows control characters: {shown:?}");
        assert!(!shown.contains("\u{1b}[41m"), "{name} lets styles through");
    }
}

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>|`\"',;\r\n\u{1b}[41m\u{202e}\u{2028}=1+1\\";

fn absurd_values() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(0),
        json!(1),
        json!(-1),
        json!(u32::MAX),
        json!(u64::MAX),
        json!(f64::MAX),
        json!(f64::MIN_POSITIVE),
        json!(0.5),
        json!(true),
        json!(""),
        json!(HOSTILE),
        json!([]),
        json!({}),
        json!({"so_sndbuf": 1, "framing": "newline"}),
        json!([[[[]]]]),
    ])
}

/// The places of all values, as JSON pointers.
fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    let mut down = |key: String, value: &Value| {
        let at = format!("{at}/{key}");
        out.push(at.clone());
        places(value, &at, out);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| down(key.clone(), value)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, value)| down(index.to_string(), value))
        }
        _ => {}
    }
}

/// Documents to spoil: one with samples, and one in several sizes.
fn wholes() -> Vec<Value> {
    let mut sizes = fixture::in_sizes();
    // One size is like another.
    sizes.workloads.truncate(2);
    sizes.cells.truncate(8);
    sizes.contrasts.truncate(6);
    let mut all = [fixture::measured(), sizes].map(|document| serde_json::to_value(document).unwrap());
    // One sample is like another.
    all[0]["samples"].as_array_mut().unwrap().truncate(2);
    all.to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if ipcost_testing::is_nightly() { 512 } else { 64 }))]

    #[test]
    fn a_spoilt_document_is_refused_in_one_line_or_drawn(
        whole in prop::sample::select(wholes()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), absurd_values()), 1..4),
    ) {
        let mut value = whole;
        for (place, new) in changes {
            let mut all = Vec::new();
            places(&value, "", &mut all);
            if let Some(spot) = value.pointer_mut(place.get(all.as_slice()).as_str()) {
                *spot = new;
            }
        }
        match read_document(value.to_string().as_bytes()) {
            Ok(document) => draw_all(&document),
            Err(error) => {
                let error = error.to_string();
                prop_assert!(!error.contains(char::is_control) && error.chars().count() < 500, "{error:?}");
            }
        }
    }
}

#[test]
fn every_place_with_every_absurd_value() {
    for whole in wholes() {
        let mut all = Vec::new();
        places(&whole, "", &mut all);
        let mut drawn = 0;
        let absurd = [json!(null), json!(0), json!(1_u64 << 60), json!(1e59), json!(HOSTILE), json!([])];
        for (at, place) in all.iter().enumerate() {
            // Each place meets one of them in each change, and all every night.
            let met = |number: usize| ipcost_testing::is_nightly() || number == at % absurd.len();
            for (number, new) in absurd.iter().cloned().enumerate().filter(|(number, _)| met(*number)) {
                let mut value = whole.clone();
                *value.pointer_mut(place).unwrap() = new;
                if let Ok(document) = read_document(value.to_string().as_bytes()) {
                    // Pictures and pages take most of the time: each place meets them with every other value.
                    draw(&document, &|name| {
                        (at / absurd.len() + number).is_multiple_of(2) || !["picture", "html"].contains(&name)
                    });
                    drawn += 1;
                }
            }
        }
        assert!(drawn > 50, "many of these are documents: {drawn}");
    }
}

#[test]
fn a_document_of_nothing() {
    let mut value = serde_json::to_value(fixture::measured()).unwrap();
    for key in ["cells", "workloads", "contrasts", "samples", "warnings"] {
        value[key] = json!([]);
    }
    draw_all(&read_document(value.to_string().as_bytes()).unwrap());
}

#[test]
fn hostile_text_everywhere() {
    wholes().into_iter().for_each(hostile);
}

/// Draws it with hostile text wherever there is text.
fn hostile(mut value: Value) {
    let mut all = Vec::new();
    places(&value, "", &mut all);
    let kept = [
        "schema", "pattern", "speaks_first", "placement", "wait", "stopped", "latency", "metric", "verdict",
        "multiplicity",
    ];
    for place in all.iter().filter(|place| !kept.contains(&place.rsplit('/').next().unwrap())) {
        let spot = value.pointer_mut(place).unwrap();
        if let Some(text) = spot.as_str() {
            *spot = json!(format!("{text}{HOSTILE}"));
        }
    }
    let document = read_document(value.to_string().as_bytes()).unwrap();
    draw_all(&document);
    assert!(!run_page::page(&document).markdown().contains("<img"));
}
