//! A page in HTML: sections of text, tables and pictures.

use ipcost_model::{ClaimVerdict, Document};

use super::{FOOTER, STYLE, download, policy, text};
use crate::page::{Item, Table, Tone};
use crate::picture::Picture;

#[derive(Debug, Default)]
pub struct SitePage {
    pub title: String,
    /// What it is about, beneath the title.
    pub about: String,
    /// Links in its head: addresses and names.
    pub links: Vec<(String, String)>,
    pub sections: Vec<SiteSection>,
}

impl SitePage {
    pub fn render(&self) -> String {
        let link =
            |(address, name): &(String, String)| format!("<a href=\"{}\">{}</a>", text(address), text(name));
        let links: String = self.links.iter().map(link).collect();
        let nav = if links.is_empty() {
            String::new()
        } else {
            format!("<nav aria-label=\"Pages and parts\">{links}</nav>\n")
        };
        let sections: String = self.sections.iter().map(SiteSection::whole).collect();
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta name=\"generator\" content=\"ipcost\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
             <header>\n<div>\n<h1>{title}</h1>\n<p class=\"quiet\">{}</p>\n{nav}</div>\n</header>\n\
             <main>\n{sections}</main>\n{FOOTER}</body>\n</html>\n",
            policy(),
            text(&self.about),
            title = text(&self.title),
        )
    }
}

/// A section of a page, part by part.
#[derive(Debug)]
pub struct SiteSection {
    id: String,
    title: String,
    body: String,
}

impl SiteSection {
    /// An empty one; the id is what links lead to.
    pub fn new(id: &str, title: &str) -> Self {
        Self { id: id.to_owned(), title: title.to_owned(), body: String::new() }
    }

    pub fn paragraph(mut self, said: &str) -> Self {
        self.body.push_str(&format!("<p>{}</p>\n", text(said)));
        self
    }

    pub fn note(mut self, said: &str) -> Self {
        self.body.push_str(&format!("<p class=\"note\">{}</p>\n", text(said)));
        self
    }

    pub fn caution(mut self, said: &str) -> Self {
        self.body.push_str(&format!("<p class=\"caution\">{}</p>\n", text(said)));
        self
    }

    /// Adds sentences as a list.
    pub fn sentences<'a>(mut self, sentences: impl IntoIterator<Item = &'a str>) -> Self {
        let entry = |said: &str| format!("<li>{}</li>\n", text(said));
        let entries: String = sentences.into_iter().map(entry).collect();
        self.body.push_str(&format!("<ul class=\"verdicts\">\n{entries}</ul>\n"));
        self
    }

    /// Whether nothing was added yet.
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// Adds a heading to which links lead by its id, unless that is empty.
    pub fn heading_at(mut self, id: &str, title: &str) -> Self {
        let id = if id.is_empty() { String::new() } else { format!(" id=\"{}\"", text(id)) };
        self.body.push_str(&format!("<h3{id}>{}</h3>\n", text(title)));
        self
    }

    /// Adds another section's body.
    pub fn with(mut self, inner: Self) -> Self {
        self.body.push_str(&inner.body);
        self
    }

    /// Adds another section's body without its title, to which links lead by its id.
    pub fn part(mut self, inner: Self) -> Self {
        self.body.push_str(&format!("<div id=\"{}\">\n{}</div>\n", text(&inner.id), inner.body));
        self
    }

    /// Adds lines to copy.
    pub fn code(mut self, language: &str, code: &str) -> Self {
        let lines = code.lines().map(text).collect::<Vec<_>>().join("\n");
        self.body.push_str(&format!("<pre class=\"{}\">{lines}</pre>\n", text(language)));
        self
    }

    /// Adds a link with which the document is saved, or says where it is.
    pub fn download(mut self, document: &Document) -> Self {
        let too_large =
            "<p class=\"note\">The document is too large for a page; --json FILE writes it.</p>\n";
        self.body.push_str(&download(document).unwrap_or_else(|| too_large.to_owned()));
        self
    }

    pub fn table(mut self, table: &Table) -> Self {
        self.body.push_str(&table.html());
        self
    }

    /// Adds claims, each with what is known of it as a badge.
    pub fn badges(mut self, badges: &[Badge]) -> Self {
        let entry = |badge: &Badge| {
            let (claim, class, known) = (text(&badge.text), badge.known.class(), text(&badge.said));
            format!("<li>{claim}<span class=\"badge {class}\">{known}</span></li>\n")
        };
        let entries: String = badges.iter().map(entry).collect();
        self.body.push_str(&format!("<ul class=\"known\">\n{entries}</ul>\n"));
        self
    }

    /// Adds something that was found, and what to do about it.
    pub fn item(mut self, item: &Item) -> Self {
        let class = match item.tone {
            Tone::Good => "good",
            Tone::Bad => "bad",
            Tone::Caution => "bends",
            Tone::Quiet | Tone::Open => "quiet",
            Tone::Plain | Tone::Strong => "plain",
        };
        let mut inner = format!("<p><span class=\"sign\">{}</span> {}</p>\n", item.sign, text(&item.text));
        if !item.why.is_empty() {
            inner.push_str(&format!("<p class=\"note\">{}</p>\n", text(&item.why)));
        }
        if let Some(command) = &item.command {
            inner.push_str(&format!("<pre class=\"command\">{}</pre>\n", text(command)));
        }
        if let Some(advice) = &item.advice {
            inner.push_str(&format!("<p>→ {}</p>\n", text(advice)));
        }
        self.body.push_str(&format!("<div class=\"item {class}\">\n{inner}</div>\n"));
        self
    }

    pub fn picture(mut self, picture: &Picture) -> Self {
        self.body.push_str(&format!("<div class=\"published\">\n{}</div>\n", picture.inline()));
        self
    }

    /// Adds another section's body, folded away under a summary.
    pub fn folded(mut self, summary: &str, inner: Self) -> Self {
        self.body.push_str(&format!(
            "<details><summary>{}</summary>\n{}</details>\n",
            text(summary),
            inner.body
        ));
        self
    }

    /// The section with its title.
    fn whole(&self) -> String {
        let (id, title) = (text(&self.id), text(&self.title));
        format!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n\
             <h2 id=\"{id}-title\">{title}</h2>\n{}</section>\n",
            self.body
        )
    }
}

/// A claim, and what is known of it.
#[derive(Debug, Clone)]
pub struct Badge {
    pub text: String,
    pub known: ClaimVerdict,
    /// What is known, in words.
    pub said: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Column, Field};

    #[test]
    fn what_comes_from_outside_is_text_wherever_it_stands() {
        let evil = "<script>alert(1)</script>\"'&";
        let field = Field::from(evil).toned(Tone::Bad);
        let table = Table::new(&[Column::text("host")]).rows([vec![field]]);
        let inner = SiteSection::new("inner", evil).note(evil);
        let part = SiteSection::new(evil, evil).note(evil);
        let badge = Badge { text: evil.to_owned(), known: ClaimVerdict::Holds, said: evil.to_owned() };
        let item = Item {
            text: evil.to_owned(),
            why: evil.to_owned(),
            command: Some(evil.to_owned()),
            advice: Some(evil.to_owned()),
            ..Item::default()
        };
        let section = SiteSection::new(evil, evil)
            .badges(&[badge])
            .item(&item)
            .paragraph(evil)
            .caution(evil)
            .heading_at(evil, evil)
            .part(part)
            .sentences([evil])
            .table(&table)
            .folded(evil, inner);
        let page = SitePage {
            title: evil.to_owned(),
            about: evil.to_owned(),
            links: vec![(evil.to_owned(), evil.to_owned())],
            sections: vec![section],
        };
        let html = page.render();
        assert!(!html.contains("<script") && !html.contains("\"'&"), "{html}");
        assert_eq!(html.matches("&lt;script&gt;").count(), 25, "{html}");
    }
}
