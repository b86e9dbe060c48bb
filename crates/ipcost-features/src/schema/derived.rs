//! The schemas, derived from the types that are written and read.

use ipcost_model::Document;
use ipcost_model::protocol::{FromEngine, FromPeer};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::Subject;
use crate::compare::{COMPARISON_SCHEMA, Comparison};
use crate::fleet::{FLEET_SCHEMA, Fleet};
use crate::replicate::{REPLICATION_SCHEMA, ReplicationRecord};
use crate::selftest::{SELFTEST_SCHEMA, SelfTest};
use crate::trend::{TREND_SCHEMA, Trend};

/// The schema of what is written: a key that every program of this version of it writes is required, and further keys
/// are allowed.
pub fn derive(subject: Subject) -> Value {
    match subject {
        Subject::Document => of::<Document>("A document of ipcost", None),
        Subject::SelfTest => of::<SelfTest>("A self-test of ipcost", Some(SELFTEST_SCHEMA)),
        Subject::Replication => {
            of::<ReplicationRecord>("The ledger of a published experiment", Some(REPLICATION_SCHEMA))
        }
        Subject::Fleet => of::<Fleet>("What many hosts say together, of ipcost", Some(FLEET_SCHEMA)),
        Subject::Comparison => of::<Comparison>("A comparison of ipcost", Some(COMPARISON_SCHEMA)),
        Subject::Trend => of::<Trend>("A cell over many runs, of ipcost", Some(TREND_SCHEMA)),
        Subject::Protocol => protocol(),
    }
}

fn of<T: JsonSchema>(title: &str, version: Option<&str>) -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    let mut schema: Value = schema.into();
    if let Some(version) = version {
        schema["properties"]["schema"]["const"] = version.into();
    }
    require_what_was_always_there(&mut schema);
    schema
}

/// A key that has a default was added later, so a document of an earlier program is sound without it.
fn require_what_was_always_there(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let properties = map.get("properties").cloned();
            if let (Some(Value::Array(required)), Some(properties)) = (map.get_mut("required"), properties) {
                let added =
                    |name: &Value| properties[name.as_str().unwrap_or_default()].get("default").is_some();
                required.retain(|name| !added(name));
            }
            map.values_mut().for_each(require_what_was_always_there);
        }
        Value::Array(list) => list.iter_mut().for_each(require_what_was_always_there),
        _ => {}
    }
}

/// Fields that a reader may miss are not required in a message, so this is the schema of what is read.
fn protocol() -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    let sides = [generator.subschema_for::<FromEngine>(), generator.subschema_for::<FromPeer>()];
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A message of the control protocol of ipcost",
        "anyOf": sides,
        "$defs": generator.take_definitions(true),
    })
}
