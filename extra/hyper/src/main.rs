//! HTTP/1.1 through hyper: a POST per request on a persistent connection; a single-threaded runtime on either side.

mod telling;

use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use ipcost_endpoints::{Endpoint, ended, whole};
use ipcost_model::Pattern;
use ipcost_sys::transport::Channel;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};

use telling::{Telling, Told};

struct Http {
    runtime: Runtime,
    end: End,
}

enum End {
    /// No client yet.
    Tcp(TcpListener),
    Unix(UnixListener),
    Server(Serving),
    Client {
        sender: SendRequest<Full<Bytes>>,
        /// The unread rest.
        reply: Bytes,
    },
}

/// A connection with requests from the other side.
struct Serving {
    requests: mpsc::Receiver<Asked>,
    /// Where the reply goes.
    asking: Option<oneshot::Sender<Bytes>>,
    told: Arc<Told>,
}

struct Asked {
    body: Bytes,
    reply: oneshot::Sender<Bytes>,
}

fn failed(error: hyper::Error) -> io::Error {
    let is_end = error.is_closed() || error.is_canceled() || error.is_incomplete_message();
    if is_end { ended() } else { io::Error::other(error) }
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_io().build()
}

/// The path of `ipc://PATH`, or the host and port of `tcp://HOST:PORT`.
fn place(url: &str) -> Result<&str, &str> {
    url.strip_prefix("ipc://").ok_or_else(|| url.trim_start_matches("tcp://"))
}

impl Endpoint for Http {
    const PATTERNS: &'static [Pattern] = &[Pattern::Rr];

    fn listen(url: &str, _pattern: Pattern) -> io::Result<(Self, String)> {
        let runtime = runtime()?;
        let entered = runtime.enter();
        let (end, bound) = match place(url) {
            Ok(path) => (End::Unix(UnixListener::bind(path)?), url.to_owned()),
            Err(host) => {
                let listener = runtime.block_on(TcpListener::bind(host))?;
                let bound = format!("tcp://{}", listener.local_addr()?);
                (End::Tcp(listener), bound)
            }
        };
        drop(entered);
        Ok((Self { runtime, end }, bound))
    }

    fn dial(url: &str, _pattern: Pattern) -> io::Result<Self> {
        let runtime = runtime()?;
        let sender = runtime.block_on(async {
            match place(url) {
                Ok(path) => shake(UnixStream::connect(path).await?).await,
                Err(host) => {
                    let stream = TcpStream::connect(host).await?;
                    stream.set_nodelay(true)?;
                    shake(stream).await
                }
            }
        })?;
        Ok(Self { runtime, end: End::Client { sender, reply: Bytes::new() } })
    }
}

/// A client on a stream; call it in a runtime, in which its connection keeps running.
async fn shake<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
) -> io::Result<SendRequest<Full<Bytes>>> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(failed)?;
    // The sender sees how it ends.
    tokio::spawn(connection);
    Ok(sender)
}

/// A server on a stream; call it in a runtime, in which its connection keeps running.
fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(stream: S) -> Serving {
    let (to, requests) = mpsc::channel(1);
    let told = Arc::new(Told::default());
    let stream = TokioIo::new(Telling::new(stream, Arc::clone(&told)));
    let telling = Arc::clone(&told);
    tokio::spawn(async move {
        let answering = service_fn(move |request| answer(request, to.clone()));
        // How it ends does not matter to a wait for the next request or for a reply to leave.
        let _ = http1::Builder::new().serve_connection(stream, answering).await;
        telling.end();
    });
    Serving { requests, asking: None, told }
}

async fn answer(request: Request<Incoming>, to: mpsc::Sender<Asked>) -> io::Result<Response<Full<Bytes>>> {
    let body = request.into_body().collect().await.map_err(failed)?.to_bytes();
    let (reply, replied) = oneshot::channel();
    to.send(Asked { body, reply }).await.map_err(|_| ended())?;
    Ok(Response::new(Full::new(replied.await.map_err(|_| ended())?)))
}

impl Http {
    /// The client's connection; a listener waits for it.
    fn serving(&mut self) -> io::Result<Option<(&Runtime, &mut Serving)>> {
        let accepted = match &self.end {
            End::Tcp(listener) => Some(self.runtime.block_on(async {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok::<_, io::Error>(serve(stream))
            })?),
            End::Unix(listener) => {
                Some(self.runtime.block_on(async { Ok::<_, io::Error>(serve(listener.accept().await?.0)) })?)
            }
            End::Server(_) | End::Client { .. } => None,
        };
        if let Some(serving) = accepted {
            self.end = End::Server(serving);
        }
        Ok(match &mut self.end {
            End::Server(serving) => Some((&self.runtime, serving)),
            _ => None,
        })
    }
}

impl Channel for Http {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let content = Bytes::copy_from_slice(bytes);
        if let End::Client { sender, reply } = &mut self.end {
            let request = Request::post("/").header("host", "localhost").body(Full::new(content));
            let request = request.map_err(io::Error::other)?;
            *reply = self.runtime.block_on(async {
                sender.ready().await.map_err(failed)?;
                let response = sender.send_request(request).await.map_err(failed)?;
                Ok::<_, io::Error>(response.into_body().collect().await.map_err(failed)?.to_bytes())
            })?;
            return Ok(bytes.len());
        }
        let (runtime, serving) = self.serving()?.ok_or_else(ended)?;
        let asking = serving.asking.take().ok_or_else(|| io::Error::other("nobody has asked"))?;
        let is_there = asking.send(content).is_ok() && runtime.block_on(serving.told.has_left());
        if is_there { Ok(bytes.len()) } else { Err(ended()) }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let content = match self.serving()? {
            Some((runtime, serving)) => {
                let Some(asked) = runtime.block_on(serving.requests.recv()) else { return Ok(0) };
                serving.asking = Some(asked.reply);
                asked.body
            }
            None => match &mut self.end {
                End::Client { reply, .. } => std::mem::take(reply),
                _ => return Ok(0),
            },
        };
        let length = whole(content.len(), buffer)?;
        buffer[..length].copy_from_slice(&content);
        Ok(length)
    }
}

fn main() -> ExitCode {
    ipcost_endpoints::play::<Http>("hyper", "hyper 1".to_owned())
}
