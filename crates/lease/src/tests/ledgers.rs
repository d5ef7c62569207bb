//! A pool that goes through bytes after every step answers as one that never did, and bytes that are none are refused.

use proptest::prelude::*;
use tollgate_gossip::Malformed;
use tollgate_limit::Instant;

use crate::{
    LEDGER_BYTES_MAX, Limits, ModeKey, Need, Pool, Question, Rules, Stamp, TOKEN, decode_ledger,
    encode_ledger,
};

const SECOND: u64 = 1_000_000_000;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn pool(burst: u64) -> Pool {
    let limits = Limits::new(70, 3 * SECOND + 11, burst).unwrap();
    Pool::new(limits, Rules::default(), 7, at(SECOND))
}

fn through_bytes(pool: Pool) -> Pool {
    let bytes = encode_ledger(&[(5, pool)]);
    let mut pools = decode_ledger(&bytes).unwrap();
    assert_eq!(*encode_ledger(&pools), *bytes);
    let (tag, pool) = pools.pop().unwrap();
    assert_eq!((tag, pools.len()), (5, 0));
    pool
}

/// What a client says, and how long after the one before.
fn question() -> impl Strategy<Value = (Question, u64)> {
    let names = (0..4_u64, 1..3_u64, 1..40_u64, 0..6_u64);
    let held = (0..40_i128, 0..40_i128, 0..60_i128);
    let rest = (0..90_000_u64, 0..4_u64, 0..3_u64, any::<bool>());
    (names, held, rest, 0..SECOND).prop_map(|(names, held, rest, wait)| {
        let stamp = |seq| Stamp { generation: 7, seq };
        let question = Question {
            client: names.0,
            boot: names.1,
            key: ModeKey(9),
            seq: names.2,
            got: stamp(names.2.saturating_sub(1)),
            session: stamp(names.3),
            rate: held.0 << 10,
            cap: held.1 * TOKEN,
            have: held.1 * TOKEN / 2,
            give: held.2 * TOKEN / 3,
            want: rest.0,
            need: Need {
                cost: u64::from(rest.1 > 0),
                count: rest.1,
            },
            seen: rest.1,
            charge: rest.2 / 2,
            is_ask: rest.3,
        };
        (question, wait)
    })
}

proptest! {
    #[test]
    fn a_pool_that_was_written_answers_as_if_it_never_was(
        questions in proptest::collection::vec(question(), 1..40),
        burst in 4_u64..200,
        begins_with_nothing in any::<bool>(),
    ) {
        let mut now = SECOND;
        let mut kept = pool(burst);
        if begins_with_nothing {
            kept = Pool::restating(*kept.limits(), Rules::default(), 8, at(now));
        }
        let mut written = through_bytes(kept.clone());
        for (question, wait) in questions {
            now += wait;
            let answers = [&mut kept, &mut written].map(|pool| pool.handle_question(&question, at(now)));
            prop_assert_eq!(answers[0], answers[1]);
            let (one, other) = (kept.probe(1, at(now)), written.probe(1, at(now)));
            prop_assert_eq!(one, other);
            written = through_bytes(written);
            prop_assert_eq!(encode_ledger(&[(1, kept.clone())]), encode_ledger(&[(1, written.clone())]));
        }
        let fresh_at = kept.fresh_at();
        kept.advance(fresh_at);
        prop_assert!(kept.is_fresh());
    }

    #[test]
    fn any_bytes_are_a_ledger_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode_ledger(&bytes);
    }

    #[test]
    fn a_ledger_with_other_bytes_in_it_does_no_harm(
        (question, _) in question(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut pool = pool(50);
        let asked = Question { client: 3, want: 60_000, is_ask: true, ..question };
        pool.handle_question(&asked, at(2 * SECOND));
        let mut bytes = encode_ledger(&[(5, pool)]).to_vec();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        for (_, mut pool) in decode_ledger(&bytes).unwrap_or_default() {
            pool.handle_question(&question, at(3 * SECOND));
            pool.advance(pool.fresh_at());
        }
    }
}

#[test]
fn what_is_no_ledger_is_refused() {
    let bytes = encode_ledger(&[(5, pool(50))]).to_vec();
    let with = |place: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[place] = byte;
        decode_ledger(&bytes).map(|pools| pools.len())
    };
    assert_eq!(with(0, 0x42), Err(Malformed::Version(0x42)));
    assert_eq!(with(1, 100), Err(Malformed::TooLong));
    assert_eq!(with(3, 9), Err(Malformed::Kind(9)));
    let longer = [&*bytes, &[0]].concat();
    assert_eq!(decode_ledger(&longer).map(drop), Err(Malformed::Trailing));
    for count in 0..bytes.len() {
        assert!(decode_ledger(&bytes[..count]).is_err());
    }
    let long = vec![0x41; LEDGER_BYTES_MAX + 1];
    assert_eq!(decode_ledger(&long).map(drop), Err(Malformed::TooLong));
}

#[test]
fn a_full_ledger_is_within_its_bytes() {
    // The longest that a lessee's part can be, whatever it says.
    let mut pool = pool(1 << 40);
    let question = Question {
        client: u64::MAX,
        boot: u64::MAX - 1,
        key: ModeKey(u128::MAX),
        seq: u64::MAX,
        got: Stamp {
            generation: u64::MAX,
            seq: u64::MAX,
        },
        session: Stamp {
            generation: u64::MAX,
            seq: u64::MAX,
        },
        rate: 1 << 113,
        cap: 1 << 113,
        have: 1 << 113,
        give: 1 << 113,
        want: 1 << 50,
        need: Need::default(),
        seen: u64::MAX,
        charge: 0,
        is_ask: true,
    };
    let empty = encode_ledger(&[(u64::MAX, pool.clone())]).len();
    pool.handle_question(&question, at(u64::MAX / 2)).unwrap();
    let one = encode_ledger(&[(u64::MAX, pool)]).len() - empty;
    assert!(
        one * crate::LEDGER_LESSEES_MAX < LEDGER_BYTES_MAX / 2,
        "{one}"
    );
}
