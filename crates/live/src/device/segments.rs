//! Frames of several packets (segmentation offload) as devices read and write them. A port, its scheme and the
//! middleware before it see single packets; frames are split before those and joined behind them.

use std::collections::VecDeque;
use switchbed_wire::offload::{Contradiction, Header, Joined, Packets, split};

/// A frame is read into this many bytes: the longest IP packet, Ethernet's header and two tags.
#[cfg(target_os = "linux")]
pub(super) const LONGEST_WHOLE: usize = 65_535 + 14 + 2 * 4;

/// A frame that came in, and its packets that were not handed over yet.
#[derive(Default)]
pub(super) struct Incoming {
    frame: Vec<u8>,
    packets: Option<Packets>,
}

impl Incoming {
    /// Takes a frame. `true`: it is a packet as it is, and stays in `frame`.
    ///
    /// # Errors
    /// The header contradicts the frame, which is to be dropped.
    pub(super) fn take(
        &mut self,
        header: Header,
        frame: &mut Vec<u8>,
    ) -> Result<bool, Contradiction> {
        if header.is_empty() {
            return Ok(true);
        }
        self.packets = Some(split(header, frame)?);
        std::mem::swap(&mut self.frame, frame);
        Ok(false)
    }

    /// Writes the next packet. `false`: all were handed over.
    pub(super) fn next(&mut self, packet: &mut Vec<u8>) -> bool {
        let Some(packets) = &mut self.packets else { return false };
        let found = packets.next(&self.frame, packet);
        if packets.left() == 0 {
            self.packets = None;
        }
        found
    }

    /// Whether packets are left.
    pub(super) fn waits(&self) -> bool {
        self.packets.is_some()
    }
}

/// Frames on their way out, in their order. A packet joins the last frame if it goes on from it.
#[derive(Default)]
pub(super) struct Leaving {
    frames: VecDeque<Joined>,
    spare: Vec<Joined>,
    joins: bool,
}

impl Leaving {
    /// Makes an empty list. Packets are joined if `joins` is set.
    pub(super) fn new(joins: bool) -> Leaving {
        Leaving { joins, ..Leaving::default() }
    }

    /// Adds a packet.
    pub(super) fn push(&mut self, packet: &[u8]) {
        if self.joins && self.frames.back_mut().is_some_and(|last| last.append(packet)) {
            return;
        }
        let mut frame = self.spare.pop().unwrap_or_default();
        frame.begin(packet);
        self.frames.push_back(frame);
    }

    /// Number of frames.
    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    /// The frames, from the first.
    pub(super) fn frames(&mut self) -> impl ExactSizeIterator<Item = &mut Joined> {
        self.frames.iter_mut()
    }

    /// The first frame.
    pub(super) fn first(&mut self) -> Option<&mut Joined> {
        self.frames.front_mut()
    }

    /// Removes the first frame and returns its number of packets.
    pub(super) fn pop(&mut self) -> usize {
        let Some(frame) = self.frames.pop_front() else { return 0 };
        let packets = frame.packets();
        self.spare.push(frame);
        packets
    }
}
