//! What a run says of a project's claims, as JUnit XML: the form that CI systems read tests in.
//!
//! A claim is a test case. One that holds passes; one that fails is a `failure`; an open one, or one that makes no difference that
//! matters, is an `error`, since the test came to no result; one that cannot be decided here, whatever the budget, is `skipped`. Elements and attributes
//! are those of the schema that Jenkins publishes (`junit-10.xsd`), which others read, too.

use ipcost_report::xml::{attribute, text};

use crate::check::words::{advice, deciding_test, figures, place};
use crate::check::{CheckedClaim, CheckedTest, View};
use ipcost_model::ClaimVerdict;

pub fn render(check: &View<'_>) -> String {
    let count =
        |element: &str| check.claims.iter().filter(|claim| self::element(claim) == Some(element)).count();
    let (tests, failures, errors) = (check.claims.len(), count("failure"), count("error"));
    let counts = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"");
    let time = format!("{:.3}", check.elapsed_s.max(0.0));
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.push_str(&format!("<testsuites name=\"ipcost check\" {counts} time=\"{time}\">\n"));
    out.push_str(&format!(
        "  <testsuite name=\"{}\" {counts} skipped=\"{}\" time=\"{time}\" timestamp=\"{}\">\n    <properties>\n",
        attribute(check.file),
        count("skipped"),
        // A local time without a zone is what the schema's readers expect.
        attribute(check.started.trim_end_matches('Z'))
    ));
    let how = ("how", check.how.clone());
    for (name, value) in check.properties.iter().chain([&how]) {
        out.push_str(&format!("      <property name=\"{name}\" value=\"{}\"/>\n", attribute(value)));
    }
    out.push_str("    </properties>\n");
    for claim in check.claims {
        out.push_str(&case(check, claim));
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// The element within a test case; `None` where it passes.
fn element(claim: &CheckedClaim) -> Option<&'static str> {
    let hopeless = claim.tests.iter().all(|test| test.reason.is_some());
    match claim.word {
        ClaimVerdict::Holds => None,
        ClaimVerdict::Fails | ClaimVerdict::Depends => Some("failure"),
        ClaimVerdict::Open | ClaimVerdict::NotTested if hopeless => Some("skipped"),
        ClaimVerdict::NoDifference | ClaimVerdict::Open | ClaimVerdict::NotTested => Some("error"),
    }
}

fn case(check: &View<'_>, claim: &CheckedClaim) -> String {
    let class = attribute(&format!("ipcost.{}", check.file.trim_end_matches(".toml")));
    let head = format!("    <testcase name=\"{}\" classname=\"{class}\"", attribute(&claim.text));
    let measured: Vec<String> =
        claim.tests.iter().map(|test| format!("{}{}: {}", level(test), place(test), figures(test))).collect();
    let measured = text(&measured.join("\n"));
    match element(claim) {
        None => format!("{head}>\n      <system-out>{measured}</system-out>\n    </testcase>\n"),
        Some(element) => {
            let message = advice(claim).or_else(|| deciding_test(claim).map(figures)).unwrap_or_default();
            let place = text(&format!("{}:{}", check.file, claim.line));
            format!(
                "{head}>\n      <{element} type=\"{}\" message=\"{}\">{place}\n{measured}</{element}>\n    </testcase>\n",
                claim.word,
                attribute(&message)
            )
        }
    }
}

/// The level of a test that is not about a single cell: `group: `.
fn level(test: &CheckedTest) -> String {
    if test.level.is_cell() { String::new() } else { format!("{}: ", test.level) }
}

#[cfg(test)]
mod tests {
    use roxmltree::{Document, Node};

    use super::*;

    /// What each element of the schema may hold: attributes, of which those with `!` must be there, and elements.
    const SCHEMA: [(&str, &[&str], &[&str]); 9] = [
        ("testsuites", &["name", "time", "tests", "failures", "errors"], &["testsuite"]),
        (
            "testsuite",
            &["name!", "tests!", "failures!", "errors!", "skipped", "time", "timestamp"],
            &["properties", "testcase"],
        ),
        ("properties", &[], &["property"]),
        ("property", &["name!", "value!"], &[]),
        ("testcase", &["name!", "classname", "time"], &["skipped", "error", "failure", "system-out"]),
        ("skipped", &["type", "message"], &[]),
        ("error", &["type", "message"], &[]),
        ("failure", &["type", "message"], &[]),
        ("system-out", &[], &[]),
    ];

    fn conforms(node: Node<'_, '_>) {
        let name = node.tag_name().name();
        let (_, attributes, elements) =
            SCHEMA.iter().find(|(known, _, _)| *known == name).unwrap_or_else(|| panic!("<{name}>"));
        for attribute in node.attributes() {
            let known = attributes.iter().any(|known| known.trim_end_matches('!') == attribute.name());
            assert!(known, "<{name} {}>", attribute.name());
        }
        for must in attributes.iter().filter_map(|known| known.strip_suffix('!')) {
            assert!(node.attribute(must).is_some(), "<{name}> without {must}");
        }
        for child in node.children().filter(Node::is_element) {
            assert!(elements.contains(&child.tag_name().name()), "{} in <{name}>", child.tag_name().name());
            conforms(child);
        }
    }

    #[test]
    fn it_keeps_to_the_schema_and_counts_what_it_holds() {
        let xml = render(&crate::check::page::tests::fixture().view(&ipcost_report::fixture::document()));
        let document = Document::parse(&xml).unwrap();
        conforms(document.root_element());
        let suite = document.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
        for (attribute, element) in
            [("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")]
        {
            let held = suite.descendants().filter(|node| node.has_tag_name(element)).count();
            assert_eq!(suite.attribute(attribute), Some(held.to_string().as_str()), "{attribute}");
        }
    }

    #[test]
    fn each_word_has_its_element_and_text_comes_back_as_it_was() {
        let check = crate::check::page::tests::fixture();
        let xml = render(&check.view(&ipcost_report::fixture::document()));
        let document = Document::parse(&xml).unwrap();
        let cases: Vec<_> = document.descendants().filter(|node| node.has_tag_name("testcase")).collect();
        let inside: Vec<&str> =
            cases.iter().map(|case| case.first_element_child().unwrap().tag_name().name()).collect();
        assert_eq!(inside, ["system-out", "failure", "error", "skipped", "error", "failure"]);
        assert_eq!(cases[0].attribute("name"), Some(check.claims[0].text.as_str()));
        assert_eq!(cases[1].attribute("name"), Some("p99 under 200 µs\\u{1b}[31m"));
        let failure = cases[1].first_element_child().unwrap();
        assert!(failure.text().unwrap().starts_with("claims.toml:9\n"), "{failure:?}");
        assert!(failure.attribute("message").unwrap().contains("fails: p99 of"), "{failure:?}");
    }
}
