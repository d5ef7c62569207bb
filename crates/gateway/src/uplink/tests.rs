//! Admitted bytes pass unchanged for any fragmentation; refused ones leave no trace.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// A message of `QoS` 1 on topic `t`, with a payload.
fn message(id: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![
        0x32,
        u8::try_from(5 + payload.len()).unwrap(),
        0,
        1,
        b't',
        0,
        id,
    ];
    bytes.extend(payload);
    bytes
}

/// What reaches the broker of a stream in pieces of `cut` bytes, if every message with an odd identifier is
/// refused.
fn carried(stream: &[u8], cut: usize) -> Result<Vec<u8>, Malformed> {
    let mut uplink = Uplink::new(Version::V311, OnQuietRefusal::Drop, u32::MAX);
    let (mut there, mut out) = (Vec::new(), Vec::new());
    for piece in [&stream[..cut], &stream[cut..]] {
        there.extend(piece);
        loop {
            let done = match uplink.next(&there)? {
                UplinkStep::More => break,
                UplinkStep::Pass(count) => {
                    out.extend(&there[..count]);
                    count
                }
                UplinkStep::Skip(count) | UplinkStep::Released(count, _) => count,
                UplinkStep::Publish(head) if head.id % 2 == 1 => {
                    assert!(matches!(uplink.refuse(&head)?, MqttReply::Taken(_)));
                    0
                }
                UplinkStep::Publish(head) => {
                    assert_eq!(uplink.admit(&head)?, AdmittedMessage::AsItIs);
                    0
                }
            };
            there.drain(..done);
        }
    }
    assert!(there.is_empty());
    Ok(out)
}

#[test]
fn what_is_not_refused_passes_byte_for_byte_however_it_is_cut() {
    let subscribe = [0x82, 6, 0, 1, 0, 1, b't', 0];
    let ping = [0xC0, 0];
    let even = message(2, b"payload");
    let stream = [
        &subscribe[..],
        &message(1, b"gone"),
        &even,
        &ping,
        &message(3, b""),
        &even,
    ]
    .concat();
    let expected = [&subscribe[..], &even, &ping, &even].concat();
    for cut in 0..stream.len() {
        assert_eq!(carried(&stream, cut).as_ref(), Ok(&expected), "{cut}");
    }
}

#[test]
fn packets_that_no_client_sends_are_refused() {
    for first in [0x10, 0x20, 0x90, 0xB0, 0xD0] {
        assert_eq!(carried(&[first, 0], 1), Err(Malformed::OutOfTurn));
    }
}

#[test]
fn a_head_that_never_ends_is_refused() {
    let mut uplink = Uplink::new(Version::V5, OnQuietRefusal::Drop, u32::MAX);
    let mut bytes = vec![0x30, 0xFF, 0xFF, 0xFF, 0x7F, 0, 1, b't', 0xFF, 0xFF, 0x7F];
    while bytes.len() < HEAD_MAX {
        assert_eq!(uplink.next(&bytes), Ok(UplinkStep::More));
        bytes.resize((bytes.len() * 2).min(HEAD_MAX), 38);
    }
    assert_eq!(uplink.next(&bytes), Err(Malformed::TooLarge));
}

/// Whether `some` is a subsequence of `others`.
fn is_within(some: &[u8], mut others: &[u8]) -> bool {
    some.iter().all(|byte| {
        let found = others.iter().position(|other| other == byte);
        others = found.map_or(&[], |at| &others[at + 1..]);
        found.is_some()
    })
}

/// Feeds any bytes until an error, admitting and refusing in turns; returns what passed.
fn follow(version: Version, pieces: &[Vec<u8>]) -> Vec<u8> {
    let mut uplink = Uplink::new(version, OnQuietRefusal::Drop, u32::MAX);
    let (mut there, mut out, mut turn) = (Vec::new(), Vec::new(), 0);
    for piece in pieces {
        there.extend(piece);
        loop {
            let done = match uplink.next(&there) {
                Err(_) => return out,
                Ok(UplinkStep::More) => break,
                Ok(UplinkStep::Pass(count)) => {
                    out.extend(&there[..count]);
                    count
                }
                Ok(UplinkStep::Skip(count) | UplinkStep::Released(count, _)) => count,
                Ok(UplinkStep::Publish(head)) => {
                    turn += 1;
                    let is_known = uplink.topic(&head).is_ok();
                    let length = head.length;
                    if !is_known || turn % 2 == 0 {
                        let _ = uplink.refuse(&head);
                        0
                    } else if let Ok(AdmittedMessage::Changed(..)) = uplink.admit(&head) {
                        length
                    } else {
                        0
                    }
                }
            };
            there.drain(..done);
        }
    }
    out
}

proptest! {
    #[test]
    fn any_bytes_can_be_followed_and_nothing_is_made_up(
        five in any::<bool>(),
        mut bytes in vec(any::<u8>(), 0..60),
        changes in vec((0..60_usize, any::<u8>()), 0..4),
        cut in 0..60_usize,
    ) {
        // A valid beginning.
        bytes.splice(0..0, [message(1, b"a"), message(2, b"bc"), vec![0xC0, 0]].concat());
        let count = bytes.len();
        for (at, byte) in changes {
            bytes[at % count] = byte;
        }
        let (first, second) = bytes.split_at(cut.min(count));
        let version = if five { Version::V5 } else { Version::V311 };
        let out = follow(version, &[first.to_vec(), second.to_vec()]);
        prop_assert!(is_within(&out, &bytes));
        prop_assert_eq!(out, follow(version, &[bytes]));
    }
}
