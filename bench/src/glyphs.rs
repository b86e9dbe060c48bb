//! The tables of letters from which pictures are drawn, from the typefaces.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result};
use skrifa::instance::{LocationRef, Size};
use skrifa::outline::{DrawSettings, OutlinePen};
use skrifa::{FontRef, GlyphId, MetadataProvider};

const TYPEFACES: [&str; 2] = ["Inter-Regular", "Inter-SemiBold"];
const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/ipcost-report/fonts");

/// Writes them all.
pub fn write() -> Result<()> {
    for name in TYPEFACES {
        let file = format!("{DIRECTORY}/{name}.glyphs");
        fs::write(&file, table(name)?).with_context(|| format!("cannot write {file}"))?;
    }
    Ok(())
}

/// The units of an em in the first line; then a line for each letter: its number in hexadecimal (`box` for a letter that is not there), its advance
/// and its outline, with commands as in paths of SVG, in the font's units and with up positive.
fn table(name: &str) -> Result<String> {
    let file = format!("{DIRECTORY}/{name}-subset.ttf");
    let data = fs::read(&file).with_context(|| format!("cannot read {file}"))?;
    let font = FontRef::new(&data).with_context(|| format!("{file} is no typeface"))?;
    let (size, place) = (Size::unscaled(), LocationRef::default());
    let (advances, outlines) = (font.glyph_metrics(size, place), font.outline_glyphs());
    let mut table = format!("{}\n", font.metrics(size, place).units_per_em);
    let letters = font.charmap().mappings().map(|(letter, glyph)| (format!("{letter:x}"), glyph));
    for (letter, glyph) in [("box".to_owned(), GlyphId::NOTDEF)].into_iter().chain(letters) {
        let mut pen = Commands(format!("{letter} {}", advances.advance_width(glyph).unwrap_or(0.0)));
        let outline = outlines.get(glyph).with_context(|| format!("{file}: {letter} has no outline"))?;
        let drawn = outline.draw(DrawSettings::unhinted(size, place), &mut pen);
        drawn.with_context(|| format!("{file}: the outline of {letter} is broken"))?;
        table += &pen.0;
        table.push('\n');
    }
    Ok(table)
}

struct Commands(String);

impl Commands {
    fn add(&mut self, command: char, numbers: &[f32]) {
        write!(self.0, " {command}").expect("memory");
        numbers.iter().for_each(|number| write!(self.0, " {number}").expect("memory"));
    }
}

impl OutlinePen for Commands {
    fn move_to(&mut self, x: f32, y: f32) {
        self.add('M', &[x, y]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.add('L', &[x, y]);
    }

    fn quad_to(&mut self, cx: f32, cy: f32, x: f32, y: f32) {
        self.add('Q', &[cx, cy, x, y]);
    }

    fn curve_to(&mut self, ax: f32, ay: f32, bx: f32, by: f32, x: f32, y: f32) {
        self.add('C', &[ax, ay, bx, by, x, y]);
    }

    fn close(&mut self) {
        self.add('Z', &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_those_of_the_typefaces() {
        for name in TYPEFACES {
            let written = fs::read_to_string(format!("{DIRECTORY}/{name}.glyphs")).unwrap();
            assert!(written == table(name).unwrap(), "{name}: cargo xtask glyphs");
            assert!(written.lines().count() > 500);
        }
    }
}
