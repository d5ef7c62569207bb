//! Addresses as they are typed: `127.0.0.1:8080`, `8080`, `unix:/run/tollgate.sock`.
//!
//! Errors say what to write.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// Port 0 is any free one.
    Tcp(SocketAddr),
    /// A Unix socket and its file mode, as in `0o600`.
    Unix {
        path: PathBuf,
        /// Permission bits of the file.
        mode: u32,
    },
}

impl ListenAddress {
    /// Whether only callers on this machine can reach it.
    pub fn is_near(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().is_loopback(),
            Self::Unix { .. } => true,
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix { path, .. } => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Says what to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError(String);

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for AddressError {}

impl FromStr for ListenAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some(rest) = text.strip_prefix("unix:") {
            return unix(rest);
        }
        if let Ok(port) = text.parse::<u16>() {
            return Ok(Self::Tcp((Ipv4Addr::LOCALHOST, port).into()));
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Self::Tcp(address));
        }
        let local = text.strip_prefix("localhost:").map(str::parse::<u16>);
        match local {
            Some(Ok(port)) => Ok(Self::Tcp((Ipv4Addr::LOCALHOST, port).into())),
            Some(Err(_)) | None => Err(AddressError(hint(text))),
        }
    }
}

/// A path, optionally followed by a mode.
fn unix(text: &str) -> Result<ListenAddress, AddressError> {
    let (path, mode) = match text.rsplit_once(",mode=") {
        Some((path, mode)) => (path, parse_mode(mode)?),
        None => (text, MODE_DEFAULT),
    };
    if path.is_empty() {
        let what = "a path is missing; write for example unix:/run/tollgate.sock";
        return Err(AddressError(what.into()));
    }
    Ok(ListenAddress::Unix {
        path: path.into(),
        mode,
    })
}

/// The mode of a socket in octal digits, as in `660`.
pub(crate) fn parse_mode(text: &str) -> Result<u32, AddressError> {
    let mode = u32::from_str_radix(text, 8).ok();
    mode.filter(|mode| *mode <= 0o777 && text.len() <= 4)
        .ok_or_else(|| {
            AddressError(format!(
                "`{text}` is no mode; write octal digits, as in 660"
            ))
        })
}

fn hint(text: &str) -> String {
    let shown: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    if let Some(port) = text
        .strip_prefix(':')
        .filter(|port| port.parse::<u16>().is_ok())
    {
        return format!(
            "`{shown}` says not where; write `127.0.0.1:{port}` for this machine only or `0.0.0.0:{port}` for everybody"
        );
    }
    if let Ok(ip) = text.parse::<IpAddr>() {
        let example = SocketAddr::new(ip, 8080);
        return format!("`{shown}` has no port; write for example `{example}`, or port 0 for any");
    }
    if text.starts_with('/') || text.starts_with('.') {
        return format!("`{shown}` looks like a path; write `unix:{shown}`");
    }
    format!(
        "`{shown}` is no address; write for example 127.0.0.1:8080, [::1]:8080 or unix:/run/tollgate.sock"
    )
}

/// Unix sockets are private by default.
pub(crate) const MODE_DEFAULT: u32 = 0o600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_type() {
        let cases = [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("0.0.0.0:0", "0.0.0.0:0"),
            ("[::1]:6380", "[::1]:6380"),
            ("8080", "127.0.0.1:8080"),
            ("localhost:8080", "127.0.0.1:8080"),
            ("unix:/run/t.sock", "unix:/run/t.sock"),
            ("unix:a/b,mode=660", "unix:a/b"),
        ];
        for (text, shown) in cases {
            assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), shown);
        }
        let mode = "unix:s,mode=0660".parse::<ListenAddress>().unwrap();
        assert_eq!(
            mode,
            ListenAddress::Unix {
                path: "s".into(),
                mode: 0o660
            }
        );
    }

    #[test]
    fn says_what_to_write() {
        let cases = [
            (":8080", "0.0.0.0:8080"),
            ("127.0.0.1", "`127.0.0.1:8080`"),
            ("::1", "`[::1]:8080`"),
            ("/run/x", "`unix:/run/x`"),
            ("unix:", "a path is missing"),
            ("unix:/x,mode=999", "octal"),
            ("unix:/x,mode=10600", "octal"),
            ("http://x:1", "127.0.0.1:8080"),
            ("localhost:99999", "127.0.0.1:8080"),
            ("", "127.0.0.1:8080"),
        ];
        for (text, said) in cases {
            let error = text.parse::<ListenAddress>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
