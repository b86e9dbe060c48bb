use super::*;
use crate::figures::colours::PALETTE;
use crate::figures::saving::tests::{absurd, savings};
use crate::html::write;
use crate::{fixture, html};

fn shown(savings: &Savings) -> String {
    let Fragment(section) = html::saving_section(savings);
    section
}

#[test]
fn the_answer_comes_before_the_tables_of_the_page_in_its_order() {
    let mut bytes = Vec::new();
    write(&fixture::document(), Some(&html::saving_section(&savings())), &mut bytes).unwrap();
    let page = String::from_utf8(bytes).unwrap();
    let places = [
        "<h2 id=\"saving-title\">PostgreSQL 15.18: your server, as it runs</h2>",
        "The same work on both sides?",
        "SCRAM-SHA-256",
        "What a request costs",
        "moving saves 20.0 µs a request.",
        "All of this is known for this server process.",
        "From how much work on does it stop mattering?",
        "Not drawn: on any core",
        "500 clients at the same moment",
        "In plain words",
    ];
    let found: Vec<usize> =
        places.iter().map(|part| page.find(part).unwrap_or_else(|| panic!("{part}"))).collect();
    assert!(found.is_sorted(), "{found:?}");
}

#[test]
fn the_whole_of_it() {
    let mut savings = savings();
    let curves = savings.curves.as_mut().unwrap();
    // Its picture has a test of its own.
    curves.panels.iter_mut().for_each(|panel| panel.line.clear());
    insta::assert_snapshot!(shown(&savings));
}

#[test]
fn a_panel_has_its_figures_as_text_and_as_a_table() {
    let section = shown(&savings());
    assert_eq!(section.matches("<svg ").count(), 2 + 4, "panels and signs");
    for part in [
        "<title>on one core: below 5 % from 350 µs of work on. SELECT name FROM account: saves 8 % (5 % to 11 %) with 150 µs of work.",
        "<th scope=\"row\">10.0 µs</th><td class=\"number\">33 %</td><td class=\"number\">2.9 %</td>",
        "<th scope=\"row\">SELECT 2</th><td>on one core</td><td class=\"number\">0</td><td class=\"number\">39 %</td>",
    ] {
        assert!(section.contains(part), "{part}: {section}");
    }
}

#[test]
fn what_is_missing_has_no_heading() {
    let bare = Savings {
        checked: Vec::new(),
        loads: Vec::new(),
        sentences: Vec::new(),
        curves: None,
        burst: None,
        ..savings()
    };
    let section = shown(&bare);
    assert!(!section.contains("<h3") && !section.contains("<table") && section.matches("<h2").count() == 1);
}

#[test]
fn colours_are_those_of_the_page_light_and_dark_and_nothing_has_a_style_of_its_own() {
    let section = shown(&savings());
    for place in [0, 2] {
        let own = format!("light-dark({}, {})", PALETTE[place].light, PALETTE[place].dark);
        assert!(section.contains(&own), "{own}");
    }
    assert_eq!(section.matches("=\"#").count(), 0, "every colour follows the page");
    assert!(!section.contains("style=") && !section.contains("<style"));
}

#[test]
fn absurd_answers_are_text_that_obeys_nobody() {
    for savings in absurd() {
        let section = shown(&savings);
        assert!(!section.contains("<script") && !section.contains("<img"), "{section}");
        assert!(!section.contains(|c: char| c.is_control() && c != '\n'));
        assert_eq!(section.matches("</svg>").count(), section.matches("<svg ").count());
    }
}
