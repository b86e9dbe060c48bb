//! A stream that reports when written bytes have left.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

/// The report.
#[derive(Default)]
pub struct Told {
    news: Notify,
    has_ended: AtomicBool,
}

impl Told {
    /// Waits until everything written has left, or the connection has ended; returns whether it still exists.
    pub async fn has_left(&self) -> bool {
        self.news.notified().await;
        !self.has_ended.load(Ordering::Relaxed)
    }

    /// Marks the connection as ended.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
        self.news.notify_one();
    }
}

/// The stream.
pub struct Telling<S> {
    stream: S,
    told: Arc<Told>,
    /// Whether something was written since the last report.
    is_written: bool,
}

impl<S> Telling<S> {
    /// Wraps a stream.
    pub fn new(stream: S, told: Arc<Told>) -> Self {
        Self { stream, told, is_written: false }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Telling<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Telling<S> {
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

    /// hyper calls this when its own buffer is empty.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if std::mem::take(&mut self.is_written) {
            self.told.news.notify_one();
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
