//! Servers of scripts: FastCGI 1.0, <https://fastcgi-archives.github.io/FastCGI_Specification.html>. A private one is PHP-FPM.

use std::path::Path;
use std::thread;

use ipcost_sys::driven_program;

use super::http::header_in;
use super::kind::{
    Alias, Listens, Login, NO_PASSWORD, ReportedFacts, ServerKind, Setup, Speech, Started, Taken, address_of,
};
use super::look::hear;
use crate::PeerError;
use crate::adapters::server_address::ServerAddress;
use crate::adapters::{refused, system};

pub(super) const KIND: ServerKind = ServerKind {
    name: "fastcgi",
    title: "FastCGI server",
    aliases: &[Alias::new("php-fpm", "PHP-FPM", None), Alias::new("php", "PHP-FPM", None)],
    // Debian's programs have the version in their names.
    programs: &[
        "php-fpm", "php-fpm8.5", "php-fpm8.4", "php-fpm8.3", "php-fpm8.2", "php-fpm8.1", "php-fpm8.0",
        "php-fpm7.4",
    ],
    places: &[],
    package: "php-fpm",
    users: &["www-data", "apache", "nginx", "http"],
    // A name without a directory is a script of a private server, which runs in the directory of these.
    least: "least.php",
    least_anywhere: false,
    typical: "typical.php",
    typical_anywhere: None,
    // A process reads its next request after it has answered; FastCGI does not promise that one may be sent earlier.
    pipelines: false,
    private_login: None,
    open_to_all: Some(
        "PHP-FPM lets every user of this machine in over TCP, and runs what their requests name (PHP_ADMIN_VALUE)",
    ),
    takes_tls: false,
    behind: None,
    listens: Listens {
        unix: "listen = /run/php/php-fpm.sock in a second pool of PHP-FPM",
        tcp: "listen = 127.0.0.1:9000 in a second pool of PHP-FPM",
        page: "docs/app.md#php-fpm",
    },
    burst: 600,
    most_clients: Some(|| children() - KEPT_BY_OTHERS),
    start,
    // A script is asked with GET, as a browser does. What it changes is up to the script, so --writes decides nothing here.
    speech: |login, request, is_kept| Ok(Box::new(Scripts::new(login, request, is_kept)?)),
    facts,
};

/// How a private server calls the user's own script.
const OWN: &str = "own.php";
const LEAST: &str = "<?php echo 'ok';\n";
const TYPICAL: &str = "<?php
for ($i = 0, $sum = 0; $i < 1000; $i++) {
    $sum += $i % 7;
}
for ($i = 0; $i < 50; $i++) {
    echo \"<li>line $i of $sum</li>\\n\";
}
";
/// A long page, whose time goes into making it.
const INFO: &str = "<?php
for ($i = 0, $sum = 0; $i < 1000; $i++) {
    $sum += $i;
}
phpinfo();
";
/// Connections that cells with one client keep open while the one with several runs, with some to spare.
const KEPT_BY_OTHERS: u32 = 16;
/// The longest path of a script.
const LONGEST_PATH: usize = 4096;
/// The most that is kept of a script's headers, and of an error.
const LONGEST_HEAD: usize = 65_536;
const LONGEST_ERROR: usize = 512;

const VERSION: u8 = 1;
const REQUEST: u16 = 1;
const BEGIN_REQUEST: u8 = 1;
const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;
const STDERR: u8 = 7;
const RESPONDER: u16 = 1;
const KEEP_CONN: u8 = 1;
/// The bytes before a record's content.
const HEADER_BYTES: usize = 8;

/// How many processes a private server has for each socket.
///
/// Each kept connection occupies a process of PHP-FPM until it is closed, and a connection without a process waits forever. So
/// there are more processes than kept connections of all cells together.
fn children() -> u32 {
    let cores =
        thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX));
    cores.min(256) + 3 * KEPT_BY_OTHERS
}

/// The name of a private server's script: it runs those with this ending alone.
fn hidden(name: &str, secret: &str) -> String {
    format!("{name}.{secret}")
}

/// One master process with two pools of the same settings, since a pool has one socket.
///
/// It runs files with a secret ending, from a directory with a secret name, and PHP opens nothing elsewhere. That keeps out who
/// sends the path of a script. `PHP_ADMIN_VALUE` gets around it, so others must not reach the port either (`open_to_all`).
fn start(setup: &Setup<'_>) -> Result<Started, PeerError> {
    let (room, socket, port) = (setup.room.to_string_lossy(), setup.socket.to_string_lossy(), setup.port);
    let (secret, scripts) = (setup.secret, setup.dir.join(setup.secret));
    let made = |path: &Path| system(format!("cannot make {}", path.display()));
    driven_program::make_directory(&scripts, setup.user).map_err(made(&scripts))?;
    for (name, text) in [("least.php", LEAST), ("typical.php", TYPICAL), ("info.php", INFO)] {
        setup.file(&format!("{secret}/{}", hidden(name, secret)), text.as_bytes())?;
    }
    let mut open = format!("{}/", scripts.display());
    if let Some(script) = &setup.settings.script {
        let link = scripts.join(hidden(OWN, secret));
        driven_program::make_link(script, &link).map_err(made(&link))?;
        open.extend(script.parent().map(|dir| format!(":{}/", dir.display())));
    }
    let dir = scripts.display();
    let children = children();
    // chdir: the processes look for scripts without a directory there.
    let backlog =
        setup.settings.backlog.map_or_else(String::new, |backlog| format!("listen.backlog = {backlog}\n"));
    let pool = |name: &str, listen: &str| {
        format!(
            "[{name}]\nlisten = \"{listen}\"\n{backlog}pm = static\npm.max_children = {children}\nchdir = \"{dir}\"\nsecurity.limit_extensions = .{secret}\nphp_admin_value[open_basedir] = \"{open}\"\n"
        )
    };
    let settings = format!(
        "[global]\nerror_log = \"{room}/log\"\nlog_level = warning\ndaemonize = no\n{}listen.mode = 0600\n{}",
        pool("unix", &socket),
        pool("tcp", &format!("127.0.0.1:{port}"))
    );
    let settings = setup.file("php-fpm.conf", settings.as_bytes())?;
    // PHP tells its version in a header, unless the machine's settings forbid it.
    let arguments = ["-F", "-O", "-y", &settings.to_string_lossy(), "-d", "expose_php=1"].map(str::to_owned);
    Ok(Started { arguments: arguments.to_vec(), unix: address_of(setup.socket), ..Started::default() })
}

/// The version is in a header, also of the reply for a script that is missing.
fn facts(login: &Login, at: &ServerAddress) -> Result<ReportedFacts, PeerError> {
    let mut scripts = Scripts::new(login, "ipcost-version.php", false)?;
    scripts.refuses = false;
    hear(&mut scripts, at)?;
    let version = scripts.header("x-powered-by").unwrap_or_else(|| "not told".to_owned());
    let how = if login.secret.is_some() { "names that only it knows" } else { NO_PASSWORD };
    Ok(ReportedFacts { login: how.to_owned(), ..ReportedFacts::open(version) })
}

/// One script, again and again.
#[derive(Debug)]
struct Scripts {
    request: Vec<u8>,
    is_kept: bool,
    /// Whether a status of 400 or above is an error.
    refuses: bool,
    /// The record whose content is being taken.
    record: u8,
    /// Bytes of its content, and of what fills it up, that are still to come.
    left: usize,
    padding: usize,
    /// The script's headers, as far as they have come.
    head: Vec<u8>,
    /// Whether they are complete.
    has_head: bool,
    /// What the server says of errors.
    error: Vec<u8>,
}

impl Scripts {
    fn new(login: &Login, request: &str, is_kept: bool) -> Result<Self, PeerError> {
        let (script, query) = request.split_once('?').unwrap_or((request, ""));
        if script.is_empty() || request.len() > LONGEST_PATH || request.contains(['\0', '\n', '\r']) {
            return Err(refused(format!(
                "\"{request}\" is not a script; give its absolute path, as the server sees it, such as /var/www/index.php"
            )));
        }
        let private = login.secret.as_ref().map(|secret| match script.starts_with('/') {
            true => hidden(OWN, secret),
            false => hidden(script, secret),
        });
        let script = private.as_deref().unwrap_or(script);
        let path = Path::new(script);
        let name = path.file_name().map_or(script.into(), |name| name.to_string_lossy());
        let (name, uri) = (
            format!("/{name}"),
            if query.is_empty() { format!("/{name}") } else { format!("/{name}?{query}") },
        );
        let root = path.parent().map(|parent| parent.to_string_lossy()).unwrap_or_default();
        let params = [
            ("GATEWAY_INTERFACE", "CGI/1.1"),
            ("SERVER_SOFTWARE", "ipcost"),
            ("SERVER_PROTOCOL", "HTTP/1.1"),
            ("SERVER_NAME", "localhost"),
            ("SERVER_ADDR", "127.0.0.1"),
            ("SERVER_PORT", "80"),
            ("REMOTE_ADDR", "127.0.0.1"),
            ("HTTP_HOST", "localhost"),
            ("REQUEST_METHOD", "GET"),
            ("REQUEST_URI", &uri),
            ("QUERY_STRING", query),
            ("SCRIPT_NAME", &name),
            ("SCRIPT_FILENAME", script),
            ("DOCUMENT_ROOT", &root),
        ];
        let mut pairs = Vec::new();
        for (name, value) in params {
            length(&mut pairs, name.len());
            length(&mut pairs, value.len());
            pairs.extend(name.bytes().chain(value.bytes()));
        }
        let [high, low] = RESPONDER.to_be_bytes();
        let mut request = Vec::new();
        record(&mut request, BEGIN_REQUEST, &[high, low, if is_kept { KEEP_CONN } else { 0 }, 0, 0, 0, 0, 0]);
        record(&mut request, PARAMS, &pairs);
        // An empty record ends each stream.
        record(&mut request, PARAMS, &[]);
        record(&mut request, STDIN, &[]);
        Ok(Self {
            request,
            is_kept,
            refuses: true,
            record: 0,
            left: 0,
            padding: 0,
            head: Vec::new(),
            has_head: false,
            error: Vec::new(),
        })
    }

    /// Takes a part of the content of `STDOUT`: headers, an empty line, a body.
    fn output(&mut self, bytes: &[u8]) -> Result<(), PeerError> {
        for byte in bytes {
            if self.has_head {
                break;
            }
            self.head.push(*byte);
            self.has_head = self.head.ends_with(b"\n\r\n") || self.head.ends_with(b"\n\n");
        }
        match self.head.len() > LONGEST_HEAD {
            true => Err(NO_HEAD.into()),
            false => Ok(()),
        }
    }

    /// The value of a header of the last reply.
    fn header(&self, name: &str) -> Option<String> {
        header_in(&self.head, name)
    }

    /// Whether the reply is a good one, and gets ready for the next.
    fn end(&mut self, content: &[u8]) -> Result<(), PeerError> {
        match content.get(4) {
            Some(0) => {}
            Some(2) => {
                return Err("it is overloaded; raise how many connections it takes (pm.max_children)".into());
            }
            _ => return Err("it answers no requests for scripts (role responder)".into()),
        }
        if !self.has_head {
            return Err(NO_HEAD.into());
        }
        // Most replies have no status, which is then 200; it is looked for without a copy.
        const STATUS: &[u8] = b"status:";
        let has_status = self
            .head
            .split(|byte| *byte == b'\n')
            .any(|line| line.get(..STATUS.len()).is_some_and(|start| start.eq_ignore_ascii_case(STATUS)));
        if has_status && self.refuses {
            self.check_status()?;
        }
        Ok(())
    }

    fn check_status(&self) -> Result<(), PeerError> {
        let status = self.header("status").unwrap_or_default();
        let number: u16 = status.get(..3).and_then(|digits| digits.parse().ok()).ok_or(NO_HEAD)?;
        if number < 400 {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&self.error);
        let said = said.lines().next().map_or_else(String::new, |line| format!(" ({line})"));
        let way_out = match number {
            404 => "; give the script's absolute path, as the server sees it",
            _ => "",
        };
        Err(refused(format!("{status}{said}{way_out}")))
    }
}

/// A length of a name or a value, in one byte or four.
fn length(bytes: &mut Vec<u8>, length: usize) {
    match u8::try_from(length) {
        Ok(short @ 0..0x80) => bytes.push(short),
        _ => bytes.extend((length as u32 | 1 << 31).to_be_bytes()),
    }
}

fn record(bytes: &mut Vec<u8>, kind: u8, content: &[u8]) {
    bytes.extend([VERSION, kind]);
    bytes.extend(REQUEST.to_be_bytes());
    bytes.extend((content.len() as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend_from_slice(content);
}

impl Speech for Scripts {
    fn request(&self) -> &[u8] {
        &self.request
    }

    /// PHP-FPM replaces a process after so many requests (`pm.max_requests`), and then closes its connection.
    fn may_ask_again(&self) -> bool {
        self.is_kept
    }

    fn take(&mut self, bytes: &[u8]) -> Result<Taken, PeerError> {
        let mut at = 0;
        loop {
            let rest = &bytes[at..];
            if self.left > 0 {
                // The end of a request is looked at whole.
                if rest.is_empty() || (self.record == END_REQUEST && rest.len() < self.left) {
                    return Ok(Taken { bytes: at, complete: false });
                }
                let (content, _) = rest.split_at(rest.len().min(self.left));
                at += content.len();
                self.left -= content.len();
                match self.record {
                    STDOUT => self.output(content)?,
                    STDERR => {
                        let room = LONGEST_ERROR.saturating_sub(self.error.len());
                        self.error.extend_from_slice(&content[..content.len().min(room)]);
                    }
                    _ => self.end(content)?,
                }
                continue;
            }
            let there = rest.len().min(self.padding);
            at += there;
            self.padding -= there;
            if self.padding > 0 {
                return Ok(Taken { bytes: at, complete: false });
            }
            if self.record == END_REQUEST {
                self.record = 0;
                return Ok(Taken { bytes: at, complete: true });
            }
            let rest = &bytes[at..];
            if rest.first().is_some_and(|version| *version != VERSION) {
                return Err(NOT_FASTCGI.into());
            }
            let Some([_, kind, id @ .., high, low, padding, _]) = rest.first_chunk::<HEADER_BYTES>() else {
                return Ok(Taken { bytes: at, complete: false });
            };
            let length = u16::from_be_bytes([*high, *low]).into();
            match *kind {
                _ if *id != REQUEST.to_be_bytes() => return Err(NOT_FASTCGI.into()),
                END_REQUEST if length == 8 => {}
                STDOUT | STDERR => {}
                _ => return Err(NOT_FASTCGI.into()),
            }
            if self.record == 0 {
                self.head.clear();
                self.error.clear();
                self.has_head = false;
            }
            (self.record, self.left, self.padding) = (*kind, length, (*padding).into());
            at += HEADER_BYTES;
        }
    }
}

const NOT_FASTCGI: &str = "it answers with something other than a record of FastCGI; is it a FastCGI server?";
const NO_HEAD: &str = "it answers without headers; give a script for the web, which sends some";

#[cfg(test)]
mod tests {
    use super::super::kind::taken_by;
    use super::*;

    fn scripts(request: &str) -> Result<Scripts, PeerError> {
        Scripts::new(&Login::default(), request, true)
    }

    /// A reply with records of these kinds, each with bytes that fill it up.
    fn reply(records: &[(u8, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (kind, content) in records {
            let begin = bytes.len();
            record(&mut bytes, *kind, content);
            bytes[begin + 6] = 3;
            bytes.extend([9; 3]);
        }
        bytes
    }

    #[test]
    fn a_request_names_its_script_and_asks_to_keep_the_connection() {
        let holds =
            |request: &[u8], text: &str| request.windows(text.len()).any(|part| part == text.as_bytes());
        let request = scripts("/srv/a.php?b=c").unwrap().request;
        assert_eq!(request[..16], [1, 1, 0, 1, 0, 8, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]);
        for text in
            ["SCRIPT_FILENAME/srv/a.php", "SCRIPT_NAME/a.php", "QUERY_STRINGb=c", "REQUEST_URI/a.php?b=c"]
        {
            assert!(holds(&request, text), "{text}");
        }
        assert!(holds(&request, "\u{f}\u{a}SCRIPT_FILENAME/srv/a.php"));
        assert!(request.ends_with(&[1, PARAMS, 0, 1, 0, 0, 0, 0, 1, STDIN, 0, 1, 0, 0, 0, 0]));
        let closing =
            Scripts::new(&Login::default(), "a.php", false).map_err(|error| error.to_string()).unwrap();
        assert_eq!(closing.request[10], 0);
        let long = format!("/{}.php", "x".repeat(200));
        assert!(holds(&scripts(&long).unwrap().request, "\u{f}"));
        for wrong in ["", "?a=b", "a\nb", &"x".repeat(LONGEST_PATH + 1)] {
            assert!(scripts(wrong).unwrap_err().to_string().contains("is not a script"), "{wrong}");
        }
        let mut bytes = Vec::new();
        length(&mut bytes, 127);
        length(&mut bytes, 128);
        assert_eq!(bytes, [127, 0x80, 0, 0, 128]);
    }

    #[test]
    fn a_reply_is_taken_however_it_arrives() {
        let reply = reply(&[
            (STDERR, b"PHP message: a warning"),
            (STDOUT, b"X-Powered-By: PHP/8.2\r\nContent-ty"),
            (STDOUT, b"pe: text/html\r\n\r\nok"),
            (STDOUT, &[7; 300]),
            (STDOUT, b""),
            (END_REQUEST, &[0; 8]),
        ]);
        for step in 1..=reply.len() {
            let mut speech = scripts("a.php").unwrap();
            for _ in 0..2 {
                assert_eq!(taken_by(&mut speech, &reply, step), (reply.len(), true), "{step}");
                assert_eq!(speech.header("x-powered-by").as_deref(), Some("PHP/8.2"));
            }
        }
        let two = [&reply[..], &reply].concat();
        let taken = scripts("a.php").unwrap().take(&two).unwrap();
        assert_eq!(taken, Taken { bytes: reply.len(), complete: true });
    }

    #[test]
    fn what_is_no_good_reply_is_an_error() {
        let error = |bytes: &[u8]| scripts("a.php").unwrap().take(bytes).unwrap_err().to_string();
        let with = |head: &[u8], end: [u8; 8]| {
            reply(&[(STDERR, b"Primary script unknown\nmore"), (STDOUT, head), (END_REQUEST, &end)])
        };
        let missing = error(&with(b"Status: 404 Not Found\r\n\r\n", [0; 8]));
        assert_eq!(
            missing,
            "404 Not Found (Primary script unknown); give the script's absolute path, as the server sees it"
        );
        assert!(error(&with(b"X: y\nstatus: 500 Oh\n\n", [0; 8])).starts_with("500 Oh"));
        assert!(scripts("a.php").unwrap().take(&with(b"Status: 302 Found\r\n\r\n", [0; 8])).is_ok());
        assert!(error(&with(b"X: y\r\n\r\n", [0, 0, 0, 0, 2, 0, 0, 0])).contains("overloaded"));
        assert!(error(&with(b"X: y\r\n\r\n", [0, 0, 0, 0, 3, 0, 0, 0])).contains("responder"));
        assert!(error(&with(b"no headers", [0; 8])).contains("without headers"));
        assert!(error(&reply(&[(END_REQUEST, b"short")])).contains("is it a FastCGI server?"));
        for other in ["HTTP/1.1 400 Bad Request\r\n", "-ERR\r\n", "\u{1}\u{b}\0\0\0\u{8}\0\0"] {
            assert!(error(other.as_bytes()).contains("is it a FastCGI server?"), "{other}");
        }
    }
}
