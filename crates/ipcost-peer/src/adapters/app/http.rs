//! Web servers: HTTP/1.1, <https://www.rfc-editor.org/rfc/rfc9112>. A private one is nginx.

use super::kind::{Kind, LONGEST_LINE, Login, NO_PASSWORD, Setup, Speech, Started, Taken, Told, address_of};
use super::look::hear;
use crate::PeerError;
use crate::adapters::at::At;
use crate::adapters::refused;

pub(super) const KIND: Kind = Kind {
    name: "http",
    title: "HTTP server",
    programs: &["nginx"],
    places: &[],
    package: "nginx",
    users: &["www-data", "nginx"],
    flag: "--request",
    least: "GET /",
    // The user's own server may have no page there, or a large one.
    least_anywhere: false,
    typical: "GET /typical",
    typical_anywhere: Some("GET /"),
    // nginx answers pipelined requests, but many applications behind it, and proxies, do not, and common clients send none.
    pipelines: false,
    private_login: None,
    open_to_all: None,
    takes_tls: false,
    behind: None,
    burst: 600,
    most_clients: None,
    start,
    speech: |login, request, is_kept| Ok(Box::new(Requests::new(login, request, is_kept)?)),
    facts,
};

/// The file that the typical request gets, bytes.
const TYPICAL_BYTES: usize = 4096;
/// How many connections a worker has at most, those to servers behind it included.
const CONNECTIONS: u32 = 4096;
/// Safe methods (RFC 9110, section 9.2.1) that ask for a document.
const READING: &[&str] = &["GET", "HEAD"];

/// One worker, which serves both sockets by the same block. Its paths begin with the secret, and all others are missing.
fn start(setup: &Setup<'_>) -> Result<Started, PeerError> {
    let (dir, port, socket) = (setup.dir.to_string_lossy(), setup.port, setup.socket.to_string_lossy());
    let secret = setup.secret;
    setup.file("typical", &[b'v'; TYPICAL_BYTES])?;
    let backlog = setup.settings.backlog.map_or_else(String::new, |backlog| format!(" backlog={backlog}"));
    let block = format!(
        "    server {{
        listen \"unix:{socket}\"{backlog};
        listen 127.0.0.1:{port}{backlog};
        location = /{secret}/ {{
            return 200 \"ok\";
        }}
        location = /{secret}/typical {{
            alias \"{dir}/typical\";
        }}
        location / {{
            return 404;
        }}
    }}
"
    );
    let arguments = nginx(setup, "nginx", &block)?;
    Ok(Started { arguments, unix: address_of(setup.socket), ..Started::default() })
}

/// The arguments of an nginx with one worker and these blocks, which writes nothing outside its directory.
pub(super) fn nginx(setup: &Setup<'_>, name: &str, blocks: &str) -> Result<Vec<String>, PeerError> {
    let dir = setup.room.to_string_lossy();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|what| format!("    {what}_temp_path \"{dir}/temporary-{what}\";\n"))
        .collect();
    let settings = format!(
        "daemon off;
master_process on;
worker_processes 1;
pid \"{dir}/{name}.pid\";
lock_file \"{dir}/{name}.lock\";
error_log stderr crit;
events {{
    worker_connections {CONNECTIONS};
}}
http {{
{temporary}    access_log off;
    sendfile on;
    keepalive_requests 1000000000;
    keepalive_time 24h;
    keepalive_timeout 24h;
    default_type text/plain;
{blocks}}}
"
    );
    let settings = setup.file(&format!("{name}.conf"), settings.as_bytes())?;
    // -e: errors before the settings are read go to standard error too, not to the system's log. It needs nginx 1.19.5,
    // and keepalive_time 1.19.10.
    let arguments = ["-e", "stderr", "-p", &dir, "-c", &settings.to_string_lossy()].map(str::to_owned);
    Ok(arguments.to_vec())
}

/// The version is in a header that servers may leave out.
fn facts(login: &Login, at: &At) -> Result<Told, PeerError> {
    let mut requests = Requests::new(login, KIND.least, false)?;
    // Any reply has it, also that the path is missing.
    requests.refuses = false;
    let reply = hear(&mut requests, at)?;
    let version = header_in(&reply, "server").unwrap_or_else(|| "not told".to_owned());
    let how = if login.secret.is_some() { "a path that only it knows" } else { NO_PASSWORD };
    Ok(Told { login: how.to_owned(), ..Told::open(version) })
}

/// The value of a header in a reply.
pub(super) fn header_in(reply: &[u8], name: &str) -> Option<String> {
    let lines = reply.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines
        .take_while(|line| !line.is_empty())
        .find_map(|line| header(line, name))
        .map(|value| String::from_utf8_lossy(value).into_owned())
}

/// The value of a line, if it is the header of this name.
fn header<'a>(line: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    line[..colon].eq_ignore_ascii_case(name.as_bytes()).then(|| line[colon + 1..].trim_ascii())
}

/// One request, again and again.
#[derive(Debug)]
struct Requests {
    request: Vec<u8>,
    /// Whether the method has replies without bodies.
    is_head: bool,
    is_kept: bool,
    /// Whether the method changes nothing.
    is_reading: bool,
    /// Whether a status of 400 or above is an error.
    refuses: bool,
    part: Part,
    head: Head,
}

/// What comes next of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Status,
    Headers,
    /// So many bytes.
    Body(u64),
    /// All until the end of the connection.
    Rest,
    /// The line with the length of a chunk.
    Chunk,
    /// So many bytes of a chunk.
    InChunk(u64),
    /// The empty line after a chunk.
    AfterChunk,
    /// Headers after the last chunk.
    Trailers,
}

/// What is known from the lines before the body.
#[derive(Debug, Clone, Copy, Default)]
struct Head {
    status: u16,
    length: Option<u64>,
    is_chunked: bool,
    /// Whether the server closes the connection.
    closes: bool,
}

impl Requests {
    fn new(login: &Login, request: &str, is_kept: bool) -> Result<Self, PeerError> {
        let wrong = || refused(format!("\"{request}\" is not a request; write it as 'GET /path'"));
        let mut words = request.split_whitespace();
        let (method, path, None) =
            (words.next().ok_or_else(wrong)?, words.next().ok_or_else(wrong)?, words.next())
        else {
            return Err(wrong());
        };
        let is_method = method.bytes().all(|byte| byte.is_ascii_uppercase());
        if !is_method || !path.starts_with('/') || !path.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong());
        }
        if method == "CONNECT" {
            return Err(refused("CONNECT makes a tunnel, which no reply ends; give another method"));
        }
        if !login.writes && !READING.contains(&method) {
            return Err(refused(format!(
                "{method} may change data; give --writes if it may, or GET, or HEAD"
            )));
        }
        // A private server knows its clients by the beginning of their paths.
        let secret = login.secret.as_ref().map_or_else(String::new, |secret| format!("/{secret}"));
        // Methods with a body have an empty one.
        let body = if READING.contains(&method) { "" } else { "Content-Length: 0\r\n" };
        let end = if is_kept { "" } else { "Connection: close\r\n" };
        Ok(Self {
            request: format!(
                "{method} {secret}{path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: ipcost\r\nAccept: */*\r\n{body}{end}\r\n"
            )
            .into_bytes(),
            is_head: method == "HEAD",
            is_kept,
            is_reading: READING.contains(&method),
            refuses: true,
            part: Part::Status,
            head: Head::default(),
        })
    }

    /// Takes a line; whether the reply ends with it.
    fn line(&mut self, line: &[u8]) -> Result<bool, String> {
        match self.part {
            Part::Status => self.status(line)?,
            Part::Headers if line.is_empty() => return self.body(),
            Part::Headers => self.header(line)?,
            Part::Chunk => {
                let length = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
                let length = std::str::from_utf8(length).ok().filter(|text| !text.starts_with('+'));
                let length = length.and_then(|text| u64::from_str_radix(text, 16).ok()).ok_or(NOT_HTTP)?;
                self.part = if length == 0 { Part::Trailers } else { Part::InChunk(length) };
            }
            Part::AfterChunk if line.is_empty() => self.part = Part::Chunk,
            Part::AfterChunk => return Err(NOT_HTTP.to_owned()),
            Part::Trailers => return Ok(line.is_empty()),
            Part::Body(_) | Part::Rest | Part::InChunk(_) => {}
        }
        Ok(false)
    }

    /// `HTTP/1.1 200 OK`
    fn status(&mut self, line: &[u8]) -> Result<(), String> {
        let (version, rest) = line.split_at_checked(9).ok_or(NOT_HTTP)?;
        if !matches!(version, b"HTTP/1.1 " | b"HTTP/1.0 ") {
            return Err(NOT_HTTP.to_owned());
        }
        let status = rest.get(..3).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        let status = status.ok_or(NOT_HTTP)?;
        if self.refuses && status >= 400 {
            return Err(String::from_utf8_lossy(rest).trim().to_owned());
        }
        // HTTP/1.0 closes connections unless it says otherwise.
        self.head = Head { status, closes: version == b"HTTP/1.0 ", ..Head::default() };
        self.part = Part::Headers;
        Ok(())
    }

    fn header(&mut self, line: &[u8]) -> Result<(), String> {
        if let Some(value) = header(line, "content-length") {
            let length = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            self.head.length = Some(length.ok_or(NOT_HTTP)?);
        } else if let Some(value) = header(line, "transfer-encoding") {
            self.head.is_chunked = value.to_ascii_lowercase().ends_with(b"chunked");
        } else if let Some(value) = header(line, "connection") {
            let words = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            let closes = self.head.closes;
            self.head.closes = words.fold(closes, |closes, word| match word {
                word if word.eq_ignore_ascii_case(b"close") => true,
                word if word.eq_ignore_ascii_case(b"keep-alive") => false,
                _ => closes,
            });
        }
        Ok(())
    }

    /// What follows the headers (RFC 9112, section 6.3); whether nothing does.
    fn body(&mut self) -> Result<bool, String> {
        let Head { status, length, is_chunked, .. } = self.head;
        self.part = match (status, is_chunked, length) {
            (101, ..) => return Err("it changes the protocol; give a request that HTTP answers".to_owned()),
            // The reply proper comes after it.
            (100..200, ..) => Part::Status,
            (204 | 304, ..) => return Ok(true),
            _ if self.is_head => return Ok(true),
            (_, true, _) => Part::Chunk,
            (_, false, Some(0)) => return Ok(true),
            (_, false, Some(length)) => Part::Body(length),
            (_, false, None) => {
                self.head.closes = true;
                Part::Rest
            }
        };
        Ok(false)
    }
}

impl Speech for Requests {
    fn request(&self) -> &[u8] {
        &self.request
    }

    fn take(&mut self, bytes: &[u8]) -> Result<Taken, String> {
        let mut at = 0;
        loop {
            let there = bytes.len() - at;
            match &mut self.part {
                Part::Rest => return Ok(Taken { bytes: bytes.len(), complete: false }),
                Part::Body(left) | Part::InChunk(left) => {
                    let taken = there.min(usize::try_from(*left).unwrap_or(usize::MAX));
                    at += taken;
                    *left -= taken as u64;
                    if *left > 0 {
                        return Ok(Taken { bytes: at, complete: false });
                    }
                    match self.part {
                        Part::InChunk(_) => self.part = Part::AfterChunk,
                        _ => return Ok(self.complete(at)),
                    }
                }
                Part::Status | Part::Headers | Part::Chunk | Part::AfterChunk | Part::Trailers => {
                    let Some(end) = bytes[at..].iter().position(|byte| *byte == b'\n') else {
                        // What cannot become a status is not waited for.
                        let start = &bytes[at..at + there.min(5)];
                        let hopeless = self.part == Part::Status && !b"HTTP/".starts_with(start);
                        return match hopeless || there > LONGEST_LINE {
                            true => Err(NOT_HTTP.to_owned()),
                            false => Ok(Taken { bytes: at, complete: false }),
                        };
                    };
                    let line = &bytes[at..at + end];
                    let ends = self.line(line.strip_suffix(b"\r").unwrap_or(line))?;
                    at += end + 1;
                    if ends {
                        return Ok(self.complete(at));
                    }
                }
            }
        }
    }

    fn ends_with_connection(&mut self) -> bool {
        let ends = self.part == Part::Rest;
        if ends {
            self.part = Part::Status;
        }
        ends
    }

    /// Only what changes nothing (RFC 9112, section 9.3.1).
    fn may_ask_again(&self) -> bool {
        self.is_kept && self.is_reading
    }

    fn is_last(&self) -> bool {
        self.is_kept && self.head.closes
    }
}

impl Requests {
    fn complete(&mut self, bytes: usize) -> Taken {
        self.part = Part::Status;
        Taken { bytes, complete: true }
    }
}

const NOT_HTTP: &str = "it answers with something other than a reply of HTTP/1.1; is it a web server?";

#[cfg(test)]
mod tests {
    use super::super::kind::taken_by;
    use super::*;

    fn requests(request: &str) -> Result<Requests, String> {
        Requests::new(&Login::default(), request, true).map_err(|error| error.to_string())
    }

    #[test]
    fn a_request_names_a_host_and_none_writes_unasked() {
        let kept = String::from_utf8(requests("GET /a?b=c").unwrap().request).unwrap();
        assert!(kept.starts_with("GET /a?b=c HTTP/1.1\r\nHost: localhost\r\n") && kept.ends_with("\r\n\r\n"));
        assert!(!kept.contains("Connection"));
        let closing =
            Requests::new(&Login::default(), "HEAD /", false).map_err(|error| error.to_string()).unwrap();
        assert!(String::from_utf8(closing.request).unwrap().ends_with("\r\nConnection: close\r\n\r\n"));
        for method in ["POST", "DELETE", "PUT", "PATCH"] {
            assert!(requests(&format!("{method} /")).unwrap_err().contains("--writes"));
            let login = Login { writes: true, ..Login::default() };
            assert!(Requests::new(&login, &format!("{method} /"), true).is_ok());
        }
        for wrong in ["", "GET", "GET x", "GET / HTTP/1.1", "get /", "GET /\r\nX:", "GET /ä"] {
            assert!(requests(wrong).unwrap_err().contains("is not a request"), "{wrong}");
        }
    }

    #[test]
    fn a_reply_is_taken_however_it_arrives() {
        let replies: [(&str, &[u8]); 7] = [
            ("GET /", b"HTTP/1.1 200 OK\r\ncontent-LENGTH: 5\r\nServer: x\r\n\r\nHTTP/"),
            ("GET /", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
            ("GET /", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\n\r\n0\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n"),
            ("GET /", b"HTTP/1.1 204 No Content\r\n\r\n"),
            ("GET /", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n"),
            ("HEAD /", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"),
            ("GET /", b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"),
        ];
        for (request, reply) in replies {
            for step in 1..=reply.len() {
                let mut speech = requests(request).unwrap();
                for _ in 0..2 {
                    assert_eq!(
                        taken_by(&mut speech, reply, step),
                        Ok((reply.len(), true)),
                        "{request} {step}"
                    );
                }
                assert!(!speech.is_last() && !speech.ends_with_connection());
            }
        }
        let two = b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n";
        assert_eq!(requests("GET /").unwrap().take(two), Ok(Taken { bytes: 27, complete: true }));
    }

    #[test]
    fn a_server_may_close_the_connection() {
        let mut speech = requests("GET /").unwrap();
        let reply = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx";
        assert_eq!(taken_by(&mut speech, reply, 1), Ok((reply.len(), true)));
        assert!(speech.is_last());
        let reply = b"HTTP/1.0 200 OK\r\n\r\nwith an end";
        assert_eq!(taken_by(&mut speech, reply, 1), Ok((reply.len(), false)));
        assert!(speech.ends_with_connection() && speech.is_last() && !speech.ends_with_connection());
        let reply = b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(taken_by(&mut speech, reply, 1), Ok((reply.len(), true)));
        assert!(!speech.is_last());
    }

    #[test]
    fn what_is_no_good_reply_is_an_error() {
        let error =
            |reply: &[u8]| taken_by(&mut requests("GET /x").unwrap(), reply, reply.len()).unwrap_err();
        assert_eq!(error(b"HTTP/1.1 404 Not Found\r\n"), "404 Not Found");
        for reply in ["-ERR unknown command\r\n", "ERROR\r\n", "no end", "HTTP/2 200\r\n", "HTTP/1.1 abc\r\n"]
        {
            assert!(error(reply.as_bytes()).contains("is it a web server?"), "{reply}");
        }
        assert!(error(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n").contains("is it a web server?"));
        assert!(error(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n").contains("web server"));
        assert!(error(b"HTTP/1.1 101 Switching Protocols\r\n\r\n").contains("changes the protocol"));
        assert!(error(&[b"HTTP/1.1 ", &vec![b'2'; LONGEST_LINE][..]].concat()).contains("web server"));
    }

    #[test]
    fn the_version_is_in_a_header() {
        let reply = b"HTTP/1.1 404 Not Found\r\nServer: nginx/1.22.1\r\n\r\nServer: no";
        assert_eq!(header_in(reply, "server").as_deref(), Some("nginx/1.22.1"));
        assert_eq!(header_in(b"HTTP/1.1 200 OK\r\n\r\nServer: no", "server"), None);
    }
}
