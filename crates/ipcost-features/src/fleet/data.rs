//! A fleet as data: one row a host and contrast.

use ipcost_report::page::{Column, Field, FieldValue, Table};

use super::record::{Fleet, FleetContrast, HostRatio};

const COLUMNS: [&str; 32] = [
    "host", "machine", "os", "kernel", "cpu", "virtualisation", "cores", "started", "tool_version", "metric",
    "work", "placement", "a", "b", "ratio", "ratio_lo", "ratio_hi", "log_error", "standing", "typical",
    "typical_lo", "typical_hi", "log_spread", "another_lo", "another_hi", "log_spread_lo", "log_spread_hi",
    "usual_hosts", "usual", "usual_lo", "usual_hi", "usual_log_spread",
];

/// One row for each contrast of each host; the last columns are the same for all hosts.
pub fn data(fleet: &Fleet) -> Table {
    let rows = fleet
        .contrasts
        .iter()
        .flat_map(|contrast| contrast.hosts.iter().map(move |host| row(fleet, contrast, host)));
    Table::new(&COLUMNS.map(Column::text)).rows(rows)
}

fn row(fleet: &Fleet, contrast: &FleetContrast, ratio: &HostRatio) -> Vec<Field> {
    let host = &fleet.hosts[ratio.host as usize];
    let group = &fleet.groups[host.group as usize];
    let maybe = |value: Option<f64>| Field::maybe(value.map(FieldValue::Number));
    let (together, usual) = (contrast.together.as_ref(), contrast.usual.as_ref());
    vec![
        host.name.as_str().into(),
        host.machine.as_deref().unwrap_or_default().into(),
        group.os.as_str().into(),
        group.kernel.as_str().into(),
        group.cpu.as_str().into(),
        group.virtualisation.as_str().into(),
        FieldValue::Count(host.cores.into()).into(),
        host.started.as_str().into(),
        host.version.as_str().into(),
        fleet.metric.into(),
        contrast.work.as_str().into(),
        contrast.placement.to_string().into(),
        contrast.a.as_str().into(),
        contrast.b.as_str().into(),
        FieldValue::Number(ratio.ratio).into(),
        maybe(ratio.lo),
        maybe(ratio.hi),
        maybe(ratio.error),
        ratio.standing.name().into(),
        maybe(together.map(|together| together.ratio)),
        maybe(together.map(|together| together.lo)),
        maybe(together.map(|together| together.hi)),
        maybe(together.map(|together| together.spread)),
        maybe(together.and_then(|together| together.another_lo)),
        maybe(together.and_then(|together| together.another_hi)),
        maybe(together.map(|together| together.spread_lo)),
        maybe(together.map(|together| together.spread_hi)),
        Field::maybe(usual.map(|usual| FieldValue::Count(usual.hosts))),
        maybe(usual.map(|usual| usual.ratio)),
        maybe(usual.map(|usual| usual.lo)),
        maybe(usual.map(|usual| usual.hi)),
        maybe(usual.map(|usual| usual.spread)),
    ]
}
