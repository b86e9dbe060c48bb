//! Schemas of options, which are maps with keys from the catalogue.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::job::OptionLists;
use crate::layout::PAGE_BYTES;
use crate::options::{CATALOGUE, LONGEST_NS, MAX_PROCESSOR, MAX_RATE, OptionKind, OptionSpec, Options};
use crate::units::MAX_SIZE_BYTES;

fn value(spec: &OptionSpec) -> Value {
    match spec.kind {
        OptionKind::Bool => json!({"type": "boolean"}),
        OptionKind::Size => json!({"type": "integer", "minimum": 1, "maximum": MAX_SIZE_BYTES}),
        OptionKind::Count(most) => json!({"type": "integer", "minimum": 1, "maximum": most}),
        OptionKind::Time(least) => json!({"type": "integer", "minimum": least, "maximum": LONGEST_NS}),
        OptionKind::Rate => json!({"type": "integer", "minimum": 1, "maximum": MAX_RATE}),
        OptionKind::Processor => json!({"type": "integer", "minimum": 0, "maximum": MAX_PROCESSOR}),
        OptionKind::Choice(words) => json!({"type": "string", "enum": words}),
        OptionKind::Name(most) => json!({"type": "string", "pattern": format!("^[a-z0-9_-]{{1,{most}}}$")}),
        OptionKind::Offset(step) => json!({"anyOf": [
            {"type": "integer", "minimum": 0, "maximum": PAGE_BYTES - 1, "multipleOf": step},
            {"const": "random"},
        ]}),
    }
}

/// One property per option of the catalogue, and no others.
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
