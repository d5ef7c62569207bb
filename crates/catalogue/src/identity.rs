//! The subject of an assignment: one entry with its value, or a range of addresses.
//!
//! Not here: looking them up.

use core::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// One entry and its value, as `user=42`, or a range of addresses, as `ip=10.0.0.0/8`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    entry: String,
    value: String,
}

impl Identity {
    /// Reads `entry=value`. Addresses are put into their shortest form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some((entry, value)) = text.split_once('=') else {
            return Err("an identity is an entry and its value, as `user=42`".into());
        };
        if entry.is_empty() || value.is_empty() {
            return Err("an identity needs an entry before `=` and a value behind it".into());
        }
        Ok(Self {
            entry: entry.to_owned(),
            value: canonical(value)?,
        })
    }

    pub fn entry(&self) -> &str {
        &self.entry
    }

    pub fn value(&self) -> &str {
        &self.value
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.entry, self.value)
    }
}

/// The identities that match an entry of a key, most specific first: itself, then the ranges around an address.
pub fn candidates(entry: &str, value: &str) -> Vec<String> {
    // No identity can be written for such an entry, and its text would read as another's.
    if entry.contains('=') {
        return Vec::new();
    }
    let mut found = vec![format!("{entry}={value}")];
    let Ok(address) = value.parse::<IpAddr>() else {
        return found;
    };
    let address = address.to_canonical();
    let shortest = format!("{entry}={address}");
    if shortest != found[0] {
        found.push(shortest);
    }
    let ranges = (0..=bits(address)).rev();
    found.extend(ranges.map(|length| format!("{entry}={}/{length}", start(address, length))));
    found
}

/// The first address and the length of a stored range; `None` for other values.
pub fn range(value: &str) -> Option<(IpAddr, u32)> {
    let (first, length) = value.split_once('/')?;
    Some((first.parse().ok()?, length.parse().ok()?))
}

/// The first address of the range of that length around an address; `None` if there is no such range.
pub fn first_of(address: IpAddr, length: u32) -> Option<IpAddr> {
    (length <= bits(address)).then(|| start(address, length))
}

/// The canonical value; the error says what to write instead of an invalid range.
fn canonical(value: &str) -> Result<String, String> {
    if let Ok(address) = value.parse::<IpAddr>() {
        return Ok(address.to_canonical().to_string());
    }
    let Some((address, length)) = value.split_once('/') else {
        return Ok(value.to_owned());
    };
    // `/tiles/7` and `a/b` are ordinary values.
    let Ok(address) = address.parse::<IpAddr>() else {
        return Ok(value.to_owned());
    };
    let most = bits(address);
    let length = length.parse::<u32>().ok().filter(|length| *length <= most);
    let Some(length) = length else {
        return Err(format!(
            "a range of addresses ends with `/0` to `/{most}`, as `{}/{most}`",
            start(address, most)
        ));
    };
    let first = start(address, length);
    if first == address {
        Ok(format!("{first}/{length}"))
    } else {
        Err(format!(
            "this range begins at another address; write `{first}/{length}`"
        ))
    }
}

const fn bits(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

/// The first address of the range of that length.
fn start(address: IpAddr, length: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(text: &str, as_text: &str) {
        assert_eq!(
            Identity::parse(text).map(|is| is.to_string()),
            Ok(as_text.into())
        );
    }

    #[test]
    fn reads_entries_addresses_and_ranges() {
        reads("user=42", "user=42");
        reads("q=a=b", "q=a=b");
        reads("route=/tiles/7", "route=/tiles/7");
        reads("ip=2001:DB8::1", "ip=2001:db8::1");
        reads("ip=::ffff:10.0.0.1", "ip=10.0.0.1");
        reads("ip=10.0.0.0/8", "ip=10.0.0.0/8");
        reads("ip=0.0.0.0/0", "ip=0.0.0.0/0");
        reads("ip=2001:DB8::/32", "ip=2001:db8::/32");
    }

    #[test]
    fn says_what_to_write_instead() {
        let why = |text| Identity::parse(text).unwrap_err();
        assert!(why("42").contains("`user=42`"));
        assert!(why("=42").contains("before `=`"));
        assert!(why("ip=10.1.2.3/8").contains("`10.0.0.0/8`"));
        assert!(why("ip=10.0.0.0/33").contains("`/32`"));
        assert!(why("ip=::/x").contains("`/128`"));
    }

    #[test]
    fn an_address_is_known_by_its_ranges_the_longest_first() {
        let found = candidates("ip", "10.1.2.3");
        assert_eq!(found.len(), 34);
        assert_eq!(&found[..2], ["ip=10.1.2.3", "ip=10.1.2.3/32"]);
        assert_eq!(found[33], "ip=0.0.0.0/0");
        assert!(found.contains(&"ip=10.0.0.0/8".to_owned()));
        assert_eq!(candidates("ip", "::FFFF:10.1.2.3")[1..], found);
        assert_eq!(candidates("ip", "2001:db8::1").len(), 130);
        assert_eq!(candidates("user", "42"), ["user=42"]);
        assert!(candidates("a=b", "42").is_empty());
    }
}
