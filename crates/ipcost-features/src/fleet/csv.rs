//! A fleet as comma-separated values, one row a host and contrast.

use ipcost_report::csv::{number, text};

use super::record::{Fleet, FleetContrast, HostRatio};

const NAMES: &str = "host,machine,os,kernel,cpu,virtualisation,cores,started,tool_version,metric,work,placement,a,b,ratio,ratio_lo,ratio_hi,log_error,standing,typical,typical_lo,typical_hi,log_spread,another_lo,another_hi,log_spread_lo,log_spread_hi,usual_hosts,usual,usual_lo,usual_hi,usual_log_spread\n";

/// One row for each contrast of each host; the last columns are the same for all hosts.
pub fn csv(fleet: &Fleet) -> String {
    let rows = fleet
        .contrasts
        .iter()
        .flat_map(|contrast| contrast.hosts.iter().map(move |host| row(fleet, contrast, host)));
    std::iter::once(NAMES.to_owned()).chain(rows).collect()
}

fn row(fleet: &Fleet, contrast: &FleetContrast, ratio: &HostRatio) -> String {
    let host = &fleet.hosts[ratio.host as usize];
    let group = &fleet.groups[host.group as usize];
    let maybe = |value: Option<f64>| value.map_or_else(String::new, number);
    let (together, usual) = (contrast.together.as_ref(), contrast.usual.as_ref());
    [
        text(&host.name),
        text(host.machine.as_deref().unwrap_or_default()),
        text(&group.os),
        text(&group.kernel),
        text(&group.cpu),
        text(&group.virtualisation),
        host.cores.to_string(),
        text(&host.started),
        text(&host.version),
        fleet.metric.to_string(),
        text(&contrast.work),
        contrast.placement.to_string(),
        text(&contrast.a),
        text(&contrast.b),
        number(ratio.ratio),
        maybe(ratio.lo),
        maybe(ratio.hi),
        maybe(ratio.error),
        ratio.standing.name().to_owned(),
        maybe(together.map(|together| together.ratio)),
        maybe(together.map(|together| together.lo)),
        maybe(together.map(|together| together.hi)),
        maybe(together.map(|together| together.spread)),
        maybe(together.and_then(|together| together.another_lo)),
        maybe(together.and_then(|together| together.another_hi)),
        maybe(together.map(|together| together.spread_lo)),
        maybe(together.map(|together| together.spread_hi)),
        usual.map_or_else(String::new, |usual| usual.hosts.to_string()),
        maybe(usual.map(|usual| usual.ratio)),
        maybe(usual.map(|usual| usual.lo)),
        maybe(usual.map(|usual| usual.hi)),
        maybe(usual.map(|usual| usual.spread)),
    ]
    .join(",")
        + "\n"
}
