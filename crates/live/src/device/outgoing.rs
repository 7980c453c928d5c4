//! Frames on their way out of a packet socket, written many at a time (`sendmmsg`).

use nix::sys::socket::{LinkAddr, MsgFlags, MultiHeaders, sendmmsg};
use std::io::IoSlice;
use std::os::fd::{AsRawFd, OwnedFd};

/// Frames that are written at a time.
const BATCH: usize = 64;

/// Frames that were not written yet.
#[derive(Default)]
pub(super) struct Outgoing {
    /// Buffers, of which the first `waiting` hold frames.
    frames: Vec<Vec<u8>>,
    waiting: usize,
    /// Frames that were lost by an error.
    failed: u64,
}

impl Outgoing {
    /// Adds a frame.
    pub(super) fn push(&mut self, socket: &OwnedFd, frame: &[u8]) {
        if self.waiting == self.frames.len() {
            self.frames.push(Vec::new());
        }
        let buffer = &mut self.frames[self.waiting];
        buffer.clear();
        buffer.extend_from_slice(frame);
        self.waiting += 1;
        if self.waiting == BATCH {
            self.write(socket);
        }
    }

    /// Writes what waits. Returns the frames lost by an error since the last call.
    pub(super) fn flush(&mut self, socket: &OwnedFd) -> u64 {
        if self.waiting > 0 {
            self.write(socket);
        }
        std::mem::take(&mut self.failed)
    }

    fn write(&mut self, socket: &OwnedFd) {
        let waiting = &self.frames[..std::mem::take(&mut self.waiting)];
        let parts: Vec<[IoSlice<'_>; 1]> =
            waiting.iter().map(|frame| [IoSlice::new(frame)]).collect();
        let mut written = 0;
        while written < parts.len() {
            let rest = &parts[written..];
            let mut headers = MultiHeaders::<LinkAddr>::preallocate(rest.len(), None);
            let (to, flags) = ([None::<LinkAddr>; BATCH], MsgFlags::MSG_DONTWAIT);
            // The kernel stops at the first frame that it cannot send, and says why if that is the first.
            match sendmmsg(socket.as_raw_fd(), &mut headers, rest, to, [], flags) {
                Ok(sent) => written += sent.count().max(1),
                Err(_) => {
                    self.failed += 1;
                    written += 1;
                }
            }
        }
    }
}
