//! Fetches memory that will be needed soon. The windows' whole work is known ahead, so that the
//! fetches of many events overlap: without this a packet-hop on a large fabric takes up to 1.6
//! times as long.

/// Asks for the cache line of a value.
#[inline(always)]
pub(crate) fn prefetch<T: ?Sized>(value: &T) {
    line(std::ptr::from_ref(value).cast());
}

/// Asks for the `lines` cache lines from a value on, which may be others' memory: it is not
/// looked at.
#[inline(always)]
pub(crate) fn prefetch_lines<T: ?Sized>(value: &T, lines: usize) {
    let first: *const u8 = std::ptr::from_ref(value).cast();
    for nth in 0..lines {
        line(first.wrapping_add(64 * nth));
    }
}

/// Asks for the cache line where a vector's elements will be that are pushed soon.
#[inline(always)]
pub(crate) fn prefetch_room<T>(values: &[T], ahead: usize) {
    line(values.as_ptr().wrapping_add(values.len() + ahead).cast());
}

/// The one unsafe call: a prefetch reads nothing that the program sees and never faults,
/// whatever the address.
#[inline(always)]
#[allow(unsafe_code)]
fn line(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
