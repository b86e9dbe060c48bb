//! The document as one web page that opens from disk: sentences and tables as they stand, charts drawn by scripts
//! from the document itself, which the page carries. Nothing is loaded from anywhere.
//!
//! Whatever comes from outside is escaped: in the page by `text`, in the document's element by `embedded`, and in
//! scripts by never being taken for anything but text. The page's own policy allows its scripts and its styles by
//! their hashes, and nothing else.

mod about;
mod tables;

use std::collections::BTreeMap;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ipcost_model::{Document, WorkloadRecord};
use sha2::{Digest, Sha256};

use crate::json;
use crate::words::{self, escaped};

const STYLE: &str = include_str!("../assets/html/page.css");
const CHARTS: &str = include_str!("../assets/html/charts.html");
const FOOTER: &str = include_str!("../assets/html/footer.html");
/// The page's own scripts, in the order in which they build on one another.
const SCRIPTS: [&str; 13] = [
    include_str!("../assets/html/numbers.js"),
    include_str!("../assets/html/data.js"),
    include_str!("../assets/html/compare.js"),
    include_str!("../assets/html/axes.js"),
    include_str!("../assets/html/colours.js"),
    include_str!("../assets/html/plot.js"),
    include_str!("../assets/html/cost.js"),
    include_str!("../assets/html/size.js"),
    include_str!("../assets/html/forest.js"),
    include_str!("../assets/html/epochs.js"),
    include_str!("../assets/html/latency.js"),
    include_str!("../assets/html/processor.js"),
    concat!(include_str!("../assets/html/tables.js"), include_str!("../assets/html/page.js")),
];
/// The chart library, with what its licences ask to travel with it.
const CHART_LIBRARY: &str = concat!(
    "/*\n",
    include_str!("../assets/echarts/NOTICE"),
    "\nzrender: ",
    include_str!("../assets/echarts/LICENSE-zrender"),
    "\nd3: ",
    include_str!("../assets/echarts/LICENSE-d3"),
    "*/\n",
    include_str!("../assets/echarts/echarts.min.js"),
);
/// How many colours the style has; with more transports they begin again.
const COLOURS: usize = 8;
/// How many sentences are shown before the rest is folded away.
const MOST_SENTENCES: usize = 16;

/// Writes the document as a page.
///
/// # Errors
/// Where it cannot be written.
pub fn write(document: &Document, to: &mut dyn Write) -> io::Result<()> {
    let scripts = format!("(() => {{\n\"use strict\";\n{}}})();\n", SCRIPTS.concat());
    let colours = Colours::of(document);
    write!(
        to,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
        policy(&[CHART_LIBRARY, &scripts], STYLE),
        text(&title(document)),
    )?;
    to.write_all(head(document).as_bytes())?;
    to.write_all(b"<main>\n")?;
    to.write_all(verdicts(document, &colours).as_bytes())?;
    tables::write(document, &colours, to)?;
    to.write_all(CHARTS.as_bytes())?;
    to.write_all(about::section(document).as_bytes())?;
    write!(to, "</main>\n{FOOTER}<script type=\"application/json\" id=\"document\">")?;
    to.write_all(embedded(document)?.as_bytes())?;
    writeln!(to, "</script>\n<script>{CHART_LIBRARY}</script>\n<script>{scripts}</script>\n</body>\n</html>")
}

/// What the page may do: run these scripts, use this style, and show pictures that it makes itself. Charts set styles
/// of single elements, which can load nothing, since nothing may be loaded.
fn policy(scripts: &[&str], style: &str) -> String {
    let hash = |code: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(code.as_bytes())));
    let scripts: Vec<String> = scripts.iter().map(|code| hash(code)).collect();
    let style = hash(style);
    format!(
        "default-src 'none'; script-src {}; style-src {style}; style-src-elem {style}; style-src-attr 'unsafe-inline'; \
         img-src data: blob:; base-uri 'none'; form-action 'none'",
        scripts.join(" ")
    )
}

/// The document's JSON as the text of an element that no text within it can end. In JSON, `<` stands in strings only,
/// where it can be written as an escape; and as no JSON that is written here has that escape otherwise, the page can
/// give back the very bytes.
fn embedded(document: &Document) -> io::Result<String> {
    let mut bytes = Vec::new();
    json::write(document, &mut bytes)?;
    let json = String::from_utf8(bytes).map_err(io::Error::other)?;
    Ok(json.replace('<', "\\u003c"))
}

/// Text from outside as it may stand between tags and in quoted attributes.
fn text(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for letter in escaped(raw).chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// The colour of each transport, by the order in which the document names them; scripts count the same way.
struct Colours<'a>(BTreeMap<&'a str, usize>);

impl<'a> Colours<'a> {
    fn of(document: &'a Document) -> Self {
        let mut known = BTreeMap::new();
        for cell in &document.cells {
            let next = known.len();
            known.entry(cell.transport.as_str()).or_insert(next);
        }
        Self(known)
    }

    /// The class that carries it.
    fn class(&self, transport: &str) -> String {
        format!("t{}", self.0.get(transport).copied().unwrap_or_default() % COLOURS)
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

/// What is known, in plain words; and a word of caution where something bends it.
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
    if !document.warnings.is_empty() {
        let count = document.warnings.len();
        let what = if count == 1 { "1 warning says".to_owned() } else { format!("{count} warnings say") };
        out.push_str(&format!(
            "<p class=\"caution\"><a href=\"#warnings\">{what}</a> what bends these results.</p>\n"
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
