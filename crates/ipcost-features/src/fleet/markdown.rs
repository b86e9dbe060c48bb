//! A fleet as Markdown, fit for a pull request.

use ipcost_report::markdown::text;
use ipcost_report::words::capitalised;

use super::record::Fleet;
use super::words::{
    ContrastRow, another, cheapest_on, claim_conditions, claim_counts, how, known, rows, sentences, skipped,
    spread, tables, title, typical, work,
};

/// So many files that are not counted are named.
const MOST_FILES: usize = 20;

/// What the hosts say: sentences first, then tables.
pub fn markdown(fleet: &Fleet) -> String {
    let mut out = format!("**{}**\n\n", text(&title(fleet)));
    sentences(fleet, false)
        .iter()
        .chain(&fleet.notes)
        .for_each(|said| out.push_str(&format!("- {}\n", text(&capitalised(said)))));
    out.push_str("\n| hosts | kernel | processor | virtualisation |\n|---:|---|---|---|\n");
    for group in &fleet.groups {
        out.push_str(&format!(
            "| {} | {} {} | {} | {} |\n",
            group.hosts,
            text(&group.os),
            text(&group.kernel),
            text(&group.cpu),
            text(&group.virtualisation)
        ));
    }
    for (title, contrasts) in tables(fleet) {
        out.push_str(&format!(
            "\n### {}\n\n| | hosts | typical host | verdict | between hosts | another host |\n|---|---|---:|---|---:|---:|\n",
            text(&capitalised(&title))
        ));
        for contrast in contrasts {
            for ContrastRow { name, counts, together, .. } in rows(contrast) {
                out.push_str(&format!(
                    "| {} | {counts} | {} | {} | {} | {} |\n",
                    text(&name),
                    together.map(typical).unwrap_or_default(),
                    together.map(|together| known(fleet, together)).unwrap_or_default(),
                    together.map(spread).unwrap_or_default(),
                    together.map(another).unwrap_or_default()
                ));
            }
        }
    }
    if !fleet.cheapest.is_empty() {
        out.push_str("\n### Cheapest, on how many hosts\n\n| work | cheapest |\n|---|---|\n");
        for table in &fleet.cheapest {
            let cheapest = cheapest_on(&table.cheapest, table.open, &table.open_among);
            out.push_str(&format!(
                "| {} | {} |\n",
                text(&work(&table.work, table.placement)),
                text(&cheapest)
            ));
        }
    }
    if !fleet.claims.is_empty() {
        out.push_str("\n### Claims\n\n");
        for claim in &fleet.claims {
            out.push_str(&format!(
                "- {}: “{}” {}\n",
                text(&claim.of),
                text(&claim.text),
                claim_counts(&claim.counts)
            ));
            claim_conditions(claim).iter().for_each(|line| out.push_str(&format!("  - {}\n", text(line))));
        }
    }
    let ends = how(fleet).into_iter().chain(skipped(fleet, MOST_FILES));
    ends.for_each(|line| out.push_str(&format!("\n{}\n", text(line.trim()))));
    out
}
