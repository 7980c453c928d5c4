//! Frames on their way out of a packet socket, written many at a time (`sendmmsg`).

use super::segments::Leaving;
use nix::sys::socket::{LinkAddr, MsgFlags, MultiHeaders, sendmmsg};
use std::io::IoSlice;
use std::os::fd::{AsRawFd, OwnedFd};
use switchbed_wire::offload::Header;

/// Frames that are written at a time.
const BATCH: usize = 64;

/// Frames that were not written yet.
pub(super) struct Outgoing {
    leaving: Leaving,
    /// The socket takes an offload header before each frame.
    headers: bool,
    /// Frames that were written.
    written: u64,
    /// Frames that were lost by an error, since they were asked for.
    failed: u64,
}

impl Outgoing {
    /// Makes an empty list, for a socket that takes offload headers or not.
    pub(super) fn new(headers: bool) -> Outgoing {
        Outgoing { leaving: Leaving::new(headers), headers, written: 0, failed: 0 }
    }

    /// Adds a packet.
    pub(super) fn push(&mut self, socket: &OwnedFd, packet: &[u8]) {
        self.leaving.push(packet);
        // One more may still grow.
        if self.leaving.len() > BATCH {
            self.write(socket, BATCH);
        }
    }

    /// Writes what waits. Returns the frames lost by an error since the last call.
    pub(super) fn flush(&mut self, socket: &OwnedFd) -> u64 {
        while self.leaving.len() > 0 {
            self.write(socket, self.leaving.len().min(BATCH));
        }
        std::mem::take(&mut self.failed)
    }

    /// Frames that were written so far.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Writes the first frames.
    fn write(&mut self, socket: &OwnedFd, count: usize) {
        let mut headers = [[0; Header::BYTES]; BATCH];
        let beside = if self.headers { Header::BYTES } else { 0 };
        let frames = headers.iter_mut().zip(self.leaving.frames()).take(count);
        let parts: Vec<[IoSlice<'_>; 2]> = frames
            .map(|(header, frame)| {
                *header = frame.finish().write();
                [IoSlice::new(&header[..beside]), IoSlice::new(frame.bytes())]
            })
            .collect();
        let mut done = 0;
        while done < count {
            let rest = &parts[done..];
            let mut messages = MultiHeaders::<LinkAddr>::preallocate(rest.len(), None);
            let (to, flags) = ([None::<LinkAddr>; BATCH], MsgFlags::MSG_DONTWAIT);
            // The kernel stops at the first frame that it cannot send, and says why if that is the first.
            match sendmmsg(socket.as_raw_fd(), &mut messages, rest, to, [], flags) {
                Ok(sent) => {
                    let sent = sent.count();
                    self.written += sent as u64;
                    done += sent;
                }
                Err(_) => {
                    self.failed += 1;
                    done += 1;
                }
            }
        }
        for _ in 0..count {
            self.leaving.pop();
        }
    }
}
