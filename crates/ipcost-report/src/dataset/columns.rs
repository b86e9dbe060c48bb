//! The columns of the three files. Other programs read them by name: none is renamed or removed, new ones go to the end.

use ipcost_model::{CellRecord, ContrastRecord, Estimate, LatencySummary, Sample, UsagePerOp, Wait};
use parquet::data_type::ByteArray;

use super::Run;
use super::table::{Column, Take};

/// Of every row: its run.
macro_rules! of_run {
    ($($column:expr),* $(,)?) => {
        &[
            always(text("run", |run, _| Some(run.id.clone()))),
            always(text("host", |run, _| Some(run.host.clone()))),
            Column { name: "started", take: Take::Time(|run, _| run.started_us), required: false },
            $($column),*
        ]
    };
}

/// One row a timed batch.
pub const SAMPLES: &[Column<Sample>] = of_run![
    always(text("cell", |run, sample| run.cells.get(sample.cell as usize).cloned())),
    always(integer("epoch", |_, sample| Some(sample.epoch.into()))),
    always(integer("round", |_, sample| Some(sample.round.into()))),
    always(integer("position", |_, sample| Some(sample.position.into()))),
    always(integer("ops", |_, sample| Some(signed(sample.ops)))),
    always(integer("wall_ns", |_, sample| Some(signed(sample.wall_ns)))),
    integer("sent_ns", |_, sample| sample.sent_ns.map(signed)),
    integer("wait_ns", |_, sample| sample.wait_ns.map(signed)),
    always(integer("client_user_ns", |_, sample| Some(signed(sample.client.user_ns)))),
    always(integer("client_sys_ns", |_, sample| Some(signed(sample.client.sys_ns)))),
    always(integer("client_voluntary_switches", |_, sample| Some(signed(sample.client.voluntary_switches)))),
    always(integer("client_involuntary_switches", |_, sample| Some(signed(
        sample.client.involuntary_switches
    )))),
    always(integer("server_user_ns", |_, sample| Some(signed(sample.server.user_ns)))),
    always(integer("server_sys_ns", |_, sample| Some(signed(sample.server.sys_ns)))),
    always(integer("server_voluntary_switches", |_, sample| Some(signed(sample.server.voluntary_switches)))),
    always(integer("server_involuntary_switches", |_, sample| Some(signed(
        sample.server.involuntary_switches
    )))),
    text("ran", |_, sample| Some(sample.whereabouts?.ran.name().into())),
    integer("migrations", |_, sample| Some(signed(sample.whereabouts?.migrations))),
    integer("softirq_ns", |_, sample| sample.softirq_ns),
];

/// One row a cell, measured or not, with what the run was.
pub const CELLS: &[Column<CellRecord>] = of_run![
    text("run_name", |run, _| run.document.name.as_deref().map(Into::into)),
    always(text("tool_version", |run, _| Some(run.document.tool.version.as_str().into()))),
    text("tool_commit", |run, _| run.document.tool.commit.as_deref().map(Into::into)),
    always(text("os", |run, _| Some(run.document.host.os.as_str().into()))),
    always(text("kernel", |run, _| Some(run.document.host.kernel.as_str().into()))),
    always(text("arch", |run, _| Some(run.document.host.arch.as_str().into()))),
    always(text("cpu", |run, _| Some(run.document.host.cpu.as_str().into()))),
    always(integer("cores", |run, _| Some(run.document.host.cores.into()))),
    always(text("cell", |_, cell| Some(cell.id.as_str().into()))),
    always(text("label", |_, cell| Some(cell.label.as_str().into()))),
    always(text("pattern", |_, cell| Some(cell.pattern.name().into()))),
    always(text("transport", |_, cell| Some(cell.transport.as_str().into()))),
    always(integer("size", |_, cell| Some(signed(cell.size)))),
    always(integer("reply", |_, cell| Some(signed(cell.reply)))),
    always(integer("concurrency", |_, cell| Some(cell.concurrency.into()))),
    always(text("speaks_first", |_, cell| Some(cell.speaks_first.name().into()))),
    text("closes_first", |_, cell| cell.point.closes_first().map(Into::into)),
    text("request", |_, cell| cell.request.as_deref().map(Into::into)),
    always(text("placement", |_, cell| Some(cell.placement.name().into()))),
    always(text("client", |_, cell| Some(cell.client.as_str().into()))),
    always(text("server", |_, cell| Some(cell.server.as_str().into()))),
    always(text("options", |_, cell| {
        let settings: Vec<String> =
            cell.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Some(settings.join(" ").as_str().into())
    })),
    text("arm", |_, cell| Some(cell.arm?.name().into())),
    always(text("wait", |_, cell| Some(how_it_waits(cell.wait).into()))),
    always(flag("available", |_, cell| Some(cell.available))),
    text("reason", |_, cell| cell.reason.as_deref().map(Into::into)),
    always(integer("epochs", |_, cell| Some(cell.epochs.into()))),
    always(integer("batches", |_, cell| Some(signed(cell.batches)))),
    always(integer("ops", |_, cell| Some(signed(cell.ops)))),
    number("wall_ns_per_op", |_, cell| median(cell.wall_ns_per_op)),
    number("wall_ns_per_op_lo", |_, cell| cell.wall_ns_per_op?.lo),
    number("wall_ns_per_op_hi", |_, cell| cell.wall_ns_per_op?.hi),
    number("cpu_ns_per_op", |_, cell| median(cell.cpu_ns_per_op)),
    number("cpu_ns_per_op_lo", |_, cell| cell.cpu_ns_per_op?.lo),
    number("cpu_ns_per_op_hi", |_, cell| cell.cpu_ns_per_op?.hi),
    number("sent_ns_per_op", |_, cell| median(cell.sent_ns_per_op)),
    number("sent_ns_per_op_lo", |_, cell| cell.sent_ns_per_op?.lo),
    number("sent_ns_per_op_hi", |_, cell| cell.sent_ns_per_op?.hi),
    number("wait_ns", |_, cell| cell.wait_ns),
    number("wall_ns_per_op_mean", |_, cell| cell.wall_ns_per_op_mean),
    number("ops_per_s", |_, cell| cell.ops_per_s),
    number("bytes_per_s", |_, cell| cell.bytes_per_s),
    integer("latency_ns_p50", |_, cell| latency(cell, |summary| summary.p50)),
    integer("latency_ns_p90", |_, cell| latency(cell, |summary| summary.p90)),
    integer("latency_ns_p99", |_, cell| latency(cell, |summary| summary.p99)),
    integer("latency_ns_p999", |_, cell| latency(cell, |summary| summary.p999)),
    integer("latency_ns_p99_pooled", |_, cell| Some(signed(cell.latency_ns?.pooled?.p99))),
    integer("latency_ns_max", |_, cell| latency(cell, |summary| summary.max)),
    integer("latency_count", |_, cell| latency(cell, |summary| summary.count)),
    number("client_user_ns_per_op", |_, cell| usage(cell, |used| used.client_user_ns)),
    number("client_sys_ns_per_op", |_, cell| usage(cell, |used| used.client_sys_ns)),
    number("server_user_ns_per_op", |_, cell| usage(cell, |used| used.server_user_ns)),
    number("server_sys_ns_per_op", |_, cell| usage(cell, |used| used.server_sys_ns)),
    number("voluntary_switches_per_op", |_, cell| usage(cell, |used| used.voluntary_switches)),
    number("involuntary_switches_per_op", |_, cell| usage(cell, |used| used.involuntary_switches)),
    number("softirq_ns_per_op", |_, cell| cell.softirq_ns_per_op),
];

/// One row a contrast.
pub const CONTRASTS: &[Column<ContrastRecord>] = of_run![
    always(text("metric", |_, contrast| Some(contrast.metric.name().into()))),
    always(text("a", |_, contrast| Some(contrast.a.as_str().into()))),
    always(text("b", |_, contrast| Some(contrast.b.as_str().into()))),
    always(number("ratio", |_, contrast| Some(contrast.ratio))),
    number("lo", |_, contrast| contrast.lo),
    number("hi", |_, contrast| contrast.hi),
    always(text("verdict", |_, contrast| Some(contrast.verdict.to_string().as_str().into()))),
    always(integer("epochs", |_, contrast| Some(contrast.epochs.into()))),
    always(flag("headline", |_, contrast| Some(contrast.headline))),
    always(flag("wanders", |_, contrast| Some(contrast.wanders))),
    always(flag("alike", |_, contrast| Some(contrast.alike))),
];

const fn text<R>(name: &'static str, take: fn(&Run<'_>, &R) -> Option<ByteArray>) -> Column<R> {
    Column { name, take: Take::Text(take), required: false }
}

const fn integer<R>(name: &'static str, take: fn(&Run<'_>, &R) -> Option<i64>) -> Column<R> {
    Column { name, take: Take::Integer(take), required: false }
}

const fn number<R>(name: &'static str, take: fn(&Run<'_>, &R) -> Option<f64>) -> Column<R> {
    Column { name, take: Take::Number(take), required: false }
}

const fn flag<R>(name: &'static str, take: fn(&Run<'_>, &R) -> Option<bool>) -> Column<R> {
    Column { name, take: Take::Flag(take), required: false }
}

/// The same, of which every row has a value.
const fn always<R>(mut column: Column<R>) -> Column<R> {
    column.required = true;
    column
}

/// Spark and others know no unsigned integers; none of these comes near the limit.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// As documents have it.
fn how_it_waits(wait: Wait) -> &'static str {
    match wait {
        Wait::Block => "block",
        Wait::Spin => "spin",
        Wait::Hybrid => "hybrid",
    }
}

fn median(estimate: Option<Estimate>) -> Option<f64> {
    Some(estimate?.median)
}

fn latency(cell: &CellRecord, part: fn(&LatencySummary) -> u64) -> Option<i64> {
    cell.latency_ns.as_ref().map(|summary| signed(part(summary)))
}

fn usage(cell: &CellRecord, part: fn(&UsagePerOp) -> f64) -> Option<f64> {
    cell.usage_per_op.as_ref().map(part)
}
