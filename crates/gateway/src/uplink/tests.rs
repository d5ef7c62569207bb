//! What passes is what came, however it was cut; what is refused leaves no trace.

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

/// What reaches the broker of a stream that comes in these pieces, where every message with an odd identifier is refused.
fn carried(stream: &[u8], cut: usize) -> Result<Vec<u8>, Malformed> {
    let mut uplink = Uplink::new(Version::V311, OnQuietRefusal::Drop, u32::MAX);
    let (mut there, mut out) = (Vec::new(), Vec::new());
    for piece in [&stream[..cut], &stream[cut..]] {
        there.extend(piece);
        loop {
            let done = match uplink.next(&there)? {
                Step::More => break,
                Step::Pass(count) => {
                    out.extend(&there[..count]);
                    count
                }
                Step::Skip(count) | Step::Released(count, _) => count,
                Step::Publish(head) if head.id % 2 == 1 => {
                    assert!(matches!(uplink.refuse(&head)?, Reply::Taken(_)));
                    0
                }
                Step::Publish(head) => {
                    assert_eq!(uplink.admit(&head)?, Admitted::AsItIs);
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
        assert_eq!(uplink.next(&bytes), Ok(Step::More));
        bytes.resize((bytes.len() * 2).min(HEAD_MAX), 38);
    }
    assert_eq!(uplink.next(&bytes), Err(Malformed::TooLarge));
}
