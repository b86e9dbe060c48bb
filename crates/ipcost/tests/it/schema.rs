//! The schemas that the program prints describe what it writes, and nothing that is broken.

use crate::common::{Place, assert_refused, text};
use jsonschema::Validator;
use serde_json::{Value, json};

fn schema(of: &str) -> Value {
    let output = Place::new().run(&["schema", of]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn validator(of: &str) -> Validator {
    let schema = schema(of);
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert!(jsonschema::meta::is_valid(&schema), "it is a schema itself");
    jsonschema::draft202012::new(&schema).unwrap()
}

#[track_caller]
fn assert_valid(validator: &Validator, value: &Value) {
    let errors: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

fn fresh_document(place: &Place) -> Value {
    place.document(&[
        "run", "--transports", "unix,tcp,tcp6", "--placement", "free", "--patterns", "rr,stream,connect",
        "--option", "so_sndbuf=4096", "--margin", "3%", "--timeout", "20s", "--epochs", "2", "--quiet",
    ])
}

#[test]
fn documents_are_as_the_schema_says_and_broken_ones_are_not() {
    let validator = validator("document");
    let document = fresh_document(&Place::new());
    assert!(document["contrasts"][0]["lo"].is_null(), "two epochs have no interval");
    assert_valid(&validator, &document);

    let mut nulls = document.clone();
    for key in ["wall_ns_per_op", "cpu_ns_per_op", "ops_per_s", "bytes_per_s", "latency_ns", "usage_per_op"] {
        nulls["cells"][0][key] = Value::Null;
    }
    nulls["workloads"][0]["fastest"] = Value::Null;
    nulls["workloads"][0]["baseline"] = Value::Null;
    assert_valid(&validator, &nulls);

    // More keys may be added.
    let mut more = document.clone();
    more["host"]["colour"] = json!("blue");
    more["cells"][0]["colour"] = json!("blue");
    assert_valid(&validator, &more);

    // A document of an earlier program lacks what was added since.
    let mut earlier = document.clone();
    earlier["analysis"].as_object_mut().unwrap().remove("multiplicity").unwrap();
    assert_valid(&validator, &earlier);

    let breakages: [(&str, Value); 16] = [
        ("/schema", json!("ipcost/2")),
        ("/cells", json!({})),
        ("/cells/0/pattern", json!("ping")),
        ("/cells/0/size", json!(-1)),
        ("/cells/0/size", json!("64")),
        ("/cells/0/options", json!({"so_sndbuff": 1})),
        ("/cells/0/options", json!({"framing": "newlines"})),
        ("/cells/0/wall_ns_per_op", json!(7.0)),
        ("/cells/0/wall_ns_per_op/median", Value::Null),
        ("/cells/0/available", json!("yes")),
        ("/contrasts/0/verdict", json!("better")),
        ("/contrasts/0/ratio", json!("0.5")),
        ("/samples/0/client", Value::Null),
        ("/samples/0/epoch", json!(1.5)),
        ("/stopped", json!("done")),
        ("/host/cores", json!("2")),
    ];
    for (place, new) in breakages {
        let mut broken = document.clone();
        *broken.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = new.clone();
        assert!(!validator.is_valid(&broken), "{place} = {new}");
    }
    // Documents of earlier versions have neither.
    for key in document.as_object().unwrap().keys().filter(|key| !["notes", "ran_as"].contains(&key.as_str()))
    {
        let mut broken = document.clone();
        broken.as_object_mut().unwrap().remove(key);
        assert!(!validator.is_valid(&broken), "without {key}");
    }
}

#[test]
fn fields_are_described() {
    let schema = schema("document");
    let cell = &schema["$defs"]["CellRecord"]["properties"];
    assert_eq!(cell["wall_ns_per_op"]["description"], "Elapsed time per operation, nanoseconds.");
    let options = &schema["$defs"]["Options"]["properties"];
    assert!(options["so_sndbuf"]["description"].as_str().unwrap().contains("SO_SNDBUF"));
}

#[test]
fn messages_of_the_protocol() {
    let validator = validator("protocol");
    for line in [
        r#"{"type":"hello","protocol":1,"peer":"c","version":"0.1.0","runtime":"gcc 12.2.0","roles":["server","client"],"transports":["unix"],"patterns":["rr"]}"#,
        r#"{"type":"prepare","role":"server","cell":{"pattern":"rr","transport":"unix","size":64,"reply":64,"concurrency":1,"speaks_first":"client","options":{}},"address":{"path":"/tmp/x"}}"#,
        r#"{"type":"ready","address":{"host":"127.0.0.1","port":1234},"effective":{"so_sndbuf":212992}}"#,
        r#"{"type":"batch","id":7,"ops":20000}"#,
        r#"{"type":"armed","id":7}"#,
        r#"{"type":"done","id":7,"ops":1,"wall_ns":5,"colour":"blue"}"#,
        r#"{"type":"verify","id":8,"ops":100}"#,
        r#"{"type":"stop"}"#,
        r#"{"type":"error","message":"bind: address in use"}"#,
    ] {
        assert_valid(&validator, &serde_json::from_str(line).unwrap());
    }
    for line in [
        r#"{"type":"hello","protocol":1}"#,
        r#"{"type":"batch","id":7}"#,
        r#"{"type":"batch","id":-7,"ops":1}"#,
        r#"{"type":"done","id":7,"ops":1,"wall_ns":"5"}"#,
        r#"{"type":"begin"}"#,
        r#"{"id":7}"#,
    ] {
        assert!(!validator.is_valid(&serde_json::from_str(line).unwrap()), "{line}");
    }
}

#[test]
fn unknown_kinds_come_with_the_nearest_known_one() {
    let place = Place::new();
    assert_refused(&place.run(&["schema", "protocl"]), &["protocl", "did you mean \"protocol\""]);
    assert_refused(
        &place.run(&["schema", "x"]),
        &["document, selftest, replication, fleet, comparison, trend, protocol"],
    );
    let output = place.run(&["schema"]);
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), schema("document"), "the default");
}
