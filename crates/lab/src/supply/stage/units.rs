//! The units of supply, in whole numbers: rates in millionths of a request per second, times in microseconds, tokens in
//! millionths of a millionth of a request, so that a rate times a time is an exact number of tokens.
//!
//! Not here: the units of the protocol, which has its own.

/// One request per second.
pub(crate) const PER_SECOND: u64 = 1_000_000;
/// One request, in tokens.
pub(crate) const REQUEST: u64 = 1_000_000_000_000;
pub(crate) const MILLI: u64 = 1_000;
pub(crate) const SECOND: u64 = 1_000_000;
/// Everything, in millionths.
pub(crate) const WHOLE: u64 = 1_000_000;

/// `value * by / of`, rounded down; all of it at most.
pub(crate) fn part(value: u64, by: u64, of: u64) -> u64 {
    let product = u128::from(value) * u128::from(by) / u128::from(of.max(1));
    u64::try_from(product).unwrap_or(u64::MAX)
}
