//! A connection to a node, over TCP or a Unix socket.
//!
//! Not here: which node, and what is said.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A connection.
#[derive(Debug)]
pub(super) enum Link {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Link {
    /// Connects to `host:port` or `unix:/path` within a time.
    pub(super) fn open(address: &str, within: Duration) -> io::Result<Self> {
        if let Some(path) = address.strip_prefix("unix:") {
            let stream = UnixStream::connect(path)?;
            stream.set_write_timeout(Some(within))?;
            return Ok(Self::Unix(stream));
        }
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for at in address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&at, within) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    stream.set_write_timeout(Some(within))?;
                    return Ok(Self::Tcp(stream));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// The same connection for another thread.
    pub(super) fn again(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }

    /// How long a read may take; for ever where nothing is said.
    pub(super) fn patience(&self, within: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(within),
            Self::Unix(stream) => stream.set_read_timeout(within),
        }
    }

    /// Ends it, for whoever reads too.
    pub(super) fn close(&self) {
        // It may have ended before.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Read for Link {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
