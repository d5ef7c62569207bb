//! Where a server is, and how to reach it.
//!
//! Not here: names of schemes other than those a listener can have, and TLS.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerAddress {
    /// Host name or IP address, and port.
    Tcp(String),
    /// A Unix socket.
    Unix(PathBuf),
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// TLS is not supported here.
    Tls,
    NoPort(String),
    /// The scheme is not known.
    Scheme(String),
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tls => f.write_str(
                "TLS is not spoken here; give a plain address, or a Unix socket as unix:/path",
            ),
            Self::NoPort(text) => write!(f, "`{text}` has no port; write host:port, or unix:/path"),
            Self::Scheme(scheme) => write!(
                f,
                "the scheme `{scheme}` is not known; write host:port, http://host:port or unix:/path"
            ),
        }
    }
}

impl std::error::Error for AddressError {}

impl FromStr for ServerAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        let (place, port) = match text.split_once("://") {
            None => (text, None),
            Some(("http" | "grpc", rest)) => (rest, Some(80)),
            Some(("redis", rest)) => (rest, Some(6379)),
            Some(("https" | "rediss" | "grpcs", _)) => return Err(AddressError::Tls),
            Some((scheme, _)) => return Err(AddressError::Scheme(scheme.to_owned())),
        };
        let place = place.split('/').next().unwrap_or_default();
        let has_port = place
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        match (has_port, port) {
            (true, _) => Ok(Self::Tcp(place.to_owned())),
            (false, Some(port)) if !place.is_empty() => Ok(Self::Tcp(format!("{place}:{port}"))),
            _ => Err(AddressError::NoPort(text.to_owned())),
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(place) => f.write_str(place),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

pub(crate) enum Dialled {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl ServerAddress {
    /// The server's name for a `Host` field.
    pub fn host(&self) -> &str {
        match self {
            Self::Tcp(place) => place,
            Self::Unix(_) => "localhost",
        }
    }

    /// Resolves the address once, so that dialling again queries no name server.
    pub(crate) fn resolve(&self) -> io::Result<Resolved> {
        match self {
            Self::Unix(path) => Ok(Resolved::Unix(path.clone())),
            Self::Tcp(place) => {
                let found = place.to_socket_addrs()?.next();
                let none = || io::Error::new(io::ErrorKind::NotFound, "the name has no address");
                found.map(Resolved::Tcp).ok_or_else(none)
            }
        }
    }
}

/// A resolved address.
#[derive(Clone, Debug)]
pub(crate) enum Resolved {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Resolved {
    /// `patience` is the timeout.
    pub(crate) fn dial(&self, patience: Duration) -> io::Result<Dialled> {
        match self {
            Self::Unix(path) => UnixStream::connect(path).map(Dialled::Unix),
            Self::Tcp(place) => {
                let stream = TcpStream::connect_timeout(place, patience)?;
                // A pipeline is sent in one write; nothing is gained by waiting for more.
                stream.set_nodelay(true)?;
                Ok(Dialled::Tcp(stream))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_in_the_usual_spellings() {
        let tcp = |text: &str| Ok(ServerAddress::Tcp(text.to_owned()));
        assert_eq!("127.0.0.1:7000".parse(), tcp("127.0.0.1:7000"));
        assert_eq!("http://localhost:80/x".parse(), tcp("localhost:80"));
        assert_eq!("http://localhost".parse(), tcp("localhost:80"));
        assert_eq!("redis://[::1]:6379".parse(), tcp("[::1]:6379"));
        let unix: Result<ServerAddress, _> = "unix:///run/x.sock".parse();
        assert_eq!(unix, Ok(ServerAddress::Unix(PathBuf::from("/run/x.sock"))));
    }

    #[test]
    fn what_is_not_spoken_is_refused_by_name() {
        let refusal = |text: &str| text.parse::<ServerAddress>().unwrap_err();
        assert_eq!(refusal("https://x"), AddressError::Tls);
        assert_eq!(refusal("ftp://x"), AddressError::Scheme("ftp".to_owned()));
        assert_eq!(
            refusal("localhost"),
            AddressError::NoPort("localhost".to_owned())
        );
    }
}
