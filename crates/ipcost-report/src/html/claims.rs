//! The claims of an article: what is known of each, its conditions as small multiples, and the numbers of all tests.

use ipcost_model::Envelope;

use super::{Fragment, text};
use crate::figures::claims::{Claim, Claims, Condition, Known, Test};
use crate::picture::{claims, published};

/// The section of a page; `made` says where and with what the claims were measured.
pub fn section(claims: &Claims, made: &Envelope) -> Fragment {
    let mut out = format!(
        "<section id=\"claims\" aria-labelledby=\"claims-title\">\n<h2 id=\"claims-title\">What was claimed, and what holds</h2>\n\
         <p><strong>{}</strong></p>\n",
        text(&claims.question)
    );
    let entry = |claim: &Claim| {
        let (number, said) = (claim.number, said(claim));
        format!("<li><a href=\"#claim-{number}\">{number}. {}</a>{said}</li>\n", text(&claim.text))
    };
    let entries: String = claims.claims.iter().map(entry).collect();
    out.push_str(&format!("<ul class=\"known\">\n{entries}</ul>\n"));
    if claims.claims.iter().any(|claim| claim.multiples().is_some()) {
        out.push_str(&legend(claims));
    }
    out.push_str("<div class=\"note\">\n");
    let lines = claims.notes.iter().cloned().chain([published::measured_on(made)]);
    lines.for_each(|line| out.push_str(&format!("<p>{}</p>\n", text(&line))));
    out.push_str("</div>\n</section>\n");
    claims.claims.iter().for_each(|claim| out.push_str(&card(claim)));
    Fragment(out)
}

/// What is known, as a badge.
fn said(claim: &Claim) -> String {
    format!("<span class=\"badge {}\">{}</span>", claim.known.class(), text(&claim.said))
}

fn card(claim: &Claim) -> String {
    let number = claim.number;
    let mut out = format!(
        "<section class=\"claim of-{}\" id=\"claim-{number}\" aria-labelledby=\"claim-{number}-title\">\n\
         <h3 id=\"claim-{number}-title\">{number}. “{}” {}</h3>\n",
        claim.known.class(),
        text(&claim.text),
        said(claim)
    );
    let multiples = claim.multiples();
    if let Some(multiples) = &multiples {
        out.push_str(&format!(
            "<p class=\"caption\">{}</p>\n<div class=\"multiples\">\n",
            text(&multiples.caption)
        ));
        for panel in claims::panels(multiples) {
            out.push_str(&format!("<div>\n{}</div>\n", panel.inline()));
        }
        out.push_str("</div>\n");
    }
    out.push_str("<dl>\n");
    for (what, note) in &claim.notes {
        out.push_str(&format!("<dt>{}</dt><dd>{}</dd>\n", text(what), text(note)));
    }
    out.push_str("</dl>\n");
    if claim.conditions.iter().any(|condition| !condition.tests.is_empty()) {
        // Where nothing is drawn, the numbers are all that there is.
        let open = if multiples.is_some() { "" } else { " open" };
        let summary = "<summary>Every test in numbers</summary>";
        let remarks: String =
            claim.remarks.iter().map(|remark| format!("<p class=\"note\">{}</p>\n", text(remark))).collect();
        out.push_str(&format!("<details{open}>{summary}\n{}{remarks}</details>\n", table(claim)));
    }
    out.push_str("</section>\n");
    out
}

fn legend(claims: &Claims) -> String {
    let mark = |known: Known| claims::sign(known).inline();
    let entries = claims::LEGEND.map(|(known, words)| format!("<span>{}{words}</span>", mark(known)));
    format!("<p class=\"note legend\">{}{}</p>\n", entries.concat(), text(&claims::reading(claims)))
}

fn table(claim: &Claim) -> String {
    let head = ["condition", "compared", "here", "interval", "claimed", "verdict"];
    let head: String = head.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    let rows = claim
        .conditions
        .iter()
        .flat_map(|condition| condition.tests.iter().map(move |test| row(condition, test)));
    format!(
        "<div class=\"scroll\"><table><thead><tr>{head}</tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
        rows.collect::<String>()
    )
}

fn row(condition: &Condition, test: &Test) -> String {
    let class = if test.decides { test.known.class() } else { "open" };
    format!(
        "<tr><td>{}</td><td class=\"reason\">{}</td><td class=\"number\">{}</td><td class=\"interval\">{}</td>\
         <td class=\"number\">{}</td><td class=\"word {class}\">{}</td></tr>\n",
        text(&condition.name),
        text(&test.about),
        text(&test.here),
        text(&test.held),
        text(&test.claimed),
        text(&test.said),
    )
}

#[cfg(test)]
mod tests;
