use unicode_width::UnicodeWidthStr;

use super::*;
use crate::fixture;

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

fn shown(document: &Document, details: bool, room: usize) -> String {
    plain(&page(document).terminal(details, room))
}

#[test]
fn softirq_time_is_a_column_where_processor_time_lacks_it() {
    let mut document = fixture::on_one_core_and_on_two();
    for cell in &mut document.cells {
        cell.softirq_ns_per_op = Some(4_321.0);
    }
    let columns =
        |document: &Document, details| shown(document, details, usize::MAX).matches("softirq/op").count();
    assert_eq!(columns(&document, true), 0, "it is part of processor time");
    document.host.more.insert("irq_time_accounting".to_owned(), true.into());
    assert_eq!((columns(&document, true), columns(&document, false)), (4, 0));
    assert!(shown(&document, true, usize::MAX).contains("4.32 µs"));
    for cell in &mut document.cells {
        cell.softirq_ns_per_op = None;
    }
    assert_eq!(columns(&document, true), 0, "nothing was measured");
}

#[test]
fn everything_is_shown() {
    let document = fixture::document();
    insta::assert_snapshot!("terminal", shown(&document, true, usize::MAX));
    insta::assert_snapshot!("markdown", page(&document).markdown());
    insta::assert_snapshot!("with_floors", shown(&fixture::with_floors(), false, 100));
    insta::assert_snapshot!("scheduled", shown(&fixture::scheduled(), false, 90));
}

#[test]
fn a_narrow_terminal_loses_the_least_important_columns() {
    let narrow = shown(&fixture::document(), false, 80);
    insta::assert_snapshot!(narrow);
    assert!(narrow.lines().all(|line| line.width() <= 80), "{narrow}");
}

#[test]
fn no_line_is_wider_than_the_screen() {
    for document in [
        fixture::document(),
        fixture::with_floors(),
        fixture::scheduled(),
        fixture::in_sizes(),
        fixture::on_one_core_and_on_two(),
    ] {
        fixture::assert_fits(&page(&document));
        fixture::assert_fits(&page(&fixture::with_long_names(document)));
    }
}

#[test]
fn options_that_all_rows_have_are_in_the_title() {
    let mut document = fixture::on_one_core_and_on_two();
    for cell in &mut document.cells {
        let join = if cell.transport == "tcp" { "writev" } else { "more" };
        let options = serde_json::json!({"so_rcvbuf": 65_536, "join": join});
        cell.cell.options = serde_json::from_value(options).unwrap();
        let words: Vec<String> = ipcost_model::option_words(&cell.transport, &cell.cell.options).collect();
        cell.label = format!("{} {}", cell.label, words.join(" "));
    }
    let shown = shown(&document, false, 120);
    insta::assert_snapshot!(shown);
    assert!(document.cells[0].label.contains("so_rcvbuf=64KiB"), "{}", document.cells[0].label);
}

#[test]
fn one_core_and_two_stand_side_by_side_where_they_fit() {
    let document = fixture::on_one_core_and_on_two();
    insta::assert_snapshot!("wide", shown(&document, false, usize::MAX));
    insta::assert_snapshot!("narrow", shown(&document, false, 72));
    insta::assert_snapshot!("side_by_side_in_markdown", page(&document).markdown());
    let titles = |room| {
        let shown = shown(&document, false, room);
        shown.lines().filter(|line| line.contains("one core") && line.contains("two cores")).count()
    };
    assert!(titles(usize::MAX) > 0 && titles(50) == 0);
}

#[test]
fn from_which_epoch_on_a_ratio_counts_stands_below_its_row() {
    let mut document = fixture::on_one_core_and_on_two();
    let wall = |contrast: &&mut ipcost_model::ContrastRecord| contrast.metric == ipcost_model::Metric::Wall;
    let contrast = document.contrasts.iter_mut().find(wall).unwrap();
    (contrast.since, contrast.changed) = (Some(9), true);
    for room in [60, 80, 120] {
        let text = plain(&shown(&document, false, room));
        assert!(text.contains("changed during") && text.contains("counted"), "{room}: {text}");
        assert!(text.contains("since epoch 9"), "{room}: {text}");
    }
    assert!(page(&document).markdown().contains("since epoch 9"));
}

#[test]
fn while_it_runs_the_tables_are_shown_where_they_fit_and_else_what_is_open() {
    let document = fixture::on_one_core_and_on_two();
    let tables = so_far(&document, 120, 60);
    let at_the_end = page(&document).terminal(false, 120);
    assert!(tables.lines().all(|line| at_the_end.contains(line)), "the tables as in the end: {tables}");
    let brief = plain(&so_far(&document, 72, 6));
    insta::assert_snapshot!(brief);
    assert!(brief.lines().count() <= 6 && brief.lines().all(|line| line.width() <= 72), "{brief}");
    assert!(so_far(&document, 72, 2).lines().count() <= 2);
}

#[test]
fn nothing_from_outside_reaches_the_terminal_raw() {
    let shown = page(&fixture::document()).terminal(true, usize::MAX);
    assert!(shown.contains("mine \\u{1b}[31m"), "{shown}");
}

#[test]
fn warnings_take_one_line_and_have_their_texts_elsewhere() {
    let mut document = fixture::document();
    let brief =
        |document: &Document| plain(&warnings(&document.warnings, "ipcost show last --warnings", usize::MAX));
    assert_eq!(brief(&document), "warning: the hypervisor took 3.0 % of the processors' time for others\n");
    let found = |code: &str| Warning { code: code.to_owned(), message: format!("{code}\u{1b} is so") };
    document.warnings.extend([found("two-modes"), found("drift"), found("two-modes")]);
    document.notes.push(found("fixed-wait"));
    assert_eq!(
        brief(&document),
        "warnings: steal, two-modes (2), drift; ipcost show last --warnings shows them\n"
    );
    let all = plain(&all_warnings(&document, usize::MAX));
    assert_eq!(all.lines().count(), 5, "{all}");
    assert!(
        all.contains("warning: drift\\u{1b} is so\n") && all.ends_with("note: fixed-wait\\u{1b} is so\n")
    );
}

#[test]
fn a_page_says_all_that_a_terminal_does_and_runs_no_script() {
    for document in [fixture::document(), fixture::with_floors(), fixture::on_one_core_and_on_two()] {
        let html = page(&document).html();
        assert!(!["<script", "javascript:", " onclick=", " onload="].iter().any(|it| html.contains(it)));
        let words = shown(&document, true, usize::MAX);
        let figures = words.split_whitespace().filter(|word| word.starts_with('(') && word.ends_with(')'));
        let figures: Vec<&str> = figures.collect();
        assert!(figures.len() > 1, "{words}");
        figures.iter().for_each(|figure| assert!(html.contains(figure), "{figure}: {html}"));
        // Charts that have something to show, of which points say what they are.
        assert!(html.matches("<svg").count() > 1 && html.matches("<title>").count() > 5, "{html}");
    }
}

#[test]
fn a_page_gives_the_document_back() {
    use std::io::Read as _;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    let mut document = fixture::document();
    document.cells[0].label = "< \\u003c </script> \"".to_owned();
    let html = page(&document).html();
    let packed =
        html.split("href=\"data:application/gzip;base64,").nth(1).unwrap().split('"').next().unwrap();
    let mut json = String::new();
    let packed = STANDARD.decode(packed).unwrap();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut json).unwrap();
    assert_eq!(serde_json::from_str::<Document>(&json).unwrap(), document);
}

#[test]
fn a_run_without_anything_measured_has_a_page() {
    let mut document = fixture::document();
    document.workloads.clear();
    document.contrasts.clear();
    document.cells.clear();
    let html = page(&document).html();
    assert!(html.contains("<h1>") && !html.contains("<svg"), "{html}");
}

#[test]
fn a_label_leaves_neither_its_field_nor_its_fence() {
    let mut document = fixture::measured();
    let label = "x | y\n```\n</details> <script>";
    document.cells[0].label = label.to_owned();
    document.job.cells = vec![ipcost_model::Matrix { label: Some(label.to_owned()), ..Default::default() }];
    let shown = page(&document).markdown();
    let (before, fenced) = shown.split_once("````toml").expect("a fence that is longer than what it holds");
    assert!(!before.contains("<script>") && !before.contains("</details> "), "{shown}");
    assert!(fenced.lines().filter(|line| line.starts_with("````")).count() == 1, "{shown}");
}
