//! Known bugs for the tests of the checkers: `planted!(number, right, wrong)` is the right expression in every build
//! but tests.
//!
//! The number is that of the mutant in `docs/lease.md`. Not here: the tests.

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    static PLANTED: Cell<u8> = const { Cell::new(0) };
}

/// Plants a bug in this thread; zero for none.
#[cfg(test)]
pub(crate) fn plant(number: u8) {
    PLANTED.with(|planted| planted.set(number));
}

/// Whether the bug is planted in this thread.
#[cfg(test)]
pub(crate) fn is(number: u8) -> bool {
    PLANTED.with(|planted| planted.get() == number)
}

#[cfg(test)]
macro_rules! planted {
    ($number:literal, $right:expr, $wrong:expr) => {
        if $crate::plant::is($number) {
            $wrong
        } else {
            $right
        }
    };
}

#[cfg(not(test))]
macro_rules! planted {
    ($number:literal, $right:expr, $wrong:expr) => {
        $right
    };
}
