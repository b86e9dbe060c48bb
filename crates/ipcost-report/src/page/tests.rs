use super::*;

/// A page with every kind of block; `outside` stands wherever text comes from outside.
fn page(outside: &str) -> Page<'_> {
    let columns = [
        Column::text("transport"),
        Column::number("cost").dropped(1),
        Column::number("× tcp"),
        Column::text("verdict"),
    ];
    let row = |name: &str, ns: f64, ratio: f64, verdict: &str, tone| {
        vec![
            FieldValue::Name(name.to_owned()).into(),
            FieldValue::Cost(ns).into(),
            FieldValue::RatioWithin(ratio, Some(ratio * 0.9), Some(ratio * 1.1)).into(),
            Field::from(verdict).toned(tone),
        ]
    };
    let rows = [
        row("pipe", 7_100.0, 0.53, "cheaper", Tone::Good),
        row("tcp", 13_400.0, 1.0, "", Tone::Plain),
        row(outside, 20_000.0, 1.5, "dearer", Tone::Bad),
    ];
    let table = Table::new(&columns).rows(rows).at_most(2, "transport");
    let claim = ClaimBlock {
        text: format!("“{outside}”"),
        known: ClaimVerdict::Holds,
        said: "holds on 2 of 3 hosts".to_owned(),
        more: vec!["on one core: holds".to_owned()],
        unfolded: false,
    };
    let mut page = Page::new(outside);
    page.about.push(format!("of {outside}"));
    page.answer
        .push(Paragraph { text: format!("Pipe is cheapest, not {outside}."), tone: Tone::Strong }.into());
    page.answer.push(Block::List(vec![Paragraph::plain("One."), Paragraph::caution("Two.")]));
    page.blocks.push(Section::new("costs", "Costs").with(table).open());
    page.blocks.push(Section::new("claims", "Claims").with(claim).open());
    page.blocks
        .push(Section::new("", "More").with(Paragraph::plain(format!("Seldom read: {outside}"))).folded());
    page.notes.push(Paragraph::quiet("7 epochs").into());
    page
}

#[test]
fn all_outputs_say_the_same() {
    let page = page("unix");
    let plain = |text: String| anstream::adapter::strip_str(&text).to_string();
    let (brief, whole) = (plain(page.terminal(false, 60)), plain(page.terminal(true, 60)));
    insta::assert_snapshot!("brief", brief);
    insta::assert_snapshot!("whole", whole);
    insta::assert_snapshot!("narrow", plain(page.terminal(true, 40)));
    insta::assert_snapshot!("markdown", page.markdown());
    insta::assert_snapshot!("csv", page.csv());
    let html = page.html();
    for said in [
        "7.10 µs", "0.53 (0.48–0.58)", "holds on 2 of 3 hosts", "Pipe is cheapest, not unix.", "Seldom read",
        "7 epochs",
    ] {
        assert!(html.contains(said) && whole.contains(said) && page.markdown().contains(said), "{said}");
    }
    assert!(brief.find("Pipe is cheapest") < brief.find("Costs"), "the answer comes first");
    assert!(html.find("Pipe is cheapest") < html.find(">Costs</h2>"), "on pages, too");
}

#[test]
fn links_lead_to_sections_within_others() {
    let titled = Section::new("inner\"", "Inner").with(Paragraph::plain("One."));
    let untitled = Section::new("part\"", "").with(Paragraph::plain("Two."));
    let plain = Section::new("", "Plain").with(Paragraph::plain("Three."));
    let all = [titled, untitled, plain].map(Section::open);
    let mut page = Page::new("unix");
    page.blocks.push(Section::new("outer", "Outer").with_all(all).open());
    let html = page.html();
    for part in [
        "<h3 id=\"inner&quot;\">Inner</h3>\n<p>One.</p>",
        "<div id=\"part&quot;\">\n<p>Two.</p>\n</div>",
        "<h3>Plain</h3>",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
}

#[test]
fn what_comes_from_outside_is_text_in_every_output() {
    let evil = "<script>\u{1b}[31m|`*_\"=1+1";
    let page = page(evil);
    assert!(!page.html().contains("<script"));
    assert!(!page.terminal(true, 80).contains("\u{1b}[31m|"), "{:?}", page.terminal(true, 80));
    let markdown = page.markdown();
    assert!(!markdown.contains("<script") && !markdown.contains('\u{1b}'), "{markdown}");
    assert!(!page.csv().contains('\u{1b}') && !page.csv().contains("\n="), "{}", page.csv());
}

#[test]
fn data_that_is_given_is_the_csv() {
    let data = Table::new(&[Column::text("host"), Column::text("ratio")])
        .rows([vec!["a".into(), FieldValue::Number(0.25).into()], vec!["b,c".into()]]);
    let page = Page { data: Some(data), ..page("unix") };
    assert_eq!(page.csv(), "host,ratio\na,0.25\n\"b,c\",\n");
}
