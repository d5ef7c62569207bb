//! Assertions that the examples worked out by hand share.

use tollgate_oracle::Model;

#[track_caller]
pub(crate) fn assert_allowed(model: &mut Model, now_ns: u64, cost: u64, remaining: u64) {
    let answer = model.check("k", cost, now_ns);
    assert!(answer.allowed, "{answer:?}");
    assert_eq!(
        (answer.remaining, answer.retry_after, answer.policy),
        (remaining, None, None)
    );
}

#[track_caller]
pub(crate) fn assert_refused(model: &mut Model, now_ns: u64, cost: u64, retry_after: u128) {
    let answer = model.check("k", cost, now_ns);
    assert!(!answer.allowed && !answer.never, "{answer:?}");
    assert_eq!(
        (answer.retry_after, answer.policy),
        (Some(retry_after), Some(0))
    );
}

#[track_caller]
pub(crate) fn assert_never(model: &mut Model, now_ns: u64, cost: u64) {
    let answer = model.check("k", cost, now_ns);
    assert!(
        !answer.allowed && answer.never && answer.retry_after.is_none(),
        "{answer:?}"
    );
}
