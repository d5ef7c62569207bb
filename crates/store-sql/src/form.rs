//! The format of states in rows: one line of whole numbers, the same in both databases.
//!
//! For each policy a kind, the count of numbers that follow, and these numbers. Not here: what
//! they mean.

use std::fmt::Write as _;

use tollgate_limit::{Instant, KeptState};
use tollgate_store::StoredKey;

pub(crate) fn text(kept: &[KeptState]) -> String {
    let mut text = String::from("{");
    for kept in kept {
        // Writing to a string cannot fail.
        let _ = match kept {
            KeptState::Spent(grains) => write!(text, "1,1,{grains},"),
            KeptState::Count(count) => write!(text, "2,1,{count},"),
            KeptState::Pair { current, previous } => write!(text, "3,2,{current},{previous},"),
            KeptState::Entries(entries) => entries
                .iter()
                .try_fold(
                    write!(text, "4,{},", entries.len() * 2),
                    |_, (time, count)| Ok(write!(text, "{time},{count},")),
                )
                .and_then(|written| written),
        };
    }
    text.truncate(text.trim_end_matches(',').len());
    text.push('}');
    text
}

/// `None` if it does not parse.
pub(crate) fn found(charged: &str, kept: &str) -> Option<StoredKey> {
    let at = Instant::from_nanos(charged.parse().ok()?);
    let kept = kept.strip_prefix('{')?.strip_suffix('}')?;
    let mut numbers = kept.split(',').filter(|number| !number.is_empty());
    let mut states = Vec::new();
    while let Some(kind) = numbers.next() {
        let size: usize = numbers.next()?.parse().ok()?;
        let mut next = || numbers.next()?.parse::<u64>().ok();
        let state = match (kind, size) {
            ("1", 1) => KeptState::Spent(numbers.next()?.parse().ok()?),
            ("2", 1) => KeptState::Count(next()?),
            ("3", 2) => KeptState::Pair {
                current: next()?,
                previous: next()?,
            },
            ("4", size) if size % 2 == 0 => {
                let entries = (0..size / 2).map(|_| Some((next()?, next()?)));
                KeptState::Entries(entries.collect::<Option<_>>()?)
            }
            _ => return None,
        };
        states.push(state);
    }
    Some(StoredKey { at, kept: states })
}

/// The second from which a state is the same as an unknown key, rounded up.
pub(crate) fn second(fresh_at: Instant) -> i64 {
    i64::try_from(fresh_at.as_nanos().div_ceil(1_000_000_000)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_a_text_and_every_other_text_is_refused() {
        let kept = vec![
            KeptState::Spent(u128::MAX),
            KeptState::Entries(vec![]),
            KeptState::Count(u64::MAX),
            KeptState::Pair {
                current: 0,
                previous: 7,
            },
            KeptState::Entries(vec![(1, 2), (u64::MAX - 1, 4)]),
        ];
        let written = text(&kept);
        let at = Instant::LAST;
        let charged = at.as_nanos().to_string();
        assert_eq!(found(&charged, &written), Some(StoredKey { at, kept }));
        assert_eq!(text(&[]), "{}");
        for broken in [
            "",
            "{",
            "{1}",
            "{1,1}",
            "{1,1,x}",
            "{9,1,1}",
            "{4,3,1,2,3}",
            "{4,4,1,2}",
            "{2,1,-1}",
        ] {
            assert_eq!(found("0", broken), None, "{broken}");
        }
        assert_eq!(found("-1", "{}"), None);
    }
}
