//! From how much work of the server on a transport stops mattering.

use ipcost_lab::LabError;
use ipcost_model::units::percent;
use ipcost_model::{
    CellRecord, ContrastRecord, Document, Estimate, Job, LatencyMode, Matrix, Metric, OptionLists,
    OptionName, OptionValue, Size, Verdict,
};
use ipcost_report::numbers::exact_time;
use ipcost_report::page::{Column, Field, Page, Paragraph, Table, Tone, Value};
use ipcost_report::words::{SAME_IN_MEDIAN, cores};

use super::page::operation;
use super::{WorkRequest, WorkSweep};

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
    if work_ns == 0 { "none".to_owned() } else { exact_time(work_ns) }
}

/// What was measured under an amount of work.
struct Amount<'a> {
    work_ns: u64,
    /// What both transports cost.
    costs: [Option<Estimate>; 2],
    /// The ratio of both.
    contrast: Option<&'a ContrastRecord>,
}

impl<'a> Amount<'a> {
    fn of(document: &'a Document, [a, b]: [&str; 2], work_ns: u64) -> Self {
        let cell = |transport: &str| {
            let is_it = |cell: &&CellRecord| {
                cell.transport == transport && cell.options.int("server_work").unwrap_or(0) == work_ns
            };
            document.cells.iter().find(is_it)
        };
        let cells = [cell(a), cell(b)];
        let [a, b] = cells.map(|cell| cell.map(|cell| &cell.id));
        let is_it = |known: &&ContrastRecord| {
            known.metric == Metric::Wall && Some(&known.a) == a && Some(&known.b) == b
        };
        Self {
            work_ns,
            costs: cells.map(|cell| cell.and_then(|cell| cell.wall_ns_per_op)),
            contrast: document.contrasts.iter().find(is_it),
        }
    }

    fn is(&self, verdict: Verdict) -> bool {
        self.contrast.is_some_and(|known| {
            known.verdict == verdict && (known.is_same() || verdict != Verdict::Equivalent)
        })
    }

    fn row(&self, margin: f64) -> Vec<Field> {
        let [a, b] = self.costs.map(|cost| Field::maybe(cost.map(|cost| Value::Cost(cost.median))));
        let mut row = vec![Value::Duration(self.work_ns).into(), a, b];
        if let Some(known) = self.contrast {
            let (said, tone) = verdict(known, margin);
            row.push(Value::Ratio(known.ratio).into());
            row.push(Value::Interval(known.ratio, known.lo, known.hi).into());
            row.push(Field::from(said).toned(tone));
        }
        row
    }
}

/// The page of `sweep work`: a row for each amount of work; then from which on the difference is below the margin.
pub fn page_of_work<'a>(sweep: &'a WorkSweep, document: &'a Document) -> Page<'a> {
    let WorkSweep { request, .. } = sweep;
    let [a, b] = [0, 1].map(|index| request.transports.get(index).map_or("", String::as_str));
    let mut amounts: Vec<Amount<'_>> =
        request.work_ns.iter().map(|work_ns| Amount::of(document, [a, b], *work_ns)).collect();
    let columns = [
        Column::number("work"),
        Column::number("").titled(a.to_owned()).dropped(2),
        Column::number("").titled(b.to_owned()).dropped(1),
        Column::number("").titled(format!("{a} / {b}")),
        Column::text("interval"),
        Column::text("verdict"),
    ];
    let mut page = Page::new(format!(
        "{a} against {b}: {} of {} B on {}, by how long the server works",
        operation(request.pattern),
        request.size,
        cores(request.placement)
    ));
    let rows = amounts.iter().map(|amount| amount.row(request.margin));
    page.blocks.push(Table::new(&columns).rows(rows).into());
    amounts.sort_unstable_by_key(|amount| amount.work_ns);
    page.answer.push(Paragraph::plain(sentence(&amounts, request.margin)).into());
    page
}

fn verdict(known: &ContrastRecord, margin: f64) -> (String, Tone) {
    match known.verdict {
        Verdict::Equivalent if !known.is_same() => (SAME_IN_MEDIAN.to_owned(), Tone::Plain),
        Verdict::Equivalent => (format!("the same within {}", percent(margin)), Tone::Plain),
        Verdict::Undecided => ("open".to_owned(), Tone::Open),
        Verdict::Different | Verdict::Direction if known.ratio < 1.0 => ("less".to_owned(), Tone::Good),
        Verdict::Different | Verdict::Direction => ("more".to_owned(), Tone::Bad),
    }
}

/// From which of the ascending amounts on it is known to make no difference, and up to which it is known to make one.
fn sentence(amounts: &[Amount<'_>], margin: f64) -> String {
    let until = amounts.iter().rfind(|amount| amount.is(Verdict::Different)).map(|amount| amount.work_ns);
    let same = amounts.iter().find(|amount| amount.is(Verdict::Equivalent)).map(|amount| amount.work_ns);
    let from = same.filter(|from| until.is_none_or(|until| until < *from));
    let margin = percent(margin);
    match (until, from) {
        (Some(0), Some(from)) => {
            format!(
                "It matters without work; from {} of it on the difference is below {margin}.",
                amount(from)
            )
        }
        (Some(until), Some(from)) => format!(
            "It matters up to {} of work; from {} on the difference is below {margin}.",
            amount(until),
            amount(from)
        ),
        (None, Some(from)) => {
            format!("From {} of work on, or sooner, the difference is below {margin}.", amount(from))
        }
        (Some(until), None) => format!(
            "It matters up to {} of work; from where on it does not is open: give --work more, or a longer --budget.",
            amount(until)
        ),
        (None, None) => "Nothing is known yet: give a longer --budget.".to_owned(),
    }
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
            ("unix, 5 µs of work", Some(5_000)),
            ("tcp, 5 µs of work", Some(5_000)),
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

    #[test]
    fn amounts_that_round_to_the_same_figure_have_their_own_cells() {
        let request = request(&["unix", "tcp"], &[1_000_000, 1_001_000]);
        let mut document = ipcost_report::fixture::document();
        let cells = ipcost_lab::lab::cells_anywhere(&work_job(&request).unwrap(), &[]).unwrap().cells;
        let (record, contrast) = (document.cells[0].clone(), document.contrasts[0].clone());
        document.cells = Vec::new();
        for (cell, ns) in cells.iter().zip([1e6, 2e6, 3e6, 4e6]) {
            document.cells.push(CellRecord {
                id: cell.id.clone(),
                label: "of any name".to_owned(),
                point: cell.point.clone(),
                wall_ns_per_op: Some(Estimate { median: ns, lo: None, hi: None }),
                ..record.clone()
            });
        }
        document.contrasts = [(0, 0.5), (2, 0.75)]
            .map(|(first, ratio)| ContrastRecord {
                a: cells[first].id.clone(),
                b: cells[first + 1].id.clone(),
                metric: Metric::Wall,
                ratio,
                ..contrast.clone()
            })
            .to_vec();
        let sweep = WorkSweep { schema: String::new(), request };
        let csv = page_of_work(&sweep, &document).csv();
        let rows: Vec<&str> = csv.lines().skip(1).collect();
        assert!(rows[0].starts_with("1000000,1000000.0,2000000.0,0.5,"), "{csv}");
        assert!(rows[1].starts_with("1001000,3000000.0,4000000.0,0.75,"), "{csv}");
        let shown = page_of_work(&sweep, &document).terminal(true, 80);
        assert!(shown.contains("1.001 ms") && shown.contains("1 ms"), "{shown}");
    }
}
