//! Where a node is: its sockets, datagrams and streams at one port number, and the address that others are told.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

use super::{ClusterError, seeds};
use crate::settings::ClusterSettings;

/// A node's sockets, and the address that others are told.
pub(super) struct NodeSockets {
    pub(super) datagrams: UdpSocket,
    pub(super) streams: TcpListener,
    /// Where they are.
    pub(super) at: SocketAddr,
    /// Where others are told they are.
    pub(super) advertise: SocketAddr,
}

impl NodeSockets {
    /// Opens the sockets.
    pub(super) fn take(settings: &ClusterSettings) -> Result<Self, ClusterError> {
        let failed = |error| ClusterError::Bind(settings.listen, error);
        let (datagrams, streams) = bind(settings.listen).map_err(failed)?;
        let at = datagrams.local_addr().map_err(failed)?;
        let advertise = told(at, settings).ok_or(ClusterError::NoAddress(at))?;
        Ok(Self {
            datagrams,
            streams,
            at,
            advertise,
        })
    }
}

/// Where others are told a node is that listens there. It may change with the machine's addresses where nothing is
/// said.
pub(super) fn told(at: SocketAddr, settings: &ClusterSettings) -> Option<SocketAddr> {
    let mut told = match settings.advertise {
        Some(told) => told,
        None if at.ip().is_unspecified() => SocketAddr::new(source(at, settings)?, 0),
        None => at,
    };
    if told.port() == 0 {
        told.set_port(at.port());
    }
    Some(told)
}

/// Both sockets at one port; where any will do, at one that is free for both.
fn bind(at: SocketAddr) -> io::Result<(UdpSocket, TcpListener)> {
    let mut tries = if at.port() == 0 { PORT_TRIES } else { 1 };
    loop {
        tries -= 1;
        let streams = listen(at)?;
        let with_port = SocketAddr::new(at.ip(), streams.local_addr()?.port());
        match datagrams(with_port) {
            Ok(datagrams) => return Ok((datagrams, streams)),
            Err(error) if tries == 0 => return Err(error),
            Err(_) => {}
        }
    }
}

fn listen(at: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP))?;
    // Connections of a server that just ended do not keep the next from starting.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

fn datagrams(at: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(at), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    // As much as the system allows; what it gives by itself overflows in a burst.
    let _ = socket.set_recv_buffer_size(BUFFER_BYTES);
    let _ = socket.set_send_buffer_size(BUFFER_BYTES);
    socket.bind(&at.into())?;
    Ok(socket.into())
}

/// The address this machine sends from: towards a node to join where one is an address, by its usual way where none is.
fn source(at: SocketAddr, settings: &ClusterSettings) -> Option<IpAddr> {
    let seeds = seeds::literal(&settings.join);
    let seed = seeds
        .into_iter()
        .find(|seed| seed.is_ipv4() == at.is_ipv4());
    // Nobody is there; connecting a socket of datagrams sends nothing.
    let nobody = match at.ip() {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
    };
    let towards = seed.unwrap_or(SocketAddr::new(nobody, 9));
    let socket = UdpSocket::bind(SocketAddr::new(at.ip(), 0)).ok()?;
    socket.connect(towards).ok()?;
    let from = socket.local_addr().ok()?.ip();
    (!from.is_unspecified()).then_some(from)
}

const BACKLOG: i32 = 256;
const BUFFER_BYTES: usize = 4 << 20;
const PORT_TRIES: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(listen: &str) -> ClusterSettings {
        ClusterSettings {
            listen: listen.parse().unwrap(),
            join: vec!["127.0.0.1:9".parse().unwrap()],
            ..ClusterSettings::default()
        }
    }

    #[test]
    fn both_sockets_have_one_port_and_others_are_told_it() {
        let place = NodeSockets::take(&settings("127.0.0.1:0")).unwrap();
        assert_eq!(place.at, place.streams.local_addr().unwrap());
        assert_eq!(place.at, place.advertise);
        let again = ClusterSettings {
            listen: place.at,
            ..ClusterSettings::default()
        };
        let error = NodeSockets::take(&again).err().unwrap();
        assert!(matches!(error, ClusterError::Bind(..)), "{error}");
    }

    #[test]
    fn nobody_is_told_an_address_that_means_anywhere() {
        let place = NodeSockets::take(&settings("0.0.0.0:0")).unwrap();
        assert_eq!(place.advertise.ip(), IpAddr::V4(Ipv4Addr::LOCALHOST));
        let told = ClusterSettings {
            advertise: Some("10.1.2.3:0".parse().unwrap()),
            ..settings("0.0.0.0:0")
        };
        let place = NodeSockets::take(&told).unwrap();
        assert_eq!(place.advertise.ip().to_string(), "10.1.2.3");
        assert_eq!(place.advertise.port(), place.at.port());
    }
}
