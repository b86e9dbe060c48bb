//! Servers in front of others: nginx before PHP-FPM, and h2o before nginx.
//!
//! A front listens on two ports. Behind one it reaches the other server over its Unix socket, behind the other over TCP; all else is
//! the same. So the transport of a cell is that of the leg between the two, and clients come over TCP.

use super::fastcgi;
use super::http;
use super::kind::{ServerKind, Setup, Started};
use super::service::held_port;
use crate::PeerError;
use crate::adapters::refused;
use crate::adapters::server_address::ServerAddress;

/// nginx, which opens a connection to PHP-FPM for each request, as it does unless `fastcgi_keep_conn` is set.
pub(super) const NGINX: ServerKind = ServerKind {
    name: "nginx-php",
    title: "nginx before PHP-FPM",
    aliases: &[],
    behind: Some(&fastcgi::KIND),
    least: "GET /least.php",
    typical: "GET /typical.php",
    open_to_all: fastcgi::KIND.open_to_all,
    start: |setup| start(setup, &fastcgi::KIND, nginx),
    ..http::KIND
};

/// h2o, which keeps its connections to nginx.
pub(super) const H2O: ServerKind = ServerKind {
    name: "h2o-nginx",
    title: "h2o before nginx",
    aliases: &[],
    programs: &["h2o"],
    package: "h2o",
    behind: Some(&http::KIND),
    start: |setup| start(setup, &http::KIND, h2o),
    ..http::KIND
};

/// Where a front listens, and what it reaches from there.
struct Leg {
    port: u16,
    to: ServerAddress,
}

/// Prepares the server behind and its front; writes the front's settings by a function, which returns its arguments.
fn start(
    setup: &Setup<'_>,
    behind: &ServerKind,
    arguments: fn(&Setup<'_>, &[Leg; 2]) -> Result<Vec<String>, PeerError>,
) -> Result<Started, PeerError> {
    let program = behind.found().ok_or_else(|| refused(behind.unavailable().unwrap_or_default()))?;
    let hidden = (behind.start)(&Setup { program: &program, ..*setup })?;
    let (held, unix) = held_port()?;
    let (also_held, tcp) = held_port()?;
    let leg =
        |listens: &ServerAddress, to: ServerAddress| Leg { port: listens.port().unwrap_or_default(), to };
    let at = ServerAddress::of;
    let of_port = ServerAddress::of_port(std::net::Ipv4Addr::LOCALHOST.into(), setup.port);
    let legs = [leg(&at("tcp", &unix)?, at("unix", &hidden.unix)?), leg(&at("tcp", &tcp)?, of_port)];
    Ok(Started {
        arguments: arguments(setup, &legs)?,
        unix,
        tcp: Some(tcp),
        behind: Some((program, hidden.arguments)),
        held: vec![held, also_held],
        ..Started::default()
    })
}

fn nginx(setup: &Setup<'_>, legs: &[Leg; 2]) -> Result<Vec<String>, PeerError> {
    let (dir, secret) = (setup.dir.display(), setup.secret);
    let block = |Leg { port, to }: &Leg| {
        let to = to.path().map_or_else(|| to.to_string(), |path| format!("unix:{path}"));
        format!(
            "    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location /{secret}/ {{
            fastcgi_pass \"{to}\";
            fastcgi_param SCRIPT_FILENAME \"{dir}$fastcgi_script_name.{secret}\";
            fastcgi_param REQUEST_METHOD $request_method;
        }}
        location / {{
            return 404;
        }}
    }}
"
        )
    };
    let blocks: String = legs.iter().map(block).collect();
    http::nginx(setup, "front", &blocks)
}

fn h2o(setup: &Setup<'_>, legs: &[Leg; 2]) -> Result<Vec<String>, PeerError> {
    let block = |Leg { port, to }: &Leg| {
        let to = to.path().map_or_else(|| to.to_string(), |path| format!("[unix:{path}]"));
        format!(
            "  \"127.0.0.1:{port}\":
    listen:
      host: 127.0.0.1
      port: {port}
    paths:
      \"/\":
        proxy.reverse.url: \"http://{to}/\"
"
        )
    };
    let blocks: String = legs.iter().map(block).collect();
    // Otherwise it makes up a name from the socket's path, which nginx refuses.
    let settings = format!("num-threads: 1\nproxy.preserve-host: ON\nhosts:\n{blocks}");
    let settings = setup.file("h2o.conf", settings.as_bytes())?;
    Ok(["-m", "worker", "-c", &settings.to_string_lossy()].map(str::to_owned).to_vec())
}
