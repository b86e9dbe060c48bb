//! The figures of a published experiment next to those measured here: a chart in the article's own kind, and its numbers.

use ipcost_model::{Envelope, FigurePanel, PublishedFigure};

use super::{Fragment, text};
use crate::figures::published::{digits, interval};
use crate::picture::published;

/// The section of a page; `made` says where and with what the measured values were made. Empty if the figure has no values.
pub fn section(figure: &PublishedFigure, made: &Envelope) -> Fragment {
    let Ok(picture) = published::body(figure) else { return Fragment(String::new()) };
    let mut out = format!(
        "<section id=\"published\" aria-labelledby=\"published-title\">\n\
         <h2 id=\"published-title\">Published and measured</h2>\n<p><strong>{}</strong></p>\n\
         <p class=\"note\">{}</p>\n<div class=\"published\">\n{}",
        text(&figure.title),
        text(&published::lead(figure)),
        picture.inline(),
    );
    out.push_str(&format!("</div>\n<div class=\"note\">{}</div>\n", caption(figure, made)));
    out.push_str("<details><summary>The numbers</summary>\n");
    figure.panels.iter().for_each(|panel| out.push_str(&table(panel)));
    out.push_str("</details>\n</section>\n");
    Fragment(out)
}

fn caption(figure: &PublishedFigure, made: &Envelope) -> String {
    let line = |line: String| format!("<p>{line}</p>");
    let mut lines: String =
        figure.note.iter().cloned().chain(published::missing(figure)).map(|note| line(text(&note))).collect();
    if let Some(source) = &figure.source {
        // A page of the user's own file leads where that file says, and only to other pages.
        let url = figure.url.as_deref().filter(|url| url.starts_with("https://"));
        let link = |url: &str| format!(", <a href=\"{0}\" rel=\"noreferrer\">{0}</a>", text(url));
        lines.push_str(&line(format!("Source: {}{}", text(source), url.map(link).unwrap_or_default())));
    }
    lines.push_str(&line(text(&format!("Published on: {}", figure.published_on))));
    lines.push_str(&line(text(&published::measured_on(made))));
    lines
}

fn table(panel: &FigurePanel) -> String {
    let unit = panel.unit;
    let has_places = panel.places.iter().any(|place| !place.label.is_empty());
    let head = |name: &str| format!("<th scope=\"col\">{name}</th>");
    let place_head = if has_places { head("") } else { String::new() };
    let mut rows = String::new();
    for (index, place) in panel.places.iter().enumerate() {
        for series in &panel.series {
            let Some(value) = series.values.get(index) else { continue };
            let place = if has_places { format!("<td>{}</td>", text(&place.label)) } else { String::new() };
            let published = value.published.map_or("not known".to_owned(), |value| value.to_string());
            let (measured, held) = match value.measured {
                Some(estimate) => (digits(estimate.median), interval(estimate)),
                None => ("not measured".to_owned(), String::new()),
            };
            rows.push_str(&format!(
                "<tr>{place}<td>{}</td><td class=\"number\">{published}</td><td class=\"number\">{measured}</td>\
                 <td class=\"number interval\">{held}</td></tr>\n",
                text(&series.label)
            ));
        }
    }
    let caption =
        if panel.title.is_empty() { unit.to_string() } else { format!("{}, {unit}", text(&panel.title)) };
    format!(
        "<div class=\"scroll\"><table class=\"published\"><caption>{caption}</caption><thead><tr>{place_head}{}</tr></thead>\n\
         <tbody>\n{rows}</tbody></table></div>\n",
        ["series", "published", "measured", "interval"].map(|name| head(name)).concat()
    )
}

#[cfg(test)]
mod tests;
