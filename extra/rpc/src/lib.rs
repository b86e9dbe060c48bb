//! What peers have in common that talk through a library in which one side calls and the other replies, each in a runtime of
//! one thread.

mod reply_watch;

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use ipcost_endpoints::{Endpoint, ended, whole};
use ipcost_model::Pattern;
use ipcost_sys::transport::Channel;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};

use reply_watch::{ReplyState, WatchedStream};

pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for S {}

/// How a library calls and replies on one connection.
pub trait Protocol: Send + 'static {
    /// The side that calls.
    type Caller: Send;

    /// A caller on a connection, which goes on in tasks of the runtime.
    fn shake(stream: impl Stream) -> impl Future<Output = io::Result<Self::Caller>>;

    /// The reply to a request.
    fn call(caller: &mut Self::Caller, request: Bytes) -> impl Future<Output = io::Result<Bytes>>;

    /// Replies to every request of a connection, until it ends.
    fn serve(stream: impl Stream, desk: Desk) -> impl Future<Output = ()> + Send;
}

/// Where requests wait for their replies.
#[derive(Clone)]
pub struct Desk {
    requests: mpsc::Sender<Request>,
    reply_state: Arc<ReplyState>,
}

struct Request {
    body: Bytes,
    reply: oneshot::Sender<Bytes>,
}

impl Desk {
    /// The reply to a request.
    pub async fn answer(&self, body: Bytes) -> io::Result<Bytes> {
        let (reply, replied) = oneshot::channel();
        self.requests.send(Request { body, reply }).await.map_err(|_| ended())?;
        replied.await.map_err(|_| ended())
    }

    /// The library has the whole reply: it has left once the library has written what it holds.
    pub fn replied(&self) {
        self.reply_state.replied();
    }
}

/// One side of a connection.
pub struct Rpc<P: Protocol> {
    runtime: Runtime,
    end: End<P>,
}

enum End<P: Protocol> {
    /// Waits for the client.
    Tcp(TcpListener),
    Unix(UnixListener),
    Server(Serving),
    Client {
        caller: P::Caller,
        /// What has not been read yet.
        reply: Bytes,
    },
}

struct Serving {
    requests: mpsc::Receiver<Request>,
    /// The request that waits for its reply.
    open: Option<oneshot::Sender<Bytes>>,
    reply_state: Arc<ReplyState>,
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// The path of `ipc://PATH`, or the host and port of `tcp://HOST:PORT`.
fn place(url: &str) -> Result<&str, &str> {
    url.strip_prefix("ipc://").ok_or_else(|| url.trim_start_matches("tcp://"))
}

impl<P: Protocol> Endpoint for Rpc<P> {
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
        let caller = runtime.block_on(async {
            match place(url) {
                Ok(path) => P::shake(UnixStream::connect(path).await?).await,
                Err(host) => {
                    let stream = TcpStream::connect(host).await?;
                    stream.set_nodelay(true)?;
                    P::shake(stream).await
                }
            }
        })?;
        Ok(Self { runtime, end: End::Client { caller, reply: Bytes::new() } })
    }
}

/// Serves a connection in a task of the runtime.
fn serve<P: Protocol>(stream: impl Stream) -> Serving {
    let (to, requests) = mpsc::channel(1);
    let reply_state = Arc::new(ReplyState::default());
    let desk = Desk { requests: to, reply_state: Arc::clone(&reply_state) };
    tokio::spawn(P::serve(WatchedStream::new(stream, Arc::clone(&reply_state)), desk));
    Serving { requests, open: None, reply_state }
}

impl<P: Protocol> Rpc<P> {
    /// The server's connection; a listener waits for it.
    fn serving(&mut self) -> io::Result<Option<(&Runtime, &mut Serving)>> {
        let accepted = match &self.end {
            End::Tcp(listener) => Some(self.runtime.block_on(async {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok::<_, io::Error>(serve::<P>(stream))
            })?),
            End::Unix(listener) => {
                let accept = async { Ok::<_, io::Error>(serve::<P>(listener.accept().await?.0)) };
                Some(self.runtime.block_on(accept)?)
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

impl<P: Protocol> Channel for Rpc<P> {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let content = Bytes::copy_from_slice(bytes);
        if let End::Client { caller, reply } = &mut self.end {
            *reply = self.runtime.block_on(P::call(caller, content))?;
            return Ok(bytes.len());
        }
        let (runtime, serving) = self.serving()?.ok_or_else(ended)?;
        let open = serving.open.take().ok_or_else(|| io::Error::other("a reply without a request"))?;
        let is_there = open.send(content).is_ok() && runtime.block_on(serving.reply_state.has_left());
        if is_there { Ok(bytes.len()) } else { Err(ended()) }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let content = match self.serving()? {
            Some((runtime, serving)) => {
                let Some(request) = runtime.block_on(serving.requests.recv()) else { return Ok(0) };
                serving.open = Some(request.reply);
                request.body
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
