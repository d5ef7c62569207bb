//! What is said of all policies of a key, as bytes and back.

use proptest::prelude::*;
use tollgate_gossip::ModeKey;

use crate::{
    BundleReply, Grant, LeaseTerms, Need, OnFailure, Question, Stamp, Waits, client_of,
    decode_inquiry, decode_reply, encode_inquiry, encode_reply,
};

fn question(client: u64, seq: u64) -> Question {
    Question {
        client,
        boot: 3,
        key: ModeKey(u128::MAX),
        seq,
        got: Stamp {
            generation: u64::MAX,
            seq: 4,
        },
        rate: 1 << 60,
        cap: 1 << 100,
        have: 5,
        want: 1 << 40,
        need: Need { cost: 2, count: 9 },
        seen: 1,
        is_ask: true,
        ..Question::default()
    }
}

fn grant(seq: u64) -> Grant {
    Grant {
        client: 1,
        boot: 2,
        key: ModeKey(3),
        stamp: Stamp { generation: 4, seq },
        session: Stamp::default(),
        served: 6,
        waits: Waits::default(),
        tokens: 1 << 90,
        rate: 7,
        depth: 8,
        term_ns: 9,
        deny_ns: 10,
    }
}

#[test]
fn bundles_are_read_as_they_were_written() {
    for count in [0, 1, 3, 64] {
        let said: Vec<_> = (0..count)
            .map(|n| (u64::MAX - n, question(n, n + 1)))
            .collect();
        let bytes = encode_inquiry(&said);
        assert_eq!(decode_inquiry(&bytes), Ok(said));
        assert_eq!(client_of(&bytes), (count > 0).then_some(0));
    }
    for on_failure in [
        OnFailure::Deny,
        OnFailure::Allow,
        OnFailure::Safe {
            per_second: 5,
            burst: 6,
        },
    ] {
        let terms = LeaseTerms {
            term_ns: 1,
            uses_min: 2,
            drift_ppm: 3,
            timeout_ns: 4,
            on_failure,
            max_wait_ns: u64::from(on_failure == OnFailure::Allow) * u64::MAX,
        };
        let each = vec![(1, None), (u64::MAX, Some(grant(5)))];
        let reply = BundleReply::Lent { terms, each };
        assert_eq!(reply.grants(), 1);
        assert_eq!(decode_reply(&encode_reply(&reply)), Ok(reply));
    }
    assert_eq!(
        decode_reply(&encode_reply(&BundleReply::Ask)),
        Ok(BundleReply::Ask)
    );
}

#[test]
fn what_is_too_much_is_refused() {
    let many: Vec<_> = (0..65).map(|n| (n, question(n, n + 1))).collect();
    assert!(decode_inquiry(&encode_inquiry(&many)).is_err());
    assert!(decode_inquiry(&vec![0; 17 << 10]).is_err());
    assert!(
        decode_reply(&[0x21, 1, 0, 0, 0, 0, 0, 0, 0, 0]).is_err(),
        "a term of nothing"
    );
    let waits = |kind| [0x21, kind, 1, 1, 1, 1, 0, 0, 0, 9, 0];
    assert!(decode_reply(&waits(2)).is_ok(), "waits of 9 ns");
    assert!(decode_reply(&waits(1)).is_err(), "nobody waits");
    assert!(decode_reply(&waits(3)).is_err());
}

proptest! {
    #[test]
    fn garbage_is_refused_or_read_and_nothing_else(mut bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = (decode_inquiry(&bytes), decode_reply(&bytes), client_of(&bytes));
        if let Some(first) = bytes.first_mut() {
            *first = 0x21;
        }
        let _ = (decode_inquiry(&bytes), decode_reply(&bytes), client_of(&bytes));
    }

    #[test]
    fn what_was_cut_or_changed_is_no_panic(at in any::<prop::sample::Index>(), to: u8) {
        let said = vec![(1, question(1, 2)), (2, question(1, 3))];
        let mut bytes = encode_inquiry(&said).to_vec();
        let at = at.index(bytes.len());
        let _ = decode_inquiry(&bytes[..at]);
        bytes[at] = to;
        let _ = (decode_inquiry(&bytes), decode_reply(&bytes));
    }
}
