//! Private servers beside other users of the machine: anyone who reaches a port and has no secret gets nothing, whether root has
//! started the server or someone without rights.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::common::private_server::{Server, by_nobody};
use crate::common::{Place, missing, text, wait};

/// Started by this user, and by one without rights.
fn both(place: &Place, kind: &str) -> Vec<Server> {
    let service = ["peer", "app", kind, "--service"];
    let by_nobody = Server::start_by(place, by_nobody(place, &service), kind);
    Server::start(place, kind).into_iter().chain(by_nobody).collect()
}

/// What a stranger gets for some bytes.
fn asked(server: &Server, bytes: &[u8]) -> Vec<u8> {
    let mut stranger = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).unwrap();
    stranger.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stranger.write_all(bytes).unwrap();
    let mut reply = vec![0; 4096];
    let length = stranger.read(&mut reply).unwrap();
    reply.truncate(length);
    reply
}

/// The same until it has so many lines.
fn said_in(server: &Server, bytes: &[u8], lines: usize) -> String {
    let mut stranger = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).unwrap();
    stranger.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stranger.write_all(bytes).unwrap();
    let lines = BufReader::new(stranger).split(b'\n').take(lines).map(Result::unwrap);
    lines.map(|line| String::from_utf8_lossy(&line).into_owned() + "\n").collect()
}

fn said(server: &Server, bytes: &[u8]) -> String {
    String::from_utf8_lossy(&asked(server, bytes)).into_owned()
}

#[test]
fn nobody_gets_anything_from_a_redis_without_its_password_and_little_with_it() {
    let place = Place::new();
    for server in both(&place, "redis") {
        assert_ne!(server.runs_as, "root");
        for command in ["PING", "GET ipcost:typical", "INFO", "CONFIG GET dir", "ACL LIST", "EVAL x 0"] {
            let said = said(&server, format!("{command}\r\n").as_bytes());
            assert!(said.starts_with("-NOAUTH"), "{command}: {said}");
        }
        // What is allowed is a list: these are not on it.
        let forbidden = [
            "EVAL x 0", "FUNCTION LIST", "ACL LIST", "ACL SETUSER a on", "SYNC", "PSYNC ? -1",
            "BGREWRITEAOF", "BGSAVE", "SAVE", "CLIENT LIST", "CLIENT KILL ID 1", "CONFIG GET dir",
            "CONFIG SET dir /", "MODULE LIST", "DEBUG SLEEP 0", "SHUTDOWN", "REPLICAOF a 1", "FLUSHALL",
            "MIGRATE a 1 k 0 1", "KEYS *", "MONITOR", "DEL ipcost:typical",
        ];
        let auth = format!("AUTH ipcost {}\r\n", server.secret);
        for command in forbidden {
            let said = said_in(&server, format!("{auth}{command}\r\n").as_bytes(), 2);
            let rest = said.strip_prefix("+OK\r\n").unwrap_or_else(|| panic!("{said}"));
            // Redis refuses DEBUG and MODULE itself.
            assert!(rest.starts_with("-NOPERM") || rest.starts_with("-ERR"), "{command}: {rest}");
        }
        let said = said(&server, format!("{auth}PING\r\n").as_bytes());
        assert!(said.starts_with("+OK"), "{said}");
        // Its command line, which everyone can read, has no password on it.
        assert!(!command_lines().contains(&server.secret));
    }
}

/// The command lines of all processes.
fn command_lines() -> String {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let words = all.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    words.map(|words| String::from_utf8_lossy(&words).replace('\0', " ") + "\n").collect()
}

#[test]
fn nobody_gets_anything_from_a_memcached_without_its_password() {
    let place = Place::new();
    for server in both(&place, "memcached") {
        for command in ["get ipcost-typical", "version", "stats", "set a 0 0 1\r\nx"] {
            let said = said(&server, format!("{command}\r\n").as_bytes());
            assert!(said.starts_with("CLIENT_ERROR"), "{command}: {said}");
        }
    }
}

#[test]
fn nobody_finds_a_page_of_a_web_server_without_its_path() {
    let place = Place::new();
    for server in both(&place, "http") {
        for path in ["/", "/typical", "/../secret", "/nginx.conf"] {
            let said = said(&server, format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
            assert!(said.contains(" 404 ") || said.contains(" 400 "), "{path}: {said}");
        }
        let path = format!("GET /{}/ HTTP/1.1\r\nHost: x\r\n\r\n", server.secret);
        assert!(said(&server, path.as_bytes()).contains(" 200 "));
    }
}

#[test]
fn nobody_comes_into_a_database_without_its_password() {
    let place = Place::new();
    for server in both(&place, "postgres") {
        for user in ["ipcost", "postgres"] {
            let body =
                [&[0, 3, 0, 0][..], format!("user\0{user}\0database\0postgres\0\0").as_bytes()].concat();
            let startup = [&(body.len() as u32 + 4).to_be_bytes()[..], &body].concat();
            let reply = asked(&server, &startup);
            // SCRAM (10), or an error; never that it is done (0).
            let wants_proof = reply.first() == Some(&b'R') && reply[5..9] == 10_u32.to_be_bytes();
            assert!(wants_proof || reply.first() == Some(&b'E'), "{user}: {reply:?}");
        }
    }
    for server in both(&place, "mariadb") {
        for user in ["ipcost", "root", "mariadb.sys"] {
            let mut stranger = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).unwrap();
            let mut buffer = [0; 4096];
            stranger.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            assert!(stranger.read(&mut buffer).unwrap() > 0);
            let mut body = (1_u32 << 9 | 1 << 15 | 1 << 19).to_le_bytes().to_vec();
            body.extend([0, 0, 0, 1, 45]);
            body.extend([0; 23]);
            body.extend(format!("{user}\0\0mysql_native_password\0").as_bytes());
            let mut packet = (body.len() as u32).to_le_bytes().to_vec();
            packet[3] = 1;
            packet.extend(body);
            stranger.write_all(&packet).unwrap();
            let length = stranger.read(&mut buffer).unwrap();
            // An error: no user comes in without a password.
            assert!(length > 4 && buffer[4] == 0xff, "{user}: {:?}", &buffer[..length]);
        }
    }
}

#[test]
fn the_directory_of_a_socket_lets_nobody_in_and_root_writes_into_none_that_it_gave_away() {
    let place = Place::new();
    for kind in ["redis", "postgres", "fastcgi"] {
        for server in both(&place, kind) {
            let room = Path::new(&server.unix).parent().unwrap();
            let dir = room.parent().unwrap();
            assert_eq!(fs::metadata(room).unwrap().permissions().mode() & 0o777, 0o700, "{kind}");
            // What its keeper has written lies in a directory that is the keeper's own.
            let keeper = fs::metadata(dir).unwrap().uid();
            let written: Vec<_> = fs::read_dir(dir).unwrap().flatten().map(|file| file.file_name()).collect();
            assert!(written.iter().any(|name| name == "secret"), "{kind}: {written:?}");
            assert_eq!(fs::metadata(dir.join("secret")).unwrap().uid(), keeper);
            assert_eq!(fs::metadata(dir.join("secret")).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}

#[test]
fn a_link_in_the_directory_of_a_database_empties_no_file() {
    let place = Place::new();
    let victim = place.write("victim", "as it was");
    let Some(server) = Server::start(&place, "postgres") else { return };
    let data = Path::new(&server.unix).parent().unwrap().parent().unwrap().join("data");
    // The server's user may put links into its own directories, and into no other.
    let room = Path::new(&server.unix).parent().unwrap();
    for dir in [room, &data] {
        for name in ["complete", "secret", "rules", "role.sql"] {
            let _ = symlink(&victim, dir.join(name));
        }
    }
    drop(server);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "as it was");
}

/// A script, and what a request for it does with a server of scripts, as anybody on the machine may send it.
fn evil_request(script: &Path, log: &Path) -> Vec<u8> {
    let record = |kind: u8, body: &[u8]| {
        let [high, low] = (body.len() as u16).to_be_bytes();
        [&[1, kind, 0, 1, high, low, 0, 0][..], body].concat()
    };
    let values =
        format!("auto_prepend_file={}\nopen_basedir=\nerror_log={}", script.display(), log.display());
    let mut params = Vec::new();
    for (name, value) in [
        ("REQUEST_METHOD", "GET"),
        ("SCRIPT_FILENAME", script.to_str().unwrap()),
        ("PHP_ADMIN_VALUE", &values),
    ] {
        params.push(name.len() as u8);
        params.extend((value.len() as u32 | 1 << 31).to_be_bytes());
        params.extend(name.bytes().chain(value.bytes()));
    }
    [record(1, &[0, 1, 0, 0, 0, 0, 0, 0]), record(4, &params), record(4, &[]), record(5, &[])].concat()
}

/// The ports on which something listens on loopback, in this network.
fn listening() -> Vec<u16> {
    let text = fs::read_to_string("/proc/net/tcp").unwrap();
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (host, port) = words.get(1)?.split_once(':')?;
        (words.get(3) == Some(&"0A") && host.ends_with("7F")).then(|| u16::from_str_radix(port, 16).ok())?
    };
    text.lines().filter_map(of_line).collect()
}

#[test]
#[ignore = "alone: looks at all ports of the machine"]
fn nobody_runs_a_script_in_a_private_server_of_scripts() {
    let place = Place::new();
    fs::set_permissions(place.tmp.path(), fs::Permissions::from_mode(0o711)).unwrap();
    // Anybody's, in a directory that everyone may read and write.
    let dir = tempfile::TempDir::new().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let (script, ran) = (dir.path().join("e.php"), dir.path().join("ran"));
    fs::write(&script, format!("<?php file_put_contents('{}', get_current_user());", ran.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
    let request = evil_request(&script, &dir.path().join("log"));
    let arguments = ["app", "fastcgi", "--epochs", "1", "--burst", "0", "--no-save", "--json", "-"];
    let exposed = [&arguments[..], &["--expose-to-local-users"]].concat();
    let runs = [
        (place.command(&arguments), false),
        (by_nobody(&place, &arguments), false),
        // What is asked for: that it can be reached shows that the others would have been.
        (place.command(&exposed), true),
    ];
    for (mut command, is_exposed) in runs {
        let before = listening();
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let id = child.id();
        let waiting = std::thread::spawn(move || wait(child));
        let mut attacked = 0;
        while !waiting.is_finished() {
            for port in listening().into_iter().filter(|port| !before.contains(port)) {
                if let Ok(mut stranger) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
                    attacked += u32::from(stranger.write_all(&request).is_ok());
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let output = waiting.join().unwrap();
        let told = text(&output.stderr).to_owned();
        if told.contains("is not installed") {
            missing("php-fpm", &told);
            return;
        }
        if !output.status.success() && told.contains("a network of its own cannot be made here") {
            // Refused, with what to do.
            assert!(told.contains("--expose-to-local-users"), "{told}");
            missing("network-namespaces", &told);
            continue;
        }
        assert!(output.status.success(), "{told}");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        if is_exposed {
            assert_eq!(document["answer"]["others"], "admitted");
            assert!(attacked > 0);
            continue;
        }
        assert_eq!(document["answer"]["others"], "network");
        assert_ne!(document["ran_as"]["the server of fastcgi"], "root");
        assert!(!ran.exists(), "{attacked} requests to ports of process {id}, and one ran a script");
    }
}

#[test]
#[ignore = "alone: looks at all ports of the machine"]
fn a_script_of_the_users_own_runs_in_a_private_server_and_others_do_not() {
    let place = Place::new();
    fs::set_permissions(place.tmp.path(), fs::Permissions::from_mode(0o711)).unwrap();
    let dir = tempfile::TempDir::new().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let script = dir.path().join("own.php");
    fs::write(&script, "<?php require __DIR__ . '/part.php'; echo 'x' . $_GET['n'];").unwrap();
    fs::write(dir.path().join("part.php"), "<?php echo 'part';").unwrap();
    let request = format!("{}?n=1", script.display());
    let output = place.run(&[
        "app", "fastcgi", "--script", &request, "--epochs", "1", "--burst", "0", "--no-save",
        "--concurrency", "1",
    ]);
    let told = text(&output.stderr);
    if told.contains("is not installed") {
        missing("php-fpm", &told);
        return;
    }
    if told.contains("cannot be made here") {
        missing("network-namespaces", &told);
        return;
    }
    assert!(output.status.success(), "{told}");
    assert!(text(&output.stdout).contains("own.php?n=1"), "{}", text(&output.stdout));
}
