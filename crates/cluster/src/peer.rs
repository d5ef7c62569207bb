//! A node as membership knows it: identity, boot, address and description.
//!
//! Two values are the same if node, generation, boot and renewal are. Of two boots of one node the later one replaces
//! the
//! earlier. Not here: packets of the membership protocol.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use tollgate_gossip::{NodeId, Writer};
use tollgate_kit::{Reader, put_varint};

use crate::bytes::{cut, put_text, put_u48, text};
use crate::config::ClusterConfig;
use crate::frame::VERSION;
use crate::member::{About, Member, MemberState};
use crate::number;

#[derive(Clone, Debug)]
pub(crate) struct ClusterPeer {
    pub(crate) id: u128,
    /// Counts boots; also raised to exceed the claim of a rival.
    pub(crate) generation: u64,
    pub(crate) boot: u64,
    /// Counts changes of this boot: each time it was declared gone, changed numbers, or changed its address.
    pub(crate) bump: u32,
    /// Start of the boot, in milliseconds since the epoch.
    pub(crate) started: u64,
    pub(crate) address: SocketAddr,
    pub(crate) node: NodeId,
    pub(crate) writer: Writer,
    pub(crate) about: Arc<About>,
}

impl PartialEq for ClusterPeer {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for ClusterPeer {}

impl foca::Identity for ClusterPeer {
    type Addr = u128;

    fn renew(&self) -> Option<Self> {
        Some(self.bumped())
    }

    fn addr(&self) -> u128 {
        self.id
    }

    fn win_addr_conflict(&self, adversary: &Self) -> bool {
        self.order() > adversary.order()
    }
}

impl ClusterPeer {
    pub(crate) fn new(config: &ClusterConfig, started: u64) -> Self {
        Self {
            id: config.id,
            generation: config.generation,
            boot: config.boot,
            bump: 0,
            started: started & U48_MAX,
            address: config.advertise,
            node: number::node(config.id),
            writer: number::writer(config.id, config.generation),
            about: Arc::new(About {
                name: cut(&config.name, NAME_BYTES_MAX).to_owned(),
                zone: config
                    .zone
                    .as_deref()
                    .map(|zone| cut(zone, WORD_BYTES_MAX).to_owned()),
                capacity: config.capacity,
                version: cut(&config.version, WORD_BYTES_MAX).to_owned(),
                speaks: VERSION,
            }),
        }
    }

    /// The same boot with a higher renewal, which replaces this.
    #[must_use]
    pub(crate) fn bumped(&self) -> Self {
        let mut next = self.clone();
        match self.bump.checked_add(1) {
            Some(bump) => next.bump = bump,
            None => next.generation = self.generation.saturating_add(1),
        }
        next
    }

    /// Of two live processes with one identity the older one keeps it.
    pub(crate) fn is_older_than(&self, other: &Self) -> bool {
        (self.started, self.boot) < (other.started, other.boot)
    }

    pub(crate) fn member(&self, state: MemberState) -> Member {
        Member {
            id: self.id,
            boot: self.boot,
            started: self.started,
            node: self.node,
            writer: self.writer,
            address: self.address,
            about: Arc::clone(&self.about),
            state,
        }
    }

    const fn key(&self) -> (u128, u64, u64, u32) {
        (self.id, self.generation, self.boot, self.bump)
    }

    /// The greater replaces the smaller at every node.
    const fn order(&self) -> (u64, u64, u64, u32) {
        (self.generation, self.started, self.boot, self.bump)
    }

    pub(crate) fn put(&self, into: &mut Vec<u8>) {
        let mut block = Vec::with_capacity(128);
        self.put_short(&mut block);
        put_u48(&mut block, self.started);
        put_address(&mut block, self.address);
        block.extend(self.node.0.to_le_bytes());
        block.extend(self.writer.0.to_le_bytes());
        block.push(self.about.speaks);
        put_varint(&mut block, u64::from(self.about.capacity));
        put_text(&mut block, &self.about.name);
        put_text(&mut block, self.about.zone.as_deref().unwrap_or(""));
        put_text(&mut block, &self.about.version);
        put_varint(into, block.len() as u64);
        into.extend(block);
    }

    /// Reads [`Self::put`]. Bytes appended by later versions are skipped.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let mut block = Reader(reader.block()?);
        let mut peer = Self::read_short(&mut block)?;
        peer.started = block.low::<6>()?;
        peer.address = address(&mut block)?;
        peer.node = NodeId(block.u16()?);
        peer.writer = Writer(block.u16()?);
        let speaks = block.u8()?;
        let capacity = u32::try_from(block.number()?).ok()?;
        let name = text(&mut block, NAME_BYTES_MAX)?.to_owned();
        let zone = text(&mut block, WORD_BYTES_MAX)?;
        let zone = (!zone.is_empty()).then(|| zone.to_owned());
        let version = text(&mut block, WORD_BYTES_MAX)?.to_owned();
        peer.about = Arc::new(About {
            name,
            zone,
            capacity,
            version,
            speaks,
        });
        Some(peer)
    }

    /// Only the identifying fields.
    pub(crate) fn put_short(&self, into: &mut Vec<u8>) {
        into.extend(self.id.to_le_bytes());
        put_varint(into, self.generation);
        into.extend(self.boot.to_le_bytes());
        put_varint(into, u64::from(self.bump));
    }

    /// Reads [`Self::put_short`]; every other field is empty.
    pub(crate) fn read_short(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            id: reader.u128()?,
            generation: reader.number()?,
            boot: reader.u64()?,
            bump: u32::try_from(reader.number()?).ok()?,
            started: 0,
            address: NOWHERE,
            node: NodeId(0),
            writer: Writer(0),
            about: Arc::default(),
        })
    }
}

/// The address of a peer known only by its short form.
pub(crate) const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

pub(crate) fn put_address(into: &mut Vec<u8>, address: SocketAddr) {
    match address.ip() {
        IpAddr::V4(ip) => {
            into.push(4);
            into.extend(ip.octets());
        }
        IpAddr::V6(ip) => {
            into.push(6);
            into.extend(ip.octets());
        }
    }
    into.extend(address.port().to_le_bytes());
}

pub(crate) fn address(reader: &mut Reader<'_>) -> Option<SocketAddr> {
    let ip = match reader.u8()? {
        4 => IpAddr::V4(Ipv4Addr::from(reader.array::<4>()?)),
        6 => IpAddr::V6(Ipv6Addr::from(reader.array::<16>()?)),
        _ => return None,
    };
    Some(SocketAddr::new(ip, reader.u16()?))
}

pub(crate) const NAME_BYTES_MAX: usize = 64;
const WORD_BYTES_MAX: usize = 32;
const U48_MAX: u64 = (1 << 48) - 1;

#[cfg(test)]
pub(crate) mod tests {
    use foca::Identity;
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn peer(id: u128, generation: u64) -> ClusterPeer {
        ClusterPeer {
            id,
            generation,
            boot: 77,
            bump: 0,
            started: 1000,
            address: "[2001:db8::1]:7000".parse().unwrap(),
            node: NodeId(3),
            writer: Writer(4),
            about: Arc::new(About {
                name: String::from("east-1"),
                zone: Some(String::from("east")),
                capacity: 100,
                version: String::from("0.1.0"),
                speaks: 1,
            }),
        }
    }

    #[test]
    fn a_peer_comes_back_whole() {
        let peer = peer(u128::MAX / 3, 300);
        let mut bytes = Vec::new();
        peer.put(&mut bytes);
        let back = ClusterPeer::read(&mut Reader(&bytes)).unwrap();
        assert_eq!(format!("{peer:?}"), format!("{back:?}"));
        for length in 0..bytes.len() {
            assert!(ClusterPeer::read(&mut Reader(&bytes[..length])).is_none());
        }
    }

    #[test]
    fn what_later_versions_add_is_skipped() {
        let mut bytes = Vec::new();
        peer(1, 1).put(&mut bytes);
        bytes[0] += 3;
        bytes.extend([9, 9, 9]);
        assert_eq!(ClusterPeer::read(&mut Reader(&bytes)), Some(peer(1, 1)));
    }

    #[test]
    fn a_renewal_replaces_what_it_renews_and_a_later_boot_both() {
        let first = peer(1, 1);
        let renewed = first.renew().unwrap();
        assert!(renewed.win_addr_conflict(&first));
        assert!(!first.win_addr_conflict(&renewed));
        assert!(peer(1, 2).win_addr_conflict(&renewed));
        let mut last = first.clone();
        last.bump = u32::MAX;
        assert!(last.renew().unwrap().win_addr_conflict(&last));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_peer_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = ClusterPeer::read(&mut Reader(&bytes));
        }

        #[test]
        fn a_changed_peer_is_a_peer_or_none(at in 0..200_usize, byte in any::<u8>()) {
            let mut bytes = Vec::new();
            peer(9, 9).put(&mut bytes);
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = ClusterPeer::read(&mut Reader(&bytes));
        }
    }
}
