//! Outputs of many documents at once.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(next_help_heading = "Tables of one or many RUNs")]
pub struct ManyArgs {
    /// Write samples, cells and contrasts as Parquet, three files in this directory
    #[arg(long, value_name = "DIR")]
    pub parquet: Option<PathBuf>,
    /// Write costs for Apache Otava, one row a run, one column a cell; - is standard output
    #[arg(long, value_name = "FILE")]
    pub otava: Option<PathBuf>,
}

impl ManyArgs {
    /// Whether any was asked for.
    pub fn any(&self) -> bool {
        self.parquet.is_some() || self.otava.is_some()
    }
}
