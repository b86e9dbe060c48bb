//! How wide text is, and text that fits.
//!
//! Anyone who shows an SVG picture sets its text in a typeface that is there, and most are about as wide as the embedded
//! one; what is reserved for text is therefore a little more than it takes in that.

use super::typeface;
use crate::words;

/// How much wider another typeface may be.
const OTHERS_ARE_WIDER: f64 = 1.12;
/// What a letter takes that the embedded typeface does not have, over the size of the text.
const UNKNOWN_LETTER: f64 = 1.0;
/// How much more than the room text may take: what is measured for it is not cut for the sake of a rounding.
const TOLERANCE: f64 = 0.01;
/// In place of what is left out.
pub const ELLIPSIS: char = '…';

/// How text is set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Face {
    /// In units of the picture.
    pub size: f64,
    /// Semi-bold instead of regular.
    pub bold: bool,
}

/// From a text's middle to its base line, over its size.
pub const TO_BASE: f64 = 0.36;

/// The room that text needs, in units of the picture.
pub fn width(text: &str, face: Face) -> f64 {
    advances(text, face).map(|(_, advance)| advance).sum()
}

/// Every letter with the room that it needs.
fn advances(text: &str, face: Face) -> impl Iterator<Item = (char, f64)> {
    let typeface = typeface::of(face);
    text.chars().map(move |letter| {
        let advance = typeface.advance(letter).unwrap_or(UNKNOWN_LETTER);
        (letter, advance * face.size * OTHERS_ARE_WIDER)
    })
}

/// The text, cut with an ellipsis where it needs more room.
pub fn shortened(text: &str, room: f64, face: Face) -> String {
    if width(text, face) <= room + TOLERANCE {
        return text.to_owned();
    }
    let mut left = room - width(&ELLIPSIS.to_string(), face);
    let fits = |(_, advance): &(char, f64)| {
        left -= advance;
        left >= 0.0
    };
    let kept: String = advances(text, face).take_while(fits).map(|(letter, _)| letter).collect();
    format!("{}{ELLIPSIS}", kept.trim_end())
}

/// The text in lines that fit, broken between words; a word that is too long is cut.
pub fn wrapped(text: &str, room: f64, face: Face) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let longer = lines.last().map(|line| format!("{line} {word}"));
        match (lines.last_mut(), longer) {
            (Some(line), Some(longer)) if width(&longer, face) <= room => *line = longer,
            _ => lines.push(shortened(word, room, face)),
        }
    }
    lines
}

/// Text from outside, with nothing that XML does not allow.
pub fn clean(text: &str) -> String {
    let allowed = |letter: char| if matches!(letter, '\u{fffe}' | '\u{ffff}') { '\u{fffd}' } else { letter };
    words::escaped(text).chars().map(allowed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACE: Face = Face { size: 12.0, bold: false };

    #[test]
    fn wide_letters_take_more_room_and_bold_ones_too() {
        assert!(width("mmm", FACE) > width("iii", FACE) * 2.0);
        assert!(width("unix", Face { bold: true, ..FACE }) > width("unix", FACE));
        assert!((width("unix", Face { size: 24.0, ..FACE }) / width("unix", FACE) - 2.0).abs() < 1e-3);
    }

    #[test]
    fn every_letter_of_a_figure_is_embedded() {
        for bold in [false, true] {
            for letter in "0123456789 µμ×–—…·±−→←≥≤%./()é".chars() {
                assert!(typeface::of(Face { bold, ..FACE }).advance(letter).is_some(), "{letter:?}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_cut() {
        let text = "a label that is rather long";
        assert_eq!(shortened(text, 1_000.0, FACE), text);
        let cut = shortened(text, 60.0, FACE);
        assert!(cut.ends_with('…') && width(&cut, FACE) <= 60.0 && cut.len() > 4, "{cut}");
        assert_eq!(shortened(text, 0.0, FACE), "…");
    }

    #[test]
    fn lines_hold_every_word_and_fit() {
        let text = "one two three four five six seven";
        let lines = wrapped(text, 60.0, FACE);
        assert!(lines.len() > 2 && lines.iter().all(|line| width(line, FACE) <= 60.0), "{lines:?}");
        assert_eq!(lines.join(" "), text);
    }
}
