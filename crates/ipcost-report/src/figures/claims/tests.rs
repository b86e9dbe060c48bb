use super::*;

fn test(about: &str, known: ClaimVerdict, value: f64) -> FigureTest {
    let said = known.class();
    FigureTest {
        about: about.into(),
        is_ratio: true,
        value: Some(value),
        lo: Some(value * 0.9),
        hi: Some(value * 1.1),
        published: None,
        above: None,
        below: Some(1.0),
        decides: true,
        known,
        here: format!("{value:.2}"),
        held: format!("({:.2}–{:.2})", value * 0.9, value * 1.1),
        claimed: "< 1".into(),
        said: said.into(),
    }
}

fn condition(name: &str, known: Option<ClaimVerdict>, tests: Vec<FigureTest>) -> FigureCondition {
    let said = known.map_or("decides nothing", ClaimVerdict::class).into();
    FigureCondition { name: name.into(), known, said, tests }
}

fn claim(number: usize, text: &str, known: ClaimVerdict, conditions: Vec<FigureCondition>) -> FigureClaim {
    FigureClaim { number, text: text.into(), known, said: known.class().into(), conditions }
}

/// Claims with many sizes under three conditions, with a factor, with long names, and without ratios.
pub(crate) fn claims() -> FigureClaims {
    let sizes = |values: [(ClaimVerdict, f64); 3]| -> Vec<FigureTest> {
        let names = ["1 B", "1024 B", "262144 B"];
        let mut all: Vec<FigureTest> = names
            .iter()
            .zip(values)
            .map(|(size, (known, value))| test(&format!("unix over tcp, {size}"), known, value))
            .collect();
        all.push(FigureTest { decides: false, ..test("delivered, unix over tcp", ClaimVerdict::Open, 40.0) });
        all
    };
    let (holds, fails, open) = (ClaimVerdict::Holds, ClaimVerdict::Fails, ClaimVerdict::Open);
    let factor = FigureTest {
        above: Some(15.0),
        below: Some(24.0),
        claimed: "15 to 24".into(),
        ..test("processor time of the client", fails, 2.6)
    };
    let nothing = FigureTest {
        is_ratio: false,
        value: Some(0.0),
        lo: Some(0.0),
        hi: Some(0.0),
        above: Some(1.0),
        below: None,
        here: "0".into(),
        ..test("bytes written to disk", fails, 1.0)
    };
    FigureClaims {
        question: "Which is faster?".into(),
        notes: vec!["Source: a blog".into()],
        claims: vec![
            claim(
                1,
                "A Unix socket is faster at every size.",
                ClaimVerdict::Depends,
                vec![
                    condition("as published", Some(open), sizes([(open, 0.95), (open, 1.01), (open, 1.02)])),
                    condition(
                        "on one core",
                        Some(ClaimVerdict::Depends),
                        sizes([(holds, 0.8), (holds, 0.7), (fails, 1.3)]),
                    ),
                    condition("on two cores", Some(holds), sizes([(holds, 0.8), (holds, 0.7), (holds, 0.6)])),
                    condition("as published, native peer", None, vec![test("unix over tcp", fails, 3.0)]),
                ],
            ),
            claim(
                2,
                "It is a factor of 19.",
                holds,
                vec![condition("as published", Some(holds), vec![factor])],
            ),
            claim(
                3,
                "Pipes are slightly faster than sockets.",
                open,
                vec![condition(
                    "as published",
                    Some(open),
                    vec![
                        FigureTest { lo: None, hi: None, ..test("fifo over unix, 1 000 000 B", open, 0.4) },
                        test("the time of the sender alone, pipe over tcp", holds, 0.5),
                    ],
                )],
            ),
            claim(
                4,
                "It writes to disk.",
                fails,
                vec![condition("as published", Some(fails), vec![nothing])],
            ),
            claim(5, "Windows does, too.", ClaimVerdict::NotTested, Vec::new()),
        ],
    }
}

/// Claims with absurd values and texts.
pub(crate) fn absurd() -> Vec<FigureClaims> {
    const NUMBERS: [f64; 9] =
        [0.0, -1.0, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, 1e-300];
    const HOSTILE: &str = "</svg><script>alert(1)</script>\"'&\u{1b}[41m\u{202e}\u{fffe}, ";
    let mut all = Vec::new();
    for number in NUMBERS {
        for place in 0..6 {
            let mut claims = claims();
            let tests = claims.claims.iter_mut().flat_map(|claim| &mut claim.conditions);
            for test in tests.flat_map(|condition| condition.tests.iter_mut().take(1)) {
                let places = [
                    &mut test.value, &mut test.lo, &mut test.hi, &mut test.above, &mut test.below,
                    &mut test.published,
                ];
                *places.into_iter().nth(place).unwrap() = Some(number);
            }
            all.push(claims);
        }
    }
    let mut hostile = claims();
    hostile.question = HOSTILE.into();
    hostile.notes = vec![HOSTILE.into()];
    for claim in &mut hostile.claims {
        (claim.text, claim.said) = (HOSTILE.repeat(9), HOSTILE.into());
        for condition in &mut claim.conditions {
            (condition.name, condition.said) = (HOSTILE.into(), HOSTILE.repeat(3));
            for test in &mut condition.tests {
                let texts = [&mut test.about, &mut test.here, &mut test.held, &mut test.claimed];
                texts.into_iter().for_each(|text| *text = HOSTILE.repeat(3));
                test.said = HOSTILE.into();
            }
        }
    }
    all.push(hostile);
    let mut many = claims();
    let (condition, test) =
        (many.claims[0].conditions[1].clone(), many.claims[0].conditions[1].tests[0].clone());
    many.claims[0].conditions = vec![FigureCondition { tests: vec![test; 60], ..condition }; 20];
    all.push(many);
    all.push(FigureClaims { claims: Vec::new(), ..claims() });
    all
}

#[test]
fn rows_are_named_by_what_differs_and_what_decides_nothing_is_left_to_the_table() {
    let claims = claims();
    let multiples = claims.claims[0].multiples().unwrap();
    assert_eq!(multiples.caption, "unix over tcp (ratio, logarithmic)");
    let names: Vec<&str> = multiples.panels.iter().map(|panel| panel.condition.name.as_str()).collect();
    assert_eq!(names, ["as published", "on one core", "on two cores"], "no native peer beside the original");
    let rows: Vec<(&str, &str)> =
        multiples.panels[1].rows.iter().map(|row| (row.label.as_str(), row.figures.as_str())).collect();
    assert_eq!(rows, [("1 B", "0.80 holds"), ("1024 B", "0.70 holds"), ("262144 B", "1.30 fails")]);
    assert_eq!(
        multiples.panels[1].rows[2].sentence,
        "unix over tcp, 262144 B: 1.30 (1.17–1.43), claimed < 1: fails"
    );
}

#[test]
fn tests_with_unlike_names_keep_them_and_a_single_one_needs_none() {
    let claims = claims();
    let unlike = claims.claims[2].multiples().unwrap();
    assert_eq!(unlike.panels[0].rows[0].label, "fifo over unix, 1 000 000 B");
    let mut alike = claims.claims[2].clone();
    alike.conditions[0].tests[1].about = "pipe, over tcp, 1 B".into();
    assert_eq!(alike.multiples().unwrap().panels[0].rows[1].label, "pipe, over tcp, 1 B");
    let single = claims.claims[1].multiples().unwrap();
    assert_eq!(single.panels[0].rows[0].label, "");
    assert_eq!(single.caption, "processor time of the client (ratio, logarithmic)");
}

#[test]
fn figures_that_decide_nothing_are_shown_where_there_are_no_others() {
    let mut claim = claims().claims.remove(0);
    for condition in &mut claim.conditions {
        condition.known = None;
        condition.tests.iter_mut().for_each(|test| test.decides = false);
    }
    let multiples = claim.multiples().unwrap();
    assert_eq!(multiples.panels.len(), 4);
    assert_eq!(multiples.panels[0].rows[0].figures, "0.95", "it has no verdict");
}

#[test]
fn what_no_axis_can_show_has_no_panels() {
    let claims = claims();
    assert!(claims.claims[3].multiples().is_none(), "0 is not on a logarithmic axis");
    assert!(claims.claims[4].multiples().is_none());
    let mut mixed = claims.claims[0].clone();
    mixed.conditions[1].tests[0].is_ratio = false;
    let mixed = mixed.multiples().unwrap();
    assert!(mixed.is_ratio && !mixed.panels[1].rows[0].is_drawn && mixed.panels[1].rows[1].is_drawn);
}
