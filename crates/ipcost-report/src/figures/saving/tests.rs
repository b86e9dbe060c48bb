use super::*;

const MARGIN: f64 = 0.05;

/// A line for what is saved of the least request; it falls to the margin where `saved / (least + work)` is the margin.
fn panel(name: &str, saved_ns: f64, least_ns: f64, requests: Vec<MeasuredSaving>) -> PlacementPanel {
    let at = |work_ns: f64| (work_ns, saved_ns / (least_ns + work_ns));
    let until_ns = Some(saved_ns / MARGIN - least_ns).filter(|until_ns| *until_ns > 0.0);
    PlacementPanel {
        name: name.into(),
        said: until_ns.map_or_else(
            || "below 5 % from the start".to_owned(),
            |until_ns| format!("below 5 % from {} of work on", time(until_ns)),
        ),
        line: std::iter::once(0.0)
            .chain((0..=64).map(|step| 10f64.powf(3.0 + f64::from(step) / 16.0)))
            .map(at)
            .collect(),
        numbers: [0.0, 1e4, 1e7].map(at).into(),
        until_ns,
        requests,
    }
}

fn measured(request: &str, work_ns: f64, share: f64, ends: Option<(f64, f64)>) -> MeasuredSaving {
    let share = Estimate { median: share, lo: ends.map(|ends| ends.0), hi: ends.map(|ends| ends.1) };
    MeasuredSaving { request: request.into(), work_ns, share }
}

/// Panels with a mark and without, a request that takes no longer than the least, one without an interval, and one that
/// may not save anything.
pub(crate) fn curves() -> Curves {
    Curves {
        server: "PostgreSQL 15.18".into(),
        least: "SELECT 1".into(),
        margin: MARGIN,
        panels: vec![
            panel(
                "on one core",
                20_000.0,
                50_000.0,
                vec![
                    measured("SELECT name FROM account", 150_000.0, 0.08, Some((0.05, 0.11))),
                    measured("SELECT 2", -40.0, 0.39, Some((0.36, 0.42))),
                ],
            ),
            panel(
                "on two cores",
                2_000.0,
                60_000.0,
                vec![
                    measured("SELECT name FROM account", 140_000.0, 0.01, Some((-0.02, 0.04))),
                    measured("SELECT 2", 20.0, 0.03, None),
                ],
            ),
        ],
        notes: vec!["Not drawn: on any core, where it is open whether SELECT 1 takes less.".into()],
    }
}

/// Curves that no measurement gives, with text that obeys no one.
pub(crate) fn absurd() -> Vec<Curves> {
    const HOSTILE: &str = "</title><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\u{1b}\u{202e}";
    let mut all = Vec::new();
    for value in [0.0, -1.0, 5e-324, f64::MAX, f64::MIN, f64::INFINITY, f64::NAN] {
        let mut curves = curves();
        (curves.server, curves.least) = (HOSTILE.into(), HOSTILE.into());
        for (place, panel) in curves.panels.iter_mut().enumerate() {
            panel.name = HOSTILE.into();
            panel.line[place] = (value, value);
            panel.until_ns = Some(value);
            for request in &mut panel.requests {
                request.request = HOSTILE.into();
                request.work_ns = value;
                request.share = Estimate { median: value, lo: Some(value), hi: Some(f64::MAX) };
            }
        }
        all.push(Curves { margin: value, panels: curves.panels[1..].to_vec(), ..curves.clone() });
        all.push(curves);
    }
    all
}

#[test]
fn shares_are_short_and_a_request_that_takes_no_longer_has_no_work() {
    assert_eq!([0.2345, 0.0512, 0.0, -0.021, 1.0].map(per_cent), ["23 %", "5.1 %", "0 %", "−2.1 %", "100 %"]);
    let curves = curves();
    assert_eq!(curves.panels[0].requests[1].label(), "SELECT 2: saves 39 % (36 % to 42 %) without work");
    assert_eq!(
        curves.panels[1].requests[0].label(),
        "SELECT name FROM account: saves 1 % (−2 % to 4 %) with 140 µs of work"
    );
    assert_eq!(curves.panels[1].requests[1].label(), "SELECT 2: saves 3 % with 20.0 ns of work");
}
