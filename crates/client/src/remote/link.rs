//! A connection to a node, over TCP, TLS or a Unix socket.
//!
//! Not here: which node, and what is said.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

#[cfg(feature = "tls")]
use super::tls::Secured;

/// A connection.
#[derive(Debug)]
pub(super) enum NodeConnection {
    Tcp(TcpStream),
    #[cfg(feature = "tls")]
    Tls(Box<Secured>),
    Unix(UnixStream),
}

/// Whom to believe over TLS.
#[derive(Clone, Debug, Default)]
pub(super) struct Trust {
    #[cfg(feature = "tls")]
    pub(super) config: Option<std::sync::Arc<rustls::ClientConfig>>,
}

impl NodeConnection {
    /// Connects to `host:port`, `tls://host:port` or `unix:/path` within a time.
    pub(super) fn open(address: &str, trust: &Trust, within: Duration) -> io::Result<Self> {
        if let Some(address) = address.strip_prefix("tls://") {
            return Self::secured(address, trust, within);
        }
        if let Some(path) = address.strip_prefix("unix:") {
            let stream = UnixStream::connect(path)?;
            stream.set_write_timeout(Some(within))?;
            return Ok(Self::Unix(stream));
        }
        tcp(address, within).map(Self::Tcp)
    }

    #[cfg(feature = "tls")]
    fn secured(address: &str, trust: &Trust, within: Duration) -> io::Result<Self> {
        let config = trust.config.clone();
        let config = config.ok_or(io::ErrorKind::Unsupported)?;
        let stream = tcp(address, within)?;
        stream.set_read_timeout(Some(within))?;
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let host = host.trim_matches(['[', ']']);
        let secured = Secured::open(stream, host, config)?;
        Ok(Self::Tls(Box::new(secured)))
    }

    #[cfg(not(feature = "tls"))]
    fn secured(_: &str, _: &Trust, _: Duration) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The same connection for another thread.
    pub(super) fn again(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            #[cfg(feature = "tls")]
            Self::Tls(secured) => Self::Tls(Box::new(secured.again()?)),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }

    /// How long a read may take; for ever where nothing is said.
    pub(super) fn patience(&self, within: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(within),
            #[cfg(feature = "tls")]
            Self::Tls(secured) => secured.stream.set_read_timeout(within),
            Self::Unix(stream) => stream.set_read_timeout(within),
        }
    }

    /// Ends it, for whoever reads too.
    pub(super) fn close(&self) {
        // It may have ended before.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            #[cfg(feature = "tls")]
            Self::Tls(secured) => secured.stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

fn tcp(address: &str, within: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for at in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&at, within) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_write_timeout(Some(within))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Read for NodeConnection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            #[cfg(feature = "tls")]
            Self::Tls(secured) => secured.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for NodeConnection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            #[cfg(feature = "tls")]
            Self::Tls(secured) => secured.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
