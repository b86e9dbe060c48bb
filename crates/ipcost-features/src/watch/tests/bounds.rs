//! Others choose how much there is to see: what is kept of it has limits, and what lies beyond them is told.

use super::*;

fn holder(id: u32, name: &str, writes: bool, command: &str) -> (u32, Program) {
    let held = vec![(1, Held::Pipe { inode: 812, writes, reads: !writes, path: None })];
    let command = vec![command.to_owned()];
    (
        id,
        Program {
            id,
            started: id.into(),
            name: name.into(),
            command,
            held: Some(held),
            ..Program::default()
        },
    )
}

#[test]
fn a_pipe_of_many_is_one_conversation() {
    let observed = |second, holders: u32| Observation {
        is_baseline: second == 0,
        at: Duration::from_secs(second),
        programs: (0..holders)
            .flat_map(|id| [holder(2 * id, "php-fpm", true, ""), holder(2 * id + 1, "logger", false, "")])
            .collect(),
        ..Observation::default()
    };
    let found = seen(&[observed(0, 150), observed(1, 150)]);
    let [one] = &found[..] else { panic!("{}", found.len()) };
    let side = |party: &Party| (party.name.clone(), party.processes, party.pid);
    assert_eq!(side(&one.client), ("php-fpm".into(), Some(150), None));
    assert_eq!(side(&one.server), ("logger".into(), Some(150), None));
    assert_eq!(one.address, "pipe 812");
    // A few are told apart.
    assert_eq!(seen(&[observed(0, 3)]).len(), 9);
}

#[test]
fn of_too_many_conversations_those_are_kept_that_move_most_and_those_that_are_asked_for() {
    let clients = 5_000_u32;
    let observed = |second: u64| {
        let mut now = look(second, vec![listener(6379, 1)], vec![]);
        now.programs.clear();
        now.programs.insert(1, program(1, "server", &[1, 2]).1);
        for client in 0..clients {
            let (port, inode) = (10_000 + client as u16, 10 + client);
            let bytes = second * u64::from(client);
            now.tcp.extend([socket(6379, port, 2, 0, 1), socket(port, 6379, inode, bytes, 1)]);
            now.programs.insert(100 + client, program(100 + client, "client", &[inode]).1);
        }
        now
    };
    let kept = |request: WatchRequest| {
        let mut state = WatchState::new(request);
        (0..2).for_each(|second| state.observe(observed(second)));
        state
    };
    let any = kept(WatchRequest::default());
    let all = conversations(&any);
    assert_eq!((all.len(), any.left_out), (2_000, 3_000));
    let least = all.iter().map(|one| one.there.unwrap().bytes).min();
    assert_eq!(least, Some(3_000));
    let unseen = any.unseen(&[], None);
    assert!(unseen.iter().any(|one| one.what == "3000 conversations"), "{unseen:?}");
    let still = kept(WatchRequest { pid: Some(100), ..WatchRequest::default() });
    assert_eq!(conversations(&still).len(), 1, "what moves least was asked for");
}

#[test]
fn what_is_kept_of_queues_does_not_grow_for_days() {
    let mut state = WatchState::default();
    for second in 0..2_000_u64 {
        let mut full = listener(1_000 + second as u16, 1);
        (full.waiting, full.outstanding) = (second as u32 + 2, 1);
        let mut waits = socket(60_000, 1 + second as u16, 0, 0, 0);
        (waits.state, waits.counts) = (SocketState::TimeWait, None);
        state.observe(look(second, vec![full, waits], vec![]));
    }
    assert_eq!((state.evidence.full.len(), state.evidence.time_wait.len()), (200, 200));
    assert!(state.evidence.full.values().any(|queue| queue.waiting == 2_001), "those where most wait stay");
}
