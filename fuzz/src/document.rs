//! A document, and all its renderings.

use std::time::Duration;

use ipcost_features::ab;
use ipcost_features::answer::{AnsweredRun, whole};
use ipcost_features::answers::{answer_as, answer_of, answered_as};
use ipcost_features::check::{self, Check, View, github, junit};
use ipcost_features::compare::{self, CompareSettings, PastRuns};
use ipcost_features::fleet::{self, Gatherer};
use ipcost_features::history::{self, RunSummary};
use ipcost_features::replicate::{self, ReplicationRecord};
use ipcost_features::trend::{self, TrendCellName};
use ipcost_lab::{About, CampaignState, document as drawn_up};
use ipcost_model::{
    Document, Identity, Metric, Tool, check_document, escaped_but_styles, is_invisible, read_document,
    read_documents, read_samples, redacted_document,
};
use ipcost_report::formats::{Content, FORMATS};
use ipcost_report::page::{Frame, Page};
use ipcost_report::picture::{self, Background, Chart};
use ipcost_report::{json, otava, run_page};

/// A file of several experiments.
pub fn answers(bytes: &[u8]) {
    let documents = read_documents(bytes).unwrap_or_default();
    let records: Vec<AnsweredRun<ReplicationRecord>> =
        documents.iter().filter_map(|document| answered_as(document.clone()).ok().flatten()).collect();
    every_output("overview", &replicate::overview(&records));
    together(&documents);
    documents.into_iter().for_each(use_all);
}

/// Reads it, and draws, compares, lists and redacts every accepted document.
pub fn document(bytes: &[u8]) {
    match read_document(bytes) {
        Ok(document) => use_all(document),
        Err(error) => {
            let error = error.to_string();
            assert!(!error.contains(|c: char| c.is_control()), "an error with control characters: {error:?}");
        }
    }
}

/// A samples file, up to the document of its complete epochs.
pub fn samples(bytes: &[u8]) {
    let samples = match read_samples(bytes) {
        Ok(samples) if !samples.epochs.is_empty() => samples,
        Ok(_) => return,
        Err(error) => {
            let error = error.to_string();
            assert!(!error.contains(|c: char| c.is_control()), "an error with control characters: {error:?}");
            return;
        }
    };
    let begun = &samples.begun;
    let about = About {
        tool: begun.tool.clone(),
        host: begun.host.clone(),
        job: begun.job.clone(),
        started: begun.started.clone(),
        debug_build: begun.debug_build,
    };
    let document = drawn_up(CampaignState::of_samples(samples), about);
    if check_document(&document).is_ok() {
        use_all(document);
    }
}

/// The columns of terminals.
const ROOMS: [usize; 3] = [1, 80, usize::MAX];

/// Every output of a document.
pub fn use_all(document: Document) {
    for room in ROOMS {
        styled(
            "warnings",
            &(run_page::warnings(&document.warnings, "-", room) + &run_page::all_warnings(&document, room)),
        );
    }
    {
        let page = Box::new(run_page::page(&document));
        for (format, samples) in FORMATS.iter().flat_map(|format| [(format, false), (format, true)]) {
            let content =
                Content { document: Some(&document), page: &page, answer: None, data: None, samples };
            plain(format.flag, &(format.render)(&content));
        }
    }
    plain("otava", &otava::render(vec![otava::OtavaRow::of(&document, "run")]).0);
    for &chart in Chart::ALL {
        if let Ok(picture) = picture::draw(&document, chart, Background::default()) {
            plain("picture", &picture.svg());
        }
    }
    // What can be wrong with an answer is escaped where it is written.
    if let Ok(answer) = answer_of(&document) {
        let page = whole(&document, answer.as_deref());
        every_output("answer", &page);
    }
    if let Ok(Some(check)) = answer_as::<Check>(&document) {
        claims(&check.view(&document));
    }
    listed(&document);
    together(std::slice::from_ref(&document));
    let other = Document { seed: document.seed.wrapping_add(1), ..document.clone() };
    let settings = CompareSettings { metric: Metric::Wall, margin: 0.02, assumed_spread: 0.05 };
    let (a, b) = (std::slice::from_ref(&document), std::slice::from_ref(&other));
    if let Ok(compared) = compare::compare(a, b, &settings, &PastRuns::default(), Tool::of_version("0")) {
        every_output("comparison", &compare::page(&compared));
    }
    if let Some(compared) = ab::comparison(&document, Metric::Wall) {
        every_output("comparison", &compare::page(&compared));
    }

    let mut written = Vec::new();
    json::write(&document, &mut written).expect("memory takes everything");
    assert_eq!(read_document(&written).ok().as_ref(), Some(&document), "what is written is read again");
    let _ = redacted_document(document, &Identity::default());
}

fn claims(view: &View<'_>) {
    every_output("claims", &check::page(view));
    plain("JUnit", &junit::render(view));
    plain("annotations", &github::annotations(view, view.file));
}

/// Lists of saved runs, and the trend of its first cell.
fn listed(document: &Document) {
    let id = "20260101-000000-0000";
    let summary = RunSummary::of(document, id, "2026-01-01T00:00:00Z", 1);
    let list = history::RunList {
        schema: history::RUNS_SCHEMA.to_owned(),
        directory: String::new(),
        total: 2,
        runs: vec![summary.clone()],
        unreadable: Vec::new(),
    };
    every_output("list", &history::page(&list, &[Duration::from_secs(1)]));
    let Some(cell) = document.cells.first() else { return };
    let against = document.cells.get(1).map(|cell| TrendCellName::new(&cell.id));
    let asked = trend::TrendRequest { cell: TrendCellName::new(&cell.id), against, metric: Metric::Wall };
    let run = |number: usize| {
        let summary = RunSummary { id: format!("20260101-000000-{number:04}"), ..summary.clone() };
        trend::TrendGathered::of(document, &summary, &asked)
    };
    let runs: Vec<_> = (0..12).filter_map(run).collect();
    if let Ok(found) = trend::trend(runs, &asked, None, usize::MAX, Tool::of_version("0")) {
        every_output("trend", &trend::page(&found, usize::MAX));
        if let Ok(picture) = picture::draw_timeline(&trend::timeline(&found), Background::default()) {
            plain("picture of a trend", &picture.svg());
        }
    }
}

/// What many hosts say: these documents, each from two hosts.
fn together(documents: &[Document]) {
    let gathered = || {
        let mut gatherer = Gatherer::new(Metric::Wall);
        for (number, document) in documents.iter().enumerate() {
            for host in ["one", "another"] {
                let mut document = document.clone();
                document.host.more.insert("machine".to_owned(), host.into());
                gatherer.add(&format!("{HOSTILE}{host}{number}.json"), &document);
            }
        }
        gatherer.unreadable(HOSTILE, HOSTILE.to_owned());
        gatherer
    };
    let fleet = gathered().finish(Tool::of_version("0"));
    every_output("fleet", &fleet::page(&fleet));
}

/// What a stranger may write wherever there is text.
pub const HOSTILE: &str = "\u{1b}]0;x\u{7}\u{1b}[31m\u{202e}\u{9b}2J\r\n::error::</script><img src=x>|`=1+1";

fn every_output(name: &str, page: &Page<'_>) {
    for room in ROOMS {
        for details in [false, true] {
            styled(name, &page.terminal(details, room));
        }
    }
    plain(&format!("HTML of a {name}"), &page.html());
    plain(&format!("Markdown of a {name}"), &page.markdown());
    plain(&format!("CSV of a {name}"), &page.csv());
    for figure in page.figures() {
        if let Ok(picture) = (figure.draw)(Frame::File(Background::default())) {
            plain(&format!("picture of a {name}"), &picture.svg());
        }
    }
}

/// A terminal obeys nothing in it, and a reader sees everything.
fn plain(name: &str, text: &str) {
    let raw = text.find(|c: char| is_invisible(c) && c != '\n');
    let around = |at: usize| text[at..].chars().take(60).collect::<String>();
    assert!(raw.is_none(), "{name} shows control characters: {:?}", around(raw.unwrap_or(0)));
}

/// The same of a text with the program's own styles.
fn styled(name: &str, text: &str) {
    let own = escaped_but_styles(text);
    let obeyed = own.bytes().zip(text.bytes()).position(|(own, raw)| own != raw);
    // A style of the program's, but not where the program set it.
    let styles = ["\u{1b}[31m\u{202e}", "\u{1b}[31m\\u{202e}"].iter().find_map(|hostile| text.find(hostile));
    if let Some(at) = obeyed.or(styles) {
        let around = String::from_utf8_lossy(&text.as_bytes()[at.saturating_sub(60)..]);
        panic!("{name} shows control characters: {:?}", around.chars().take(100).collect::<String>());
    }
}
