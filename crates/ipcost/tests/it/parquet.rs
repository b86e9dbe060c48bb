//! `ipcost report --parquet`: files that DuckDB and Polars read.

use crate::common::{Place, assert_refused, text};

#[test]
fn many_runs_go_into_outputs_of_many_alone() {
    let place = Place::new();
    place.document(&[
        "run", "--transports", "unix,pipe", "--placement", "free", "--patterns", "rr", "--epochs", "2",
        "--quiet",
    ]);
    assert_refused(
        &place.run(&["report", "document.json", "document.json"]),
        &["2 RUNs in one output", "--parquet DIR"],
    );
    let two = ["report", "document.json", "document.json", "--otava", "-"];
    assert_refused(&place.run(&[&two[..], &["--csv", "a"]].concat()), &["not with other outputs"]);
    let output = place.run(&two);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(table.starts_with("time,run,name,version,commit,kernel,rr/"), "{table}");
    assert_eq!(table.lines().count(), 3);
    // A directory's other files are warnings, but not one that was named.
    std::fs::create_dir(place.file("dir")).unwrap();
    assert_refused(&place.run(&["report", "dir", "--otava", "-"]), &["there is no document in dir"]);
    std::fs::copy(place.file("document.json"), place.file("dir/b.json")).unwrap();
    place.write("dir/a.json", "{}");
    let output = place.run(&["report", "dir", "--otava", "-"]);
    assert!(output.status.success() && text(&output.stdout).lines().count() == 2, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("skipped: dir/a.json: "), "{}", text(&output.stderr));
    assert_refused(&place.run(&["report", "dir/b.json", "dir/a.json", "--otava", "-"]), &["dir/a.json"]);
}

#[cfg(feature = "parquet")]
mod written {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::{Place, text};
    use crate::common::python::{environment, printed};

    const DUCKDB: &str = r#"
import duckdb, json, sys
def rows(query): return [list(row) for row in duckdb.sql(query.replace("DIR", sys.argv[1])).fetchall()]
print(json.dumps({
    "counts": [rows(f"select count(*) from 'DIR/{name}.parquet'")[0][0] for name in ("samples", "cells", "contrasts")],
    "runs": rows("select distinct run, host, epoch_ms(started) as ms from 'DIR/cells.parquet' order by ms"),
    "cells": rows("select cell, size, wall_ns_per_op, wall_ns_per_op_lo, latency_ns_p99, available from 'DIR/cells.parquet' where run_name = 'first' order by cell"),
    "wall_ns": rows("select sum(wall_ns), sum(ops), max(sent_ns) from 'DIR/samples.parquet'")[0],
    "joined": rows("select count(*) from 'DIR/samples.parquet' join 'DIR/cells.parquet' using (run, cell)")[0][0],
    "ratios": rows("select a, b, ratio, verdict, headline from 'DIR/contrasts.parquet' join (select distinct run, run_name from 'DIR/cells.parquet') using (run) where run_name = 'first' and metric = 'wall' order by a"),
}))
"#;

    const POLARS: &str = r#"
import json, polars, sys
samples, cells, contrasts = (polars.read_parquet(f"{sys.argv[1]}/{name}.parquet") for name in ("samples", "cells", "contrasts"))
assert str(samples.schema["started"]) == "Datetime(time_unit='us', time_zone='UTC')", samples.schema
assert samples.schema["wall_ns"] == polars.Int64 and cells.schema["cell"] == polars.String
print(json.dumps({
    "counts": [len(samples), len(cells), len(contrasts)],
    "runs": cells["run"].n_unique(),
    "wall_ns": samples["wall_ns"].sum(),
    "missing": cells.filter(polars.col("available").not_())["wall_ns_per_op"].null_count(),
    "reasons": cells.filter(polars.col("available").not_())["reason"].drop_nulls().len(),
}))
"#;

    /// Two runs in a directory, one of which has a cell that cannot be measured.
    fn runs(place: &Place) -> [Value; 2] {
        std::fs::create_dir(place.file("runs")).unwrap();
        [("first", "pipe,unix,npipe"), ("second", "unix,tcp")].map(|(name, transports)| {
            let words = [
                "run", "--transports", transports, "--placement", "free", "--patterns", "rr,stream",
                "--name", name,
            ];
            let document = place.document(&[&words[..], &["--epochs", "3", "--quiet"]].concat());
            place.write(&format!("runs/{name}.json"), &document.to_string());
            document
        })
    }

    fn written(place: &Place) {
        let output = place.run(&["report", "runs", "--parquet", "tables"]);
        assert!(output.status.success() && output.stdout.is_empty(), "{}", text(&output.stderr));
        let mut names: Vec<_> =
            std::fs::read_dir(place.file("tables")).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["cells.parquet", "contrasts.parquet", "samples.parquet"]);
    }

    fn asked(bin: &Path, script: &str, place: &Place) -> Value {
        serde_json::from_str(&printed(bin, script, &[&place.file("tables")])).unwrap()
    }

    fn counts(documents: &[Value]) -> Value {
        let of = |key: &str| -> usize {
            documents.iter().map(|document| document[key].as_array().unwrap().len()).sum()
        };
        json!([of("samples"), of("cells"), of("contrasts")])
    }

    fn sum(documents: &[Value], key: &str) -> u64 {
        let samples = documents.iter().flat_map(|document| document["samples"].as_array().unwrap());
        samples.map(|sample| sample[key].as_u64().unwrap()).sum()
    }

    #[test]
    fn duckdb_reads_what_the_documents_say() {
        let Some(bin) = environment("parquet", &["duckdb", "polars", "pytz"]) else { return };
        let place = Place::new();
        let documents = runs(&place);
        written(&place);
        let found = asked(&bin, DUCKDB, &place);
        assert_eq!(found["counts"], counts(&documents));
        assert_eq!(found["joined"], found["counts"][0]);
        assert_eq!(found["wall_ns"][0], sum(&documents, "wall_ns"));
        assert_eq!(found["wall_ns"][1], sum(&documents, "ops"));
        assert_eq!(found["runs"].as_array().unwrap().len(), 2);
        assert_eq!(found["runs"][0][1], documents[0]["host"]["name"]);
        let mut cells: Vec<Value> = documents[0]["cells"]
            .as_array()
            .unwrap()
            .iter()
            .map(|cell| {
                let cost = &cell["wall_ns_per_op"];
                let p99 = &cell["latency_ns"]["p99"];
                json!([cell["id"], cell["size"], cost["median"], cost["lo"], p99, cell["available"]])
            })
            .collect();
        cells.sort_by_key(|cell| cell[0].as_str().unwrap().to_owned());
        assert_eq!(found["cells"], Value::from(cells));
        let mut ratios: Vec<Value> = documents[0]["contrasts"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|contrast| contrast["metric"] == "wall")
            .map(|it| json!([it["a"], it["b"], it["ratio"], it["verdict"], it["headline"]]))
            .collect();
        ratios.sort_by_key(|ratio| ratio[0].as_str().unwrap().to_owned());
        assert_eq!(found["ratios"], Value::from(ratios));
    }

    #[test]
    fn polars_reads_the_same_types_and_rows() {
        let Some(bin) = environment("parquet", &["duckdb", "polars", "pytz"]) else { return };
        let place = Place::new();
        let documents = runs(&place);
        written(&place);
        let found = asked(&bin, POLARS, &place);
        assert_eq!(found["counts"], counts(&documents));
        assert_eq!((&found["runs"], &found["wall_ns"]), (&json!(2), &json!(sum(&documents, "wall_ns"))));
        assert!(found["missing"].as_u64().unwrap() > 0 && found["missing"] == found["reasons"], "{found}");
    }
}
