//! A connection in clear or over TLS, in two halves: bytes are read and written the same way.
//!
//! The halves of a connection in clear share nothing but the socket. Not here: handshakes (`tls`).

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, Interest, ReadBuf, ReadHalf, WriteHalf, split,
};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio_rustls::TlsStream;

use crate::stamps::Stamps;

/// A connection.
pub(crate) enum GatewayStream {
    /// In clear.
    Plain(TcpStream),
    /// Over TLS.
    Sealed(Box<TlsStream<TcpStream>>),
}

/// Where bytes are read.
pub(crate) enum ByteSource {
    Plain(OwnedReadHalf),
    /// In clear, and the system says when bytes came.
    Stamped(OwnedReadHalf, Stamps),
    Sealed(ReadHalf<Box<TlsStream<TcpStream>>>),
}

/// Where bytes are written.
pub(crate) enum Sink {
    Plain(OwnedWriteHalf),
    Sealed(WriteHalf<Box<TlsStream<TcpStream>>>),
}

/// Both directions of a connection.
pub(crate) struct Halves {
    pub(crate) from: ByteSource,
    pub(crate) to: Sink,
}

impl GatewayStream {
    pub(crate) fn split(self) -> Halves {
        match self {
            Self::Plain(stream) => {
                let (from, to) = stream.into_split();
                Halves {
                    from: ByteSource::Plain(from),
                    to: Sink::Plain(to),
                }
            }
            Self::Sealed(stream) => {
                let (from, to) = split(stream);
                Halves {
                    from: ByteSource::Sealed(from),
                    to: Sink::Sealed(to),
                }
            }
        }
    }
}

impl ByteSource {
    /// From here on the system says when bytes came, where it can.
    #[must_use]
    pub(crate) fn stamped(self) -> Self {
        match self {
            Self::Plain(half) => match Stamps::begin(half.as_ref()) {
                Some(stamps) => Self::Stamped(half, stamps),
                None => Self::Plain(half),
            },
            Self::Stamped(..) | Self::Sealed(_) => self,
        }
    }

    /// Reads at most so many bytes to the end of others; zero at the end. Nothing is lost where it is given up.
    pub(crate) async fn read_some(
        &mut self,
        bytes: &mut Vec<u8>,
        most: usize,
    ) -> io::Result<usize> {
        if let Self::Stamped(half, stamps) = self {
            return stamps.read((*half).as_ref(), bytes, most).await;
        }
        bytes.reserve(most);
        self.take(most as u64).read_buf(bytes).await
    }

    /// Whether nothing more comes than is there: whoever is read from has closed. Over TLS that is not known before all
    /// is read.
    pub(crate) fn has_ended(&self) -> bool {
        let (Self::Plain(half) | Self::Stamped(half, _)) = self else {
            return false;
        };
        let ready = pin!(half.ready(Interest::READABLE));
        let mut context = Context::from_waker(Waker::noop());
        matches!(ready.poll(&mut context), Poll::Ready(Ok(ready)) if ready.is_read_closed())
    }

    /// How long ago the last of what was read had come when it was read; `None` where that is not known.
    pub(crate) fn age(&self) -> Option<Duration> {
        match self {
            Self::Stamped(_, stamps) => stamps.age(),
            Self::Plain(_) | Self::Sealed(_) => None,
        }
    }
}

impl AsyncRead for ByteSource {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(half) | Self::Stamped(half, _) => Pin::new(half).poll_read(cx, buffer),
            Self::Sealed(half) => Pin::new(half).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Sink {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(half) => Pin::new(half).poll_write(cx, bytes),
            Self::Sealed(half) => Pin::new(half).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(half) => Pin::new(half).poll_flush(cx),
            Self::Sealed(half) => Pin::new(half).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(half) => Pin::new(half).poll_shutdown(cx),
            Self::Sealed(half) => Pin::new(half).poll_shutdown(cx),
        }
    }
}
