//! Asks the processor to fetch a cache line ahead of its use.
//!
//! The one module with `unsafe` in this crate. It is sound because a prefetch is a hint: it reads
//! nothing the program can observe and never faults, whatever the address. Not here: processors
//! other than `x86_64`, where the call does nothing.
#![allow(unsafe_code)]

/// Starts fetching the cache line at `address`, which need not be that of anything.
#[inline(always)]
#[allow(clippy::inline_always)] // A call would cost as much as the hint saves.
pub(crate) fn prefetch_address(address: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of the x86_64 baseline, and the instruction neither faults nor changes memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::without_provenance(address)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_what_it_fetches_unchanged() {
        let places = vec![7_u64; 1000];
        for place in &places {
            prefetch_address(core::ptr::from_ref(place).addr());
        }
        assert!(places.iter().all(|&place| place == 7));
    }

    #[test]
    fn accepts_any_address() {
        for address in [0, 1, 4095, usize::MAX / 2, usize::MAX / 3 * 2, usize::MAX] {
            prefetch_address(address);
        }
    }
}
