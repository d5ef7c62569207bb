//! Nodes as clients: whom a hint for one is sent to.
//!
//! Not here: how it gets there.

use tollgate_mode::NodeId;

/// The name under which a node leases keys: its number, and what was drawn for this start. Clients elsewhere draw 64
/// bits; one in 65,536 of them looks like a node, and is then not reached by hints, which may be lost.
pub const fn node_client(node: NodeId, drawn: u64) -> u64 {
    MARK | (drawn & DRAWN) << 16 | node.0 as u64
}

/// The node that leases under a name.
pub fn client_node(client: u64) -> Option<NodeId> {
    let number = u16::try_from(client & 0xFFFF).ok()?;
    (client & MARK == MARK).then_some(NodeId(number))
}

const MARK: u64 = 0xFFFF << 48;
const DRAWN: u64 = 0xFFFF_FFFF;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_back_to_its_node() {
        let name = node_client(NodeId(7), u64::MAX);
        assert_eq!(client_node(name), Some(NodeId(7)));
        assert_ne!(name, node_client(NodeId(7), 1));
        assert_eq!(client_node(7), None);
    }
}
