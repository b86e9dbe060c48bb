//! Placeholders in transcripts: their values, and patterns for answers.

use serde_json::{Map, Value};

/// The values of a transcript's placeholders.
#[derive(Debug, Default)]
pub struct Placeholders {
    pub cell: Value,
    /// `$address`: the server's.
    pub address: Value,
    /// `$client_address`: the client's.
    pub client_address: Value,
}

const MEBIBYTE: usize = 1 << 20;

impl Placeholders {
    /// Fills in placeholders. `{"$cell": {…}}` is the cell with other members, those of options added.
    pub fn fill(&self, template: &Value) -> Value {
        match template {
            Value::String(text) => self.named(text).unwrap_or_else(|| template.clone()),
            Value::Array(list) => list.iter().map(|value| self.fill(value)).collect(),
            Value::Object(members) => match members.get("$cell").and_then(Value::as_object) {
                Some(changes) => self.changed_cell(changes),
                None => members.iter().map(|(key, value)| (key.clone(), self.fill(value))).collect(),
            },
            plain => plain.clone(),
        }
    }

    /// Fills in placeholders in a line of text.
    pub fn fill_text(&self, text: &str) -> String {
        let parts =
            [("$client_address", &self.client_address), ("$address", &self.address), ("$cell", &self.cell)];
        parts.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, &value.to_string()))
    }

    fn named(&self, name: &str) -> Option<Value> {
        match name {
            "$cell" => Some(self.cell.clone()),
            "$address" => Some(self.address.clone()),
            "$client_address" => Some(self.client_address.clone()),
            "$mebibyte" => Some("x".repeat(MEBIBYTE).into()),
            _ => None,
        }
    }

    fn changed_cell(&self, changes: &Map<String, Value>) -> Value {
        let mut cell = self.cell.clone();
        for (key, value) in changes {
            match (cell[key].as_object_mut(), value) {
                (Some(options), Value::Object(more)) => options.extend(more.clone()),
                _ => cell[key] = value.clone(),
            }
        }
        cell
    }
}

/// How a value differs from a pattern. Members that the pattern does not name may be present; `<text>`, `<count>`,
/// `<positive>` and `<object>` match any value of that kind.
pub fn mismatch(pattern: &Value, value: &Value) -> Option<String> {
    let fits = match pattern {
        Value::Object(members) => {
            return members.iter().find_map(|(key, pattern)| match value.get(key) {
                Some(member) => mismatch(pattern, member).map(|why| format!("{key}: {why}")),
                None => Some(format!("{key} is missing")),
            });
        }
        Value::String(kind) => match kind.as_str() {
            "<text>" => value.as_str().is_some_and(|text| !text.trim().is_empty() && !text.contains('\n')),
            "<count>" => value.is_u64(),
            "<positive>" => value.as_u64().is_some_and(|number| number > 0),
            "<object>" => value.is_object(),
            _ => pattern == value,
        },
        _ => pattern == value,
    };
    (!fits).then(|| format!("{value} is not {pattern}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_held_against_patterns() {
        let pattern = json!({"type": "done", "id": 7, "wall_ns": "<positive>"});
        assert_eq!(mismatch(&pattern, &json!({"type": "done", "id": 7, "wall_ns": 5, "more": 1})), None);
        let wrong = |value: Value| mismatch(&pattern, &value).unwrap();
        assert_eq!(wrong(json!({"type": "done", "id": 7})), "wall_ns is missing");
        assert_eq!(wrong(json!({"type": "done", "id": 8, "wall_ns": 5})), "id: 8 is not 7");
        assert_eq!(wrong(json!({"type": "done", "id": 7, "wall_ns": 0})), "wall_ns: 0 is not \"<positive>\"");
        assert!(mismatch(&json!("<text>"), &json!("two\nlines")).is_some());
    }

    #[test]
    fn names_stand_for_values() {
        let names = Placeholders {
            cell: json!({"size": 64, "options": {"backlog": 5}}),
            address: json!({"path": "/x"}),
            client_address: json!({"path": "/y"}),
        };
        let template = json!({"cell": {"$cell": {"size": 1, "options": {"more": 2}}}, "address": "$address"});
        let filled =
            json!({"cell": {"size": 1, "options": {"backlog": 5, "more": 2}}, "address": {"path": "/x"}});
        assert_eq!(names.fill(&template), filled);
        assert_eq!(names.fill_text("[$client_address,$address]"), r#"[{"path":"/y"},{"path":"/x"}]"#);
        assert_eq!(names.fill(&json!("$mebibyte")).as_str().map(str::len), Some(MEBIBYTE));
    }
}
