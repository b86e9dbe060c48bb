//! Where and how it was measured, what distorts it, how to measure it again, and the document itself.

use ipcost_model::Document;
use serde_json::Value;

use super::text;
use crate::rerun::rerun;
use crate::terminal;

/// The last section of the page.
pub fn section(document: &Document) -> String {
    format!(
        "<section id=\"about\" aria-labelledby=\"about-title\">\n<h2 id=\"about-title\">How it was measured</h2>\n\
         <p>{}.</p>\n<h3>Where</h3>\n{}{}{}{}<h3>The document</h3>\n\
         <p>Everything shown here is drawn from one record of the run, with every timed batch. This page carries it.</p>\n\
         <p><a id=\"download\" class=\"download\" href=\"#about\" download=\"ipcost-{}.json\">Download the document (JSON)</a></p>\n</section>\n",
        text(&terminal::how(document)),
        host(document),
        warnings(document),
        notes(document),
        again(document),
        document.seed
    )
}

fn host(document: &Document) -> String {
    let host = &document.host;
    let cores = format!("{} ({} physical)", host.cores, host.physical_cores);
    let mut facts: Vec<(String, String)> = [
        ("system", &host.os),
        ("kernel", &host.kernel),
        ("processor", &host.cpu),
        ("architecture", &host.arch),
        ("cores", &cores),
    ]
    .map(|(name, value)| (name.to_owned(), value.clone()))
    .into();
    facts.extend(host.more.iter().map(|(name, value)| (name.replace('_', " "), plain(value))));
    facts.push(("started".to_owned(), document.started.clone()));
    facts.push(("measured by".to_owned(), format!("{} {}", document.tool.name, document.tool.version)));
    let entry =
        |(name, value): (String, String)| format!("<dt>{}</dt><dd>{}</dd>\n", text(&name), text(&value));
    format!("<dl>\n{}</dl>\n", facts.into_iter().map(entry).collect::<String>())
}

/// A fact in plain words.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(map) => {
            map.iter().map(|(name, value)| format!("{name}: {}", plain(value))).collect::<Vec<_>>().join("; ")
        }
        Value::Array(list) => list.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn warnings(document: &Document) -> String {
    let line = |warning: &ipcost_model::Warning| format!("<li>{}</li>\n", text(&warning.message));
    match document.warnings.as_slice() {
        [] => "<h3 id=\"warnings\">Warnings</h3>\n<p>None.</p>\n".to_owned(),
        some => format!(
            "<h3>Warnings</h3>\n<ul id=\"warnings\">\n{}</ul>\n",
            some.iter().map(line).collect::<String>()
        ),
    }
}

fn notes(document: &Document) -> String {
    if document.notes.is_empty() {
        return String::new();
    }
    let line = |note: &ipcost_model::Warning| format!("<li>{}</li>\n", text(&note.message));
    let lines: String = document.notes.iter().map(line).collect();
    format!("<h3>Notes</h3>\n<ul id=\"notes\">\n{lines}</ul>\n")
}

fn again(document: &Document) -> String {
    let Some(rerun) = rerun(document) else {
        return format!(
            "<h3>To measure it again</h3>\n<p>Its job cannot be written as a file; the document holds it. The seed is {}.</p>\n",
            document.seed
        );
    };
    let file = rerun.job_file.map_or_else(String::new, |file| {
        format!("<p>Save this as <code>job.toml</code>:</p>\n<pre>{}</pre>\n<p>and run</p>\n", lines(&file))
    });
    format!(
        "<h3>To measure it again</h3>\n{file}<pre id=\"command\">{}</pre>\n\
         <p>With the same seed, {}, every random order is the same.</p>\n",
        text(&rerun.command),
        document.seed
    )
}

/// Text of several lines.
fn lines(raw: &str) -> String {
    raw.lines().map(text).collect::<Vec<_>>().join("\n")
}
