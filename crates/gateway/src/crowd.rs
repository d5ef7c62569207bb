//! How many clients come from one address. Addresses of IPv6 count by their network of 64 bits.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;

/// Has at most as many addresses as there are clients.
#[derive(Debug)]
pub(crate) struct ConnectedAddresses {
    most: usize,
    open: Mutex<BTreeMap<IpAddr, usize>>,
}

/// A client's slot, released on drop.
pub(crate) struct ClientSlot {
    crowd: Arc<ConnectedAddresses>,
    network: IpAddr,
}

impl ConnectedAddresses {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        let open = Mutex::default();
        Arc::new(Self { most, open })
    }

    /// `None` if the address has the most clients allowed.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> Option<ClientSlot> {
        let network = network(address);
        let mut all = self.open.lock();
        let open = all.entry(network).or_default();
        if *open >= self.most {
            return None;
        }
        *open += 1;
        Some(ClientSlot {
            crowd: Arc::clone(self),
            network,
        })
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        let mut all = self.crowd.open.lock();
        if let Some(open) = all.get_mut(&self.network) {
            *open -= 1;
            if *open == 0 {
                all.remove(&self.network);
            }
        }
    }
}

fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        IpAddr::V4(address) => address.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_places_and_gets_them_back() {
        let crowd = ConnectedAddresses::new(2);
        let enter = |text: &str| crowd.enter(text.parse().unwrap());
        let (one, two) = (enter("10.0.0.1"), enter("::ffff:10.0.0.1"));
        assert!(one.is_some() && two.is_some() && enter("10.0.0.1").is_none());
        let (three, four) = (enter("2001:db8::1"), enter("2001:db8::2:1"));
        assert!(three.is_some() && four.is_some() && enter("2001:db8::3").is_none());
        assert!(enter("2001:db8:0:1::1").is_some() && enter("10.0.0.2").is_some());
        drop(one);
        assert!(enter("10.0.0.1").is_some());
        drop((two, three, four));
        assert!(crowd.open.lock().is_empty());
    }
}
