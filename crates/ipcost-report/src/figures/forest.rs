//! Ratios with their intervals in rows, under headings.

/// The rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    /// What is compared.
    pub title: String,
    /// Of what and where.
    pub about: String,
    /// How to read a row.
    pub reading: String,
    /// Rows under headings.
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
    /// The rows.
    pub rows: Vec<ForestRow>,
}

/// A ratio with its interval.
#[derive(Debug, Clone, PartialEq)]
pub struct ForestRow {
    /// What it is of.
    pub label: String,
    /// Whether it stands out.
    pub strong: bool,
    /// Its colour, by its place in the palette.
    pub slot: usize,
    /// The ratio.
    pub ratio: f64,
    /// The lower end of its interval; `None` while unbounded.
    pub lo: Option<f64>,
    /// The upper end.
    pub hi: Option<f64>,
    /// The same in figures, or what is known.
    pub figures: String,
}
