//! One colour a transport, the same in every picture and in the page, told apart by colour-blind people too.

use std::collections::BTreeSet;

use ipcost_model::Document;

pub struct Colour {
    pub light: &'static str,
    /// On a dark page.
    pub dark: &'static str,
}

const fn colour(light: &'static str, dark: &'static str) -> Colour {
    Colour { light, dark }
}

/// Common transports. Their colours, the first of [`PALETTE`], are by Okabe and Ito ("Color Universal Design", 2008).
const USUAL: [&str; 8] = ["pipe", "fifo", "unix", "unix-abstract", "socketpair", "tcp", "tcp6", "npipe"];
/// Every colour. Those after the usual ones are for other transports, in the order of the document.
pub const PALETTE: [Colour; 13] = [
    colour("#0072b2", "#4da6e8"),
    colour("#56b4e9", "#9adcff"),
    colour("#d55e00", "#ff8c42"),
    colour("#e69f00", "#ffc04d"),
    colour("#cc79a7", "#e9a3cb"),
    colour("#4d4d4d", "#b4bcc6"),
    colour("#009e73", "#3ccb9f"),
    colour("#b3a100", "#d9cf3a"),
    colour("#332288", "#9d93ee"),
    colour("#882255", "#d9749f"),
    colour("#44aa99", "#7fdccb"),
    colour("#aa4499", "#d98cd0"),
    colour("#117733", "#5dbb7a"),
];

/// The place of a transport's colour in [`PALETTE`].
pub fn slot(document: &Document, transport: &str) -> usize {
    slot_among(document.cells.iter().map(|cell| cell.transport.as_str()), transport)
}

/// [`slot`], where these transports are shown.
pub fn slot_among<'a>(transports: impl Iterator<Item = &'a str>, transport: &str) -> usize {
    let usual = |name: &str| USUAL.iter().position(|known| *known == name);
    usual(transport).unwrap_or_else(|| {
        let others = transports.filter(|name| usual(name).is_none());
        let before: BTreeSet<&str> = others.take_while(|name| *name != transport).collect();
        USUAL.len() + before.len() % (PALETTE.len() - USUAL.len())
    })
}

/// The colour of a transport on white.
pub fn of(document: &Document, transport: &str) -> &'static str {
    PALETTE[slot(document, transport)].light
}
