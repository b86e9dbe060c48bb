use ipcost_model::Estimate;

use super::*;
use crate::figures::colours::PALETTE;
use crate::html::write;
use crate::picture::published::tests::{absurd, bars, made};
use crate::{fixture, html};

fn shown(figure: &PublishedFigure) -> String {
    let Fragment(section) = html::published_section(figure, &made());
    section
}

#[test]
fn the_page_has_the_chart_and_its_numbers_before_the_tables() {
    let mut bytes = Vec::new();
    let section = html::published_section(&bars(), &made());
    write(&fixture::document(), Some(&section), &mut bytes).unwrap();
    let page = String::from_utf8(bytes).unwrap();
    let places = ["Published and measured", "<svg", "278.062607", "In plain words"];
    let found: Vec<usize> =
        places.iter().map(|part| page.find(part).unwrap_or_else(|| panic!("{part}"))).collect();
    assert!(found.is_sorted(), "{found:?}");
    assert!(page.contains("<a href=\"https://example.org/sockets\" rel=\"noreferrer\">"));
}

#[test]
fn every_number_is_in_the_table_as_it_was_published() {
    let mut figure = bars();
    figure.panels[0].series[0].values[0].measured = Some(Estimate { median: 41_334.8, lo: None, hi: None });
    let section = shown(&figure);
    let rows: Vec<&str> = section.split("<tbody>").nth(1).unwrap().matches("<tr>").collect();
    assert_eq!(rows.len(), 4);
    for part in [
        "<td>pipe</td><td>100 B</td><td class=\"number\">278.062607</td><td class=\"number\">41300</td><td class=\"number interval\">no interval yet</td>",
        "<td>Unix socket</td><td>1 MB</td><td class=\"number\">41335</td><td class=\"number\">not measured</td><td class=\"number interval\"></td>",
        "<caption>Mbit/s</caption>",
    ] {
        assert!(section.contains(part), "{part} is not in {section}");
    }
}

#[test]
fn colours_are_those_of_the_page_light_and_dark_and_nothing_has_a_style_of_its_own() {
    let section = shown(&bars());
    for colour in ["var(--ink)", "var(--quiet)", "var(--faint)"] {
        assert!(section.contains(colour), "{colour}");
    }
    assert!(section.contains(&format!("light-dark({}, {})", PALETTE[0].light, PALETTE[0].dark)));
    let attributes = section.split("=\"#").count();
    assert_eq!(attributes, 1, "every colour follows the page");
    assert!(!section.contains("style=") && !section.contains("<img") && !section.contains("<style"));
}

#[test]
fn absurd_figures_are_text_that_obeys_nobody() {
    for figure in absurd() {
        let section = shown(&figure);
        assert!(!section.contains("<script") && !section.contains("href=\"javascript"), "{section}");
        assert!(!section.contains(|c: char| c.is_control() && c != '\n'));
        assert_eq!(section.matches("</svg>").count(), section.matches("<svg ").count());
    }
}
