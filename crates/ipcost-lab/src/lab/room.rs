//! Whether the system has room for a plan: the impossible is refused before anything starts, naming the limit and the
//! remedy; cells that need not run at once are grouped.

use ipcost_model::{Capabilities, OptionGroup, Pattern, Plan, PlannedCell};
use ipcost_sys::limits::{Room, room};
use ipcost_sys::transport;

use super::LabError;

/// Descriptors of the engine for the pipes of a cell's two processes.
const OF_A_CELL: u64 = 2 * 4;
/// Descriptors of the engine besides those of cells, and of a peer besides its channels.
const OWN: u64 = 64;
/// Tasks left to the rest of the system.
const SPARE_TASKS: u64 = 256;
/// Mappings of a process besides its workers' stacks.
const OWN_MAPPINGS: u64 = 512;
/// Memory of a worker: stacks in the kernel and in user space, buffers, a socket.
const WORKER_BYTES: u64 = 64 * 1024;
/// From this many workers on, their limits are worth a note.
const MANY: u64 = 1_000;

/// Fits a plan into the system's limits, as [`fit`] does.
pub(super) fn fitted(plan: Plan) -> Result<Plan, LabError> {
    fit(plan, &room())
}

/// Whether the system still has room for a plan that fitted before.
pub(super) fn check(plan: &Plan) -> Result<(), LabError> {
    fit(plan.clone(), &room()).map(drop)
}

/// Fits a plan into given limits: measures its cells in groups, so that descriptors and processes suffice.
fn fit(mut plan: Plan, room: &Room) -> Result<Plan, LabError> {
    let cells: Vec<&PlannedCell> = plan.measurable().map(|index| &plan.cells[index]).collect();
    let channels = cells.iter().map(|cell| u64::from(cell.cell.concurrency)).max().unwrap_or(0);
    let of_engine = OWN + cells.iter().map(|cell| of_engine(cell)).max().unwrap_or(0);
    let needed = of_engine + OF_A_CELL;
    if needed > room.descriptors {
        return Err(LabError::Descriptors { needed, limit: room.descriptors });
    }
    let mut notes = Vec::new();
    for cell in &cells {
        transport::fits(&cell.cell).map_err(|error| LabError::Cell { cell: cell.id.clone(), error })?;
        let Some(tightest) = ceilings(cell, room).into_iter().min_by_key(|ceiling| ceiling.most) else {
            continue;
        };
        let asked = u64::from(cell.cell.concurrency);
        if asked > tightest.most {
            let Ceiling { name, most, remedy } = tightest;
            return Err(LabError::Concurrency { cell: cell.id.clone(), asked, name, most, remedy });
        }
        notes.extend(many(cell, &tightest, room));
    }
    let tasks = room.tasks.iter().map(|limit| limit.left).min().unwrap_or(u64::MAX);
    plan.tasks_at_once = plan.tasks_at_once.min(tasks.saturating_sub(SPARE_TASKS));
    let at_once = usize::try_from((room.descriptors - of_engine) / OF_A_CELL).unwrap_or(usize::MAX);
    plan.cells_at_once = plan.cells_at_once.min(at_once);
    let groups = plan.groups().len();
    if groups > 1 {
        let why = if channels >= MANY { "processes and threads" } else { "processes" };
        notes.push(format!(
            "every epoch measures its cells in {groups} groups, one after the other: all cells at once need too many {why}"
        ));
    }
    notes.dedup();
    plan.notes.extend(notes);
    Ok(plan)
}

/// Notes on a cell with many workers: its next limits, and whether its queue holds them.
fn many(cell: &PlannedCell, tightest: &Ceiling, room: &Room) -> Vec<String> {
    let workers = u64::from(cell.cell.concurrency);
    if workers < MANY {
        return Vec::new();
    }
    let mut notes = vec![format!(
        "{}: its concurrency is limited first by {}, to {}; {}",
        cell.id, tightest.name, tightest.most, tightest.remedy
    )];
    let queue = cell.cell.options.backlog().unwrap_or(workers).min(room.somaxconn.unwrap_or(u64::MAX));
    if cell.cell.pattern == Pattern::Connect && queue < workers {
        notes.push(format!(
            "{}: {workers} clients connect at once to a queue of {queue} (option backlog, net.core.somaxconn); over TCP, a SYN that finds it full costs a second: sysctl -w net.core.somaxconn={workers}",
            cell.id
        ));
    }
    notes
}

/// The most workers that a limit allows a cell.
struct Ceiling {
    name: String,
    most: u64,
    remedy: String,
}

fn ceilings(cell: &PlannedCell, room: &Room) -> Vec<Ceiling> {
    let workers = u64::from(cell.cell.concurrency);
    let ceiling = |name: &str, most: u64, remedy: String| Ceiling { name: name.to_owned(), most, remedy };
    let mut all = Vec::new();
    if workers > 1 {
        // Both sides have one task a worker, and a main one.
        all.extend(room.tasks.iter().map(|limit| {
            let most = (limit.left.saturating_sub(SPARE_TASKS) / 2).saturating_sub(1);
            ceiling(limit.name, most, limit.remedy.to_owned())
        }));
        if let Some(mappings) = room.mappings {
            // A stack and its guard page.
            let most = mappings.saturating_sub(OWN_MAPPINGS) / 2;
            let needed = workers * 2 + OWN_MAPPINGS;
            all.push(ceiling("vm.max_map_count", most, format!("sysctl -w vm.max_map_count={needed}")));
        }
        if let Some(bytes) = room.memory_bytes {
            let most = bytes / (2 * WORKER_BYTES);
            all.push(ceiling("the available memory", most, "free some memory".to_owned()));
        }
    }
    let Some(known) = transport::find(&cell.cell.transport).map(|transport| transport.capabilities()) else {
        return all;
    };
    let of_a_channel = descriptors_of_a_channel(known);
    let most = room.descriptors.saturating_sub(OWN) / of_a_channel;
    let needed = workers * of_a_channel + OWN;
    all.push(ceiling(
        "the number of open descriptors (ulimit -n)",
        most,
        format!("ulimit -n {needed} as root raises it"),
    ));
    let group = |group| known.option_groups.contains(&group);
    // With a range of sources, every connection of `connect` has enough ports; those that stay open have one source.
    let spread = cell.cell.pattern == Pattern::Connect
        && group(OptionGroup::SourceAddresses)
        && cell.cell.options.spread_sources() != Some(false);
    if let Some(ports) = room.ports.filter(|_| group(OptionGroup::Tcp) && !spread) {
        let remedy = "sysctl -w net.ipv4.ip_local_port_range='1024 65535'".to_owned();
        all.push(ceiling("net.ipv4.ip_local_port_range", ports, remedy));
    }
    all
}

/// Descriptors of a peer for one channel.
fn descriptors_of_a_channel(known: &Capabilities) -> u64 {
    if known.both_ways { 1 } else { 2 }
}

/// Descriptors of the engine for the channels of a cell, which it makes itself for transports without connections.
fn of_engine(cell: &PlannedCell) -> u64 {
    let known = transport::find(&cell.cell.transport).map(|transport| transport.capabilities());
    let inherited = known.is_some_and(|known| !known.connects);
    if inherited { u64::from(cell.cell.concurrency) * 4 } else { 0 }
}

#[cfg(test)]
mod tests {
    use ipcost_model::{Offers, expand, parse_job};
    use ipcost_sys::limits::TaskLimit;

    use super::*;
    use crate::planning::{PlanSettings, plan};

    const PLENTY: u64 = 1 << 40;

    fn planned(cells: &str) -> Plan {
        let job = parse_job(&format!("epochs = 1\nseed = 1\n{cells}")).unwrap();
        let transports = transport::states();
        let offers = Offers {
            transports: &transports,
            placements_unavailable: &[],
            peers: &[],
            lacks: Offers::LACKS_NOTHING,
        };
        plan(expand(&job, &offers).unwrap(), &PlanSettings::of(&job, 1)).unwrap()
    }

    fn roomy() -> Room {
        Room {
            descriptors: PLENTY,
            tasks: vec![TaskLimit { name: "kernel.pid_max", left: PLENTY, remedy: "sysctl" }],
            mappings: Some(PLENTY),
            memory_bytes: Some(PLENTY),
            somaxconn: Some(PLENTY),
            ports: Some(PLENTY),
        }
    }

    const MANY_CLIENTS: &str =
        "[[cells]]\npattern = [\"rr\", \"connect\"]\ntransport = [\"unix\", \"tcp\"]\nconcurrency = 10000\n";

    #[test]
    fn what_cannot_be_is_refused_with_the_limit_and_the_remedy() {
        let narrow = |change: fn(&mut Room)| {
            let mut room = roomy();
            change(&mut room);
            fit(planned(MANY_CLIENTS), &room).unwrap_err().to_string()
        };
        for (error, name, allowed, remedy) in [
            (narrow(|room| room.descriptors = 5_064), "(ulimit -n)", "5000", "ulimit -n 10064"),
            (narrow(|room| room.tasks[0].left = 10_256), "kernel.pid_max", "4999", "sysctl"),
            (
                narrow(|room| room.mappings = Some(10_512)),
                "vm.max_map_count",
                "5000",
                "vm.max_map_count=20512",
            ),
            (narrow(|room| room.memory_bytes = Some(1 << 28)), "memory", "2048", "free some memory"),
            (narrow(|room| room.ports = Some(100)), "ip_local_port_range", "100", "1024 65535"),
        ] {
            assert!(error.contains("a concurrency of 10000 does not fit"), "{error}");
            assert!(error.contains(name) && error.contains(&format!("allows {allowed} here")), "{error}");
            assert!(error.contains(remedy) && !error.contains('\n'), "{error}");
        }
        // Consecutive connections use a range of sources.
        let spread = "[[cells]]\npattern = \"connect\"\ntransport = \"tcp\"\nconcurrency = 10000\n";
        assert!(fit(planned(spread), &Room { ports: Some(100), ..roomy() }).is_ok());
        let one_source = format!("{spread}options = {{ spread_sources = false }}\n");
        let error = fit(planned(&one_source), &Room { ports: Some(100), ..roomy() }).unwrap_err().to_string();
        assert!(error.contains("ip_local_port_range allows 100 here"), "{error}");
        let error = fit(planned(MANY_CLIENTS), &Room { descriptors: 40, ..roomy() }).unwrap_err().to_string();
        assert!(error.contains("open descriptors, and the limit is 40"), "{error}");
    }

    #[test]
    fn what_limits_first_is_told_where_there_are_many() {
        let room = Room { somaxconn: Some(4_096), mappings: Some(65_530), ..roomy() };
        let notes = fit(planned(MANY_CLIENTS), &room).unwrap().notes;
        let first = notes.iter().find(|note| note.starts_with("rr/unix/64/c10000: ")).unwrap();
        assert!(first.contains("first by vm.max_map_count, to 32509; sysctl"), "{first}");
        assert!(notes.iter().any(|note| note.contains("queue of 4096") && note.contains("connect/tcp")));
        let few = "[[cells]]\ntransport = [\"unix\", \"tcp\"]\nconcurrency = 8\n";
        assert_eq!(fit(planned(few), &room).unwrap().notes, planned(few).notes);
    }

    #[test]
    fn what_does_not_fit_at_once_is_measured_in_groups() {
        let mut room = roomy();
        assert_eq!(fit(planned(MANY_CLIENTS), &room).unwrap().groups().len(), 1);
        room.tasks[0].left = 32_000;
        let plan = fit(planned(MANY_CLIENTS), &room).unwrap();
        assert_eq!(plan.groups().iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1, 1]);
        assert!(plan.notes.iter().any(|note| note.contains("in 4 groups")), "{:?}", plan.notes);
        room.tasks[0].left = 41_000;
        assert_eq!(fit(planned(MANY_CLIENTS), &room).unwrap().groups().len(), 2);
        let sizes: Vec<String> = (1..=3_000).map(|size| size.to_string()).collect();
        let wide = format!("[[cells]]\ntransport = \"unix\"\nsize = [{}]\n", sizes.join(", "));
        let plan = fit(planned(&wide), &Room { descriptors: 4_096, ..roomy() }).unwrap();
        assert!(plan.groups().iter().all(|group| group.len() <= 504), "(4096 − 64) / 8");
        assert_eq!(plan.groups().concat().len(), 3_000);
    }
}
