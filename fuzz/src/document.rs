//! A document, and all its renderings.

use ipcost_features::ab;
use ipcost_features::compare::{self, CompareSettings, Comparison, PastRuns};
use ipcost_features::history::RunSummary;
use ipcost_lab::{About, Outcome, document as drawn_up};
use ipcost_model::{
    Document, Identity, Metric, Tool, check_document, read_document, read_samples, redacted_document,
};
use ipcost_report::picture::{self, Background, Chart};
use ipcost_report::terminal::Detail;
use ipcost_report::{benchfmt, bmf, conbench, csv, html, json, lkp, markdown, otava, terminal};

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
    let document = drawn_up(Outcome::of_samples(samples), about);
    if check_document(&document).is_ok() {
        use_all(document);
    }
}

fn use_all(document: Document) {
    for room in [1, 80, usize::MAX] {
        for detail in [Detail::Brief, Detail::Wide] {
            plain("terminal", &terminal::render(&document, detail, room));
        }
        plain(
            "warnings",
            &(terminal::warnings(&document, "-", room) + &terminal::all_warnings(&document, room)),
        );
    }
    plain("csv", &csv::cells(&document));
    plain("csv of samples", &csv::samples(&document));
    plain("markdown", &markdown::render(&document));
    plain("benchfmt", &benchfmt::render(&document));
    plain("bmf", &bmf::render(&document));
    plain("conbench", &conbench::render(&document, None));
    plain("lkp", &lkp::render(&document));
    plain("otava", &otava::render(vec![otava::Row::of(&document, "run")]).0);
    for chart in Chart::ALL {
        if let Ok(picture) = picture::draw(&document, chart, Background::default()) {
            plain("picture", &picture.svg());
        }
    }
    let mut page = Vec::new();
    html::write(&document, None, &[], &mut page).expect("memory takes everything");
    let _ = RunSummary::of(&document, "20260101-000000-0000", "2026-01-01T00:00:00Z", 1);
    let other = Document { seed: document.seed.wrapping_add(1), ..document.clone() };
    let settings = CompareSettings { metric: Metric::Wall, margin: 0.02, assumed_spread: 0.05 };
    let (a, b) = (std::slice::from_ref(&document), std::slice::from_ref(&other));
    if let Ok(compared) = compare::compare(a, b, &settings, &PastRuns::default(), Tool::of_version("0")) {
        outputs(&compared);
    }
    if let Some(compared) = ab::comparison(&document, Metric::Wall) {
        outputs(&compared);
    }

    let mut written = Vec::new();
    json::write(&document, &mut written).expect("memory takes everything");
    assert_eq!(read_document(&written).ok().as_ref(), Some(&document), "what is written is read again");
    let _ = redacted_document(document, &Identity::default());
}

fn outputs(compared: &Comparison) {
    plain("comparison", &compare::render(compared, true, 80));
    plain("csv of a comparison", &compare::csv(compared));
    plain("markdown of a comparison", &compare::markdown(compared));
    plain("page of a comparison", &compare::page(compared).render());
}

/// A terminal obeys nothing in it except the program's own styles.
fn plain(name: &str, text: &str) {
    let styled = matches!(name, "terminal" | "warnings" | "comparison");
    let raw = |c: char| c.is_control() && c != '\n' && !(c == '\u{1b}' && styled);
    assert!(!text.contains(raw), "{name} shows control characters");
}
