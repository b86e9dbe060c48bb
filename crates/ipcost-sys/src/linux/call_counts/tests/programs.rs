use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::*;

/// Counts that another program makes, in whichever namespace, and none of this one.
fn another_program_is_counted(mut counter: CallCounter) {
    let mut cat = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut to, mut from) = (cat.stdin.take().unwrap(), cat.stdout.take().unwrap());
    to.write_all(b"some bytes").unwrap();
    from.read_exact(&mut [0; 10]).unwrap();
    let all = counter.read().unwrap();
    let out: Vec<_> = all.iter().filter(|one| one.process == cat.id() && one.descriptor == 1).collect();
    assert_eq!(out.len(), 1, "{all:?}");
    assert_eq!((out[0].direction, out[0].on), (CallDirection::Out, CalledOn::Pipe(number(&from))));
    assert_eq!((out[0].bytes, out[0].calls), (10, 1));
    assert!(all.iter().all(|one| one.process != std::process::id()), "{all:?}");
    drop(to);
    cat.wait().unwrap();
}

#[test]
fn other_programs_are_counted_and_this_one_is_not() {
    if let Ok(counter) = CallCounter::open() {
        another_program_is_counted(counter);
    }
}

/// A command that runs one of the ignored tests here, after other words of the command line.
fn rerun(words: &[&str], test: &str) -> Command {
    let test = format!("system::call_counts::tests::programs::{test}");
    let own = std::env::current_exe().unwrap();
    let mut words = words.iter().map(std::ffi::OsStr::new).chain([own.as_os_str()]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words).args(["--exact", &test, "--ignored", "--nocapture"]);
    command
}

#[test]
#[ignore = "another test runs it in a namespace"]
fn within_a_namespace() {
    assert!(std::process::id() < 100, "a namespace of its own");
    another_program_is_counted(CallCounter::open().unwrap());
    println!("counted");
}

#[test]
fn a_namespace_has_its_own_numbers() {
    let enter = ["unshare", "--pid", "--fork", "--mount-proc"];
    let may_enter = Command::new(enter[0]).args(&enter[1..]).arg("true").output();
    let may_enter = may_enter.map_err(|error| error.to_string()).and_then(|output| {
        if output.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    });
    let (Some(_), Some(())) = (counter(MOST_COUNTED), opened("root", may_enter)) else { return };
    let output = rerun(&enter, "within_a_namespace").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("counted"), "{output:?}");
}

/// The numbers of all programs in the kernel.
fn programs() -> Vec<u32> {
    const PROGRAM_NEXT: libc::c_int = 11;
    let mut found = Vec::new();
    let mut request = [0_u32; 3];
    // SAFETY: the structure has a number, the next one, which the kernel writes, and flags.
    while unsafe { libc::syscall(libc::SYS_bpf, PROGRAM_NEXT, request.as_mut_ptr(), 12) } == 0 {
        found.push(request[1]);
        request[0] = request[1];
    }
    found
}

/// The numbers of the programs that a process has attached.
fn attached_by(process: u32) -> Vec<u32> {
    let files = std::fs::read_dir(format!("/proc/{process}/fdinfo")).unwrap().flatten();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    texts
        .filter(|text| text.contains("tp_name:\tsys_exit"))
        .filter_map(|text| text.lines().find_map(|line| line.strip_prefix("prog_id:")?.trim().parse().ok()))
        .collect()
}

/// The kernel frees a program a moment after its last use.
fn wait_until_gone(program: u32) {
    while programs().contains(&program) {
        thread::yield_now();
    }
}

#[test]
#[ignore = "another test runs it and kills it"]
fn counts_until_it_is_killed() {
    let _counter = CallCounter::open().unwrap();
    println!("counting");
    // Its input stays open until it is killed.
    let _ = std::io::stdin().read(&mut [0]);
}

fn counting_child() -> Option<Child> {
    drop(counter(MOST_COUNTED)?);
    let mut command = rerun(&[], "counts_until_it_is_killed");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(output.any(|line| line.unwrap().contains("counting")));
    Some(child)
}

#[test]
fn a_killed_process_leaves_nothing_in_the_kernel() {
    let Some(mut child) = counting_child() else { return };
    let attached = attached_by(child.id());
    assert_eq!(attached.len(), 1);
    assert!(programs().contains(&attached[0]));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until_gone(attached[0]);
}

#[test]
fn dropping_ends_it() {
    let Some(counter) = counter(MOST_COUNTED) else { return };
    let link = counter._attached.as_raw_fd();
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{link}")).unwrap();
    let program =
        text.lines().find_map(|line| line.strip_prefix("prog_id:")).unwrap().trim().parse().unwrap();
    assert!(programs().contains(&program));
    drop(counter);
    wait_until_gone(program);
}
