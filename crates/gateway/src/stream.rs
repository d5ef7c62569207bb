//! A connection in clear or over TLS, in two halves: bytes are read and written the same way.
//!
//! The halves of a connection in clear share only the socket. Not here: handshakes (`tls`).

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

pub(crate) enum GatewayStream {
    Plain(TcpStream),
    Sealed(Box<TlsStream<TcpStream>>),
}

pub(crate) enum ByteSource {
    Plain(OwnedReadHalf),
    /// Plain TCP with arrival times.
    Stamped(OwnedReadHalf, Stamps),
    Sealed(ReadHalf<Box<TlsStream<TcpStream>>>),
}

pub(crate) enum Sink {
    Plain(OwnedWriteHalf),
    Sealed(WriteHalf<Box<TlsStream<TcpStream>>>),
}

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
    /// Turns on arrival times, if the system supports them.
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

    /// Appends at most `most` bytes; zero at the end. Cancel-safe.
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

    /// Whether the peer has closed, so that only buffered bytes remain. Over TLS that is not known before all
    /// is read.
    pub(crate) fn has_ended(&self) -> bool {
        let (Self::Plain(half) | Self::Stamped(half, _)) = self else {
            return false;
        };
        let ready = pin!(half.ready(Interest::READABLE));
        let mut context = Context::from_waker(Waker::noop());
        matches!(ready.poll(&mut context), Poll::Ready(Ok(ready)) if ready.is_read_closed())
    }

    /// Age of the last byte of the last read, at that read; `None` if unknown.
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
