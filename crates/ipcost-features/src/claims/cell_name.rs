//! How a claim names a cell.

use std::fmt;

use ipcost_model::PlannedCell;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::Selector;
use crate::FeatureError;

/// How a claim names a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum CellName {
    /// By its id, its label, or its transport.
    Name(String),
    /// By what distinguishes it.
    Like(Selector),
}

impl CellName {
    /// The one cell that a claim names: by its id, else its label, else its transport; or by what distinguishes it.
    pub(crate) fn find(&self, cells: &[PlannedCell]) -> Result<usize, FeatureError> {
        let name = match self {
            Self::Like(selector) => return selector.find(cells),
            Self::Name(name) => name,
        };
        let ways: [fn(&PlannedCell) -> &str; 3] =
            [|cell| &cell.id, |cell| &cell.label, |cell| &cell.cell.transport];
        for way in ways {
            let found: Vec<usize> = (0..cells.len()).filter(|index| way(&cells[*index]) == name).collect();
            match found[..] {
                [] => {}
                [only] => return Ok(only),
                _ => {
                    let ids = found.iter().map(|index| cells[*index].id.clone()).collect();
                    return Err(FeatureError::NamesSeveral { name: name.clone(), ids });
                }
            }
        }
        let known = cells.iter().map(|cell| cell.id.clone()).collect();
        Err(FeatureError::UnknownCell { name: name.clone(), known })
    }
}

impl<'de> Deserialize<'de> for CellName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl<'de> Visitor<'de> for NameVisitor {
            type Value = CellName;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a cell's id, label or transport, or a table such as { transport = \"unix\", size = 64 }",
                )
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<CellName, E> {
                Ok(CellName::Name(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CellName, A::Error> {
                let selector = Selector::deserialize(MapAccessDeserializer::new(map))?;
                match &selector.measure {
                    Some(measure) => Err(de::Error::custom(format!(
                        "a claim says what it measures as metric = \"{measure}\", next to the cell"
                    ))),
                    None => Ok(CellName::Like(selector)),
                }
            }
        }
        deserializer.deserialize_any(NameVisitor)
    }
}
