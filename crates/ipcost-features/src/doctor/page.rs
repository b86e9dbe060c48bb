//! What was found on a machine as a page: a section a topic, what is good in one line, a sum.

use ipcost_model::units::counted;
use ipcost_report::page::{Column, FieldValue, Item, Page, Paragraph, Section, Table, Tone};
use ipcost_report::words::capitalised;

use crate::doctor::{Examination, Finding, State, Topic};

/// The page; with `all`, everything that was looked at has an entry.
pub fn page(examination: &Examination, all: bool) -> Page<'static> {
    let tool = &examination.envelope.tool;
    let mut page = Page::new("What distorts results on this machine");
    page.about.push(format!("{} {}", tool.name, tool.build()));
    page.about.extend(examination.installed.as_ref().map(|it| format!("installed: {it}")));
    for topic in Topic::ALL {
        let of_topic: Vec<&Finding> =
            examination.findings.iter().filter(|finding| finding.topic == *topic).collect();
        if !of_topic.is_empty() {
            let section = Section::new(&topic.name().replace(' ', "-"), capitalised(topic.name()));
            page.blocks.push(section.with_all(entries(&of_topic, all)).open());
        }
    }
    if all && !examination.unknown.is_empty() {
        let unknown = format!("Unknown: {}.", examination.unknown.join(", "));
        page.notes.push(Paragraph::quiet(unknown).into());
    }
    page.answer.push(Paragraph::plain(sum(examination, all)).into());
    page.data = Some(data(examination));
    page
}

/// What was found, with what bends results first, and what is good last.
fn entries(findings: &[&Finding], all: bool) -> Vec<Item> {
    let mut items = Vec::new();
    for state in [State::Bends, State::Missing, State::Note] {
        let of_state: Vec<&Finding> =
            findings.iter().copied().filter(|finding| finding.state == state).collect();
        for of_check in of_state.chunk_by(|a, b| a.code == b.code) {
            match of_check {
                // Most users never want most of what one check finds missing several times: peers, transports.
                [first, _, ..] if state == State::Missing && !all => {
                    let good =
                        findings.iter().find(|good| good.state == State::Good && good.code == first.code);
                    items.push(folded(of_check, good.copied()));
                }
                _ => items.extend(of_check.iter().map(|finding| full(finding))),
            }
        }
    }
    let good = findings.iter().filter(|finding| finding.state == State::Good);
    if all {
        items.extend(good.map(|finding| item(State::Good, format!("{}: {}", finding.code, finding.found))));
        return items;
    }
    let names: Vec<&str> =
        good.filter(|good| !is_partly_missing(good, findings)).map(|finding| finding.code.as_str()).collect();
    items.extend((!names.is_empty()).then(|| item(State::Good, names.join(", "))));
    items
}

/// Whether the check of something good also found something missing: the line about that says both.
fn is_partly_missing(good: &Finding, findings: &[&Finding]) -> bool {
    findings.iter().any(|finding| finding.state == State::Missing && finding.code == good.code)
}

/// What one check finds missing several times, in a line: each finding begins with what is missing, and a good one with how many are
/// not.
fn folded(findings: &[&Finding], good: Option<&Finding>) -> Item {
    let begin = |finding: &Finding| finding.found.split(": ").next().unwrap_or_default().to_owned();
    let names: Vec<String> = findings.iter().copied().map(begin).collect();
    let there = good.map_or_else(String::new, |good| format!("{}; ", begin(good)));
    let (code, names) = (&findings[0].code, names.join(", "));
    item(
        State::Missing,
        format!("{code}: {there}unavailable: {names}; ipcost doctor --all shows what they need"),
    )
}

/// The finding, why it matters, and what to do.
fn full(finding: &Finding) -> Item {
    let found = match &finding.aside {
        Some(aside) => format!("{}, {aside}", finding.found),
        None => finding.found.clone(),
    };
    Item {
        why: finding.why.clone(),
        command: finding.command.clone(),
        advice: finding.advice.clone(),
        ..item(finding.state, format!("{}: {found}", finding.code))
    }
}

fn item(state: State, text: String) -> Item {
    let (sign, tone) = look(state);
    Item { sign, tone, text, ..Item::default() }
}

/// How a state looks: a sign that needs no colour, and a colour.
const fn look(state: State) -> (&'static str, Tone) {
    match state {
        State::Good => ("✓", Tone::Good),
        State::Note => ("·", Tone::Plain),
        State::Bends => ("!", Tone::Caution),
        State::Missing => ("?", Tone::Open),
    }
}

/// All in one line, which explains the signs as well.
fn sum(examination: &Examination, all: bool) -> String {
    let findings: Vec<&Finding> = examination.findings.iter().collect();
    // As many as there are lines, or names in the line of what is good.
    let shown = |state: State| {
        let mut of_state: Vec<&Finding> =
            findings.iter().copied().filter(|finding| finding.state == state).collect();
        match state {
            State::Missing if !all => of_state.dedup_by(|a, b| a.code == b.code),
            State::Good if !all => of_state.retain(|good| !is_partly_missing(good, &findings)),
            _ => {}
        }
        of_state.len()
    };
    let part = |state: State, text: &dyn Fn(usize) -> String| {
        let count = shown(state);
        (count > 0).then(|| format!("{} {}", look(state).0, text(count)))
    };
    let distorts = part(State::Bends, &|count| {
        format!("{count} {} results here", if count == 1 { "thing distorts" } else { "things distort" })
    });
    let rest = [
        part(State::Missing, &|count| format!("{count} unavailable")),
        part(State::Note, &|count| counted(count as u64, "note")),
        part(State::Good, &|count| format!("{count} passed")),
    ];
    let first = distorts.unwrap_or_else(|| "Nothing found distorts results here".to_owned());
    let all: Vec<String> = std::iter::once(first).chain(rest.into_iter().flatten()).collect();
    format!("{}.", all.join(", "))
}

/// Every finding, a row each.
fn data(examination: &Examination) -> Table {
    const COLUMNS: [Column; 7] = [
        Column::text("topic"),
        Column::text("code"),
        Column::text("state"),
        Column::text("found"),
        Column::text("why"),
        Column::text("command"),
        Column::text("advice"),
    ];
    let maybe = |text: &Option<String>| text.clone().map_or(FieldValue::Empty, FieldValue::Text).into();
    let row = |finding: &Finding| {
        vec![
            finding.topic.name().into(),
            finding.code.as_str().into(),
            finding.state.name().into(),
            finding.found.as_str().into(),
            finding.why.as_str().into(),
            maybe(&finding.command),
            maybe(&finding.advice),
        ]
    };
    Table::new(&COLUMNS).rows(examination.findings.iter().map(row))
}

#[cfg(test)]
mod tests {
    use ipcost_model::{Envelope, Host, Tool};

    use ipcost_report::fixture;
    use unicode_width::UnicodeWidthStr;

    use super::*;
    use crate::doctor::{DOCTOR_SCHEMA, Installation, Means};

    fn finding(code: &str, topic: Topic, state: State, found: &str) -> Finding {
        Finding {
            code: code.into(),
            topic,
            state,
            found: found.into(),
            aside: None,
            why: "It takes cores and caches away from the measurement, more from one cell than from another, and that is a long sentence.".into(),
            command: None,
            advice: None,
        }
    }

    fn examination() -> Examination {
        let neighbour = Finding {
            aside: Some("most of it \u{1b}[31mrustc (process 7)".into()),
            advice: Some("stop it and measure again".into()),
            ..finding(
                "busy-neighbour",
                Topic::Scheduler,
                State::Bends,
                "other work took 40 % of the processors' time",
            )
        };
        let governor = Finding {
            command: Some("cpupower frequency-set -g performance".into()),
            ..finding("frequency-governor", Topic::Processor, State::Bends, "powersave")
        };
        Examination {
            envelope: Envelope {
                schema: DOCTOR_SCHEMA.into(),
                tool: Tool::of_version("0"),
                host: Host::default(),
                started: String::new(),
            },
            installed: Some(Installation {
                by: Means::Python,
                tool: Some("pip".into()),
                environment: Some("/srv/\u{1b}[31mvenv".into()),
                path: "/srv/venv/bin/ipcost".into(),
            }),
            elapsed_s: 1.0,
            watched_s: 0.5,
            findings: vec![
                finding("smt", Topic::Processor, State::Note, "on"),
                governor,
                finding("boost", Topic::Processor, State::Good, "off"),
                finding("memory-nodes", Topic::Processor, State::Good, "one"),
                neighbour,
                finding("strace", Topic::Tools, State::Missing, "strace is not installed"),
            ],
            unknown: vec!["preemption".into()],
        }
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn what_bends_comes_first_and_what_is_good_is_short() {
        fixture::assert_fits(&page(&examination(), false));
        fixture::assert_fits(&page(&examination(), true));
        insta::assert_snapshot!(plain(&page(&examination(), false).terminal(false, 72)));
    }

    #[test]
    fn everything_has_a_line_if_asked_for() {
        insta::assert_snapshot!(plain(&page(&examination(), true).terminal(false, usize::MAX)));
    }

    #[test]
    fn what_one_check_finds_missing_several_times_takes_a_line_unless_all_is_asked_for() {
        let mut examination = examination();
        let missing = |found: &str| finding("peers", Topic::Tools, State::Missing, found);
        examination.findings.push(missing("ruby: ruby is not installed"));
        let one = plain(&page(&examination, false).terminal(false, 100));
        assert!(one.contains("peers: ruby: ruby is not installed"), "a single one is told in full: {one}");
        examination.findings.push(missing("redis, redis-resolve: redis-server is not installed"));
        let brief = plain(&page(&examination, false).terminal(false, 100));
        assert!(
            brief.contains("peers: unavailable: ruby, redis, redis-resolve; ipcost doctor --all")
                && brief.contains(", ? 2 unavailable,"),
            "{brief}"
        );
        assert!(
            !brief.contains("is not installed; ") && brief.contains("strace: strace is not installed"),
            "{brief}"
        );
        let all = plain(&page(&examination, true).terminal(false, 100));
        assert!(
            all.contains("ruby: ruby is not installed") && !all.contains("; ipcost doctor --all"),
            "{all}"
        );
        assert!(all.contains(", ? 3 unavailable,"), "{all}");
        examination.findings.push(finding("peers", Topic::Tools, State::Good, "2 of 5 peers work: c, go"));
        let partly = plain(&page(&examination, false).terminal(false, 200));
        assert!(partly.contains("? peers: 2 of 5 peers work; unavailable: ruby, redis, "), "{partly}");
        assert!(
            !partly.contains("✓ peers") && partly.contains("? 2 unavailable, · 1 note, ✓ 2 passed"),
            "{partly}"
        );
    }

    #[test]
    fn nothing_from_outside_reaches_the_terminal_raw() {
        let shown = page(&examination(), false).terminal(false, 80);
        assert!(shown.contains("\\u{1b}[31mrustc") && shown.contains("\\u{1b}[31mvenv"), "{shown}");
    }

    #[test]
    fn lines_are_no_longer_than_the_room_but_commands_are_whole() {
        let shown = plain(&page(&examination(), true).terminal(false, 1));
        let long: Vec<&str> = shown.lines().filter(|line| line.width() > 40).collect();
        assert!(shown.contains("→ cpupower frequency-set -g performance"), "{shown}");
        assert!(long.iter().all(|line| line.contains('→') || line.contains('.')), "{long:?}");
    }

    #[test]
    fn a_clean_machine_is_told_so() {
        let mut clean = examination();
        clean.findings.retain(|finding| finding.state == State::Good);
        assert!(
            plain(&page(&clean, false).terminal(false, 80))
                .contains("\nNothing found distorts results here, ✓ 2 passed.\n")
        );
    }
}
