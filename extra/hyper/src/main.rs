//! HTTP/1.1 through hyper: a POST per request on a persistent connection.

use std::io;
use std::process::ExitCode;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use ipcost_endpoints::ended;
use ipcost_rpc::{Desk, Protocol, Rpc, Stream};

struct Http;

fn failed(error: hyper::Error) -> io::Error {
    let is_end = error.is_closed() || error.is_canceled() || error.is_incomplete_message();
    if is_end { ended() } else { io::Error::other(error) }
}

impl Protocol for Http {
    type Caller = SendRequest<Full<Bytes>>;

    async fn shake(stream: impl Stream) -> io::Result<Self::Caller> {
        let (caller, connection) = handshake(TokioIo::new(stream)).await.map_err(failed)?;
        // The caller learns how it ends.
        tokio::spawn(connection);
        Ok(caller)
    }

    async fn call(caller: &mut Self::Caller, request: Bytes) -> io::Result<Bytes> {
        let request = Request::post("/").header("host", "localhost").body(Full::new(request));
        caller.ready().await.map_err(failed)?;
        let response = caller.send_request(request.map_err(io::Error::other)?).await.map_err(failed)?;
        Ok(response.into_body().collect().await.map_err(failed)?.to_bytes())
    }

    async fn serve(stream: impl Stream, desk: Desk) {
        let answering = service_fn(move |request| answer(request, desk.clone()));
        // How it ends does not matter to a server that waits for the next request.
        let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answering).await;
    }
}

async fn answer(request: Request<Incoming>, desk: Desk) -> io::Result<Response<Full<Bytes>>> {
    let body = request.into_body().collect().await.map_err(failed)?.to_bytes();
    let reply = desk.answer(body).await?;
    desk.replied();
    Ok(Response::new(Full::new(reply)))
}

fn main() -> ExitCode {
    ipcost_endpoints::play::<Rpc<Http>>("hyper", "hyper 1".to_owned())
}
