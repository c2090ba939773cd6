//! The encrypted side of the proxy: bytes as they go over the network.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// A connection on which a bit of the next bytes can flip.
pub(super) struct Wire {
    stream: TcpStream,
    garbled: Arc<AtomicBool>,
}

impl Wire {
    /// A connection that is fine until `garbled` is set, which lasts for one write.
    pub(super) fn new(stream: TcpStream, garbled: Arc<AtomicBool>) -> Self {
        Self { stream, garbled }
    }

    /// Ends the connection with a reset instead of an orderly end.
    pub(super) fn reset(&self) {
        let _ = self.stream.set_zero_linger();
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !self.garbled.load(Ordering::Relaxed) || bytes.is_empty() {
            return Pin::new(&mut self.stream).poll_write(context, bytes);
        }
        let mut bytes = bytes.to_vec();
        if let Some(last) = bytes.last_mut() {
            *last ^= 1;
        }
        let written = Pin::new(&mut self.stream).poll_write(context, &bytes);
        if let Poll::Ready(Ok(count)) = written
            && count == bytes.len()
        {
            self.garbled.store(false, Ordering::Relaxed);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
