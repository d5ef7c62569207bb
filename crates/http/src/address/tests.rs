//! Examples and properties of client addresses.

use http::HeaderValue;
use http::header::{FORWARDED, HeaderName};
use proptest::prelude::*;

use super::*;

const PEER: &str = "10.0.0.1";
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

fn headers(name: &HeaderName, lines: &[&[u8]]) -> HeaderMap {
    let values = lines
        .iter()
        .map(|line| HeaderValue::from_bytes(line).unwrap());
    values
        .map(|value| (name.clone(), value))
        .fold(HeaderMap::new(), |mut map, (name, value)| {
            map.append(name, value);
            map
        })
}

#[track_caller]
fn client(trust: Trust, lines: &[&str], expected: &str) {
    let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
    let rules = ClientAddress {
        trust,
        ..ClientAddress::default()
    };
    let found = rules.of(PEER.parse().unwrap(), &headers(&X_FORWARDED_FOR, &lines));
    assert_eq!(found.to_string(), expected);
}

#[track_caller]
fn forwarded(hops: usize, line: &str, expected: &str) {
    let header = ForwardingHeader::Forwarded;
    let rules = ClientAddress {
        trust: Trust::Hops(hops),
        header,
        ..ClientAddress::default()
    };
    let found = rules.of(
        PEER.parse().unwrap(),
        &headers(&FORWARDED, &[line.as_bytes()]),
    );
    assert_eq!(found.to_string(), expected);
}

fn inside() -> Trust {
    Trust::Networks(vec![
        "10.0.0.0/8".parse().unwrap(),
        "2001:db8:aaaa::/48".parse().unwrap(),
    ])
}

#[test]
fn trusting_nobody_takes_the_peer() {
    client(Trust::Nobody, &["203.0.113.9"], PEER);
    client(Trust::Hops(0), &["203.0.113.9"], PEER);
}

#[test]
fn hops_are_counted_from_the_right() {
    let line = ["6.6.6.6, 203.0.113.9, 10.0.0.2"];
    client(Trust::Hops(1), &line, "10.0.0.2");
    client(Trust::Hops(2), &line, "203.0.113.9");
    client(Trust::Hops(3), &line, "6.6.6.6");
}

#[test]
fn several_lines_are_one_list() {
    client(Trust::Hops(1), &["6.6.6.6", "203.0.113.9"], "203.0.113.9");
    client(
        Trust::Hops(2),
        &["6.6.6.6, 203.0.113.9", "10.0.0.2"],
        "203.0.113.9",
    );
}

#[test]
fn a_list_that_is_too_short_ends_at_its_last_entry() {
    client(Trust::Hops(3), &["203.0.113.9"], "203.0.113.9");
    client(Trust::Hops(1), &[], PEER);
}

#[test]
fn networks_are_followed_until_somebody_else() {
    client(
        inside(),
        &["6.6.6.6, 203.0.113.9, 10.0.0.3, 10.0.0.2"],
        "203.0.113.9",
    );
    client(inside(), &["10.0.0.9, 10.0.0.2"], "10.0.0.9");
    client(
        inside(),
        &["6.6.6.6, 203.0.113.9, [2001:db8:aaaa::7]:4711"],
        "203.0.113.9",
    );
}

#[test]
fn a_peer_outside_of_the_networks_is_the_client() {
    let rules = ClientAddress {
        trust: inside(),
        ..ClientAddress::default()
    };
    let headers = headers(&X_FORWARDED_FOR, &[b"6.6.6.6"]);
    let peer: IpAddr = "203.0.113.9".parse().unwrap();
    assert_eq!(rules.of(peer, &headers), peer);
}

#[test]
fn garbage_ends_the_search_at_the_nearest_good_entry() {
    client(Trust::Hops(2), &["6.6.6.6, what, 10.0.0.2"], "10.0.0.2");
    client(Trust::Hops(2), &["6.6.6.6, , 10.0.0.2"], "10.0.0.2");
    client(Trust::Hops(1), &["6.6.6.6, "], PEER);
    client(Trust::Hops(1), &["6.6.6.6", ""], PEER);
    client(Trust::Hops(1), &["6.6.6.6, unknown"], PEER);
    client(inside(), &["6.6.6.6, 256.0.0.1, 10.0.0.2"], "10.0.0.2");
}

#[test]
fn ports_and_brackets_are_no_part_of_the_address() {
    client(Trust::Hops(1), &["203.0.113.9:4711"], "203.0.113.9");
    client(Trust::Hops(1), &["[2001:db8::1:2:3:4]:443"], "2001:db8::");
    client(Trust::Hops(1), &["[2001:db8::1:2:3:4]"], "2001:db8::");
    client(Trust::Hops(1), &["2001:db8:0:7:1:2:3:4"], "2001:db8:0:7::");
    client(Trust::Hops(1), &["::ffff:203.0.113.9"], "203.0.113.9");
    client(Trust::Hops(1), &["[203.0.113.9]"], PEER);
}

#[test]
fn the_ipv6_prefix_is_a_choice() {
    let rules = ClientAddress {
        trust: Trust::Nobody,
        ipv6_prefix: 200,
        ..ClientAddress::default()
    };
    let peer: IpAddr = "2001:db8::1".parse().unwrap();
    assert_eq!(rules.of(peer, &HeaderMap::new()), peer);
    let rules = ClientAddress {
        ipv6_prefix: 0,
        ..rules
    };
    assert_eq!(rules.of(peer, &HeaderMap::new()).to_string(), "::");
}

#[test]
fn forwarded_is_read_from_the_right_too() {
    forwarded(
        1,
        "for=6.6.6.6, for=203.0.113.9;proto=https;by=10.0.0.1",
        "203.0.113.9",
    );
    forwarded(
        2,
        "for=6.6.6.6, For=\"203.0.113.9:80\", proto=http;FOR=10.0.0.2",
        "203.0.113.9",
    );
    forwarded(1, "for=\"[2001:db8:0:7::1]:4711\"", "2001:db8:0:7::");
    forwarded(1, "for=6.6.6.6, for=_hidden", PEER);
    forwarded(1, "for=6.6.6.6, for=unknown", PEER);
    forwarded(1, "for=6.6.6.6, by=10.0.0.2", PEER);
    forwarded(1, "for=6.6.6.6;for=7.7.7.7", PEER);
    forwarded(1, "for=6.6.6.6, for=203.0.113.9;x=\"a, b\"", "203.0.113.9");
}

#[test]
fn a_quote_that_a_client_left_open_hides_nothing() {
    forwarded(1, "for=\"6.6.6.6, for=203.0.113.9", "203.0.113.9");
    forwarded(
        1,
        "for=6.6.6.6;x=\"\\, for=\"203.0.113.9:80\"",
        "203.0.113.9",
    );
}

/// Any header of a client: bytes, or a list that looks valid.
fn lie() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(b'\t'), 0x20_u8..0x7F, 0x80_u8..=0xFF];
    let text = "(for=)?[0-9a-f:.,;\"\\[\\] ]{0,40}".prop_map(String::into_bytes);
    let list = Just(
        "for=6.6.6.6, 10.0.0.9, for=\"[2001:db8::1]"
            .to_owned()
            .into_bytes(),
    );
    prop_oneof![prop::collection::vec(byte, 0..40), text, list]
}

fn trust() -> impl Strategy<Value = Trust> {
    prop_oneof![
        Just(Trust::Nobody),
        (0..=2_usize).prop_map(Trust::Hops),
        Just(inside())
    ]
}

proptest! {
    /// The client is 203.0.113.9, behind 10.0.0.2, behind the peer, and prepends what it likes.
    #[test]
    fn what_a_client_prepends_changes_nothing(
        lies in prop::collection::vec(lie(), 0..4),
        joined in any::<bool>(),
        trust in trust(),
        ours in prop_oneof![Just("203.0.113.9, 10.0.0.2"), Just("[2001:db8::1]:80, 10.0.0.2")],
    ) {
        prepending_changes_nothing(ForwardingHeader::XForwardedFor, trust, &lies, joined, ours)?;
    }

    #[test]
    fn what_a_client_prepends_to_forwarded_changes_nothing(
        lies in prop::collection::vec(lie(), 0..4),
        joined in any::<bool>(),
        trust in trust(),
        ours in prop_oneof![
            Just("for=203.0.113.9, for=10.0.0.2;proto=https"),
            Just("for=\"[2001:db8::1]:80\", for=\"10.0.0.2:9\""),
        ],
    ) {
        prepending_changes_nothing(ForwardingHeader::Forwarded, trust, &lies, joined, ours)?;
    }

    #[test]
    fn no_header_makes_the_search_fail(lies in prop::collection::vec(lie(), 0..6), hops in 0..9_usize) {
        let lines: Vec<&[u8]> = lies.iter().map(Vec::as_slice).collect();
        let rules = ClientAddress { trust: Trust::Hops(hops), ..ClientAddress::default() };
        let _ = rules.of(PEER.parse().unwrap(), &headers(&X_FORWARDED_FOR, &lines));
    }
}

/// Compares a client that sends no header with one that does, whether proxies append to its last line or add one.
fn prepending_changes_nothing(
    header: ForwardingHeader,
    trust: Trust,
    prepended: &[Vec<u8>],
    joined: bool,
    ours: &str,
) -> Result<(), TestCaseError> {
    let name = match header {
        ForwardingHeader::XForwardedFor => X_FORWARDED_FOR,
        ForwardingHeader::Forwarded => FORWARDED,
    };
    let rules = ClientAddress {
        trust,
        header,
        ..ClientAddress::default()
    };
    let peer = PEER.parse().unwrap();
    let honest = rules.of(peer, &headers(&name, &[ours.as_bytes()]));
    let mut sent = prepended.to_vec();
    match sent.last_mut().filter(|_| joined) {
        Some(last) => last.extend_from_slice(format!(", {ours}").as_bytes()),
        None => sent.push(ours.as_bytes().to_vec()),
    }
    let sent: Vec<&[u8]> = sent.iter().map(Vec::as_slice).collect();
    prop_assert_eq!(rules.of(peer, &headers(&name, &sent)), honest);
    Ok(())
}
