//! The outputs that are text, by the flags that ask for them. To add one is to add it here.

use std::ops::Deref;

use ipcost_model::Document;

use crate::page::Page;
use crate::{benchfmt, csv};

/// What an output is made of.
pub struct Content<'a, 'p> {
    /// `None` for a record that is no document, such as what two runs differ in.
    pub document: Option<&'a Document>,
    /// All of it. Pages are made when a format asks for them: that takes time.
    pub page: &'a dyn Deref<Target = Page<'p>>,
    /// The page of an answer that says everything without the tables of the document.
    pub answer: Option<&'a dyn Deref<Target = Page<'p>>>,
    /// The page whose tables stand for the cells of the document.
    pub data: Option<&'a dyn Deref<Target = Page<'p>>>,
    /// One row a timed batch in place of one a cell.
    pub samples: bool,
}

impl<'a, 'p> Content<'a, 'p> {
    /// Of a record that is no document.
    pub fn of_record(page: &'a &'a Page<'p>) -> Self {
        Self { document: None, page, answer: Some(page), data: Some(page), samples: false }
    }
}

pub struct Format {
    pub flag: &'static str,
    /// What it is of a document, in the help of commands.
    pub help: &'static str,
    /// The same in a list of formats.
    pub brief: &'static str,
    /// What it is of a record that is no document; `None` if it is about measured cells alone.
    pub of_record: Option<&'static str>,
    pub is_table: bool,
    pub render: fn(&Content<'_, '_>) -> String,
}

pub const FORMATS: &[Format] = &[
    Format {
        flag: "html",
        help: "Write a page with verdicts, tables and charts, in one file that opens anywhere; - is standard output",
        brief: "a page with verdicts, tables and charts, in one file",
        of_record: Some("Write a page that loads nothing"),
        is_table: false,
        render: |content| content.page.html(),
    },
    Format {
        flag: "csv",
        help: "Write comma-separated values, one row a cell",
        brief: "one row a cell; with --samples one row a timed batch",
        of_record: Some("Write comma-separated values"),
        is_table: true,
        render: |content| match (content.document, content.data) {
            (Some(document), _) if content.samples => csv::samples(document),
            (_, Some(data)) => data.csv(),
            (document, None) => document.map(csv::cells).unwrap_or_default(),
        },
    },
    Format {
        flag: "markdown",
        help: "Write Markdown that fits a pull request",
        brief: "for a pull request",
        of_record: Some("Write Markdown, fit for a pull request"),
        is_table: true,
        render: |content| content.answer.unwrap_or(content.page).markdown(),
    },
    Format {
        flag: "benchfmt",
        help: "Write Go benchmark lines, for benchstat",
        brief: "Go benchmark lines, for benchstat",
        of_record: None,
        is_table: true,
        render: |content| content.document.map(benchfmt::render).unwrap_or_default(),
    },
];
