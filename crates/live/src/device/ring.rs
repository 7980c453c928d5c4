//! A ring of frames that the kernel fills and this process reads, without a system call a frame: `TPACKET_V2`
//! of packet(7). Version 3 hands over blocks of frames, and a block that is not full up to a millisecond
//! late; here a frame can be read as soon as it is there.
//!
//! The memory is the kernel's and this process's at once, so that reading it is `unsafe`. A read through a
//! ring saves some 0.7 us of the 0.9 that a frame by `recvmmsg` costs (docs/live.md).

use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::socket::{SetSockOpt, setsockopt};
use nix::{setsockopt_impl, sockopt_impl};
use std::ffi::{c_int, c_void};
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use switchbed_wire::offload::Header;

/// Memory of a ring: 4096 frames of 1500 bytes, 17 ms at 240,000 a second.
const BYTES: usize = 8 << 20;
/// Piece that the kernel allocates at once; a slot is no longer.
const BLOCK: usize = 64 << 10;
/// Bytes before a frame in its slot: the slot's header, the sender's address, alignment, an offload header.
const BEFORE: usize = 128;

sockopt_impl!(
    /// Version of the ring's layout (packet(7)).
    Version,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_VERSION,
    c_int
);
sockopt_impl!(
    /// Makes the ring (packet(7)).
    RxRing,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_RX_RING,
    libc::tpacket_req
);

/// Ring of a socket.
pub(super) struct Ring {
    memory: NonNull<u8>,
    slot_bytes: usize,
    slots: usize,
    next: usize,
    /// Bytes of an offload header before each frame.
    header_bytes: usize,
}

/// A frame that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// The frame is whole.
    Whole,
    /// The frame was longer than its slot. If `copied`, the socket has it whole.
    Cut {
        /// Whether the socket has it whole.
        copied: bool,
    },
}

// SAFETY: the memory belongs to this value alone, until it is dropped; the kernel does not care which thread
// reads it.
unsafe impl Send for Ring {}

impl Ring {
    /// Makes the ring of a socket that is not bound yet, for frames up to `longest` bytes, and an offload header
    /// before each if the socket has them.
    ///
    /// # Errors
    /// The kernel has no memory, or no rings.
    pub(super) fn new(socket: &OwnedFd, longest: usize, headers: bool) -> io::Result<Ring> {
        let slot_bytes = (longest + BEFORE).next_power_of_two().min(BLOCK);
        let slots = BYTES / slot_bytes;
        set(socket, Version, libc::tpacket_versions::TPACKET_V2 as c_int)?;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (BYTES / BLOCK) as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: slots as u32,
        };
        set(socket, RxRing, request)?;
        let length = const { NonZeroUsize::new(BYTES).expect("not zero") };
        let rights = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: the kernel chooses an address that nothing else uses.
        let memory = unsafe { mmap(None, length, rights, MapFlags::MAP_SHARED, socket, 0)? };
        let header_bytes = if headers { Header::BYTES } else { 0 };
        Ok(Ring { memory: memory.cast(), slot_bytes, slots, next: 0, header_bytes })
    }

    /// The next slot's header.
    fn header(&self) -> NonNull<libc::tpacket2_hdr> {
        // SAFETY: `next` is below `slots`, so that the slot lies within the memory. It is aligned as slots are, to
        // a power of two over the header's size.
        unsafe { self.memory.add(self.next * self.slot_bytes) }.cast()
    }

    /// Word that says whose the next slot is.
    fn status(&self) -> &AtomicU32 {
        const _: () = assert!(std::mem::offset_of!(libc::tpacket2_hdr, tp_status) == 0);
        // SAFETY: the status is the header's first word, aligned, and the kernel changes it atomically.
        unsafe { AtomicU32::from_ptr(self.header().cast().as_ptr()) }
    }

    /// Whether a frame can be read.
    pub(super) fn waits(&self) -> bool {
        self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// Reads the next frame, with the VLAN tag that the kernel took off, into `frame`, whose contents are replaced,
    /// and its offload header.
    pub(super) fn take(&mut self, frame: &mut Vec<u8>) -> Option<(Taken, Header)> {
        // Acquire: what the kernel wrote before it gave the slot away is seen.
        let status = self.status().load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the slot is this process's until its status says otherwise, and begins with a header.
        let header = unsafe { self.header().read() };
        let (begin, length) = (usize::from(header.tp_mac), header.tp_snaplen as usize);
        let within = size_of::<libc::tpacket2_hdr>() + self.header_bytes <= begin
            && begin + length <= self.slot_bytes;
        assert!(within, "the kernel writes within slots");
        let before = self.header_bytes;
        // SAFETY: these bytes are within the slot, and nobody writes them while it is this process's.
        let bytes = unsafe {
            let first = self.header().cast::<u8>().add(begin - before);
            std::slice::from_raw_parts(first.as_ptr(), before + length)
        };
        let tag = tag(status, header.tp_vlan_tci, header.tp_vlan_tpid);
        let (offload, bytes) = bytes.split_at(before);
        let offload = offload.try_into().map_or_else(|_| Header::default(), Header::read);
        put(frame, bytes, tag);
        let cut = header.tp_len as usize > length;
        // Release: the frame was read before the kernel may write there again.
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.slots;
        let copied = status & libc::TP_STATUS_COPY != 0;
        let taken = if cut { Taken::Cut { copied } } else { Taken::Whole };
        Some((taken, behind(offload, tag)))
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing refers to it any more.
        let unmapped = unsafe { munmap(self.memory.cast::<c_void>(), BYTES) };
        debug_assert!(unmapped.is_ok(), "it was mapped");
    }
}

/// Sets an option of a socket.
fn set<O: SetSockOpt>(socket: &OwnedFd, option: O, value: O::Val) -> io::Result<()>
where
    O::Val: Sized,
{
    Ok(setsockopt(socket, option, &value)?)
}

/// The tag that the kernel took off a frame, as on the wire.
pub(super) fn tag(status: u32, tci: u16, protocol: u16) -> Option<[u8; 4]> {
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let protocol = match status & libc::TP_STATUS_VLAN_TPID_VALID {
        0 => [0x81, 0x00],
        _ => protocol.to_be_bytes(),
    };
    let [high, low] = tci.to_be_bytes();
    Some([protocol[0], protocol[1], high, low])
}

/// The offload header of a frame that got its tag back.
pub(super) fn behind(header: Header, tag: Option<[u8; 4]>) -> Header {
    if tag.is_some() { header.moved(4) } else { header }
}

/// Writes a frame with its tag, which stands behind the two MAC addresses (IEEE 802.1Q).
pub(super) fn put(frame: &mut Vec<u8>, bytes: &[u8], tag: Option<[u8; 4]>) {
    let (addresses, behind) = bytes.split_at(bytes.len().min(12));
    frame.clear();
    frame.extend_from_slice(addresses);
    frame.extend(tag.into_iter().flatten());
    frame.extend_from_slice(behind);
}
