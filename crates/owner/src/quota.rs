//! What nodes say to each other of data planes, as bytes, and what an owner does about it.
//!
//! A question is `plane 16 | kind 1`, behind a report `elapsed | allowed | denied`. An answer is 0 where nothing is
//! assigned, else `1 | nanoseconds until something is due and one, or 0 | action`, an action 0 for none, `1 | tokens |
//! tokens per fill | interval | time to live`, `2 | seconds` of denial, or 3 to abandon. Not here: streams (`grpc`),
//! what is assigned (`tollgate-lease`).

use tollgate_kit::{Reader, put_varint};
use tollgate_limit::Instant;
use tollgate_node::{
    Node, PlaneId, QuotaAction as Action, QuotaBucket, QuotaReport, QuotaTold, Spot,
};

use crate::question::{QuotaAsk, RemoteAnswer};

/// Does what is asked about a data plane; `None` where nothing is assigned.
pub(crate) fn answer(
    node: &Node,
    spot: &Spot,
    plane: PlaneId,
    ask: QuotaAsk,
    now: Instant,
) -> Option<QuotaTold> {
    match ask {
        QuotaAsk::Report(report) => node.quota_report(spot, plane, &report, now),
        QuotaAsk::Due => Some(node.quota_due(spot, plane, now)),
        QuotaAsk::Leave => {
            node.quota_leave(spot, plane, now);
            Some(QuotaTold::default())
        }
    }
}

/// Adds what is said of a data plane.
pub(crate) fn put_ask(out: &mut Vec<u8>, plane: PlaneId, ask: QuotaAsk) {
    out.extend(plane.to_le_bytes());
    match ask {
        QuotaAsk::Report(report) => {
            out.push(REPORT);
            put_varint(out, report.elapsed_ns);
            put_varint(out, report.allowed);
            put_varint(out, report.denied);
        }
        QuotaAsk::Due => out.push(DUE),
        QuotaAsk::Leave => out.push(LEAVE),
    }
}

/// What is said of which data plane.
pub(crate) fn ask(reader: &mut Reader<'_>) -> Option<(PlaneId, QuotaAsk)> {
    let (low, high) = (reader.u64()?, reader.u64()?);
    let plane = u128::from(high) << 64 | u128::from(low);
    let ask = match reader.u8()? {
        REPORT => QuotaAsk::Report(QuotaReport {
            elapsed_ns: reader.number()?,
            allowed: reader.number()?,
            denied: reader.number()?,
        }),
        DUE => QuotaAsk::Due,
        LEAVE => QuotaAsk::Leave,
        _ => return None,
    };
    Some((plane, ask))
}

/// Adds what a data plane is told.
pub(crate) fn put_told(out: &mut Vec<u8>, told: Option<&QuotaTold>) {
    let Some(told) = told else {
        return out.push(0);
    };
    out.push(1);
    put_varint(out, told.due_ns.map_or(0, |due| due.saturating_add(1)));
    match told.action {
        None => out.push(0),
        Some(Action::Assign(bucket, ttl_s)) => {
            out.push(ASSIGN);
            let QuotaBucket {
                max_tokens,
                tokens_per_fill,
                interval_s,
            } = bucket;
            for number in [max_tokens, tokens_per_fill, interval_s, ttl_s] {
                put_varint(out, number);
            }
        }
        Some(Action::Deny(seconds)) => {
            out.push(DENY);
            put_varint(out, seconds);
        }
        Some(Action::Abandon) => out.push(ABANDON),
    }
}

/// What a data plane is told.
pub(crate) fn told(reader: &mut Reader<'_>) -> Option<RemoteAnswer> {
    match reader.u8()? {
        0 => return Some(RemoteAnswer::Quota(None)),
        1 => {}
        _ => return None,
    }
    let due_ns = reader.number()?.checked_sub(1);
    let short = |reader: &mut Reader<'_>| u32::try_from(reader.number()?).ok();
    let action = match reader.u8()? {
        0 => None,
        ASSIGN => {
            let bucket = QuotaBucket {
                max_tokens: short(reader)?,
                tokens_per_fill: short(reader)?,
                interval_s: short(reader)?,
            };
            Some(Action::Assign(bucket, short(reader)?))
        }
        DENY => Some(Action::Deny(short(reader)?)),
        ABANDON => Some(Action::Abandon),
        _ => return None,
    };
    Some(RemoteAnswer::Quota(Some(QuotaTold { action, due_ns })))
}

const REPORT: u8 = 0;
const DUE: u8 = 1;
const LEAVE: u8 = 2;
const ASSIGN: u8 = 1;
const DENY: u8 = 2;
const ABANDON: u8 = 3;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asks() -> impl Strategy<Value = QuotaAsk> {
        let report = any::<[u64; 3]>().prop_map(|[elapsed_ns, allowed, denied]| {
            QuotaAsk::Report(QuotaReport {
                elapsed_ns,
                allowed,
                denied,
            })
        });
        prop_oneof![report, Just(QuotaAsk::Due), Just(QuotaAsk::Leave)]
    }

    fn all_told() -> impl Strategy<Value = Option<QuotaTold>> {
        let assigned =
            any::<[u32; 4]>().prop_map(|[max_tokens, tokens_per_fill, interval_s, ttl_s]| {
                let bucket = QuotaBucket {
                    max_tokens,
                    tokens_per_fill,
                    interval_s,
                };
                Action::Assign(bucket, ttl_s)
            });
        let denied = any::<u32>().prop_map(Action::Deny);
        let action = prop_oneof![assigned, denied, Just(Action::Abandon)];
        let told = (prop::option::of(action), prop::option::of(0..u64::MAX));
        prop::option::of(told.prop_map(|(action, due_ns)| QuotaTold { action, due_ns }))
    }

    proptest! {
        #[test]
        fn what_was_said_is_read(plane in any::<u128>(), asked in asks(), said in all_told()) {
            let mut bytes = Vec::new();
            put_ask(&mut bytes, plane, asked);
            put_told(&mut bytes, said.as_ref());
            let mut reader = Reader(&bytes);
            prop_assert_eq!(ask(&mut reader), Some((plane, asked)));
            prop_assert_eq!(told(&mut reader), Some(RemoteAnswer::Quota(said)));
            prop_assert!(reader.0.is_empty());
        }

        #[test]
        fn garbage_is_refused_or_read_and_nothing_else(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = ask(&mut Reader(&bytes));
            let _ = told(&mut Reader(&bytes));
        }
    }
}
