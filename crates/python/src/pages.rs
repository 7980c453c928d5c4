//! The allocator of the module's Rust code. A large table is a mapping of its own: its pages move as it grows, without a
//! copy, and go back to the system when it is dropped. glibc's threshold for that rises as tables are dropped, to
//! 32 MB, so that a run's memory depends on what was dropped before. Forecasts (crates/sim/src/run/memory.rs) had to
//! allow for it. (Measured: a schedule of 200,000 messages takes 33 MB, and took 36 to 39.)

#![allow(unsafe_code)]

use nix::sys::mman::{MRemapFlags, MapFlags, ProtFlags, mmap_anonymous, mremap, munmap};
use std::alloc::{GlobalAlloc, Layout, System};
use std::num::NonZeroUsize;
use std::ptr::{NonNull, null_mut};

/// Bytes from which on a table is a mapping of its own.
const LARGE: usize = 256 << 10;
/// Alignment of every mapping: the smallest page that Linux has.
const PAGE: usize = 4_096;

/// Takes small pieces from the system's allocator, large ones as pages.
pub(crate) struct Pages;

/// Whether such a piece is a mapping.
fn mapped(size: usize, align: usize) -> bool {
    size >= LARGE && align <= PAGE
}

/// New pages for so many bytes, all zero; null if there are none.
fn map(bytes: usize) -> *mut u8 {
    let Some(bytes) = NonZeroUsize::new(bytes) else { return null_mut() };
    let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: the kernel chooses where, so that nothing else is there.
    let pages = unsafe { mmap_anonymous(None, bytes, access, MapFlags::MAP_PRIVATE) };
    pages.map_or(null_mut(), |at| at.cast().as_ptr())
}

// SAFETY: a piece's layout alone says whether it is a mapping, so that each goes back to where it came from; mappings are
// aligned to pages, and as long as was asked for. Nothing here panics or allocates.
unsafe impl GlobalAlloc for Pages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match mapped(layout.size(), layout.align()) {
            true => map(layout.size()),
            // SAFETY: as the caller's.
            false => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match mapped(layout.size(), layout.align()) {
            true => map(layout.size()),
            // SAFETY: as the caller's.
            false => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        match (mapped(layout.size(), layout.align()), NonNull::new(at)) {
            // SAFETY: this mapping is the caller's alone. Should the kernel keep it, its pages are lost and no more.
            (true, Some(at)) => drop(unsafe { munmap(at.cast(), layout.size()) }),
            // SAFETY: as the caller's.
            _ => unsafe { System.dealloc(at, layout) },
        }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        let (before, after) = (layout.size(), bytes);
        match (mapped(before, layout.align()), mapped(after, layout.align()), NonNull::new(at)) {
            // SAFETY: as the caller's.
            (false, false, _) => unsafe { System.realloc(at, layout, after) },
            (true, true, Some(at)) => {
                let moves = MRemapFlags::MREMAP_MAYMOVE;
                // SAFETY: this mapping is the caller's alone.
                let pages = unsafe { mremap(at.cast(), before, after, moves, None) };
                pages.map_or(null_mut(), |at| at.cast().as_ptr())
            }
            _ => {
                // SAFETY: the caller's size is valid with this alignment.
                let new =
                    unsafe { self.alloc(Layout::from_size_align_unchecked(after, layout.align())) };
                if !new.is_null() {
                    // SAFETY: both have as many bytes, and the new piece overlaps nothing.
                    unsafe {
                        new.copy_from_nonoverlapping(at, before.min(after));
                        self.dealloc(at, layout);
                    }
                }
                new
            }
        }
    }
}
