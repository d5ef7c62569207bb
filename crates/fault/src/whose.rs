//! Which process a connection on this machine comes from.
//!
//! A node connects from a port the system chose, which says nothing. The system's list of connections has the number
//! of the socket behind that port, and the process that holds it open is the node. Not here: anything off this machine.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;

/// The node whose process has `port` open.
pub(crate) fn node_of(peer: SocketAddr, pids: &BTreeMap<u16, u32>) -> Option<u16> {
    let table = if peer.is_ipv4() {
        "/proc/net/tcp"
    } else {
        "/proc/net/tcp6"
    };
    let inode = inode(&fs::read_to_string(table).ok()?, peer.port())?;
    let wanted = format!("socket:[{inode}]");
    let holds = |pid: u32| {
        let folder = fs::read_dir(format!("/proc/{pid}/fd")).ok();
        let mut links = folder.into_iter().flatten().flatten();
        links.any(|entry| fs::read_link(entry.path()).is_ok_and(|to| to.as_os_str() == &*wanted))
    };
    let found = pids.iter().find(|(_, pid)| holds(**pid));
    found.map(|(node, _)| *node)
}

/// The number of the socket at a local port that is connected, by the system's table.
fn inode(table: &str, port: u16) -> Option<u64> {
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let local = fields.nth(1)?;
        let state = fields.nth(1)?;
        let (_, local_port) = local.rsplit_once(':')?;
        let is_it = u16::from_str_radix(local_port, 16).ok()? == port && state != LISTENS;
        is_it.then(|| fields.nth(5)?.parse().ok()).flatten()
    })
}

const LISTENS: &str = "0A";

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_is_traced_to_its_process() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_server, peer) = listener.accept().unwrap();
        let pids = BTreeMap::from([(3, std::process::id())]);
        assert_eq!(node_of(peer, &pids), Some(3));
        assert_eq!(node_of(peer, &BTreeMap::from([(3, 1)])), None);
    }
}
