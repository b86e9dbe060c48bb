//! What pictures and the page show alike: texts, colours, ticks, and the lines that cells make. Each is prepared here once,
//! and both only draw it.

pub mod cheapest;
pub mod claims;
pub mod colours;
pub mod forest;
pub mod lanes;
pub mod lines;
pub mod published;
pub mod saving;
pub mod series;
pub mod texts;
pub mod ticks;
pub mod timeline;
