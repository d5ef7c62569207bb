//! Ports that stay free until a process opens them, and again when it is restarted.
//!
//! A port that the system picks may be given to another process as soon as it is released. Those taken here are outside
//! the range it picks from, and claimed, so that clusters that start at the same time take different ones.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::ops::Range;

/// A port of loopback, claimed while this lives.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) number: u16,
    _claim: Claim,
}

/// Claims ports that are free for UDP and TCP.
pub(super) fn claim(count: usize) -> io::Result<Vec<Port>> {
    let from = u64::from(std::process::id()).wrapping_mul(SPREAD);
    let width = u64::from(RANGE.end - RANGE.start);
    let first = u16::try_from(from % width).unwrap_or(0);
    let numbers = (RANGE.start + first..RANGE.end).chain(RANGE.start..RANGE.start + first);
    let ports: Vec<Port> = numbers.filter_map(take).take(count).collect();
    if ports.len() < count {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, "no port is free"));
    }
    Ok(ports)
}

fn take(number: u16) -> Option<Port> {
    let claim = Claim::new(number).ok()?;
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, number));
    TcpListener::bind(at).ok()?;
    UdpSocket::bind(at).ok()?;
    Some(Port {
        number,
        _claim: claim,
    })
}

/// A system-wide unique name, freed with its process.
#[derive(Debug)]
#[cfg(target_os = "linux")]
struct Claim(#[allow(dead_code, reason = "held, not used")] std::os::unix::net::UnixListener);

#[cfg(target_os = "linux")]
impl Claim {
    fn new(port: u16) -> io::Result<Self> {
        use std::os::linux::net::SocketAddrExt;
        let name = format!("tollgate-port-{port}");
        let name = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
        std::os::unix::net::UnixListener::bind_addr(&name).map(Self)
    }
}

/// This platform has no claims.
#[derive(Debug)]
#[cfg(not(target_os = "linux"))]
struct Claim;

#[cfg(not(target_os = "linux"))]
impl Claim {
    fn new(_: u16) -> io::Result<Self> {
        Ok(Self)
    }
}

/// Below those that systems pick from.
const RANGE: Range<u16> = 12_000..30_000;
/// Neighbouring processes begin far from each other.
const SPREAD: u64 = 7_919;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_claimed_is_not_claimed_twice() {
        let held = claim(20).unwrap();
        let more = claim(20).unwrap();
        let mut numbers: Vec<u16> = held.iter().chain(&more).map(|port| port.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 40);
    }
}
