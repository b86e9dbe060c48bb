//! The document as one web page that opens from disk: sentences and tables as they stand, and charts that a script draws
//! from the figures of `data`. The page carries the document, and loads nothing from anywhere.
//!
//! Whatever comes from outside is escaped: in the page by `text`, in the elements of data by `as_text`, and in the script by
//! never being taken for anything but text. The page's own policy allows its script and its style by their hashes, and
//! nothing else.

mod about;
mod charts;
mod cheapest;
mod crossings;
mod data;
mod pairs;
pub mod site;
mod tables;

use std::collections::BTreeMap;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ipcost_model::{Document, WorkloadRecord};
use sha2::{Digest, Sha256};

use crate::figures::colours::{self, Colour, PALETTE};
use crate::json;
use crate::over_pace;
use crate::page::{Page, Section};
use crate::words::{self, escaped};
use crate::xml;

const STYLE: &str = include_str!("../assets/html/page.css");
const FOOTER: &str = include_str!("../assets/html/footer.html");
/// The page's script, in the order in which its parts build on one another.
const SCRIPTS: [&str; 5] = [
    include_str!("../assets/html/plot.js"),
    include_str!("../assets/html/figures.js"),
    include_str!("../assets/html/size.js"),
    include_str!("../assets/html/tables.js"),
    include_str!("../assets/html/page.js"),
];
/// How many sentences are shown before the rest is folded away.
const MOST_SENTENCES: usize = 16;

/// A section of the page that is not drawn from the document's tables; only this module makes one.
#[derive(Debug, Clone)]
pub struct Fragment(String);

/// Writes the document as a page, with what it answers before its tables, if a command asked it something.
///
/// # Errors
/// Where it cannot be written.
pub fn write(document: &Document, answer: Option<&Fragment>, to: &mut dyn Write) -> io::Result<()> {
    let script = format!("(() => {{\n\"use strict\";\n{}}})();\n", SCRIPTS.concat());
    let style = palette() + STYLE + site::OWN_STYLE;
    let colours = Colours::of(document);
    write!(
        to,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>{style}</style>\n</head>\n<body>\n",
        policy(&script, &style),
        text(&title(document)),
    )?;
    to.write_all(head(document).as_bytes())?;
    to.write_all(b"<main>\n")?;
    if let Some(Fragment(answer)) = answer {
        to.write_all(answer.as_bytes())?;
    }
    to.write_all(verdicts(document, &colours).as_bytes())?;
    tables::write(document, &colours, to)?;
    let over_pace = over_pace::sections(document);
    if !over_pace.is_empty() {
        let blocks = over_pace.into_iter().map(Section::open).collect();
        let page = Page { title: "What pauses cost".to_owned(), blocks, ..Page::default() };
        let Fragment(pace) = page.fragment("pace");
        to.write_all(pace.as_bytes())?;
    }
    to.write_all(charts::section(document).as_bytes())?;
    to.write_all(about::section(document).as_bytes())?;
    write!(to, "</main>\n{FOOTER}<script type=\"application/json\" id=\"document\">")?;
    to.write_all(embedded(document)?.as_bytes())?;
    write!(to, "</script>\n<script type=\"application/json\" id=\"figures\">")?;
    to.write_all(as_text(&data::figures(document).to_string()).as_bytes())?;
    writeln!(to, "</script>\n<script>{script}</script>\n</body>\n</html>")
}

/// The colours of transports, light and dark.
fn palette() -> String {
    let class = |(slot, colour): (usize, &Colour)| {
        format!(".t{slot} {{ --own: light-dark({}, {}); }}\n", colour.light, colour.dark)
    };
    PALETTE.iter().enumerate().map(class).collect()
}

/// What the page may do: run this script and use this style. It loads nothing.
fn policy(script: &str, style: &str) -> String {
    let hash = |code: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(code.as_bytes())));
    format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        hash(script),
        hash(style)
    )
}

/// The document's JSON. As no JSON that is written here has the escape of [`as_text`] otherwise, the page can give back the
/// very bytes.
fn embedded(document: &Document) -> io::Result<String> {
    let mut bytes = Vec::new();
    json::write(document, &mut bytes)?;
    let json = String::from_utf8(bytes).map_err(io::Error::other)?;
    Ok(as_text(&json))
}

/// JSON as the text of an element that no text within it can end. In JSON, `<` stands in strings only, where it can be
/// written as an escape.
fn as_text(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// Text from outside as it may stand between tags and in quoted attributes.
pub(crate) fn text(raw: &str) -> String {
    xml::attribute(&escaped(raw))
}

/// The place of each transport's colour in the palette.
struct Colours<'a>(BTreeMap<&'a str, usize>);

impl<'a> Colours<'a> {
    fn of(document: &'a Document) -> Self {
        let mut known = BTreeMap::new();
        for cell in &document.cells {
            known.entry(cell.transport.as_str()).or_insert_with(|| colours::slot(document, &cell.transport));
        }
        Self(known)
    }

    /// The class that carries it.
    fn class(&self, transport: &str) -> String {
        format!("t{}", self.0.get(transport).copied().unwrap_or_default())
    }
}

fn title(document: &Document) -> String {
    match document.host.cpu.trim() {
        "" => "What local IPC costs".to_owned(),
        cpu => format!("What local IPC costs on {cpu}"),
    }
}

fn head(document: &Document) -> String {
    let host = &document.host;
    format!(
        "<header>\n<div>\n<h1>{}</h1>\n<p class=\"quiet\">{} · {} {} · {} {}</p>\n\
         <nav aria-label=\"Parts of this page\"><a href=\"#verdicts\">Verdicts</a><a href=\"#tables\">Tables</a>\
         <a href=\"#charts\">Charts</a><a href=\"#about\">How it was measured</a></nav>\n</div>\n\
         <button id=\"theme\" type=\"button\">Light or dark</button>\n</header>\n",
        text(&title(document)),
        text(&document.started),
        text(&host.os),
        text(&host.kernel),
        text(&document.tool.name),
        text(&document.tool.version),
    )
}

/// What is known, in plain words; and a word of caution where something distorts it.
fn verdicts(document: &Document, colours: &Colours<'_>) -> String {
    let mut out = String::from(
        "<section id=\"verdicts\" aria-labelledby=\"verdicts-title\">\n<h2 id=\"verdicts-title\">In plain words</h2>\n",
    );
    let sentences: Vec<String> =
        words::strata(document).iter().map(|tables| sentence(document, tables, colours)).collect();
    let (first, rest) = sentences.split_at(sentences.len().min(MOST_SENTENCES));
    out.push_str(&format!("<ul class=\"verdicts\">\n{}</ul>\n", first.concat()));
    if !rest.is_empty() {
        out.push_str(&format!(
            "<details class=\"rest\"><summary>{} more</summary>\n<ul class=\"verdicts\">\n{}</ul></details>\n",
            rest.len(),
            rest.concat()
        ));
    }
    if sentences.is_empty() {
        out.push_str("<p>The document holds no workload, so there is nothing to say.</p>\n");
    }
    for found in document.held_back() {
        out.push_str(&format!("<p class=\"caution\">{}</p>\n", text(found)));
    }
    if !document.warnings.is_empty() {
        let count = document.warnings.len();
        let what = if count == 1 { "1 warning says".to_owned() } else { format!("{count} warnings say") };
        out.push_str(&format!(
            "<p class=\"caution\"><a href=\"#warnings\">{what}</a> what distorts these results.</p>\n"
        ));
    }
    out.push_str("</section>\n");
    out
}

fn sentence(document: &Document, tables: &[&WorkloadRecord], colours: &Colours<'_>) -> String {
    let said = words::sentence_of(document, tables);
    let said = match said.split_once(": ") {
        Some((what, rest)) => format!("<strong>{}</strong>: {}", text(what), text(rest)),
        None => text(&said),
    };
    // Only the cheapest for sure lends its colour, and only where it is so on one core and on two.
    let cheapest = |table: &&WorkloadRecord| {
        let fastest = table.fastest.as_ref().filter(|fastest| fastest.claimed)?;
        Some(words::cell(document, &fastest.cell)?.transport.as_str())
    };
    let first =
        cheapest(&tables[0]).filter(|first| tables.iter().all(|table| cheapest(table) == Some(*first)));
    let class =
        first.map_or_else(String::new, |transport| format!(" class=\"{}\"", colours.class(transport)));
    format!("<li{class}>{said}</li>\n")
}

#[cfg(test)]
mod tests;
