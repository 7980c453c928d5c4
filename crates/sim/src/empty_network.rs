//! How long a flow takes in an empty network, whatever its windows.

use crate::ids::HostId;
use crate::topology::{Graph, Hop};
use switchbed_scenario::{FctEnd, Roce};
use switchbed_units::{Bytes, Span};

/// What is needed to tell how long a flow takes in an empty network.
pub(crate) struct Paths {
    pub(crate) graph: Graph,
    /// Payload of a full packet, and what each has besides: of flows without queue pairs.
    pub(crate) main: (Bytes, Bytes),
    /// The classes that have them.
    pub(crate) roce: Option<Roce>,
    pub(crate) fct_end: FctEnd,
}

impl Paths {
    /// A flow's time: its packets back to back over its path, and its last one's ACK where
    /// that ends it.
    pub(crate) fn flow(
        &self,
        (src, dst): (HostId, HostId),
        class: u8,
        size: Bytes,
        end: FctEnd,
    ) -> Span {
        let pair = self.roce.as_ref().filter(|roce| roce.carries(class));
        let (mss, header) = pair.map_or(self.main, |roce| (roce.mtu, roce.overhead()));
        let (mss, header) = (mss.get(), header.get());
        let ack = pair.map_or(header as u32, Roce::ack_bytes);
        let full = (mss + header) as u32;
        let packets = size.get().div_ceil(mss).max(1);
        let last = (size.get() - (packets - 1) * mss + header) as u32;
        // When the last bit of the first packet, of the last but one and of the last leaves
        // a link, which each does behind the one ahead of it.
        let (mut first, mut ahead, mut at) = (Span::ZERO, Span::ZERO, Span::ZERO);
        let mut slowest = Span::ZERO;
        for cable in self.graph.path(src, Hop { dst, key: 0 }) {
            let tx = cable.rate.tx_time(full);
            slowest = slowest.max(tx);
            first += tx;
            let before = if packets > 1 { first + slowest * (packets - 2) } else { Span::ZERO };
            at = before.max(at) + cable.rate.tx_time(last) + cable.delay;
            first += cable.delay;
            ahead = before + cable.delay;
        }
        if end == FctEnd::Acked {
            for cable in self.graph.path(dst, Hop { dst: src, key: 0 }) {
                let tx = cable.rate.tx_time(ack);
                ahead += tx;
                at = if packets > 1 { ahead.max(at) } else { at } + tx + cable.delay;
                ahead += cable.delay;
            }
        }
        at
    }
}
