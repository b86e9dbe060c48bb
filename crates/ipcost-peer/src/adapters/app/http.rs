//! Web servers: HTTP/1.1, <https://www.rfc-editor.org/rfc/rfc9112>. A private one is nginx.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response, Status};

use super::kind::{
    Alias, LONGEST_LINE, Listens, Login, NO_PASSWORD, ReportedFacts, ServerKind, Setup, Speech, Started,
    Taken, address_of,
};
use super::look::hear;
use crate::PeerError;
use crate::adapters::refused;
use crate::adapters::server_address::ServerAddress;

pub(super) const KIND: ServerKind = ServerKind {
    name: "http",
    title: "HTTP server",
    aliases: &[
        Alias::new("nginx", "nginx", None),
        Alias::new("caddy", "Caddy", Some(&[])),
        Alias::new("gunicorn", "gunicorn", Some(&[])),
        Alias::new("apache", "Apache", Some(&[])),
        Alias::new("uvicorn", "uvicorn", Some(&[])),
        Alias::new("haproxy", "HAProxy", Some(&[])),
    ],
    programs: &["nginx"],
    places: &[],
    package: "nginx",
    users: &["www-data", "nginx"],
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
    listens: Listens {
        unix: "listen unix:/run/shop/shop.sock; in nginx, --bind unix:/run/shop/shop.sock for gunicorn",
        tcp: "listen 127.0.0.1:8000; in nginx, --bind 127.0.0.1:8000 for gunicorn",
        page: "docs/app.md#nginx-upstreams",
    },
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
/// The most headers of a reply.
const MOST_HEADERS: usize = 128;
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
fn facts(login: &Login, at: &ServerAddress) -> Result<ReportedFacts, PeerError> {
    let mut requests = Requests::new(login, KIND.least, false)?;
    // Any reply has it, also that the path is missing.
    requests.refuses = false;
    let reply = hear(&mut requests, at)?;
    let version = header_in(&reply, "server").unwrap_or_else(|| "not told".to_owned());
    let how = if login.secret.is_some() { "a path that only it knows" } else { NO_PASSWORD };
    Ok(ReportedFacts { login: how.to_owned(), ..ReportedFacts::open(version) })
}

/// The value of a header in the head of a reply, whose first line may be a status.
pub(super) fn header_in(head: &[u8], name: &str) -> Option<String> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let start = match head.starts_with(b"HTTP/") {
        true => head.iter().position(|byte| *byte == b'\n')? + 1,
        false => 0,
    };
    let Ok(Status::Complete((_, headers))) = httparse::parse_headers(&head[start..], &mut headers) else {
        return None;
    };
    let found = headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
    Some(String::from_utf8_lossy(found.value).into_owned())
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
    part: HttpReplyPart,
    head: Head,
}

/// What comes next of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HttpReplyPart {
    /// The status and the headers.
    Head,
    /// So many bytes.
    Body(u64),
    /// All until the end of the connection.
    Rest,
    /// The line with the length of a chunk.
    Chunk,
    /// So many bytes of a chunk.
    InChunk(u64),
    /// The end of the line after a chunk.
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
                "{method} may change data; give --writes if that is fine, or use GET or HEAD"
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
            part: HttpReplyPart::Head,
            head: Head::default(),
        })
    }

    /// Takes a part that is looked at whole.
    fn whole(&mut self, bytes: &[u8]) -> Result<Parsed, PeerError> {
        const LINE_END: &[u8] = b"\r\n";
        let parsed = match self.part {
            HttpReplyPart::Head => return self.take_head(bytes),
            HttpReplyPart::Chunk => match httparse::parse_chunk_size(bytes).map_err(|_| NOT_HTTP)? {
                Status::Complete((end, length)) => {
                    self.part =
                        if length == 0 { HttpReplyPart::Trailers } else { HttpReplyPart::InChunk(length) };
                    Some((end, false))
                }
                Status::Partial => None,
            },
            HttpReplyPart::AfterChunk if bytes.starts_with(LINE_END) => {
                self.part = HttpReplyPart::Chunk;
                Some((LINE_END.len(), false))
            }
            HttpReplyPart::AfterChunk if LINE_END.starts_with(bytes) => None,
            HttpReplyPart::Trailers => {
                let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
                match httparse::parse_headers(bytes, &mut headers).map_err(|_| NOT_HTTP)? {
                    Status::Complete((end, _)) => Some((end, true)),
                    Status::Partial => None,
                }
            }
            HttpReplyPart::AfterChunk
            | HttpReplyPart::Body(_)
            | HttpReplyPart::Rest
            | HttpReplyPart::InChunk(_) => {
                return Err(NOT_HTTP.into());
            }
        };
        Ok(parsed)
    }

    fn take_head(&mut self, bytes: &[u8]) -> Result<Parsed, PeerError> {
        let mut headers = [const { MaybeUninit::uninit() }; MOST_HEADERS];
        let mut response = Response::new(&mut []);
        let parsed = tolerant().parse_response_with_uninit_headers(&mut response, bytes, &mut headers);
        let parsed = parsed.map_err(|_| NOT_HTTP)?;
        if let (Some(status), Some(reason)) = (response.code, response.reason)
            && self.refuses
            && status >= 400
        {
            return Err(refused(format!("{status} {reason}").trim()));
        }
        let Status::Complete(end) = parsed else { return Ok(None) };
        let status = response.code.unwrap_or_default();
        // HTTP/1.0 closes connections unless it says otherwise.
        self.head = Head { status, closes: response.version == Some(0), ..Head::default() };
        response.headers.iter().try_for_each(|header| self.header(header))?;
        Ok(Some((end, self.body()?)))
    }

    fn header(&mut self, header: &Header<'_>) -> Result<(), PeerError> {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("content-length") {
            let length = std::str::from_utf8(header.value).ok().and_then(|text| text.parse().ok());
            self.head.length = Some(length.ok_or(NOT_HTTP)?);
        } else if is("transfer-encoding") {
            self.head.is_chunked = header.value.to_ascii_lowercase().ends_with(b"chunked");
        } else if is("connection") {
            let words = header.value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
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
    fn body(&mut self) -> Result<bool, PeerError> {
        let Head { status, length, is_chunked, .. } = self.head;
        self.part = match (status, is_chunked, length) {
            (101, ..) => return Err("it changes the protocol; give a request that HTTP answers".into()),
            // The reply proper comes after it.
            (100..200, ..) => HttpReplyPart::Head,
            (204 | 304, ..) => return Ok(true),
            _ if self.is_head => return Ok(true),
            (_, true, _) => HttpReplyPart::Chunk,
            (_, false, Some(0)) => return Ok(true),
            (_, false, Some(length)) => HttpReplyPart::Body(length),
            (_, false, None) => {
                self.head.closes = true;
                HttpReplyPart::Rest
            }
        };
        Ok(false)
    }
}

impl Speech for Requests {
    fn request(&self) -> &[u8] {
        &self.request
    }

    fn take(&mut self, bytes: &[u8]) -> Result<Taken, PeerError> {
        let mut at = 0;
        loop {
            let there = bytes.len() - at;
            match &mut self.part {
                HttpReplyPart::Rest => return Ok(Taken { bytes: bytes.len(), complete: false }),
                HttpReplyPart::Body(left) | HttpReplyPart::InChunk(left) => {
                    let taken = there.min(usize::try_from(*left).unwrap_or(usize::MAX));
                    at += taken;
                    *left -= taken as u64;
                    if *left > 0 {
                        return Ok(Taken { bytes: at, complete: false });
                    }
                    match self.part {
                        HttpReplyPart::InChunk(_) => self.part = HttpReplyPart::AfterChunk,
                        _ => return Ok(self.complete(at)),
                    }
                }
                HttpReplyPart::Head
                | HttpReplyPart::Chunk
                | HttpReplyPart::AfterChunk
                | HttpReplyPart::Trailers => {
                    let Some((end, ends)) = self.whole(&bytes[at..])? else {
                        return match there > LONGEST_LINE {
                            true => Err(NOT_HTTP.into()),
                            false => Ok(Taken { bytes: at, complete: false }),
                        };
                    };
                    at += end;
                    if ends {
                        return Ok(self.complete(at));
                    }
                }
            }
        }
    }

    fn ends_with_connection(&mut self) -> bool {
        let ends = self.part == HttpReplyPart::Rest;
        if ends {
            self.part = HttpReplyPart::Head;
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
        self.part = HttpReplyPart::Head;
        Taken { bytes, complete: true }
    }
}

/// Where a part ends, and whether the reply ends with it; nothing while some of it is still to come.
type Parsed = Option<(usize, bool)>;

/// Reads what servers send, also where it is not quite allowed.
fn tolerant() -> ParserConfig {
    let mut config = ParserConfig::default();
    config
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .ignore_invalid_headers_in_responses(true);
    config
}

const NOT_HTTP: &str = "it answers with something other than a reply of HTTP/1.1; is it a web server?";

#[cfg(test)]
mod tests {
    use super::super::kind::taken_by;
    use super::*;

    fn requests(request: &str) -> Result<Requests, PeerError> {
        Requests::new(&Login::default(), request, true)
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
            assert!(requests(&format!("{method} /")).unwrap_err().to_string().contains("--writes"));
            let login = Login { writes: true, ..Login::default() };
            assert!(Requests::new(&login, &format!("{method} /"), true).is_ok());
        }
        for wrong in ["", "GET", "GET x", "GET / HTTP/1.1", "get /", "GET /\r\nX:", "GET /ä"] {
            assert!(requests(wrong).unwrap_err().to_string().contains("is not a request"), "{wrong}");
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
                    assert_eq!(taken_by(&mut speech, reply, step), (reply.len(), true), "{request} {step}");
                }
                assert!(!speech.is_last() && !speech.ends_with_connection());
            }
        }
        let two = b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n";
        assert_eq!(requests("GET /").unwrap().take(two).unwrap(), Taken { bytes: 27, complete: true });
    }

    #[test]
    fn a_server_may_close_the_connection() {
        let mut speech = requests("GET /").unwrap();
        let reply = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx";
        assert_eq!(taken_by(&mut speech, reply, 1), (reply.len(), true));
        assert!(speech.is_last());
        let reply = b"HTTP/1.0 200 OK\r\n\r\nwith an end";
        assert_eq!(taken_by(&mut speech, reply, 1), (reply.len(), false));
        assert!(speech.ends_with_connection() && speech.is_last() && !speech.ends_with_connection());
        let reply = b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(taken_by(&mut speech, reply, 1), (reply.len(), true));
        assert!(!speech.is_last());
    }

    #[test]
    fn what_is_no_good_reply_is_an_error() {
        let error = |reply: &[u8]| requests("GET /x").unwrap().take(reply).unwrap_err().to_string();
        assert_eq!(error(b"HTTP/1.1 404 Not Found\r\n"), "404 Not Found");
        for reply in ["-ERR unknown command\r\n", "ERROR\r\n", "no end", "HTTP/2 200\r\n", "HTTP/1.1 abc\r\n"]
        {
            assert!(error(reply.as_bytes()).contains("is it a web server?"), "{reply}");
        }
        assert!(error(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n").contains("is it a web server?"));
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
