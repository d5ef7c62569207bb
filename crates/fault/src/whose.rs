//! Which process a connection on this machine comes from.
//!
//! A node connects from an ephemeral port, which does not identify it. The system's list of connections has the number
//! of the socket behind that port, and the process that holds it open is the node. Not here: anything off this machine.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;

/// The node whose process is connected from `peer` to `here`.
pub(crate) fn node_of(
    peer: SocketAddr,
    here: SocketAddr,
    pids: &BTreeMap<u16, u32>,
) -> Option<u16> {
    let table = if peer.is_ipv4() {
        "/proc/net/tcp"
    } else {
        "/proc/net/tcp6"
    };
    let table = fs::read_to_string(table).ok()?;
    let inode = inode(&table, peer.port(), here.port())?;
    let wanted = format!("socket:[{inode}]");
    let holds = |pid: u32| {
        let folder = fs::read_dir(format!("/proc/{pid}/fd")).ok();
        let mut links = folder.into_iter().flatten().flatten();
        links.any(|entry| fs::read_link(entry.path()).is_ok_and(|to| to.as_os_str() == &*wanted))
    };
    let found = pids.iter().find(|(_, pid)| holds(**pid));
    found.map(|(node, _)| *node)
}

/// The number of the socket that is connected from one port to the other, by the system's table. Other connections
/// may use the
/// first port too, to other destinations; those that are closing have no number.
fn inode(table: &str, from: u16, to: u16) -> Option<u64> {
    let port = |address: &str| u16::from_str_radix(address.rsplit_once(':')?.1, 16).ok();
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, remote) = (fields.next()?, fields.next()?);
        let is_it = port(local)? == from && port(remote)? == to;
        let inode = is_it.then(|| fields.nth(6)?.parse().ok()).flatten();
        inode.filter(|inode| *inode != 0)
    })
}

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
        let here = listener.local_addr().unwrap();
        assert_eq!(node_of(peer, here, &pids), Some(3));
        assert_eq!(node_of(peer, here, &BTreeMap::from([(3, 1)])), None);
    }

    #[test]
    fn a_port_that_others_use_too_is_told_by_where_it_goes() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1
   1: 0100007F:8000 0100007F:0051 01 00000000:00000000 00:00000000 00000000     0        0 12 1
   2: 0100007F:8000 0100007F:0050 06 00000000:00000000 03:00000000 00000000     0        0 0 3
   3: 0100007F:8000 0100007F:0050 01 00000000:00000000 00:00000000 00000000     0        0 13 1
";
        assert_eq!(inode(table, 0x8000, 0x50), Some(13));
        assert_eq!(inode(table, 0x8000, 0x51), Some(12));
        assert_eq!(inode(table, 0x50, 0x8000), None);
    }
}
