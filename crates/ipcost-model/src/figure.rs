//! The figures of a published experiment next to those measured here, in the article's own kind of picture.

use serde::{Deserialize, Serialize};

use crate::document::Estimate;
use crate::named;

named! {
    /// How values are drawn.
    FigureKind, "kind" {
        /// As bars: a group for each place.
        Bars = "bars",
        /// As lines over places, which are numbers.
        Lines = "lines",
    }
}

named! {
    /// The unit in which an article gave its figures.
    FigureUnit, "unit" {
        /// Payload of a stream.
        Mbits = "Mbit/s",
        /// Messages or round trips.
        Rate = "messages/s",
        /// Requests to a server, of all clients together.
        Requests = "requests/s",
        /// Time.
        Nanoseconds = "ns",
        /// Time.
        Microseconds = "µs",
        /// Time.
        Seconds = "s",
    }
}

/// Published and measured values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedFigure {
    /// What it shows.
    pub title: String,
    /// How it is drawn.
    pub kind: FigureKind,
    /// Whether equal distances on the axis of values are equal ratios.
    pub logarithmic: bool,
    /// What its places are, such as the size of a message.
    pub across: String,
    /// Its parts, each with an axis of its own.
    pub panels: Vec<FigurePanel>,
    /// What readers have to know about the values, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The citation of the article.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The address of the article.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The machine of the article.
    pub published_on: String,
    /// The level of the intervals: each misses with at most this probability.
    pub alpha: f64,
}

/// A part of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigurePanel {
    /// What it shows; empty if the figure has no other.
    pub title: String,
    /// The unit of its values.
    pub unit: FigureUnit,
    /// Its places, from left to right.
    pub places: Vec<FigurePlace>,
    /// Its series, each with a value for every place.
    pub series: Vec<FigureSeries>,
}

/// A place on the axis across.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigurePlace {
    /// Its name.
    pub label: String,
    /// Its number, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
}

/// Values that belong together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureSeries {
    /// Its name.
    pub label: String,
    /// A value for each place of the panel, in their order.
    pub values: Vec<FigureValue>,
}

/// A published value and the measured one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureValue {
    /// The transport of the cell, which has its colour.
    pub transport: String,
    /// As published; null if it is not known.
    pub published: Option<f64>,
    /// As measured here; null if it was not.
    pub measured: Option<Estimate>,
    /// The measured cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
}

impl PublishedFigure {
    pub fn values(&self) -> impl Iterator<Item = &FigureValue> {
        self.panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.values)
    }
}
