use super::*;
use crate::figures::series::{Across, panels};
use crate::fixture;
use crate::picture::{self, Background, Chart};
use serde_json::Value;

fn page(document: &Document) -> String {
    let mut bytes = Vec::new();
    write(document, None, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn nothing_of_the_page_ends_a_script_too_soon() {
    for script in SCRIPTS {
        let script = script.to_lowercase();
        assert!(!script.contains("</script") && !script.contains("<!--"));
    }
    assert!(!STYLE.to_lowercase().contains("</style"));
    assert_eq!(page(&fixture::document()).matches("</script>").count(), 3);
}

#[test]
fn the_script_neither_formats_numbers_nor_makes_elements_of_texts() {
    let rounds = ["toFixed", "toPrecision", "toLocaleString", "Intl.", "Math.round"];
    let obeys = ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("];
    for word in rounds.iter().chain(&obeys) {
        assert!(SCRIPTS.iter().all(|script| !script.contains(word)), "{word}");
    }
}

#[test]
fn texts_from_outside_are_escaped() {
    assert_eq!(
        text("<a href=\"x\" title='&'>\u{1b}"),
        "&lt;a href=&quot;x&quot; title=&apos;&amp;&apos;&gt;\\u{1b}"
    );
    let mut document = fixture::document();
    document.cells[0].label = "</script><b>".to_owned();
    let page = page(&document);
    assert!(!page.contains("<b>"), "neither in a table nor in the document's element");
}

#[test]
fn the_embedded_document_is_the_document() {
    let mut document = fixture::document();
    document.cells[0].label = "< \\u003c </script>".to_owned();
    let page = page(&document);
    let begin = "id=\"document\">";
    let json = page.split(begin).nth(1).unwrap().split("</script>").next().unwrap();
    assert_eq!(serde_json::from_str::<Document>(json).unwrap(), document);
}

#[test]
fn without_anything_measured_there_is_a_page_that_says_so() {
    let mut document = fixture::document();
    document.workloads.clear();
    document.contrasts.clear();
    document.cells.clear();
    assert!(page(&document).contains("nothing to say"));
}

#[test]
fn floors_have_a_column_and_tables_without_a_baseline_no_ratio() {
    let page = page(&fixture::with_floors());
    let tables: Vec<&str> = page.split("<table class=\"cells\"").skip(1).collect();
    let tables: Vec<&str> = tables.iter().map(|table| table.split("</table>").next().unwrap()).collect();
    assert!(tables[0].contains("<th class=\"number\">× floor</th>"));
    assert!(tables[0].contains("data-value=\"2.58\">2.58</td>"));
    assert!(!tables[1].contains("× floor"), "streams have none here");
    assert!(
        tables[2].contains("switch")
            && !tables[2].contains("verdict")
            && !tables[2].contains("interval</th>")
    );
    for table in tables {
        let rows: Vec<usize> = table.split("<tr").skip(1).map(columns).collect();
        assert!(rows.iter().all(|columns| *columns == rows[0]), "{rows:?} {table}");
    }
}

#[test]
fn one_core_and_two_stand_side_by_side() {
    let document = fixture::on_one_core_and_on_two();
    let page = page(&document);
    let tables: Vec<&str> = page.split("<table class=\"cells beside\"").skip(1).collect();
    assert_eq!(tables.len() * 2, document.workloads.len());
    for table in tables.iter().map(|table| table.split("</table>").next().unwrap()) {
        assert!(table.contains(">on one core</th>") && table.contains(">on two cores</th>"), "{table}");
        let rows: Vec<usize> = table.split("<tr").skip(2).map(columns).collect();
        assert!(rows.iter().all(|columns| *columns == rows[0]), "{rows:?} {table}");
    }
    assert!(page.contains(": on one core pipe is cheapest"), "one sentence for both");
}

/// How many columns a row of a table spans.
fn columns(row: &str) -> usize {
    let spans = row.split("colspan=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let wide: usize = spans.map(|span| span.parse::<usize>().unwrap() - 1).sum();
    row.matches("<td").count() + row.matches("<th").count() + wide
}

/// The figures of a page, as its script gets them.
fn figures(page: &str) -> Value {
    let json = page.split("id=\"figures\">").nth(1).unwrap().split("</script>").next().unwrap();
    serde_json::from_str(json).unwrap()
}

/// The texts of a picture, and its colours.
fn picture(document: &Document, chart: Chart) -> (Vec<String>, String) {
    let svg = picture::draw(document, chart, Background::White).unwrap().svg();
    let xml = roxmltree::Document::parse(&svg).unwrap();
    let texts = xml.descendants().filter(|node| node.has_tag_name("text"));
    let texts = texts.map(|node| node.text().unwrap_or_default().trim().to_owned()).collect();
    (texts, svg)
}

#[track_caller]
fn assert_some(texts: &[String], part: &str) {
    assert!(texts.iter().any(|text| text.contains(part)), "{part:?} is not in {texts:?}");
}

#[test]
fn the_page_has_the_texts_and_colours_of_pictures() {
    for document in [fixture::document(), fixture::with_floors()] {
        let figures = figures(&page(&document));
        let (texts, svg) = picture(&document, Chart::Cost);
        for cell in figures["cells"].as_array().unwrap() {
            let [label, value, interval] = [&cell["label"], &cell["wall"][3], &cell["wall"][4]]
                .map(|text| text.as_str().unwrap().to_owned());
            assert_some(&texts, &label);
            assert_some(&texts, &format!("{value} ({interval})"));
            for mode in cell["modes"].as_array().into_iter().flatten() {
                assert_some(&texts, mode[1].as_str().unwrap().split(':').next().unwrap());
            }
            if let Some(floor) = cell["floor"][1].as_str() {
                assert_some(&texts, &format!("({interval}), {}", floor.split(" (").next().unwrap()));
            }
            let transport = &figures["transports"][cell["transport"].as_u64().unwrap() as usize];
            assert!(svg.contains(PALETTE[transport["colour"].as_u64().unwrap() as usize].light));
        }
        let (texts, _) = picture(&document, Chart::Forest);
        let mut compared = 0;
        for table in figures["workloads"].as_array().unwrap() {
            for (cell, against) in
                table["cells"].as_array().unwrap().iter().zip(table["against"].as_array().unwrap())
            {
                let ratio = &table["ratios"]["wall"][against.to_string()][cell.to_string()];
                if let [_, value, _, _, interval, verdict, ..] =
                    ratio.as_array().map_or(&[][..], Vec::as_slice)
                {
                    let [value, interval, verdict] =
                        [value, interval, verdict].map(|text| text.as_str().unwrap());
                    assert_some(&texts, &format!("{value} ({interval}) {verdict}"));
                    compared += 1;
                }
            }
        }
        assert_eq!(compared, document.contrasts.len());
    }
}

#[test]
fn the_map_of_the_page_says_what_the_picture_says_and_needs_no_script() {
    let document = fixture::in_sizes();
    let page = page(&document);
    let figure =
        page.split("<figure id=\"figure-cheapest\"").nth(1).unwrap().split("</figure>").next().unwrap();
    assert!(!figure.contains("style=") && !figure.contains("<img"));
    let map = figure.split("</table>").next().unwrap();
    let rows: Vec<usize> = map.split("<tr").skip(1).map(columns).collect();
    assert!(rows.iter().all(|columns| *columns == rows[0]), "{rows:?} {map}");
    let (texts, _) = picture(&document, Chart::Cheapest);
    let whole = texts.join(" ");
    for field in map.split("<td class=\"").skip(1) {
        let part = |tag: &str| field.split(tag).nth(1).unwrap().split('<').next().unwrap().to_owned();
        let tag = if field.contains("<b>") { "<b>" } else { "<small>" };
        assert!(whole.contains(&part(tag)), "{field} {whole}");
        assert_eq!(field.starts_with("known"), field.contains("<i class=\"t"), "{field}");
    }
    insta::assert_snapshot!(figure);
    assert!(!self::page(&fixture::document()).contains("figure-cheapest"), "one size is no map");
}

/// A stream over two transports, of which the first is cheaper in small messages and the second in large ones.
fn crossing() -> Document {
    let mut document = fixture::document();
    let (model, table) = (document.cells[4].clone(), document.workloads[1].clone());
    (document.cells, document.workloads, document.contrasts) = (Vec::new(), Vec::new(), Vec::new());
    for (size, costs) in [(64, [500.0, 900.0]), (4_096, [2_000.0, 1_500.0])] {
        let mut table = WorkloadRecord { cells: Vec::new(), baseline: None, fastest: None, ..table.clone() };
        table.work.size = size;
        for (transport, median) in ["pipe", "unix"].into_iter().zip(costs) {
            let mut cell = model.clone();
            (cell.point.size, cell.point.transport) = (size, transport.to_owned());
            (cell.id, cell.label) = (format!("{transport}/{size}"), transport.to_owned());
            cell.wall_ns_per_op.as_mut().unwrap().median = median;
            table.cells.push(cell.id.clone());
            document.cells.push(cell);
        }
        document.workloads.push(table);
    }
    document
}

#[test]
fn lines_are_those_of_the_picture_and_cross_where_the_document_says() {
    let mut document = crossing();
    let panel = |document: &Document| figures(&page(document))["panels"][0].clone();
    let (texts, _) = picture(&document, Chart::Size);
    let shown = panel(&document);
    assert_eq!(shown["title"], panels(&document, Across::Size)[0].title);
    for text in shown["lines"].as_array().unwrap().iter().map(|line| &line["label"]) {
        assert_some(&texts, text.as_str().unwrap());
    }
    for size in shown["sizes"].as_array().unwrap() {
        assert_some(&texts, size[1].as_str().unwrap());
    }
    let ticks = figures(&page(&document))["ticks"]["time_log"].to_string();
    let of_costs = texts.iter().filter(|text| text.ends_with(" ns") || text.ends_with(" µs"));
    assert!(of_costs.clone().count() > 3);
    of_costs.for_each(|tick| assert!(ticks.contains(&format!("{tick:?}")), "{tick:?} is not in {ticks}"));

    let found =
        |document: &Document| panel(document)["crossings"]["wall"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(
        found(&document),
        "pipe and unix seem to cross between 64 B and 4 KiB, by their medians alone."
    );
    let model = fixture::document().contrasts[0].clone();
    for (size, ratio) in [(64, 0.56), (4_096, 1.33)] {
        let (a, b) = (format!("pipe/{size}"), format!("unix/{size}"));
        document.contrasts.push(ipcost_model::ContrastRecord { a, b, ratio, ..model.clone() });
    }
    assert_eq!(found(&document), "pipe is cheaper up to 64 B, unix from 4 KiB: the two cross between.");
    document.contrasts.iter_mut().for_each(|one| std::mem::swap(&mut one.a, &mut one.b));
    document.contrasts.iter_mut().for_each(|one| one.ratio = 1.0 / one.ratio);
    assert_eq!(found(&document), "pipe is cheaper up to 64 B, unix from 4 KiB: the two cross between.");
}

#[test]
fn other_baselines_have_what_the_document_knows_and_large_documents_no_more() {
    let document = fixture::document();
    let ratios = |document: &Document| figures(&page(document))["workloads"][0]["ratios"]["wall"].clone();
    let small = ratios(&document);
    // The places of the cells that were measured: pipe, unix, tcp.
    assert_eq!(small["2"]["0"][1], "0.53");
    assert_eq!(
        small["0"]["2"].as_array().unwrap()[1..],
        ["1.88".into(), 1.81159.into(), 1.95312.into(), "1.81–1.95".into(), "".into(), 2.into()]
            as [Value; 6]
    );
    assert_eq!(small["0"]["1"][1], "1.38", "the runner-up is compared with the cheapest");
    let mut large = document.clone();
    for index in 0..110 {
        let mut cell = document.cells[1].clone();
        cell.id = format!("more {index}");
        large.workloads[0].cells.push(cell.id.clone());
        large.cells.push(cell);
    }
    let large = ratios(&large);
    assert_eq!(large["0"]["2"], small["0"]["2"]);
    assert_eq!(large["2"].as_object().unwrap().len(), 112, "all against the baseline of the run");
    assert_eq!(large.as_object().unwrap().len(), 3);
}
