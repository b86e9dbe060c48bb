use ipcost_model::FigureKind;
use ipcost_report::fixture;

use super::*;
use crate::replicate::{ReplicationRun, catalogue, cells_of_run};

fn replication(id: &str) -> Replication {
    catalogue::chosen(&[id.to_owned()]).unwrap().remove(0).on("linux")
}

/// The published value of a point.
fn known(id: &str, panel: usize, series: &str, place: usize) -> f64 {
    let figure = published_figure(&replication(id), &[]).unwrap();
    let series = figure.panels[panel].series.iter().find(|one| one.label == series).unwrap();
    series.values[place].published.unwrap()
}

#[test]
fn published_values_are_read_from_where_they_are() {
    for (id, panel, series, place, value) in [
        ("socat-bulk", 0, "100 B", 0, 278.062607),
        ("socat-bulk", 0, "1 MB", 2, 41334.862565),
        ("socat-bulk", 0, "10 kB", 1, 8843.554059),
        ("go-pingpong", 0, "unix", 0, 19900.0),
        ("go-pingpong", 0, "tcp", 12, 1828996.0),
        ("go-pingpong", 1, "npipe (here FIFO)", 12, 117900.0),
        ("celluloid-connect", 0, "tcp", 2, 32.26),
        ("celluloid-connect", 1, "abstract", 1, 0.51),
        ("celluloid-connect", 2, "unix", 0, 1.326359),
        ("redis-incr", 0, "tcp", 0, 73.75),
        ("redis-incr", 0, "unix", 2, 9.806),
        ("redis-incr", 1, "unix", 0, 251.23),
        ("redis-incr", 2, "tcp", 0, 2.47),
        ("ipc-bench-pingpong", 0, "shared memory", 0, 4702557.0),
        ("ipc-bench-pingpong", 1, "ZeroMQ over TCP", 0, 22679.0),
        ("rust-pingpong", 0, "shared memory", 0, 0.1863),
        ("rust-pingpong", 0, "UDP", 0, 42.98),
    ] {
        assert_eq!(known(id, panel, series, place), value, "{id}: {series}, {place}");
    }
    let nothing = published_figure(&replication("c-stream"), &[]).unwrap();
    assert!(nothing.values().all(|value| value.published.is_none()));
    assert!(nothing.note.unwrap().contains("did not survive"));
}

/// Every series of every system has a cell of the original run at some place at least, and never two; where the original
/// run has none, the article's own matrix has one.
#[test]
fn every_point_names_one_cell() {
    for os in ["linux", "windows"] {
        for replication in catalogue::all().unwrap() {
            let id = replication.id.clone();
            let text =
                std::fs::read_to_string(format!("{}/replications/{id}.toml", env!("CARGO_MANIFEST_DIR")));
            let replication: Replication = toml::from_str(&text.unwrap()).unwrap();
            let has_original = replication.runs.iter().any(|run| run.software == Software::Original);
            let replication = replication.on(os);
            check(&replication).unwrap();
            let Some(original) = replication.runs.iter().find(|run| run.software == Software::Original)
            else {
                assert!(os == "windows" || !has_original, "{id}");
                continue;
            };
            let cells = cells_of_run(original).unwrap();
            let article = replication.as_published.iter().flat_map(|published| &published.cells);
            let article = ReplicationRun {
                cells: article.map(|cells| cells.cell.clone()).collect(),
                ..original.clone()
            };
            let article = if article.cells.is_empty() { Vec::new() } else { cells_of_run(&article).unwrap() };
            // An article that gives only a ratio has nothing to draw.
            for panel in replication.figure.iter().flat_map(|figure| &figure.panels) {
                for series in &panel.series {
                    for point in &series.points {
                        let here = point.cell.find_any(&cells).unwrap();
                        let there = point.cell.find_any(&article).unwrap();
                        assert!(here.or(there).is_some(), "{id}, {os}: {}: {}", series.label, point.cell);
                    }
                }
            }
        }
    }
}

/// A document of the fixture's cells, and a replication whose figure shows one of them.
fn shown(unit: &str, measure: &str, operations: &str) -> FigureValue {
    let mut replication = replication("socat-bulk");
    replication.results = serde_json::json!({"unix": [1.0]});
    replication.figure = Some(
        toml::from_str(&format!(
            "title = \"t\"\nkind = \"bars\"\nunit = \"{unit}\"\nacross = \"a\"\n[[panels]]\n[[panels.series]]\nlabel = \"unix\"\n\
             published = [\"/unix/0\"]\ncell = {{ label = \"unix\", pattern = \"rr\", measure = \"{measure}\" }}\n{operations}"
        ))
        .unwrap(),
    );
    let mut document = fixture::measured();
    for cell in &mut document.cells {
        if cell.label == "unix" {
            cell.point.size = 1_000;
            cell.wall_ns_per_op = Some(Estimate { median: 2_000.0, lo: Some(1_000.0), hi: Some(4_000.0) });
        }
    }
    let figure =
        published_figure(&replication, &[(Software::Original, document.cells.len(), document.clone())])
            .unwrap();
    assert!(
        published_figure(&replication, &[(Software::Native, document.cells.len(), document.clone())])
            .unwrap()
            .values()
            .all(|value| value.measured.is_none())
    );
    assert_eq!(figure.kind, FigureKind::Bars);
    figure.panels[0].series[0].values[0].clone()
}

#[test]
fn costs_become_the_articles_unit() {
    let of = |unit: &str, operations: &str| {
        let Estimate { median, lo, hi } = shown(unit, "wall", operations).measured.unwrap();
        (median, lo.unwrap(), hi.unwrap())
    };
    assert_eq!(of("ns", ""), (2_000.0, 1_000.0, 4_000.0));
    assert_eq!(of("µs", ""), (2.0, 1.0, 4.0));
    assert_eq!(of("s", "operations_per_worker = 1000000\n"), (2.0, 1.0, 4.0));
    assert_eq!(
        of("messages/s", ""),
        (500_000.0, 250_000.0, 1_000_000.0),
        "the least time is the largest rate"
    );
    assert_eq!(of("Mbit/s", ""), (4_000.0, 2_000.0, 8_000.0), "8 000 bits in 2 µs");
}

#[test]
fn processor_times_come_from_the_batches() {
    let user = shown("ns", "client_user", "").measured.unwrap();
    let document = fixture::measured();
    let index = document.cells.iter().position(|cell| cell.label == "unix").unwrap();
    let expected = document.cells[index].usage_per_op.unwrap().client_user_ns;
    // The fixture's record is rounded.
    assert!((user.median / expected - 1.0).abs() <= 0.05, "{user:?} instead of {expected}");
}
