//! The address of the client behind trusted proxies.
//!
//! Every proxy appends the address of its caller, so a forwarding header is read from its right end and only as far as
//! its writers are trusted; the part further left was written by untrusted callers, and is never read. Not here: the
//! address of the peer itself, which only the server knows (see `by_address`).

use std::net::{IpAddr, SocketAddr};

use http::header::HeaderMap;

use crate::network::{Network, masked};

/// How to find a client's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientAddress {
    /// Who is trusted to write the header.
    pub trust: Trust,
    /// The header they write.
    pub header: ForwardingHeader,
    /// How many first bits of an IPv6 address make a client; more than 128 count as 128.
    pub ipv6_prefix: u8,
}

impl Default for ClientAddress {
    /// No proxy is trusted, and a /64 of IPv6 is one client, as one customer gets at least that.
    fn default() -> Self {
        let header = ForwardingHeader::XForwardedFor;
        Self {
            trust: Trust::Nobody,
            header,
            ipv6_prefix: 64,
        }
    }
}

/// Proxies whose header is believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// None: the client is the peer, regardless of headers.
    Nobody,
    /// This many proxies in a row, the nearest of which is the peer. Only for servers that cannot be reached past these
    /// proxies: a caller that skips one of them writes an entry that is trusted.
    Hops(usize),
    /// Proxies in these networks. Safe also for servers that others can reach.
    Networks(Vec<Network>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardingHeader {
    /// A list of addresses.
    XForwardedFor,
    /// `Forwarded` of RFC 7239, whose `for` is taken.
    Forwarded,
}

impl ClientAddress {
    /// The client of a request that came from `peer` with these headers.
    ///
    /// An entry that is missing or no address ends the search at the nearest good one, the peer at the latest.
    ///
    /// ```
    /// use http::{HeaderMap, HeaderValue};
    /// use tollgate_http::{ClientAddress, Trust};
    ///
    /// let behind_one_proxy = ClientAddress { trust: Trust::Hops(1), ..ClientAddress::default() };
    /// let mut headers = HeaderMap::new();
    /// headers.insert("x-forwarded-for", HeaderValue::from_static("1.1.1.1, 203.0.113.9"));
    ///
    /// // The client said it was 1.1.1.1; the proxy saw 203.0.113.9.
    /// let client = behind_one_proxy.of([10, 0, 0, 1].into(), &headers);
    /// assert_eq!(client.to_string(), "203.0.113.9");
    /// ```
    pub fn of(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let lines = headers.get_all(self.header.name()).into_iter();
        self.of_lines(peer, lines.map(http::HeaderValue::as_bytes))
    }

    /// The client of a request that came from `peer`, by the lines of the [header](ForwardingHeader::name) in order.
    pub fn of_lines<'h>(
        &self,
        peer: IpAddr,
        lines: impl DoubleEndedIterator<Item = &'h [u8]>,
    ) -> IpAddr {
        let mut client = peer.to_canonical();
        let mut entries = self.header.entries_from_the_right(lines);
        for hop in 0..HOPS_MAX {
            if !self.trust.covers(hop, client) {
                break;
            }
            let Some(Some(address)) = entries.next() else {
                break;
            };
            client = address;
        }
        self.grouped(client)
    }

    /// The address that stands for all addresses of its client.
    fn grouped(&self, client: IpAddr) -> IpAddr {
        match client {
            IpAddr::V4(_) => client,
            IpAddr::V6(_) => masked(client, self.ipv6_prefix),
        }
    }
}

impl Trust {
    /// Whether the proxy at `address` is trusted, which is `hop` hops from the peer.
    fn covers(&self, hop: usize, address: IpAddr) -> bool {
        match self {
            Self::Nobody => false,
            Self::Hops(hops) => hop < *hops,
            Self::Networks(networks) => networks.iter().any(|network| network.contains(address)),
        }
    }
}

impl ForwardingHeader {
    /// In lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::XForwardedFor => "x-forwarded-for",
            Self::Forwarded => "forwarded",
        }
    }

    /// The addresses from the nearest to the farthest, all header lines together; `None` for what is no address.
    ///
    /// Each depends only on what is to its right, so proxies further left cannot change it.
    fn entries_from_the_right<'h>(
        self,
        lines: impl DoubleEndedIterator<Item = &'h [u8]>,
    ) -> impl Iterator<Item = Option<IpAddr>> {
        let (split, parse): (Split, Parse) = match self {
            Self::XForwardedFor => (rsplit_at_comma, address_of),
            Self::Forwarded => (rsplit_at_unquoted_comma, forwarded_for),
        };
        let elements = lines.rev().flat_map(move |line| {
            let mut rest = Some(line);
            std::iter::from_fn(move || {
                let (before, element) = split(rest?);
                rest = before;
                Some(element)
            })
        });
        elements.map(move |element| parse(std::str::from_utf8(element).ok()?.trim()))
    }
}

/// Takes the last element off a list: what is before it, if there is a comma, and the element.
type Split = fn(&[u8]) -> (Option<&[u8]>, &[u8]);
type Parse = fn(&str) -> Option<IpAddr>;

fn rsplit_at_comma(line: &[u8]) -> (Option<&[u8]>, &[u8]) {
    rsplit_where(line, |byte| byte == b',')
}

fn rsplit_at_unquoted_comma(line: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let mut quoted = false;
    rsplit_where(line, |byte| {
        quoted ^= byte == b'"';
        byte == b',' && !quoted
    })
}

fn rsplit_where(line: &[u8], mut cut: impl FnMut(u8) -> bool) -> (Option<&[u8]>, &[u8]) {
    match line.iter().rposition(|byte| cut(*byte)) {
        Some(comma) => {
            let (before, after) = line.split_at(comma);
            (Some(before), after.get(1..).unwrap_or_default())
        }
        None => (None, line),
    }
}

/// The address of one element, with or without port and brackets.
fn address_of(text: &str) -> Option<IpAddr> {
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let address = match bare {
        Some(bare) => bare.parse().ok().map(IpAddr::V6),
        None => text.parse().ok(),
    };
    let address = address.or_else(|| text.parse().ok().map(|socket: SocketAddr| socket.ip()));
    address.map(|address| address.to_canonical())
}

/// The address in the `for` of one element of `Forwarded`; `None` for names and `unknown`.
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let pairs = element.split(';').filter_map(|pair| pair.split_once('='));
    let mut values = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case("for"));
    let (_, value) = values.next()?;
    // Two are invalid, and it is unknown which was meant.
    if values.next().is_some() {
        return None;
    }
    let value = value.trim();
    let unquoted = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    address_of(unquoted.unwrap_or(value))
}

/// The longest row of proxies that is followed.
const HOPS_MAX: usize = 64;

#[cfg(test)]
mod tests;
