//! A stream of which it is known when a reply has left.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

#[derive(Default)]
pub struct ReplyState {
    news: Notify,
    /// Whether the library has the whole reply, and it has not left yet.
    has_reply: AtomicBool,
    has_ended: AtomicBool,
}

impl ReplyState {
    /// Waits until the reply has left, or the connection has ended; whether it is still there.
    pub async fn has_left(&self) -> bool {
        self.news.notified().await;
        !self.has_ended.load(Ordering::Relaxed)
    }

    /// The library has the whole reply.
    pub fn replied(&self) {
        self.has_reply.store(true, Ordering::Relaxed);
    }
}

pub struct WatchedStream<S> {
    stream: S,
    reply_state: Arc<ReplyState>,
    /// Whether anything was written since the last flush.
    is_written: bool,
}

impl<S> WatchedStream<S> {
    pub fn new(stream: S, reply_state: Arc<ReplyState>) -> Self {
        Self { stream, reply_state, is_written: false }
    }
}

/// The library lets go of a connection that has ended.
impl<S> Drop for WatchedStream<S> {
    fn drop(&mut self) {
        self.reply_state.has_ended.store(true, Ordering::Relaxed);
        self.reply_state.news.notify_one();
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WatchedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WatchedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.is_written = true;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.is_written = true;
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Libraries flush once their own buffer is empty.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let is_written = std::mem::take(&mut self.is_written);
        if is_written && self.reply_state.has_reply.swap(false, Ordering::Relaxed) {
            self.reply_state.news.notify_one();
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
