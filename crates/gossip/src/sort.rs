//! What a frame is for, by the design that speaks.
//!
//! Not here: what it says.

use tollgate_mode::Sort;

use crate::kind::Kind;
use crate::{home, rounds, talk};

/// What a frame of that design is for. Windows speak as `segments`.
pub(crate) fn of(kind: Kind, frame: &[u8]) -> Sort {
    let number = frame.first().map_or(0, |first| first & 0x0f);
    match kind {
        Kind::Segments | Kind::Auto => talk::sort(number),
        Kind::Home => home::sort(number),
        Kind::Counter | Kind::CounterFixed | Kind::Queue { .. } => rounds::sort(number),
        Kind::Local => Sort::Publication,
    }
}
