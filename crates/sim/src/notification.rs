//! Congestion notifications on their way: a switch's message to the source of a packet, as a
//! frame of its own (IEEE 802.1Qau's congestion notification message).

use crate::tcp::{Flags, SackBlock, Segment};
use switchbed_qdisc::seats::Feedback;
use switchbed_qdisc::units::{Span, Time};
use switchbed_qdisc::{FlowId, Packet};

/// The flow that notifications' frames are of: no connection's.
pub const FLOW: FlowId = FlowId(u32::MAX);
/// The host that they come from: none.
pub(crate) const NO_HOST: u32 = u32::MAX;

/// How notifications travel.
#[derive(Clone, Copy, Debug)]
pub struct Frames {
    /// Their class.
    pub class: u8,
    /// Their length.
    pub len_bytes: u32,
    /// Time from the sample to the first bit.
    pub delay: Span,
}

/// A message that is to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notice {
    /// The node whose port took the sample, by its pool.
    pub(crate) node: u32,
    /// The host that the packet came from.
    pub(crate) to: u32,
    pub(crate) feedback: Feedback,
}

/// The frame of a message.
pub(crate) fn frame(frames: &Frames, feedback: &Feedback, now: Time) -> (Packet, Segment) {
    let Frames { class, len_bytes, .. } = *frames;
    let packet = Packet { flow: FLOW, len_bytes, class, ..Packet::default() };
    let Feedback { flow, quantized, offset_bytes, delta_bytes } = *feedback;
    let mut segment = Segment::data(flow.0 as u64, quantized as u32, Flags::NONE, now);
    segment.sack[0] = SackBlock { start: offset_bytes as u32, end: delta_bytes as u32 };
    (packet, segment)
}

/// The message in a frame.
pub(crate) fn feedback(segment: &Segment) -> Feedback {
    Feedback {
        flow: FlowId(segment.offset as u32),
        quantized: segment.len as u8,
        offset_bytes: segment.sack[0].start as i32,
        delta_bytes: segment.sack[0].end as i32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_out_of_its_frame_as_it_went_in() {
        let sent = Feedback {
            flow: FlowId(0xfe00_0001),
            quantized: 63,
            offset_bytes: -26_000,
            delta_bytes: 1 << 30,
        };
        let frames = Frames { class: 6, len_bytes: 64, delay: Span::ZERO };
        let (packet, segment) = frame(&frames, &sent, Time::ZERO);
        assert_eq!((packet.class, packet.len_bytes, packet.ecn.capable()), (6, 64, false));
        assert_eq!(feedback(&segment), sent);
    }
}
