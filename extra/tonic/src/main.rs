//! gRPC through tonic: a unary call for every request, on a connection that is kept.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::process::ExitCode;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::http::uri::PathAndQuery;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use ipcost_endpoints::ended;
use ipcost_rpc::{Desk, Protocol, Rpc, Stream};

use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Response, Status};
use tonic_prost::ProstCodec;

/// `service Hop { rpc Call(Payload) returns (Payload); }`
const METHOD: &str = "/ipcost.Hop/Call";

#[derive(Clone, PartialEq, prost::Message)]
struct Payload {
    #[prost(bytes = "bytes", tag = "1")]
    payload: Bytes,
}

fn codec() -> ProstCodec<Payload, Payload> {
    ProstCodec::default()
}

struct Grpc;

impl Protocol for Grpc {
    type Caller = tonic::client::Grpc<Channel>;

    async fn shake(stream: impl Stream) -> io::Result<Self::Caller> {
        let mut stream = Some(TokioIo::new(stream));
        // There is one connection; tonic would ask for another where it breaks.
        let connector = tower::service_fn(move |_| std::future::ready(stream.take().ok_or_else(ended)));
        let endpoint = Endpoint::from_static("http://localhost");
        let channel = endpoint.connect_with_connector(connector).await.map_err(io::Error::other)?;
        Ok(tonic::client::Grpc::new(channel).max_decoding_message_size(usize::MAX))
    }

    async fn call(caller: &mut Self::Caller, payload: Bytes) -> io::Result<Bytes> {
        caller.ready().await.map_err(|_| ended())?;
        let request = Request::new(Payload { payload });
        let response = caller.unary(request, PathAndQuery::from_static(METHOD), codec()).await;
        let response: Response<Payload> = response.map_err(|status| match status.code() {
            Code::Unavailable | Code::Cancelled | Code::Unknown => ended(),
            _ => io::Error::other(status),
        })?;
        Ok(response.into_inner().payload)
    }

    async fn serve(stream: impl Stream, desk: Desk) {
        let service = service_fn(move |request| {
            let desk = desk.clone();
            async move {
                let answering = desk.clone();
                let answer =
                    tower::service_fn(move |request: Request<Payload>| answer(request, answering.clone()));
                let grpc = tonic::server::Grpc::new(codec()).max_decoding_message_size(usize::MAX);
                let response = { grpc }.unary(answer, request).await;
                Ok::<_, Infallible>(response.map(|body| Replying { body, desk }))
            }
        });
        let connection = http2::Builder::new(TokioExecutor::new());
        // How it ends does not matter to a server that waits for the next request.
        let _ = connection.serve_connection(TokioIo::new(stream), service).await;
    }
}

async fn answer(request: Request<Payload>, desk: Desk) -> Result<Response<Payload>, Status> {
    let reply = desk.answer(request.into_inner().payload).await;
    let payload = reply.map_err(|error| Status::unavailable(error.to_string()))?;
    Ok(Response::new(Payload { payload }))
}

/// A reply's frames; it is whole with the trailers.
struct Replying {
    body: tonic::body::Body,
    desk: Desk,
}

impl Body for Replying {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.as_ref().is_none_or(|frame| frame.as_ref().is_ok_and(Frame::is_trailers)) {
            self.desk.replied();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn main() -> ExitCode {
    ipcost_endpoints::play::<Rpc<Grpc>>("tonic", "tonic 0.14".to_owned())
}
