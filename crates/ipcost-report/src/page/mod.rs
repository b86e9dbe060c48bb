//! An answer as a page of blocks, whatever draws it: a terminal, HTML, Markdown or CSV.
//!
//! Features say what is on it. Precision, alignment, colours and escapes are decided here, once for every output.

mod csv;
mod html;
mod markdown;
mod terminal;
mod terms;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use derive_more::From;
use ipcost_model::{ClaimVerdict, Document, Metric};

use crate::figures::published::digits;
use crate::figures::saving::per_cent;
use crate::numbers;
use crate::picture::{Background, Chart, Picture, PictureError};

/// What an answer says.
#[derive(Default)]
pub struct Page<'a> {
    pub title: String,
    /// What it is about, beneath the title.
    pub about: Vec<String>,
    /// The answer in a few words: first on paper, and last on a terminal, next to the prompt.
    pub answer: Vec<Block<'a>>,
    /// What it rests on.
    pub blocks: Vec<Block<'a>>,
    /// How it was measured, and what it leaves out.
    pub notes: Vec<Block<'a>>,
    /// What shows the rest where a screen leaves some out.
    pub hint: &'static str,
    /// What its CSV holds; without one, the tables of the page.
    pub data: Option<Table>,
    /// The document that a page in HTML gives back.
    pub document: Option<&'a Document>,
}

/// A part of a page.
#[derive(From)]
pub enum Block<'a> {
    /// Blocks under a heading.
    Section(Section<'a>),
    /// Sentences that belong together.
    #[from]
    Paragraph(Paragraph),
    /// Sentences, one an entry.
    List(Vec<Paragraph>),
    /// Figures in rows and columns.
    #[from]
    Table(Table),
    /// A picture; a terminal shows a sketch of it at most.
    #[from]
    Figure(PageFigure<'a>),
    /// Something that is asserted, and what is known of it.
    #[from]
    Claim(ClaimBlock),
    /// Something that was found, under a sign.
    #[from]
    Item(Item),
    /// What most readers do not need at once.
    Details(Section<'a>),
    #[from]
    Code(Code),
}

/// Blocks under a heading.
#[derive(Default)]
pub struct Section<'a> {
    /// What links lead to; empty if none do.
    pub id: String,
    pub title: String,
    pub blocks: Vec<Block<'a>>,
}

/// How much a text matters, or what kind of news it is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    Strong,
    Quiet,
    /// Something may be wrong.
    Caution,
    /// Costs less, or holds.
    Good,
    /// Costs more, or fails.
    Bad,
    Open,
}

impl From<ClaimVerdict> for Tone {
    fn from(verdict: ClaimVerdict) -> Self {
        match verdict {
            ClaimVerdict::Holds => Self::Good,
            ClaimVerdict::Fails => Self::Bad,
            ClaimVerdict::Depends | ClaimVerdict::NoDifference => Self::Plain,
            ClaimVerdict::Open | ClaimVerdict::NotTested => Self::Open,
        }
    }
}

/// A sentence or more.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Paragraph {
    /// The text; what comes from outside needs no escape here.
    pub text: String,
    pub tone: Tone,
}

/// Something that is asserted, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimBlock {
    pub text: String,
    /// What is known, by colour.
    pub known: ClaimVerdict,
    /// What is known, in words.
    pub said: String,
    /// More about it, a line each.
    pub more: Vec<String>,
    /// Whether a screen without details shows that, too.
    pub unfolded: bool,
}

/// Something that was found, under a sign, and what to do about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Item {
    /// A sign that needs no colour.
    pub sign: &'static str,
    /// The colour of the sign, and of the text unless it is good.
    pub tone: Tone,
    pub text: String,
    /// Why that matters; empty if it need not be said.
    pub why: String,
    /// A command that changes it, which is never broken into lines.
    pub command: Option<String>,
    /// What else can be done.
    pub advice: Option<String>,
}

/// Lines to copy as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Code {
    /// What they are written in, such as `sh`.
    pub language: &'static str,
    pub text: String,
}

pub struct PageFigure<'a> {
    pub reading: String,
    /// Draws it in letters, in so many columns and without a line's end: a terminal shows that, and nothing where it cannot be drawn so.
    pub sketch: Option<Box<dyn Fn(usize) -> Paragraph + 'a>>,
    /// The chart that it is, where users can ask for it by name.
    pub chart: Option<Chart>,
    /// Whether it is a part of the page alone, and no file.
    pub is_part: bool,
    /// Draws it, as a part of a page or as a file of its own.
    pub draw: Box<dyn Fn(Frame) -> Result<Picture, PictureError> + 'a>,
}

/// What a picture is drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// A page that says already what it is about.
    Page,
    /// A file that stands for itself.
    File(Background),
}

#[derive(Debug, Default, Clone, PartialEq)]
pub struct Table {
    pub columns: Vec<Column>,
    /// The rows; fields that are missing at the end of one are empty.
    pub rows: Vec<Vec<Field>>,
    /// So many rows are on a screen without details; 0 is all.
    pub most: usize,
    /// What the others are, such as `group`.
    pub rest: &'static str,
    /// The columns after the first are so many groups of the same ones, which stand below one another where a screen is narrow; 0 is one.
    pub sides: usize,
    /// Under which words a page in HTML folds it away, such as beneath a chart that shows the same; none where it does not.
    pub folded: &'static str,
    /// What words of its fields mean, in a line below it.
    pub terms: String,
}

/// A column of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Column {
    /// What stands above it.
    pub title: Cow<'static, str>,
    /// Whether it holds numbers, which are aligned to the right.
    pub right: bool,
    /// In which order columns are left out where a screen is narrow, the largest first; 0 stays always.
    pub expendable: u8,
    /// Whether its cells may take several lines where a screen is narrow.
    pub folds: bool,
    /// Whether it is for those who ask for details.
    pub details: bool,
}

/// What stands in a row and a column.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Field {
    pub value: FieldValue,
    pub tone: Tone,
}

/// A value of a table.
#[derive(Debug, Default, Clone, PartialEq)]
pub enum FieldValue {
    #[default]
    Empty,
    /// Text on as many lines as it takes.
    Text(String),
    /// A name, which stays on one line; two spaces before it put its row under the one above.
    Name(String),
    /// Text that a terminal cuts where a row would take more than a line; in the last column only.
    Brief(String),
    Count(u64),
    Size(u64),
    /// A time that was chosen, not measured: nanoseconds, with all digits.
    Duration(u64),
    /// A cost, nanoseconds.
    Cost(f64),
    /// How much more something costs, nanoseconds; less if it is negative.
    CostChange(f64),
    /// The interval of a cost, nanoseconds. Unbounded ends are `None`.
    CostInterval(Option<f64>, Option<f64>),
    /// How often something happens in one operation.
    PerOperation(f64),
    /// How much more often.
    PerOperationChange(f64),
    /// A number of no unit.
    Number(f64),
    Ratio(f64),
    /// The interval of a value: around what, from, to. Unbounded ends are `None`.
    Interval(f64, Option<f64>, Option<f64>),
    /// The range of what was seen, where there is no interval: around what, from, to.
    Range(f64, f64, f64),
    /// A ratio with its interval.
    RatioWithin(f64, Option<f64>, Option<f64>),
    /// A share of a whole, from 0 to 1.
    Share(f64),
    /// A yes or no of a data file.
    Flag(bool),
}

impl<'a> Page<'a> {
    /// A page with a title and nothing else.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Its pictures; the first one stands for the page.
    pub fn figures(&self) -> Vec<&PageFigure<'a>> {
        fn find<'b, 'a>(blocks: &'b [Block<'a>], found: &mut Vec<&'b PageFigure<'a>>) {
            for block in blocks {
                match block {
                    Block::Figure(figure) if !figure.is_part => found.push(figure),
                    Block::Section(section) | Block::Details(section) => find(&section.blocks, found),
                    _ => {}
                }
            }
        }
        let mut found = Vec::new();
        [&self.answer, &self.blocks, &self.notes].into_iter().for_each(|blocks| find(blocks, &mut found));
        found
    }
}

impl<'a> Section<'a> {
    /// Blocks under a heading; the id is what links lead to.
    pub fn new(id: &str, title: impl Into<String>) -> Self {
        Self { id: id.to_owned(), title: title.into(), blocks: Vec::new() }
    }

    pub fn with(mut self, block: impl Into<Block<'a>>) -> Self {
        self.blocks.push(block.into());
        self
    }

    pub fn with_all<B: Into<Block<'a>>>(mut self, blocks: impl IntoIterator<Item = B>) -> Self {
        self.blocks.extend(blocks.into_iter().map(Into::into));
        self
    }

    /// As a part of a page that is open at once.
    pub fn open(self) -> Block<'a> {
        Block::Section(self)
    }

    /// As a part that is folded away, and that a terminal shows with details only.
    pub fn folded(self) -> Block<'a> {
        Block::Details(self)
    }
}

impl Paragraph {
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), tone: Tone::Plain }
    }

    pub fn quiet(text: impl Into<String>) -> Self {
        Self { text: text.into(), tone: Tone::Quiet }
    }

    pub fn caution(text: impl Into<String>) -> Self {
        Self { text: text.into(), tone: Tone::Caution }
    }
}

impl<'a> PageFigure<'a> {
    /// A picture that is drawn so, and how to read it.
    pub fn new(
        reading: impl Into<String>,
        draw: impl Fn(Frame) -> Result<Picture, PictureError> + 'a,
    ) -> Self {
        Self { reading: reading.into(), sketch: None, chart: None, is_part: false, draw: Box::new(draw) }
    }

    /// The same, drawn so in letters.
    pub fn sketched(self, sketch: impl Fn(usize) -> Paragraph + 'a) -> Self {
        Self { sketch: Some(Box::new(sketch)), ..self }
    }

    /// The same for the page alone.
    pub fn of_page(self) -> Self {
        Self { is_part: true, ..self }
    }

    /// The same, by the name that users ask for.
    pub fn named(self, chart: Chart) -> Self {
        Self { chart: Some(chart), ..self }
    }
}

impl Column {
    /// A column of words.
    pub const fn text(title: &'static str) -> Self {
        Self { title: Cow::Borrowed(title), right: false, expendable: 0, folds: false, details: false }
    }

    /// A column of numbers.
    pub const fn number(title: &'static str) -> Self {
        Self { title: Cow::Borrowed(title), right: true, expendable: 0, folds: false, details: false }
    }

    /// The same, left out in this order where a screen is narrow.
    pub const fn dropped(mut self, expendable: u8) -> Self {
        self.expendable = expendable;
        self
    }

    /// The same, whose cells may take several lines where a screen is narrow.
    pub const fn folded(mut self) -> Self {
        self.folds = true;
        self
    }

    /// The same for those who ask for details.
    pub const fn detail(mut self) -> Self {
        self.details = true;
        self
    }

    /// The same under another title.
    pub fn titled(self, title: impl Into<Cow<'static, str>>) -> Self {
        Self { title: title.into(), ..self }
    }
}

impl Table {
    /// An empty table with these columns.
    pub fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), ..Self::default() }
    }

    pub fn rows(mut self, rows: impl IntoIterator<Item = Vec<Field>>) -> Self {
        self.rows.extend(rows);
        self
    }

    /// The places of the columns that have something to show.
    fn shown(&self) -> Vec<usize> {
        let is_empty = |row: &Vec<Field>, place: usize| {
            row.get(place).is_none_or(|field| {
                matches!(&field.value, FieldValue::Empty) || field.value.text().is_empty()
            })
        };
        (0..self.columns.len()).filter(|place| !self.rows.iter().all(|row| is_empty(row, *place))).collect()
    }

    /// Each of its sides as a table of its own, without the rows in which it has nothing.
    fn each_side(&self) -> Vec<Self> {
        let width = (self.columns.len() - 1) / self.sides.max(1);
        let of = |side: usize| {
            let places = || std::iter::once(0).chain(1 + side * width..1 + (side + 1) * width);
            let columns: Vec<Column> = places().map(|place| self.columns[place].clone()).collect();
            let row = |row: &Vec<Field>| -> Vec<Field> {
                places().map(|place| row.get(place).cloned().unwrap_or_default()).collect()
            };
            let says = |row: &Vec<Field>| row.iter().skip(1).any(|field| !field.value.text().is_empty());
            Self::new(&columns).rows(self.rows.iter().map(row).filter(says))
        };
        (0..self.sides).map(of).collect()
    }

    /// With so many rows on a screen without details; the others are called `rest`.
    pub fn at_most(self, most: usize, rest: &'static str) -> Self {
        Self { most, rest, ..self }
    }
}

impl Field {
    /// The same in a tone.
    pub fn toned(self, tone: impl Into<Tone>) -> Self {
        Self { tone: tone.into(), ..self }
    }

    /// A value that may be absent.
    pub fn maybe(value: Option<FieldValue>) -> Self {
        value.map(Self::from).unwrap_or_default()
    }
}

impl From<FieldValue> for Field {
    fn from(value: FieldValue) -> Self {
        Self { value, ..Self::default() }
    }
}

impl From<String> for Field {
    fn from(text: String) -> Self {
        FieldValue::Text(text).into()
    }
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Metric> for Field {
    fn from(metric: Metric) -> Self {
        metric.to_string().into()
    }
}

impl FieldValue {
    /// As people read it: three significant digits, with a unit.
    pub fn text(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Text(text) | Self::Name(text) | Self::Brief(text) => text.clone(),
            Self::Count(count) => count.to_string(),
            Self::Size(bytes) => ipcost_model::units::size_text(*bytes),
            Self::Duration(ns) => numbers::exact_time(*ns),
            Self::Cost(0.0) => numbers::time(0.0),
            Self::Cost(ns) => numbers::signed_time(*ns),
            Self::CostChange(ns) if *ns < 0.0 => format!("−{}", numbers::time(-ns)),
            Self::CostChange(ns) => format!("+{}", numbers::time(*ns)),
            Self::CostInterval(lo, hi) => within(numbers::time_interval(*lo, *hi)),
            Self::PerOperation(count) => numbers::per_operation(*count),
            Self::PerOperationChange(change) => format!("{change:+.2}").replace('-', "−"),
            Self::Number(number) => digits(*number),
            Self::Ratio(ratio) if *ratio == 0.0 => "0".to_owned(),
            Self::Ratio(ratio) => numbers::ratio(*ratio),
            Self::Interval(around, lo, hi) => within(numbers::interval(*around, *lo, *hi)),
            Self::Range(around, from, to) => numbers::bounds(*around, (None, None), Some((*from, *to))),
            Self::RatioWithin(ratio, lo, hi) => {
                let held = numbers::interval(*ratio, *lo, *hi);
                let held = held.map_or_else(String::new, |held| format!(" ({held})"));
                format!("{}{held}", numbers::ratio(*ratio))
            }
            Self::Share(share) => per_cent(*share),
            Self::Flag(flag) => flag.to_string(),
        }
    }
}

/// An interval as it stands next to its value.
fn within(interval: Option<String>) -> String {
    format!("({})", interval.as_deref().unwrap_or("no interval"))
}
