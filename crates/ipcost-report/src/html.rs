//! Pages that open from disk, load nothing and run no script.
//!
//! Whatever comes from outside is escaped by `text`. The page's own policy allows its style by its hash, and nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ipcost_model::Document;
use sha2::{Digest, Sha256};

use crate::json;
use crate::words::escaped;
use crate::xml;

const STYLE: &str = include_str!("../assets/html/page.css");
const FOOTER: &str = include_str!("../assets/html/footer.html");
/// What a link may hold so that browsers save it, bytes; some refuse two megabytes.
const MOST_CARRIED: usize = 1_500_000;

/// What the page may do: use this style. It loads nothing.
fn policy() -> String {
    let hash = STANDARD.encode(Sha256::digest(STYLE));
    format!("default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'")
}

/// Text from outside as it may stand between tags and in quoted attributes.
pub(crate) fn text(raw: &str) -> String {
    xml::attribute(&escaped(raw))
}

/// A whole page: its title, what it is about, and the body of its head and of its main part.
pub(crate) fn document(title: &str, about: &str, links: &str, sections: &str) -> String {
    let nav = match links {
        "" => String::new(),
        _ => format!("<nav aria-label=\"Pages and parts\">{links}</nav>\n"),
    };
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
        text(about),
        title = text(title),
    )
}

/// A link with which a browser saves the document, packed; `None` where it is too large for one.
pub(crate) fn download(document: &Document) -> Option<String> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    json::write(document, &mut packed).ok()?;
    let data = STANDARD.encode(packed.finish().ok()?);
    (data.len() <= MOST_CARRIED).then(|| {
        format!(
            "<p><a class=\"download\" download=\"ipcost-{}.json.gz\" href=\"data:application/gzip;base64,{data}\">Download the document</a></p>\n",
            document.seed
        )
    })
}
