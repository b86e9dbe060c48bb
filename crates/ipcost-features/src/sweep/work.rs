//! From how much work of the server on a transport stops mattering.

use anstyle::Style;
use ipcost_lab::LabError;
use ipcost_model::units::percent;
use ipcost_model::{
    CellRecord, ContrastRecord, Document, Job, LatencyMode, Matrix, Metric, OptionLists, OptionName,
    OptionValue, Size, Verdict,
};
use ipcost_report::grid::{Column, Grid, Piece};
use ipcost_report::numbers::{bounds, ratio, time};
use ipcost_report::words::{SAME_IN_MEDIAN, cores, escaped};
use ipcost_report::wrap::wrapped;

use super::words::operation;
use super::{WorkRequest, WorkSweep};

const BOLD: Style = Style::new().bold();

/// A cell for each of both transports and each amount of work.
///
/// # Errors
/// Other than two transports, or fewer than two amounts.
pub fn work_job(request: &WorkRequest) -> Result<Job, LabError> {
    let refuse = |reason: &str| Err(LabError::Refused(reason.to_owned()));
    if request.transports.len() != 2 || request.transports[0] == request.transports[1] {
        return refuse("a sweep over work compares two transports; give --transports A,B");
    }
    if request.work_ns.len() < 2 {
        return refuse("one amount of work makes no curve; give --work at least two, such as 0,100us");
    }
    let name = OptionName::find("server_work").map_err(LabError::Refused)?;
    let mut cells = Vec::new();
    for work_ns in &request.work_ns {
        let mut options = OptionLists::default();
        if *work_ns > 0 {
            let value = name.spec().check(OptionValue::Int(*work_ns)).map_err(LabError::Refused)?;
            options.0.insert(name, vec![value]);
        }
        for transport in &request.transports {
            cells.push(Matrix {
                label: Some(label(transport, *work_ns)),
                pattern: vec![request.pattern].into(),
                transport: vec![transport.clone()].into(),
                size: vec![Size(request.size)].into(),
                placement: vec![request.placement].into(),
                options: options.clone(),
                ..Matrix::default()
            });
        }
    }
    Ok(Job {
        cells,
        baseline: Some(request.transports[1].clone()),
        budget: request.budget,
        margin: Some(request.margin),
        epochs: request.epochs,
        seed: request.seed,
        latency: Some(LatencyMode::Off),
        ..Job::default()
    })
}

/// Never the bare name of a transport: each cell is compared with the one of the same work, not with the cell of that name.
fn label(transport: &str, work_ns: u64) -> String {
    format!("{transport}, {} of work", amount(work_ns))
}

fn amount(work_ns: u64) -> String {
    if work_ns == 0 { "none".to_owned() } else { time(work_ns as f64) }
}

/// A row for each amount of work in `room` columns of text; then from which on the difference is below the margin.
pub(crate) fn work_table(sweep: &WorkSweep, room: usize) -> String {
    let WorkSweep { document, request, .. } = sweep;
    let [a, b] = [escaped(&request.transports[0]), escaped(&request.transports[1])];
    let mut grid = Grid::new(&[
        Column::new("work", true, 0),
        Column::new("a", true, 2),
        Column::new("b", true, 1),
        Column::new("a / b", true, 0),
        Column::new("", false, 0),
    ]);
    grid.title(1, a.clone());
    grid.title(2, b.clone());
    grid.title(3, format!("{a} / {b}"));
    for work_ns in &request.work_ns {
        let cost = |transport: &str| {
            cell(document, &label(transport, *work_ns))?.wall_ns_per_op.map(|cost| time(cost.median))
        };
        let costs = request.transports.iter().map(|transport| cost(transport).unwrap_or_default());
        let mut row: Vec<Piece> = vec![amount(*work_ns).into()];
        row.extend(costs.map(Piece::from));
        if let Some(known) = contrast(sweep, *work_ns) {
            row.push(
                format!("{} {}", ratio(known.ratio), bounds(known.ratio, (known.lo, known.hi), None)).into(),
            );
            row.push(verdict(known, request.margin).into());
        }
        grid.row(row);
    }
    let mut out = format!(
        "{BOLD}{a} against {b}: {} of {} B on {}, by how long the server works{BOLD:#}\n",
        operation(request.pattern),
        request.size,
        cores(request.placement)
    );
    grid.render(&mut out, room);
    out.push_str(&format!("\n{}\n", wrapped(&sentence(sweep), room)));
    out
}

fn verdict(known: &ContrastRecord, margin: f64) -> String {
    match known.verdict {
        Verdict::Equivalent if !known.is_same() => SAME_IN_MEDIAN.to_owned(),
        Verdict::Equivalent => format!("the same within {}", percent(margin)),
        Verdict::Undecided => "open".to_owned(),
        Verdict::Different | Verdict::Direction if known.ratio < 1.0 => "less".to_owned(),
        Verdict::Different | Verdict::Direction => "more".to_owned(),
    }
}

/// From which of the amounts on it is known to make no difference, and up to which it is known to make one.
fn sentence(sweep: &WorkSweep) -> String {
    let WorkRequest { work_ns, margin, .. } = &sweep.request;
    let mut amounts = work_ns.clone();
    amounts.sort_unstable();
    let is = |wanted: Verdict| {
        move |work_ns: &&u64| {
            let is = |known: &ContrastRecord| known.verdict == wanted;
            contrast(sweep, **work_ns)
                .is_some_and(|known| is(known) && (known.is_same() || wanted != Verdict::Equivalent))
        }
    };
    let until = amounts.iter().rfind(is(Verdict::Different));
    let same = amounts.iter().find(is(Verdict::Equivalent));
    let from = same.filter(|from| until.is_none_or(|until| until < *from));
    let margin = percent(*margin);
    match (until, from) {
        (Some(0), Some(from)) => {
            format!(
                "It matters without work; from {} of it on the difference is below {margin}.",
                amount(*from)
            )
        }
        (Some(until), Some(from)) => format!(
            "It matters up to {} of work; from {} on the difference is below {margin}.",
            amount(*until),
            amount(*from)
        ),
        (None, Some(from)) => {
            format!("From {} of work on, or sooner, the difference is below {margin}.", amount(*from))
        }
        (Some(until), None) => format!(
            "It matters up to {} of work; from where on it does not is open: give --work more, or a longer --budget.",
            amount(*until)
        ),
        (None, None) => "Nothing is known yet: give a longer --budget.".to_owned(),
    }
}

/// The ratio of both transports for an amount of work.
fn contrast(sweep: &WorkSweep, work_ns: u64) -> Option<&ContrastRecord> {
    let WorkSweep { document, request, .. } = sweep;
    let [a, b] = [0, 1].map(|index| cell(document, &label(&request.transports[index], work_ns)));
    let (a, b) = (&a?.id, &b?.id);
    document.contrasts.iter().find(|known| known.metric == Metric::Wall && known.a == *a && known.b == *b)
}

fn cell<'a>(document: &'a Document, label: &str) -> Option<&'a CellRecord> {
    document.cells.iter().find(|cell| cell.label == label)
}

#[cfg(test)]
mod tests {
    use ipcost_model::{Pattern, Placement};

    use super::*;

    fn request(transports: &[&str], work_ns: &[u64]) -> WorkRequest {
        WorkRequest {
            transports: transports.iter().map(|name| (*name).to_owned()).collect(),
            pattern: Pattern::Rr,
            size: 64,
            work_ns: work_ns.to_vec(),
            placement: Placement::Together,
            margin: 0.05,
            budget: None,
            epochs: None,
            seed: None,
        }
    }

    #[test]
    fn each_amount_is_a_pair_of_cells_that_are_compared() {
        let job = work_job(&request(&["unix", "tcp"], &[0, 5_000])).unwrap();
        let cells = ipcost_lab::lab::cells_anywhere(&job, &[]).unwrap();
        let works = cells.cells.iter().map(|cell| (cell.label.as_str(), cell.options.int("server_work")));
        let expected = [
            ("unix, none of work", None),
            ("tcp, none of work", None),
            ("unix, 5.00 µs of work", Some(5_000)),
            ("tcp, 5.00 µs of work", Some(5_000)),
        ];
        assert_eq!(works.collect::<Vec<_>>(), expected);
        let [table] = &cells.workloads[..] else { panic!("one table") };
        assert_eq!(table.against[2], Some(3));
    }

    #[test]
    fn what_makes_no_curve_is_refused() {
        for (asked, says) in [
            (request(&["unix"], &[0, 1]), "two transports"),
            (request(&["unix", "unix"], &[0, 1]), "two transports"),
            (request(&["unix", "tcp"], &[0]), "at least two"),
            (request(&["unix", "tcp"], &[0, 99_000_000_000]), "from 1ns to 60s"),
        ] {
            let error = work_job(&asked).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
