//! The workers of a peer: one in the main thread, several as threads, or several as processes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use ipcost_model::protocol::LatencyKind;
use ipcost_model::{Cell, Usage, choices};
use ipcost_sys::worker::{self, Link, Worker};
use ipcost_sys::{descriptor_table, usage};
use serde::{Deserialize, Serialize};

use crate::error::PeerError;
use crate::meter::Distribution;
use crate::work::{Order, Report, Work};

/// The most workers with a descriptor table each: each table starts as a copy of the full one.
const MOST_TABLES: usize = 1000;
/// Stack of a worker thread: the loop needs little, and there may be thousands of threads.
const STACK_BYTES: usize = 128 * 1024;

/// Workers that do their parts of a batch at once.
pub enum Workers {
    /// One, in the main thread: the process stays single-threaded.
    Single(Box<dyn Work>),
    Threads(Threads),
    Processes(Vec<ProcessWorker>),
}

/// Who uses a worker's descriptor table. If another thread shares it, even a sleeping one, the kernel counts references
/// at every call on a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DescriptorTable {
    /// Each worker has its own; very many workers share one.
    Usual,
    /// Every worker has its own.
    Private,
    /// Every worker shares it with another thread.
    Shared,
}

impl DescriptorTable {
    fn is_private(self, workers: usize) -> bool {
        match self {
            Self::Usual => workers <= MOST_TABLES,
            Self::Private => true,
            Self::Shared => false,
        }
    }

    /// For the only worker of a process: starts a thread beside it if one is wanted.
    fn of_one(self) -> Result<(), PeerError> {
        if self != Self::Shared {
            return Ok(());
        }
        let sleep = || loop {
            thread::park();
        };
        let started = thread::Builder::new().stack_size(STACK_BYTES).spawn(sleep);
        started.map(drop).map_err(|error| PeerError::Worker(format!("a second thread: {error}")))
    }
}

/// What a batch took, all workers together.
#[derive(Debug, Clone, Default)]
pub struct JoinedReports {
    /// From the first worker's start to the last one's end, nanoseconds.
    pub wall_ns: u64,
    /// From the first worker's start to the last worker's last send, nanoseconds.
    pub sent_ns: Option<u64>,
    /// Of this process and its workers.
    pub usage: Usage,
    pub latencies: BTreeMap<LatencyKind, Distribution>,
    pub retries: u64,
    /// Other measurements of all workers, by name.
    pub measures: BTreeMap<String, f64>,
}

impl Workers {
    /// Workers in this process: a single one runs in the main thread, several as threads.
    pub fn within(works: Vec<Box<dyn Work>>, table: DescriptorTable) -> Result<Self, PeerError> {
        match <[_; 1]>::try_from(works) {
            Ok([work]) => table.of_one().map(|()| Self::Single(work)),
            Err(works) => {
                let private = table.is_private(works.len());
                Threads::start(works, private).map(Self::Threads)
            }
        }
    }

    /// The workers of a cell's client: threads, or the processes that its option asks for.
    pub fn of_client(
        cell: &Cell,
        table: DescriptorTable,
        make: impl FnMut(u32) -> Result<Box<dyn Work>, PeerError>,
    ) -> Result<Self, PeerError> {
        let works = (0..cell.concurrency).map(make);
        match cell.options.workers() {
            Some(choices::WorkersAs::Processes) => Self::processes(works, table),
            _ => Self::within(works.collect::<Result<_, _>>()?, table),
        }
    }

    /// Worker processes; each is created and forked before the next is created.
    pub fn processes(
        works: impl Iterator<Item = Result<Box<dyn Work>, PeerError>>,
        table: DescriptorTable,
    ) -> Result<Self, PeerError> {
        works.map(|work| ProcessWorker::start(work?, table)).collect::<Result<_, _>>().map(Self::Processes)
    }

    /// Runs the order on every worker; also returns this process's processor cycles, if the system counts them.
    pub fn run(&mut self, order: Order) -> Result<(JoinedReports, Option<u64>), PeerError> {
        let (before, cycles) = (usage::own(), usage::cycles());
        let reports = match self {
            Self::Single(work) => vec![work.run(order)?],
            Self::Threads(threads) => threads.run(order)?,
            Self::Processes(workers) => run_processes(workers, order)?,
        };
        let own = usage::own() - before;
        let cycles = usage::cycles().zip(cycles).map(|(after, before)| after.saturating_sub(before));
        Ok((together(reports, own), cycles))
    }
}

fn together(reports: Vec<Report>, own: Usage) -> JoinedReports {
    let began = reports.iter().map(|report| report.began_ns).min().unwrap_or(0);
    let ended = reports.iter().map(|report| report.ended_ns).max().unwrap_or(0);
    let sent = reports.iter().filter_map(|report| report.sent_at_ns).max();
    let mut all = JoinedReports {
        wall_ns: ended.saturating_sub(began),
        sent_ns: sent.map(|sent| sent.saturating_sub(began)),
        usage: own,
        ..JoinedReports::default()
    };
    for report in reports {
        all.usage = all.usage + report.usage;
        all.retries += report.retries;
        report.latencies.into_iter().for_each(|(kind, own)| all.latencies.entry(kind).or_default().add(own));
        for (name, value) in report.measures {
            *all.measures.entry(name).or_default() += value;
        }
    }
    all
}

/// Worker threads that wait for orders.
pub struct Threads {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<OrderState>,
    ordered: Condvar,
    finished: Condvar,
}

#[derive(Default)]
struct OrderState {
    /// Counts orders, so that a worker recognises a new one.
    number: u64,
    order: Option<Order>,
    working: usize,
    reports: Vec<Option<Report>>,
    /// The first worker's error.
    failed: Option<PeerError>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, OrderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, index: usize, mut work: Box<dyn Work>, private: bool) {
        let mut done = 0;
        // A failure here is reported with the first order.
        let mut ready = if private { descriptor_table::separate().map_err(no_table) } else { Ok(()) };
        loop {
            let mut state = self.lock();
            while state.number == done {
                state = self.ordered.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            done = state.number;
            let Some(order) = state.order else { return };
            drop(state);
            let result = std::mem::replace(&mut ready, Ok(())).and_then(|()| work.run(order));
            let mut state = self.lock();
            state.working -= 1;
            match result {
                Ok(report) => state.reports[index] = Some(report),
                Err(error) => {
                    state.failed.get_or_insert(error);
                }
            }
            // A failed worker reports at once: the others may wait for the other side for ever.
            if state.working == 0 || state.failed.is_some() {
                self.finished.notify_one();
            }
        }
    }
}

impl Threads {
    fn start(works: Vec<Box<dyn Work>>, private: bool) -> Result<Self, PeerError> {
        let shared = Arc::new(Shared::default());
        shared.lock().reports = works.iter().map(|_| None).collect();
        for (index, work) in works.into_iter().enumerate() {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .stack_size(STACK_BYTES)
                .spawn(move || shared.serve(index, work, private))
                .map_err(|error| PeerError::Worker(format!("thread {}: {error}", index + 1)))?;
        }
        Ok(Self { shared })
    }

    fn run(&mut self, order: Order) -> Result<Vec<Report>, PeerError> {
        let mut state = self.shared.lock();
        state.number += 1;
        state.order = Some(order);
        state.working = state.reports.len();
        self.shared.ordered.notify_all();
        while state.working > 0 && state.failed.is_none() {
            state = self.shared.finished.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(error) = state.failed.take() {
            return Err(error);
        }
        Ok(state.reports.iter_mut().map(|report| report.take().expect("every worker has reported")).collect())
    }
}

pub struct ProcessWorker {
    worker: Worker,
    answers: BufReader<std::fs::File>,
}

#[derive(Serialize, Deserialize)]
enum WorkerReply {
    Report(Report),
    Failed(String),
}

impl ProcessWorker {
    fn start(mut work: Box<dyn Work>, table: DescriptorTable) -> Result<Self, PeerError> {
        let worker = worker::start(move |link| serve_orders(&mut *work, table, link))?;
        let answers = worker.answers.try_clone().map_err(|error| PeerError::Worker(error.to_string()))?;
        Ok(Self { worker, answers: BufReader::new(answers) })
    }

    fn send(&mut self, order: Order) -> Result<(), PeerError> {
        write_line(&mut self.worker.orders, &order)
    }

    fn receive(&mut self) -> Result<Report, PeerError> {
        match read_line(&mut self.answers)? {
            Some(WorkerReply::Report(report)) => Ok(report),
            Some(WorkerReply::Failed(message)) => Err(PeerError::Worker(message)),
            None => Err(PeerError::Worker("it is gone".to_owned())),
        }
    }
}

/// Runs the order on every worker. Takes answers as they come: a failed worker reports at once, while the others may
/// wait for the other side for ever.
fn run_processes(workers: &mut [ProcessWorker], order: Order) -> Result<Vec<Report>, PeerError> {
    for worker in &mut *workers {
        worker.send(order)?;
    }
    let mut reports = Vec::with_capacity(workers.len());
    let mut waiting: Vec<usize> = (0..workers.len()).collect();
    while !waiting.is_empty() {
        let waited_for: Vec<&Worker> = waiting.iter().map(|index| &workers[*index].worker).collect();
        let ready = waiting.swap_remove(worker::wait_any(&waited_for)?);
        reports.push(workers[ready].receive()?);
    }
    Ok(reports)
}

/// A worker process: runs orders until they end.
fn serve_orders(work: &mut dyn Work, table: DescriptorTable, link: Link) {
    let Link { orders, mut answers } = link;
    let mut orders = BufReader::new(orders);
    if let Err(error) = table.of_one() {
        // Without an answer the parent reports this worker as gone.
        let _ = write_line(&mut answers, &WorkerReply::Failed(error.to_string()));
        return;
    }
    while let Ok(Some(order)) = read_line::<Order>(&mut orders) {
        let before = usage::own();
        let answer = match work.run(order) {
            Ok(report) => WorkerReply::Report(Report { usage: usage::own() - before, ..report }),
            Err(error) => WorkerReply::Failed(error.to_string()),
        };
        if write_line(&mut answers, &answer).is_err() {
            return;
        }
    }
}

fn no_table(error: std::io::Error) -> PeerError {
    PeerError::Worker(format!(
        "a private descriptor table is refused here: {error}; set the option descriptor_table=shared"
    ))
}

fn write_line(to: &mut impl Write, value: &impl Serialize) -> Result<(), PeerError> {
    let mut line = serde_json::to_vec(value).map_err(|error| PeerError::Worker(error.to_string()))?;
    line.push(b'\n');
    to.write_all(&line).map_err(|error| PeerError::Worker(error.to_string()))
}

fn read_line<T: for<'de> Deserialize<'de>>(from: &mut BufReader<impl Read>) -> Result<Option<T>, PeerError> {
    let mut line = String::new();
    let failed = |error: &dyn std::fmt::Display| PeerError::Worker(error.to_string());
    match from.read_line(&mut line).map_err(|error| failed(&error))? {
        0 => Ok(None),
        _ => serde_json::from_str(&line).map(Some).map_err(|error| failed(&error)),
    }
}
