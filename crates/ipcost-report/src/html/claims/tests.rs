use super::*;
use crate::figures::claims::tests::{absurd, claims};
use crate::figures::colours::PALETTE;
use crate::html::write;
use crate::picture::published::tests::made;
use crate::{fixture, html};

fn shown(claims: &Claims) -> String {
    let Fragment(section) = html::claims_section(claims, &made());
    section
}

#[test]
fn the_list_comes_first_then_a_card_a_claim_before_the_tables_of_the_page() {
    let mut bytes = Vec::new();
    write(&fixture::document(), Some(&html::claims_section(&claims(), &made())), &mut bytes).unwrap();
    let page = String::from_utf8(bytes).unwrap();
    let places = [
        "Which is faster?",
        "<a href=\"#claim-1\">1. A Unix socket is faster at every size.</a><span class=\"badge depends\">depends</span>",
        "id=\"claim-1\"",
        "unix over tcp (ratio, logarithmic)",
        "<dt>published</dt><dd>a factor of 4</dd>",
        "id=\"claim-5\"",
        "In plain words",
    ];
    let found: Vec<usize> =
        places.iter().map(|part| page.find(part).unwrap_or_else(|| panic!("{part}"))).collect();
    assert!(found.is_sorted(), "{found:?}");
}

#[test]
fn every_condition_has_a_panel_and_every_test_a_row_of_the_table() {
    let section = shown(&claims());
    let cards: Vec<&str> = section.split("<section class=\"claim").skip(1).collect();
    let panels: Vec<usize> = cards.iter().map(|card| card.matches("<svg ").count()).collect();
    assert_eq!(panels, [3, 1, 1, 0, 0]);
    let rows = |card: &str| card.split("<tbody>").nth(1).map_or(0, |body| body.matches("<tr>").count());
    assert_eq!(cards.iter().map(|card| rows(card)).collect::<Vec<_>>(), [13, 1, 2, 1, 0]);
    for part in [
        "<title>on one core: depends. Of 3 tests 2 hold, 1 fails.</title>",
        "<td>on one core</td><td class=\"reason\">unix over tcp, 262144 B</td><td class=\"number\">1.30</td><td class=\"interval\">(1.17–1.43)</td><td class=\"number\">&lt; 1</td><td class=\"word fails\">fails</td>",
        "a remark on a test",
    ] {
        assert!(cards[0].contains(part), "{part}: {}", cards[0]);
    }
    assert!(cards[0].contains("<details>"), "the picture is enough");
    assert!(cards[3].contains("<details open>"), "there is no picture");
}

#[test]
fn colours_are_those_of_the_page_light_and_dark_and_nothing_has_a_style_of_its_own() {
    let section = shown(&claims());
    for place in [2, 5, 6] {
        let own = format!("light-dark({}, {})", PALETTE[place].light, PALETTE[place].dark);
        assert!(section.contains(&own), "{own}");
    }
    let attributes = section.split("=\"#").skip(1).filter(|rest| !rest.starts_with("claim-")).count();
    assert_eq!(attributes, 0, "every colour follows the page");
    assert!(!section.contains("style=") && !section.contains("<style"));
}

#[test]
fn absurd_claims_are_text_that_obeys_nobody() {
    for claims in absurd() {
        let section = shown(&claims);
        assert!(!section.contains("<script") && !section.contains("<img"), "{section}");
        assert!(!section.contains(|c: char| c.is_control() && c != '\n'));
        assert_eq!(section.matches("</svg>").count(), section.matches("<svg ").count());
    }
}
