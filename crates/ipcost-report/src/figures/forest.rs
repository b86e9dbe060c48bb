//! Ratios with their intervals in rows, under headings.

#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    pub title: String,
    pub about: String,
    /// How to read a row.
    pub reading: String,
    pub panels: Vec<ForestGroup>,
    /// Ratios that differ too little from 1 to matter.
    pub band: (f64, f64),
    /// What is known, in sentences.
    pub notes: Vec<String>,
    /// How it was made.
    pub how: String,
}

/// Rows under a heading.
#[derive(Debug, Clone, PartialEq)]
pub struct ForestGroup {
    /// The heading; empty for none.
    pub title: String,
    pub rows: Vec<ForestRow>,
}

/// A ratio with its interval.
#[derive(Debug, Clone, PartialEq)]
pub struct ForestRow {
    pub label: String,
    /// Whether it stands out.
    pub strong: bool,
    /// Its colour, by its place in the palette.
    pub slot: usize,
    pub ratio: f64,
    /// The lower end of its interval; `None` while unbounded.
    pub lo: Option<f64>,
    pub hi: Option<f64>,
    /// The same in figures, or what is known.
    pub figures: String,
}
