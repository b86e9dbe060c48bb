use super::*;
use crate::fixture;

fn page(document: &Document) -> String {
    let mut bytes = Vec::new();
    write(document, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn nothing_of_the_page_ends_a_script_too_soon() {
    for script in SCRIPTS.iter().chain([&CHART_LIBRARY]) {
        let script = script.to_lowercase();
        assert!(!script.contains("</script") && !script.contains("<!--"));
    }
    assert!(!STYLE.to_lowercase().contains("</style"));
    assert_eq!(page(&fixture::document()).matches("</script>").count(), 3);
}

#[test]
fn texts_from_outside_are_escaped() {
    assert_eq!(
        text("<a href=\"x\" title='&'>\u{1b}"),
        "&lt;a href=&quot;x&quot; title=&#39;&amp;&#39;&gt;\\u{1b}"
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
fn the_licence_of_the_chart_library_travels_with_it() {
    let version = "Apache ECharts 6.1.0";
    assert!(FOOTER.contains(version) && CHART_LIBRARY.contains(version));
    assert!(CHART_LIBRARY.contains("\"6.1.0\""), "the vendored file is of the version that the notice names");
    assert!(CHART_LIBRARY.contains("Redistributions in binary form must reproduce"));
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
    // Scripts find every workload by its place in the document.
    for (index, table) in document.workloads.iter().enumerate() {
        let name = words::capitalised(&words::workload(table));
        assert!(page.contains(&format!("id=\"workload-{index}\" data-name=\"{name}\"")), "{name}");
    }
    assert!(page.contains(": on one core pipe is cheapest"), "one sentence for both");
}

/// How many columns a row of a table spans.
fn columns(row: &str) -> usize {
    let spans = row.split("colspan=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let wide: usize = spans.map(|span| span.parse::<usize>().unwrap() - 1).sum();
    row.matches("<td").count() + row.matches("<th").count() + wide
}
