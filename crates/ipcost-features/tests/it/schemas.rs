//! The schemas that are kept are those of the types.

use ipcost_features::schema::{Subject, derived_schema, schema};

#[test]
fn schemas_are_up_to_date() {
    let mut renewed = Vec::new();
    for subject in Subject::ALL {
        let derived = format!("{:#}\n", derived_schema(*subject));
        if derived != schema(*subject) {
            let file = format!("{}/schemas/{subject}.json", env!("CARGO_MANIFEST_DIR"));
            std::fs::write(&file, derived).unwrap();
            renewed.push(file);
        }
    }
    assert!(renewed.is_empty(), "the types have changed; now renewed, to be committed: {renewed:?}");
}
