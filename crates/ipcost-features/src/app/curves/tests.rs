use ipcost_model::{MeanContrast, Verdict};
use ipcost_report::fixture;
use ipcost_report::picture::{Background, draw_saving};

use super::*;
use crate::app::{APP_SCHEMA, Burst, BurstOutcome, Checked, MeasuredRequest, ServerSocket};

fn saving(request: &str, placement: Placement, (unix_ns, tcp_ns): (f64, f64), verdict: Verdict) -> Saving {
    let median = unix_ns / tcp_ns;
    Saving {
        request: request.to_owned(),
        concurrency: 1,
        pipeline: 1,
        placement,
        unix: "a".to_owned(),
        tcp: "b".to_owned(),
        unix_ns,
        tcp_ns,
        ratio: Estimate { median, lo: Some(median - 0.02), hi: Some(median + 0.03) },
        verdict,
        mean: Some(MeanContrast { ratio: median, lo: None, hi: None, verdict, slow: 0.0, unseen: 0.1 }),
        saved_ns: Some(Estimate { median: tcp_ns - unix_ns, lo: Some(-1_000.0), hi: Some(21_000.0) }),
        ..Saving::default()
    }
}

/// One core with a curve and a request of the user's own, two cores on which all is open.
fn app() -> App {
    let side = |address: &str| {
        Some(ServerSocket { address: address.to_owned(), name: None, process: Some(7), program: None })
    };
    let request =
        |request: &str, least| MeasuredRequest { request: request.to_owned(), sent: 9, replied: 70, least };
    let met = BurstOutcome { backlog: Some(128), answered: 300, late: 0, refused: 100, failed: 0 };
    let mut app = App {
        schema: APP_SCHEMA.to_owned(),
        server: "redis".to_owned(),
        title: "Redis".to_owned(),
        version: "7.0.15".to_owned(),
        unix: side("/run/redis.sock"),
        tcp: side("127.0.0.1:6379"),
        same_work: vec![Checked {
            what: "login".to_owned(),
            unix: "none".to_owned(),
            tcp: "password".to_owned(),
            same: false,
            made_equal: None,
        }],
        requests: vec![request("PING", true), request("SORT list", false)],
        margin: 0.05,
        savings: vec![
            saving("PING", Placement::Together, (30_000.0, 50_000.0), Verdict::Different),
            saving("PING", Placement::Apart, (50_000.0, 50_000.0), Verdict::Undecided),
            saving("SORT list", Placement::Together, (180_000.0, 200_000.0), Verdict::Direction),
            saving("SORT list", Placement::Apart, (180_000.0, 200_000.0), Verdict::Direction),
        ],
        burst: Some(Burst { clients: 400, somaxconn: Some(4096), unix: Some(met), tcp: None, left_out: 0 }),
        ..App::default()
    };
    app.savings.push(Saving { pipeline: 16, ..app.savings[2].clone() });
    app.curves = vec![Curve {
        placement: Placement::Together,
        ran: None,
        saved_ns: 20_000.0,
        least_ns: 50_000.0,
        points: vec![(0.0, 0.4), (1e6, 0.019)],
        until_ns: Some(350_000.0),
    }];
    app
}

#[test]
fn a_request_is_a_point_at_its_work_above_the_least_one() {
    let curves = curves(&app()).unwrap();
    let [panel] = &curves.panels[..] else { panic!("one curve") };
    let [request] = &panel.requests[..] else {
        panic!("neither the least, nor pipelined, nor on two cores: {panel:?}")
    };
    let Estimate { median, lo, hi } = request.share;
    let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(request.work_ns == 150_000.0 && near(median, 0.1), "{request:?}");
    // The upper end of the ratio is the lower one of the share.
    assert!(near(lo.unwrap(), 0.07) && near(hi.unwrap(), 0.12), "{request:?}");
    assert_eq!(panel.said, "from 350 µs of work on, less than 5 % is saved");
    assert_eq!(curves.notes, ["Not drawn: on two cores, where it is open whether PING is cheaper."]);
}

#[test]
fn the_line_falls_from_no_work_through_the_margin_at_the_mark() {
    let panel = &curves(&app()).unwrap().panels[0];
    assert_eq!(panel.line[0], (0.0, 0.4));
    assert!(panel.line.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1));
    assert!((panel.line.last().unwrap().0 - 1e7).abs() < 1.0);
    let (above, below) = panel.line.split_at(panel.line.partition_point(|(_, share)| *share > 0.05));
    let until_ns = panel.until_ns.unwrap();
    assert!(above.last().unwrap().0 < until_ns && until_ns < below[0].0);
}

#[test]
fn the_line_reaches_a_request_that_takes_longer_than_all_others() {
    let mut app = app();
    app.savings[2].tcp_ns = 3.2e7;
    let panel = &curves(&app).unwrap().panels[0];
    assert!((panel.line.last().unwrap().0 - 1e8).abs() < 1.0);
}

#[test]
fn an_answer_in_which_all_is_open_has_no_curves_and_is_shown() {
    let mut app = app();
    app.curves.clear();
    assert_eq!(curves(&app), None);
    let page = crate::app::page(&app, &fixture::document()).html();
    assert!(page.contains("Redis 7.0.15") && !page.contains("saving-by-work"));
}

#[test]
fn the_picture_names_the_server_and_the_request() {
    let app = app();
    let svg = draw_saving(&curves(&app).unwrap(), &fixture::document(), Background::White).unwrap().svg();
    assert!(svg.contains("Redis 7.0.15") && svg.contains("SORT list"), "{svg}");
}
