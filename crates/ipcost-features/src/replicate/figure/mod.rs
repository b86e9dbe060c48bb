//! The published figures next to the measured ones: `[figure]` of a replication, and what it becomes with a run's document.

mod spec;
mod values;

pub use spec::{FigurePoint, FigureSeries, FigureSpec, PanelSpec};
pub(super) use values::published_costs;
pub use values::{check, published_figure};
