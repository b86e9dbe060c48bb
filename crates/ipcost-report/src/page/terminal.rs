//! A page on a terminal.

use anstyle::{AnsiColor, Style};
use ipcost_model::{ClaimVerdict, escaped, is_invisible};

use super::{Block, ClaimBlock, Field, FieldValue, Item, Page, PageFigure, Paragraph, Section, Table, Tone};
use crate::grid::Grid;
use crate::wrap::{wrapped, wrapped_under};

const BOLD: Style = Style::new().bold();
/// A line that was cut for more columns would not fit a mail.
const BRIEF_ROOM: usize = 100;
/// Before the text of an item: room for its sign.
const ITEM: &str = "    ";
/// Letters of a text that are shown at least.
const LEAST_BRIEF: usize = 20;
/// From so many columns on, what stands side by side has its intervals.
const WIDE: usize = 100;

#[derive(Debug, Clone, Copy)]
struct TerminalRoom {
    columns: usize,
    /// Everything, or what most readers need.
    details: bool,
}

impl Page<'_> {
    /// Draws it in `room` columns of text, with styles as ANSI sequences; with everything, or not. The answer comes first.
    pub fn terminal(&self, details: bool, room: usize) -> String {
        let room = TerminalRoom { columns: room, details };
        let mut out = String::new();
        if !self.title.is_empty() {
            out.push_str(&format!("{BOLD}{}{BOLD:#}\n", wrapped(&escaped(&self.title), room.columns)));
        }
        for line in &self.about {
            out.push_str(&format!("{}\n", wrapped(&escaped(line), room.columns)));
        }
        for part in [&self.answer, &self.blocks, &self.notes] {
            let mut drawn = String::new();
            blocks(part, room, &mut drawn);
            if !drawn.is_empty() {
                out.push_str(&format!("\n{}", drawn.trim_start_matches('\n')));
            }
        }
        if !details
            && !self.hint.is_empty()
            && [&self.blocks, &self.answer, &self.notes].into_iter().any(|part| leaves_out(part))
        {
            let quiet = style(Tone::Quiet);
            out.push_str(&format!("{quiet}{}{quiet:#}\n", wrapped(self.hint, room.columns)));
        }
        out.trim_start_matches('\n').to_owned()
    }
}

/// Whether a screen without details shows less.
fn leaves_out(blocks: &[Block<'_>]) -> bool {
    blocks.iter().any(|block| match block {
        Block::Details(_) => true,
        Block::Section(section) => leaves_out(&section.blocks),
        Block::Table(table) => table.most > 0 && table.rows.len() > table.most,
        _ => false,
    })
}

fn blocks(all: &[Block<'_>], room: TerminalRoom, out: &mut String) {
    for block in all {
        match block {
            Block::Section(inner) => section(inner, room, out),
            Block::Details(inner) if room.details => section(inner, room, out),
            Block::Details(_) => {}
            Block::Figure(PageFigure { sketch, .. }) => {
                if let Some(sketch) = sketch {
                    let said = sketch(room.columns);
                    let style = style(said.tone);
                    out.push_str(&format!("{style}{}{style:#}\n\n", escaped(&said.text)));
                }
            }
            Block::Paragraph(said) => paragraph(said, room, out),
            Block::List(entries) => entries.iter().for_each(|said| entry(said, room, out)),
            Block::Table(inner) => table(inner, room, out),
            Block::Claim(inner) => claim(inner, room, out),
            Block::Item(inner) => item(inner, room, out),
            Block::Code(code) => {
                let lines = code.text.lines().map(|line| format!("{ITEM}{}\n", escaped(line)));
                out.push_str(&lines.collect::<String>());
            }
        }
    }
}

fn section(section: &Section<'_>, room: TerminalRoom, out: &mut String) {
    let mut inner = String::new();
    blocks(&section.blocks, room, &mut inner);
    if inner.is_empty() {
        return;
    }
    out.push('\n');
    if !section.title.is_empty() {
        out.push_str(&format!("{BOLD}{}{BOLD:#}\n", wrapped(&section.title, room.columns)));
    }
    out.push_str(inner.trim_start_matches('\n'));
}

fn paragraph(said: &Paragraph, room: TerminalRoom, out: &mut String) {
    let style = style(said.tone);
    let text = wrapped(&one_line(&said.text), room.columns);
    out.push_str(&format!("{style}{text}{style:#}\n"));
}

/// Breaks of lines are spaces, as on paper: nothing that comes from outside looks like a line of its own.
fn one_line(text: &str) -> String {
    text.trim_end().replace('\n', " ")
}

fn entry(said: &Paragraph, room: TerminalRoom, out: &mut String) {
    let style = style(said.tone);
    let text = wrapped_under(&format!("- {}", one_line(&said.text)), room.columns, "  ");
    out.push_str(&format!("{style}{text}{style:#}\n"));
}

fn claim(claim: &ClaimBlock, room: TerminalRoom, out: &mut String) {
    let style = match claim.known {
        ClaimVerdict::Holds => style(Tone::Good),
        ClaimVerdict::Fails => style(Tone::Bad),
        ClaimVerdict::Open => style(Tone::Caution),
        ClaimVerdict::NotTested => style(Tone::Open),
        ClaimVerdict::Depends | ClaimVerdict::NoDifference => BOLD,
    };
    // What is claimed comes from a file: it begins no line of its own.
    let line = |text: &str, indent: &str| {
        wrapped_under(&escaped(text), room.columns.saturating_sub(indent.len()), indent)
    };
    out.push_str(&format!("{}\n  {style}{}{style:#}\n", line(&claim.text, ""), line(&claim.said, "  ")));
    if room.details || claim.unfolded {
        claim.more.iter().for_each(|more| out.push_str(&format!("    {}\n", line(more, "    "))));
    }
}

/// Commands stay whole, so that they can be copied.
fn item(item: &Item, room: TerminalRoom, out: &mut String) {
    let (sign, text) =
        (style(item.tone), if item.tone == Tone::Good { Style::new() } else { style(item.tone) });
    let columns = room.columns.min(BRIEF_ROOM + ITEM.len());
    // The sign has its own style, so that it is kept out of the breaking of lines.
    let said = wrapped_under(&format!("{ITEM}{}", one_line(&item.text)), columns, ITEM);
    let said = said.strip_prefix(ITEM).unwrap_or(&said);
    out.push_str(&format!("  {sign}{}{sign:#} {text}{said}{text:#}\n", item.sign));
    if !item.why.is_empty() {
        let quiet = style(Tone::Quiet);
        let why = wrapped_under(&format!("{ITEM}{}", one_line(&item.why)), columns, ITEM);
        out.push_str(&format!("{quiet}{why}{quiet:#}\n"));
    }
    if let Some(command) = &item.command {
        out.push_str(&format!("{ITEM}→ {BOLD}{}{BOLD:#}\n", escaped(command)));
    }
    if let Some(advice) = &item.advice {
        let advice = format!("{ITEM}→ {}", one_line(advice));
        out.push_str(&format!("{}\n", wrapped_under(&advice, columns, &format!("{ITEM}  "))));
    }
}

fn table(table: &Table, room: TerminalRoom, out: &mut String) {
    if table.sides > 1 {
        let most = if room.columns < WIDE { 0 } else { 1 };
        if grid(table, room, &|_| String::new()).width_up_to(most) > room.columns {
            for (number, side) in table.each_side().iter().enumerate() {
                out.push_str(if number > 0 { "\n" } else { "" });
                self::table(side, room, out);
            }
            terms(table, room, out);
            return;
        }
    }
    // What may be cut takes what the columns that stay leave.
    let taken = grid(table, room, &|_| String::new()).width_up_to(0);
    let left = room.columns.min(BRIEF_ROOM).saturating_sub(taken + 2).max(LEAST_BRIEF);
    let mut drawn = String::new();
    grid(table, room, &|text| cut(text, left)).render(&mut drawn, room.columns);
    // Where no column has a title, nothing stands above the rows.
    out.push_str(drawn.trim_start_matches('\n'));
    let most = most_rows(table, room);
    if table.rows.len() > most {
        let more =
            ipcost_model::units::counted((table.rows.len() - most) as u64, &format!("more {}", table.rest));
        out.push_str(&format!("… and {more}\n"));
    }
    terms(table, room, out);
}

fn terms(table: &Table, room: TerminalRoom, out: &mut String) {
    if !table.terms.is_empty() {
        paragraph(&Paragraph::quiet(&table.terms), room, out);
    }
}

fn most_rows(table: &Table, room: TerminalRoom) -> usize {
    if room.details || table.most == 0 { usize::MAX } else { table.most }
}

/// The table as a grid; `brief` cuts what may be cut.
fn grid<'a>(table: &'a Table, room: TerminalRoom, brief: &dyn Fn(&str) -> String) -> Grid<'a> {
    let piece = |field: &Field| {
        let text = match &field.value {
            FieldValue::Brief(text) => brief(text),
            value => value.text(),
        };
        let text = if text.contains(is_invisible) { escaped(&text) } else { text };
        (text, style(field.tone))
    };
    let row = |row: &Vec<Field>| {
        let mut pieces: Vec<_> = row.iter().map(piece).collect();
        // Fields that are missing at the end of a row are empty.
        pieces.resize_with(table.columns.len(), Default::default);
        pieces
    };
    let rows = table.rows.iter().take(most_rows(table, room)).map(row).collect();
    Grid { columns: &table.columns, rows, details: room.details, sides: table.sides }
}

/// A text in one line of so many letters.
fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let begin: String = text.chars().take(room.saturating_sub(1)).collect();
    let end = begin.rfind([' ', ',', ';']).filter(|end| *end > room / 2).unwrap_or(begin.len());
    format!("{}…", begin[..end].trim_end_matches([' ', ',', ';', ':']))
}

fn style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Strong => BOLD,
        Tone::Quiet | Tone::Open => Style::new().dimmed(),
        Tone::Caution => AnsiColor::Yellow.on_default(),
        Tone::Good => AnsiColor::Green.on_default(),
        Tone::Bad => AnsiColor::Red.on_default(),
    }
}
