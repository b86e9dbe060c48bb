//! The schemas, derived from the types that are written and read.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::Subject;
use crate::document::Document;
use crate::job::OptionLists;
use crate::options::{CATALOGUE, MAX_PROCESSOR, OptionKind, OptionSpec, Options};
use crate::protocol::{FromEngine, FromPeer};
use crate::replication::Ledger;
use crate::selftest::SelfTest;
use crate::units::MAX_SIZE_BYTES;

/// The schema of what is written: a key that every program of this version of it writes is required, and further keys
/// are allowed.
pub fn derive(subject: Subject) -> Value {
    match subject {
        Subject::Document => of::<Document>("A document of ipcost"),
        Subject::SelfTest => of::<SelfTest>("A self-test of ipcost"),
        Subject::Replication => of::<Vec<Ledger>>("Ledgers of published experiments"),
        Subject::Protocol => protocol(),
    }
}

fn of<T: JsonSchema>(title: &str) -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    let mut schema = schema.into();
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

fn value(spec: &OptionSpec) -> Value {
    match spec.kind {
        OptionKind::Bool => json!({"type": "boolean"}),
        OptionKind::Size => json!({"type": "integer", "minimum": 1, "maximum": MAX_SIZE_BYTES}),
        OptionKind::Count(most) => json!({"type": "integer", "minimum": 1, "maximum": most}),
        OptionKind::Processor => json!({"type": "integer", "minimum": 0, "maximum": MAX_PROCESSOR}),
        OptionKind::Choice(words) => json!({"type": "string", "enum": words}),
    }
}

/// One property an option of the catalogue, and no others.
fn of_options(description: &str, property: impl Fn(&OptionSpec) -> Value) -> Schema {
    let described = |spec: &OptionSpec| {
        let mut property = property(spec);
        property["description"] = spec.summary.into();
        (spec.name.to_owned(), property)
    };
    let properties: Map<String, Value> = CATALOGUE.iter().map(described).collect();
    json_schema!({
        "type": "object",
        "description": description,
        "properties": properties,
        "additionalProperties": false,
    })
}

impl JsonSchema for Options {
    fn schema_name() -> Cow<'static, str> {
        "Options".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        of_options("Options of a cell, by name.", value)
    }
}

impl JsonSchema for OptionLists {
    fn schema_name() -> Cow<'static, str> {
        "OptionLists".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let list = |spec: &OptionSpec| json!({"type": "array", "minItems": 1, "items": value(spec)});
        of_options("Options by name, each with its values.", list)
    }
}
