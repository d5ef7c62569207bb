//! Messages survive bytes, and bytes that are none are refused.

use proptest::prelude::*;

use crate::{Grant, LeaseMessage, ModeKey, Need, Nudge, Question, Stamp, Waits, decode, encode};

fn stamp() -> impl Strategy<Value = Stamp> {
    (any::<u64>(), any::<u64>()).prop_map(|(generation, seq)| Stamp { generation, seq })
}

fn amount() -> impl Strategy<Value = i128> {
    0..=(1_i128 << 113)
}

fn question() -> impl Strategy<Value = Question> {
    let names = (
        any::<u64>(),
        any::<u64>(),
        any::<u128>(),
        1..=u64::MAX,
        stamp(),
        stamp(),
    );
    let amounts = (amount(), amount(), amount(), amount());
    let rest = (
        0..=1_u64 << 50,
        1..u64::MAX,
        1..u64::MAX,
        any::<u64>(),
        any::<u64>(),
        any::<bool>(),
    );
    (names, amounts, rest).prop_map(|(names, amounts, rest)| Question {
        client: names.0,
        boot: names.1,
        key: ModeKey(names.2),
        seq: names.3,
        got: names.4,
        session: names.5,
        rate: amounts.0,
        cap: amounts.1,
        have: amounts.2,
        give: amounts.3,
        want: rest.0,
        need: Need {
            cost: rest.1,
            count: rest.2,
        },
        seen: rest.3,
        charge: rest.4,
        is_ask: rest.5,
    })
}

fn grant() -> impl Strategy<Value = Grant> {
    let names = (
        any::<u64>(),
        any::<u64>(),
        any::<u128>(),
        any::<u64>(),
        1..=u64::MAX,
        stamp(),
    );
    (names, (amount(), amount(), amount()), any::<[u64; 6]>()).prop_map(|(names, amounts, rest)| {
        Grant {
            client: names.0,
            boot: names.1,
            key: ModeKey(names.2),
            stamp: Stamp {
                generation: names.3,
                seq: names.4,
            },
            session: names.5,
            served: rest[0],
            waits: if rest[3] % 2 == 0 {
                Waits::default()
            } else {
                Waits {
                    count: rest[3],
                    first_ns: rest[4],
                    gap_ns: rest[5],
                }
            },
            tokens: amounts.0,
            rate: amounts.1,
            depth: amounts.2,
            term_ns: rest[1],
            deny_ns: rest[2],
        }
    })
}

proptest! {
    #[test]
    fn messages_survive(question in question(), grant in grant(), client: u64, key: u128, cut in 1..40_usize) {
        let nudge = Nudge { client, key: ModeKey(key) };
        for message in [LeaseMessage::Question(question), LeaseMessage::Grant(grant), LeaseMessage::Nudge(nudge)] {
            let bytes = encode(&message);
            prop_assert_eq!(decode(&bytes), Ok(message));
            prop_assert!(decode(&bytes[..bytes.len() - cut.min(bytes.len())]).is_err());
            let longer = [&bytes[..], &[0]].concat();
            prop_assert!(decode(&longer).is_err());
        }
    }

    #[test]
    fn anything_else_is_refused_or_in_range(mut bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0..5_u8) {
        if bytes.len() > 2 {
            (bytes[0], bytes[1]) = (0x20, kind);
        }
        if let Ok(message) = decode(&bytes) {
            prop_assert!(decode(&encode(&message)) == Ok(message));
        }
    }

    #[test]
    fn no_question_makes_a_pool_panic_or_its_book_wrong(questions in prop::collection::vec((question(), 0..3_u64, 1..5_u64, 0..2_000_000_000_u64), 1..40)) {
        let limits = crate::Limits::new(100, 1_000_000_000, 100).unwrap();
        let at = tollgate_limit::Instant::from_nanos;
        let mut pool = crate::Pool::restating(limits, crate::Rules::default(), 2, at(0));
        let mut now = 0;
        for (mut question, client, seq, wait) in questions {
            now += wait;
            question.client = client;
            question.boot %= 3;
            question.seq = seq;
            question.session = Stamp { generation: question.session.generation % 4, seq: question.session.seq % 4 };
            question.charge %= 10;
            pool.handle_question(&question, at(now));
            let (rate, depth) = pool.reserved();
            let unknown = pool.unknown();
            prop_assert!(pool.level().max(0) + depth + unknown.1 <= limits.depth());
            prop_assert!(rate + unknown.0 <= limits.rate());
        }
    }
}
