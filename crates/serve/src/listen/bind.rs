//! Binding: one socket for each thread, all at the same address.
//!
//! The kernel distributes connections among sockets that share a port. It would also give half of them to another
//! process of the same user, so the port is first tried without sharing.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket as RawSocket, TcpKeepalive, Type};

use super::{Certificates, Speech, unix};
use crate::settings::{ListenAddress, Listener};

pub(crate) struct BoundListener {
    pub(crate) speech: Speech,
    /// With the port that was chosen.
    pub(crate) at: ListenAddress,
    /// Accepted names besides those of this machine; set if only this machine reaches it and no certificate names it.
    pub(crate) names: Option<Vec<String>>,
    pub(crate) certificates: Option<Arc<Certificates>>,
    pub(crate) sockets: Vec<Socket>,
}

#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener),
}

/// Why listening at an address failed.
#[derive(Debug)]
pub struct BindError {
    pub at: ListenAddress,
    pub error: io::Error,
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, error } = self;
        match error.kind() {
            io::ErrorKind::AddrInUse => write!(f, "{at} is in use by another process"),
            io::ErrorKind::PermissionDenied => write!(f, "may not listen at {at}: {error}"),
            io::ErrorKind::AddrNotAvailable => write!(f, "{at} is no address of this machine"),
            _ => write!(f, "cannot listen at {at}: {error}"),
        }
    }
}

impl std::error::Error for BindError {}

/// Opens a listener with a socket for each of `threads`.
pub(crate) fn bind(
    listener: &Listener,
    speech: Speech,
    certificates: Option<Arc<Certificates>>,
    threads: usize,
) -> Result<BoundListener, BindError> {
    let opened = match &listener.at {
        ListenAddress::Tcp(address) => tcp(*address, threads),
        ListenAddress::Unix { path, mode } => {
            let first = unix::listen(path, *mode, BACKLOG);
            first
                .and_then(|first| shared_by(&first, threads))
                .map(|s| (listener.at.clone(), s))
        }
    };
    let (at, sockets) = opened.map_err(|error| BindError {
        at: listener.at.clone(),
        error,
    })?;
    let is_near = matches!(at, ListenAddress::Tcp(_)) && at.is_near() && certificates.is_none();
    Ok(BoundListener {
        speech,
        at,
        names: is_near.then(|| listener.hosts.clone()),
        certificates,
        sockets,
    })
}

/// Sockets at one port; the first to be bound chooses the number.
fn tcp(address: SocketAddr, threads: usize) -> io::Result<(ListenAddress, Vec<Socket>)> {
    let alone = unshared(address)?;
    let address = local(&alone)?;
    let bound: io::Result<Vec<_>> = (0..threads).map(|_| sharing(address)).collect();
    drop(alone);
    let sockets = bound?.into_iter().map(|socket| {
        socket.listen(BACKLOG)?;
        Ok(Socket::Tcp(socket.into()))
    });
    Ok((
        ListenAddress::Tcp(address),
        sockets.collect::<io::Result<_>>()?,
    ))
}

/// Fails if any process listens there, including this one.
fn unshared(address: SocketAddr) -> io::Result<RawSocket> {
    let socket = RawSocket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    only_one_family(&socket, address)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// One of the sockets that share an address.
fn sharing(address: SocketAddr) -> io::Result<RawSocket> {
    let socket = RawSocket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    // Connections of the previous process may still linger at the port.
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    only_one_family(&socket, address)?;
    // Inherited by accepted sockets. Detects peers that vanished silently.
    let alive = TcpKeepalive::new()
        .with_time(ALIVE_AFTER)
        .with_interval(ALIVE_EVERY)
        .with_retries(ALIVE_TRIES);
    socket.set_tcp_keepalive(&alive)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// `[::]` is IPv6 only on some systems and both on others; here it is both everywhere.
fn only_one_family(socket: &RawSocket, address: SocketAddr) -> io::Result<()> {
    match address {
        SocketAddr::V6(address) if address.ip().is_unspecified() => socket.set_only_v6(false),
        SocketAddr::V4(_) | SocketAddr::V6(_) => Ok(()),
    }
}

fn local(socket: &RawSocket) -> io::Result<SocketAddr> {
    let address = socket.local_addr()?.as_socket();
    address.ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

fn shared_by(first: &std::os::unix::net::UnixListener, threads: usize) -> io::Result<Vec<Socket>> {
    (0..threads)
        .map(|_| first.try_clone().map(Socket::Unix))
        .collect()
}

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;
/// Keep-alive: a peer that is silent this long is probed at this interval before it counts as gone.
const ALIVE_AFTER: Duration = Duration::from_mins(1);
const ALIVE_EVERY: Duration = Duration::from_secs(15);
const ALIVE_TRIES: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_socket_chooses_the_port_and_the_others_share_it() {
        let bound = bind(&Listener::loopback(), Speech::Http, None, 3).unwrap();
        let ListenAddress::Tcp(address) = bound.at else {
            panic!("{}", bound.at);
        };
        assert_ne!(address.port(), 0);
        assert_eq!(bound.sockets.len(), 3);
        for socket in &bound.sockets {
            let Socket::Tcp(socket) = socket else {
                panic!("{socket:?}");
            };
            assert_eq!(socket.local_addr().unwrap(), address);
        }
    }

    #[test]
    fn a_port_that_is_shared_already_counts_as_taken() {
        let first = bind(&Listener::loopback(), Speech::Http, None, 2).unwrap();
        let again = Listener::plain(first.at.clone());
        let error = bind(&again, Speech::Resp, None, 2).map(|_| ()).unwrap_err();
        assert_eq!(error.error.kind(), io::ErrorKind::AddrInUse);
        assert!(error.to_string().contains(&first.at.to_string()));
    }
}
