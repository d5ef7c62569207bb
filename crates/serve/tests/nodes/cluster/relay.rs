//! A relay between a node and all others that records every byte.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Recorded: datagrams one by one, and pieces of streams.
#[derive(Default)]
pub(crate) struct RelayedBytes {
    pub(crate) datagrams: Vec<Vec<u8>>,
    pub(crate) pieces: Vec<Vec<u8>>,
}

/// Forwards and records; ends when dropped.
pub(crate) struct Relay {
    pub(crate) at: SocketAddr,
    pub(crate) heard: Arc<Mutex<RelayedBytes>>,
    is_over: Arc<AtomicBool>,
}

impl Relay {
    /// A relay whose node is not known yet.
    pub(crate) fn open() -> (Self, Sockets) {
        let streams = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = streams.local_addr().unwrap();
        let datagrams = UdpSocket::bind(at).unwrap();
        let relay = Self {
            at,
            heard: Arc::default(),
            is_over: Arc::default(),
        };
        (relay, Sockets { datagrams, streams })
    }

    /// Forwards to a node.
    pub(crate) fn run(&self, sockets: Sockets, to: SocketAddr) {
        let Sockets { datagrams, streams } = sockets;
        datagrams
            .set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        let (heard, is_over) = (Arc::clone(&self.heard), Arc::clone(&self.is_over));
        thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            while !is_over.load(Relaxed) {
                if let Ok((length, _)) = datagrams.recv_from(&mut buffer) {
                    let bytes = buffer[..length].to_vec();
                    let _ = datagrams.send_to(&bytes, to);
                    heard.lock().unwrap().datagrams.push(bytes);
                }
            }
        });
        streams.set_nonblocking(true).unwrap();
        let (heard, is_over) = (Arc::clone(&self.heard), Arc::clone(&self.is_over));
        thread::spawn(move || {
            while !is_over.load(Relaxed) {
                match streams.accept() {
                    Ok((client, _)) => carry(client, to, &heard),
                    Err(_) => thread::sleep(Duration::from_millis(5)),
                }
            }
        });
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
    }
}

pub(crate) struct Sockets {
    datagrams: UdpSocket,
    streams: TcpListener,
}

fn carry(client: TcpStream, to: SocketAddr, heard: &Arc<Mutex<RelayedBytes>>) {
    client.set_nonblocking(false).unwrap();
    let Ok(server) = TcpStream::connect(to) else {
        return;
    };
    let pairs = [
        (client.try_clone().unwrap(), server.try_clone().unwrap()),
        (server, client),
    ];
    for (mut from, mut to) in pairs {
        let heard = Arc::clone(heard);
        thread::spawn(move || {
            let mut buffer = [0; 16_384];
            while let Ok(length @ 1..) = from.read(&mut buffer) {
                heard.lock().unwrap().pieces.push(buffer[..length].to_vec());
                if to.write_all(&buffer[..length]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
        });
    }
}
