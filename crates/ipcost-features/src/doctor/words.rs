//! What was found on a machine, on a terminal: a block a topic, what is good in one line, a sum at the end.

use anstyle::{AnsiColor, Style};
use ipcost_model::escaped_lines;
use ipcost_report::words::{capitalised, escaped};
use unicode_width::UnicodeWidthStr;

use crate::doctor::{Examination, Finding, State, Topic};

const BOLD: Style = Style::new().bold();
const DIMMED: Style = Style::new().dimmed();
/// Prose in longer lines is hard to read.
const MOST_ROOM: usize = 110;
/// Narrower than this, lines are broken as if there were so many columns.
const LEAST_ROOM: usize = 40;
/// Before the text of a finding: space, sign, space.
const INDENT: usize = 4;

/// Draws an examination in `room` columns of text; with `all`, everything that was looked at has a line.
pub fn render(examination: &Examination, all: bool, room: usize) -> String {
    let room = room.clamp(LEAST_ROOM, MOST_ROOM);
    let mut out = String::new();
    program(&mut out, examination, room);
    for topic in Topic::ALL {
        let of_topic: Vec<&Finding> =
            examination.findings.iter().filter(|finding| finding.topic == *topic).collect();
        if !of_topic.is_empty() {
            out.push_str(&format!("{BOLD}{}{BOLD:#}\n", capitalised(topic.name())));
            block(&mut out, &of_topic, all, room);
            out.push('\n');
        }
    }
    if all && !examination.unknown.is_empty() {
        let text = format!("This machine does not tell: {}.", examination.unknown.join(", "));
        lines(&mut out, "", &text, 0, room, DIMMED);
        out.push('\n');
    }
    out.push_str(&sum(examination));
    out
}

/// Which build this is, and how it was installed.
fn program(out: &mut String, examination: &Examination, room: usize) {
    let tool = &examination.envelope.tool;
    let build = escaped(&format!("{} {}", tool.name, tool.build()));
    let installed = examination.installed.as_ref();
    let installed = installed.map(|it| format!("installed: {}", escaped(&it.to_string())));
    for text in [build].into_iter().chain(installed) {
        lines(out, "", &text, INDENT, room, Style::new());
    }
    out.push('\n');
}

fn block(out: &mut String, findings: &[&Finding], all: bool, room: usize) {
    for state in [State::Bends, State::Missing, State::Note] {
        let of_state: Vec<&Finding> =
            findings.iter().copied().filter(|finding| finding.state == state).collect();
        for of_check in of_state.chunk_by(|a, b| a.code == b.code) {
            match of_check {
                // Most users never want most of what one check finds missing several times: peers, transports.
                [_, _, ..] if state == State::Missing && !all => folded(out, of_check, room),
                _ => of_check.iter().for_each(|finding| full(out, finding, room)),
            }
        }
    }
    let good = findings.iter().filter(|finding| finding.state == State::Good);
    if all {
        good.for_each(|finding| short(out, finding, room));
        return;
    }
    let names: Vec<&str> = good.map(|finding| finding.code.as_str()).collect();
    if !names.is_empty() {
        lines(out, &head(State::Good), &names.join(", "), INDENT, room, DIMMED);
    }
}

/// What one check finds missing several times, in a line: each finding begins with what is missing.
fn folded(out: &mut String, findings: &[&Finding], room: usize) {
    let names: Vec<&str> =
        findings.iter().map(|finding| finding.found.split(": ").next().unwrap_or_default()).collect();
    let text = format!(
        "{}: not usable here: {}; ipcost doctor --all says what they need",
        findings[0].code,
        escaped(&names.join(", "))
    );
    lines(out, &head(State::Missing), &text, INDENT, room, look(State::Missing).1);
}

/// The finding, why it matters, and what to do; commands stay whole, so that they can be copied.
fn full(out: &mut String, finding: &Finding, room: usize) {
    let (_, style) = look(finding.state);
    let found = match &finding.aside {
        Some(aside) => format!("{}, {aside}", finding.found),
        None => finding.found.clone(),
    };
    let text = format!("{}: {}", finding.code, escaped(&found));
    lines(out, &head(finding.state), &text, INDENT, room, style);
    lines(out, &" ".repeat(INDENT), &finding.why, INDENT, room, DIMMED);
    if let Some(command) = &finding.command {
        out.push_str(&format!("{}→ {BOLD}{}{BOLD:#}\n", " ".repeat(INDENT), escaped(command)));
    }
    if let Some(advice) = &finding.advice {
        let text = format!("→ {}", escaped(advice));
        lines(out, &" ".repeat(INDENT), &text, INDENT + 2, room, Style::new());
    }
}

fn short(out: &mut String, finding: &Finding, room: usize) {
    let text = format!("{}: {}", finding.code, escaped(&finding.found));
    lines(out, &head(State::Good), &text, INDENT, room, Style::new());
}

/// Text behind a head, broken between words, with what follows set in.
fn lines(out: &mut String, head: &str, text: &str, indent: usize, room: usize, style: Style) {
    let width = plain_width(head);
    let space = " ".repeat(indent);
    // The head has its own styles, so that it is kept out of the breaking of lines.
    let first = " ".repeat(width);
    let options = textwrap::Options::new(room)
        .initial_indent(&first)
        .subsequent_indent(&space)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    for (number, line) in textwrap::wrap(&escaped_lines(text), options).iter().enumerate() {
        let (head, width) = if number == 0 { (head, width) } else { (space.as_str(), indent) };
        out.push_str(&format!("{head}{style}{}{style:#}\n", line.get(width..).unwrap_or_default()));
    }
}

fn head(state: State) -> String {
    let (sign, style) = look(state);
    format!("  {style}{sign}{style:#} ")
}

/// The width of a head: its styles take no room.
fn plain_width(head: &str) -> usize {
    if head.contains('\u{1b}') { INDENT } else { head.width() }
}

/// How a state looks: a sign that needs no colour, and a colour.
const fn look(state: State) -> (&'static str, Style) {
    match state {
        State::Good => ("✓", AnsiColor::Green.on_default()),
        State::Note => ("·", Style::new()),
        State::Bends => ("!", AnsiColor::Yellow.on_default()),
        State::Missing => ("?", AnsiColor::Cyan.on_default()),
    }
}

/// All in one line, which explains the signs as well.
fn sum(examination: &Examination) -> String {
    let part = |state: State, text: &dyn Fn(usize) -> String| {
        let count = examination.count(state);
        let (sign, style) = look(state);
        (count > 0).then(|| format!("{style}{sign}{style:#} {}", text(count)))
    };
    let things = |count: usize| if count == 1 { "thing" } else { "things" };
    let bends = part(State::Bends, &|count| {
        format!("{count} {} {} results here", things(count), if count == 1 { "bends" } else { "bend" })
    });
    let rest = [
        part(State::Missing, &|count| format!("{count} {} missing", if count == 1 { "is" } else { "are" })),
        part(State::Note, &|count| format!("{count} to take into account")),
        part(State::Good, &|count| format!("{count} good")),
    ];
    let first = bends.unwrap_or_else(|| "Nothing was found that bends results here".to_owned());
    let all: Vec<String> = std::iter::once(first).chain(rest.into_iter().flatten()).collect();
    format!("{}.\n", all.join(", "))
}

#[cfg(test)]
mod tests {
    use ipcost_model::{Envelope, Host, Tool};

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
        insta::assert_snapshot!(plain(&render(&examination(), false, 72)));
    }

    #[test]
    fn everything_has_a_line_if_asked_for() {
        insta::assert_snapshot!(plain(&render(&examination(), true, usize::MAX)));
    }

    #[test]
    fn what_one_check_finds_missing_several_times_takes_a_line_unless_all_is_asked_for() {
        let mut examination = examination();
        let missing = |found: &str| finding("peers", Topic::Tools, State::Missing, found);
        examination.findings.push(missing("ruby: ruby is not installed"));
        let one = plain(&render(&examination, false, 100));
        assert!(one.contains("peers: ruby: ruby is not installed"), "a single one is told in full: {one}");
        examination.findings.push(missing("redis, redis-resolve: redis-server is not installed"));
        let brief = plain(&render(&examination, false, 100));
        assert!(
            brief.contains("peers: not usable here: ruby, redis, redis-resolve; ipcost doctor --all"),
            "{brief}"
        );
        assert!(
            !brief.contains("is not installed; ") && brief.contains("strace: strace is not installed"),
            "{brief}"
        );
        let all = plain(&render(&examination, true, 100));
        assert!(all.contains("ruby: ruby is not installed") && !all.contains("not usable here"), "{all}");
    }

    #[test]
    fn nothing_from_outside_reaches_the_terminal_raw() {
        let shown = render(&examination(), false, 80);
        assert!(shown.contains("\\u{1b}[31mrustc") && shown.contains("\\u{1b}[31mvenv"), "{shown}");
    }

    #[test]
    fn lines_are_no_longer_than_the_room_but_commands_are_whole() {
        let shown = plain(&render(&examination(), true, 1));
        let long: Vec<&str> = shown.lines().filter(|line| line.width() > LEAST_ROOM).collect();
        assert!(shown.contains("→ cpupower frequency-set -g performance"), "{shown}");
        assert!(long.iter().all(|line| line.contains('→') || line.contains('.')), "{long:?}");
    }

    #[test]
    fn a_clean_machine_is_told_so() {
        let mut clean = examination();
        clean.findings.retain(|finding| finding.state == State::Good);
        assert!(
            plain(&render(&clean, false, 80))
                .ends_with("Nothing was found that bends results here, ✓ 2 good.\n")
        );
    }
}
