//! Networks: addresses that share their first bits.
//!
//! Not here: which of them are trusted with what (`address`).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A network such as `10.0.0.0/8` or `2001:db8::/32`; a lone address is a network of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// The network of the first `prefix` bits of `address`; `None` if the address has fewer.
    pub fn new(address: IpAddr, prefix: u8) -> Option<Self> {
        (prefix <= bits(address)).then(|| Self {
            address: masked(address, prefix),
            prefix,
        })
    }

    /// An IPv4 address is the same in its IPv6 form.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4() && masked(address, self.prefix) == self.address
    }
}

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self {
            address,
            prefix: bits(address),
        }
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let refuse = || NetworkError(text.to_owned());
        let Some((address, prefix)) = text.split_once('/') else {
            let address: IpAddr = text.parse().map_err(|_| refuse())?;
            return Ok(Self::from(address));
        };
        let address = address.parse().map_err(|_| refuse())?;
        let prefix = prefix.parse().map_err(|_| refuse())?;
        Self::new(address, prefix).ok_or_else(refuse)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkError(pub String);

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no network; write an address and its bits, as in 10.0.0.0/8",
            self.0
        )
    }
}

impl std::error::Error for NetworkError {}

/// Clears all but the first `prefix` bits.
pub(crate) fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    let drop = u32::from(bits(address).saturating_sub(prefix));
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(drop).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(drop).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

const fn bits(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn network(text: &str) -> Network {
        text.parse().unwrap()
    }

    #[track_caller]
    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_network_holds_the_addresses_that_share_its_bits() {
        assert!(network("10.0.0.0/8").contains(address("10.255.1.2")));
        assert!(!network("10.0.0.0/8").contains(address("11.0.0.0")));
        assert!(network("2001:db8::/32").contains(address("2001:db8:ffff::1")));
        assert!(!network("2001:db8::/32").contains(address("2001:db9::1")));
        assert!(network("0.0.0.0/0").contains(address("203.0.113.9")));
        assert!(!network("0.0.0.0/0").contains(address("2001:db8::1")));
        assert!(network("192.0.2.7").contains(address("192.0.2.7")));
        assert!(!network("192.0.2.7").contains(address("192.0.2.8")));
    }

    #[test]
    fn an_ipv4_address_in_its_ipv6_form_is_the_same_address() {
        assert!(network("10.0.0.0/8").contains(address("::ffff:10.1.2.3")));
        assert!(network("::ffff:10.1.2.3").contains(address("10.1.2.3")));
    }

    #[test]
    fn bits_beyond_the_prefix_do_not_matter() {
        assert_eq!(network("10.9.8.7/8"), network("10.0.0.0/8"));
        assert_eq!(network("10.9.8.7/8").to_string(), "10.0.0.0/8");
    }

    #[test]
    fn what_is_no_network_is_refused_by_name() {
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0.0/-1",
            "2001:db8::/129",
            "ten/8",
            "10.0.0.0/8/8",
        ] {
            assert_eq!(text.parse::<Network>(), Err(NetworkError(text.to_owned())));
        }
    }
}
