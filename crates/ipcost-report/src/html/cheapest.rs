//! When which transport is cheapest, as a table whose fields are coloured: it needs no script, and reads as a table, too.

use ipcost_model::Document;

use super::text;
use crate::figures::cheapest::{Among, CheapestRow, Field, Group, Standing, TITLE, legend, map};

/// The figure; `None` if no work was compared in two sizes.
pub fn figure(document: &Document) -> Option<String> {
    let map = map(document)?;
    let sizes: String =
        map.sizes.iter().map(|size| format!("<th scope=\"col\">{}</th>", text(size))).collect();
    let span = map.sizes.len() + 1;
    let group = |group: &Group| {
        let rows: String = group.rows.iter().map(row).collect();
        let title = text(&group.title);
        format!("<tbody><tr><th colspan=\"{span}\" scope=\"rowgroup\">{title}</th></tr>\n{rows}</tbody>\n")
    };
    let groups: String = map.groups.iter().map(group).collect();
    let notes: String =
        map.notes.iter().map(|note| format!("<p class=\"note\">{}</p>", text(note))).collect();
    let lines: String = map.groups.iter().flat_map(|group| &group.rows).flat_map(lines).collect();
    Some(format!(
        "<figure id=\"figure-cheapest\" class=\"still\">\n\
         <figcaption><h3>{TITLE}</h3><p>{}</p></figcaption>\n\
         <div class=\"scroll\"><table class=\"map\">\n\
         <thead><tr><th scope=\"col\">size of a message</th>{sizes}</tr></thead>\n{groups}</table></div>\n{notes}\
         <details><summary>The figures</summary><div class=\"figures\"><table>\n\
         <thead><tr><th>Work</th><th>Cheapest</th><th>Relative to the runner-up</th></tr></thead>\n\
         <tbody>\n{lines}</tbody></table></div></details>\n</figure>\n",
        text(&legend(document)),
    ))
}

fn row(row: &CheapestRow) -> String {
    let class = match row.among {
        Among::All => "",
        Among::Sleeping => " class=\"among\"",
        Among::Two(_) => " class=\"among two\"",
    };
    let fields = row.fields.iter().map(|field| match field {
        Some(field) => shown(field, row),
        None => "<td></td>".to_owned(),
    });
    format!("<tr{class}><th scope=\"row\">{}</th>{}</tr>\n", text(row.name()), fields.collect::<String>())
}

fn shown(field: &Field, row: &CheapestRow) -> String {
    let class = match field.standing {
        Standing::Cheapest | Standing::Shared => "known",
        Standing::Open => "undecided",
        Standing::NotCompared => "alone",
    };
    let tints: String = field.slots.iter().map(|slot| format!("<i class=\"t{slot}\"></i>")).collect();
    let tints = if tints.is_empty() { tints } else { format!("<span class=\"tints\">{tints}</span>") };
    let said = match row.among {
        Among::Two(_) => format!("<small>{}</small>", text(&field.brief)),
        Among::All | Among::Sleeping => {
            format!("<b>{}</b><small>{}</small>", text(&field.name), text(&field.margin))
        }
    };
    format!("<td class=\"{class}\">{tints}{said}</td>")
}

/// The lines of a row in full.
fn lines(row: &CheapestRow) -> impl Iterator<Item = String> {
    row.fields.iter().flatten().map(|field| {
        let [work, answer, against] =
            [&row.work(field), &field.answer, &field.against].map(|part| text(part));
        format!("<tr><td>{work}</td><td>{answer}</td><td>{against}</td></tr>\n")
    })
}
