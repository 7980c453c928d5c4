//! The receiver: takes packets in any order, answers, and gives credit.

use super::Config;
use super::config::{PULLED, in_units};
use super::fields::Fields;
use crate::packet::rdma::{Rdma, RdmaKind};
use crate::transport::Outgoing;
use crate::transport::ranges::Ranges;
use std::collections::VecDeque;

/// Packets that a SACK tells of by a bit each.
const BITS: u32 = 64;

/// The receiving half; by default nothing has come yet.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    /// Stream offset of the next byte in order, and the number of its packet.
    expected: u64,
    psn: u32,
    /// Data that came before others which are missing, by offset and by number.
    kept: Ranges,
    kept_psns: Ranges,
    /// Bytes on the wire that came, and those since the last SACK.
    wire_bytes: u64,
    unanswered: u64,
    /// The sender asked for a SACK while packets were missing: another follows when none is.
    asked: bool,
    answers: VecDeque<Fields>,
    /// Credit that the sender wants in all, and that it has got.
    wanted: u64,
    granted: u64,
}

impl Receiver {
    /// Bytes that came in order.
    #[inline]
    pub fn received(&self) -> u64 {
        self.expected
    }

    /// Bytes below an offset that have come beyond a gap, and are kept.
    pub(crate) fn came_beyond(&self, offset: u64) -> u64 {
        self.kept.bytes_below(offset)
    }

    /// Packets that came before others which are missing.
    pub(super) fn early(&self) -> u64 {
        self.kept_psns.iter().map(|(start, end)| end - start).sum()
    }

    /// Bytes on the wire that came, each packet once.
    #[cfg(test)]
    pub(super) fn wire_bytes(&self) -> u64 {
        self.wire_bytes
    }

    /// A packet came; `ce`: with a mark, `len_bytes` long and of this class.
    pub(crate) fn on_data(
        &mut self,
        config: &Config,
        packet: &Rdma,
        (ce, len_bytes, class): (bool, u32, u8),
    ) {
        let data = Fields::of(packet);
        if config.credits {
            self.wanted = self.wanted.max(data.credit());
        }
        if data.kind() == RdmaKind::Request {
            if config.credits && !self.wants_pull() {
                // A pull may have been lost, and none would follow.
                self.tell_credit();
            }
            self.answers.push_back(self.sack(data, self.psn).with_requested());
            return;
        }
        if let Some(last_hop) = config.trimmed(packet, (len_bytes, class)) {
            return self.trimmed(config, data, ce, last_hop);
        }
        let wire = u32::from(data.len()) + config.header;
        let end = data.offset() + u64::from(data.len());
        let known = data.offset() < self.expected || self.kept.containing(data.offset()).is_some();
        if known {
            return self.acknowledge(data, ce);
        }
        let first = self.wire_bytes == 0;
        self.wire_bytes += u64::from(wire);
        self.unanswered += u64::from(wire);
        if data.offset() == self.expected {
            (self.expected, self.psn) = (end, data.psn().wrapping_add(1));
            if let Some((_, end)) = self.kept.containing(end) {
                self.expected = end;
                self.kept.remove_below(end);
                if let Some((_, psn)) = self.kept_psns.containing(self.psn.into()) {
                    self.kept_psns.remove_below(psn);
                    self.psn = psn as u32;
                }
            }
        } else {
            self.kept.insert(data.offset(), end);
            self.kept_psns.insert(data.psn().into(), u64::from(data.psn()) + 1);
        }
        self.asked |= data.asks();
        let complete = self.asked && self.kept.is_empty();
        if first || ce || data.asks() || complete || self.unanswered >= config.ack_after {
            self.acknowledge(data, ce);
        }
        self.asked &= !complete;
    }

    /// A packet came whose payload a switch has cut off.
    fn trimmed(&mut self, config: &Config, data: Fields, ce: bool, last_hop: bool) {
        let known = data.offset() < self.expected || self.kept.containing(data.offset()).is_some();
        if known {
            return self.acknowledge(data, false);
        }
        if config.credits {
            // Sending it again takes credit.
            self.wanted += in_units(u64::from(data.len()) + u64::from(config.header));
        }
        let nack = Fields::new(RdmaKind::Trimmed, data.offset(), data.psn(), data.entropy());
        self.answers
            .push_back(nack.with_marked(ce).with_again(data.again()).with_last_hop(last_hop));
    }

    /// Acknowledges at once. The bits begin with the packet where it is marked or asks, else 63 packets before it.
    fn acknowledge(&mut self, data: Fields, ce: bool) {
        self.unanswered = 0;
        let from = match ce || data.asks() {
            true => data.psn(),
            false => data.psn().saturating_sub(BITS - 1).max(self.psn + 1),
        };
        self.answers.push_back(self.sack(data, from).with_marked(ce));
    }

    /// A SACK that answers a packet, with bits from a number on.
    fn sack(&self, data: Fields, from: u32) -> Fields {
        let sack = Fields::new(RdmaKind::Sack, self.expected, data.psn(), data.entropy());
        let from = u64::from(from);
        let mut bits = 0;
        for (start, end) in self.kept_psns.iter() {
            for psn in start.max(from)..end.min(from + u64::from(BITS)) {
                bits |= 1 << (psn - from);
            }
        }
        let sack = sack.with_received(self.wire_bytes).with_again(data.again());
        let sack = sack.with_early(self.early());
        sack.with_bitmap((from as u32, bits))
    }

    /// Whether its sender wants credit.
    pub(crate) fn wants_pull(&self) -> bool {
        self.wanted > self.granted
    }

    /// Gives credit, which the next answer brings; how many bytes.
    pub(crate) fn pull(&mut self) -> u64 {
        let bytes = PULLED.min(self.wanted - self.granted);
        self.granted += bytes;
        self.tell_credit();
        bytes
    }

    /// Tells the sender how much credit it has got in all.
    fn tell_credit(&mut self) {
        let pull = Fields::new(RdmaKind::Pull, self.expected, 0, self.psn as u16);
        self.answers.push_back(pull.with_credit(self.granted));
    }

    /// The next answer.
    pub(crate) fn poll_transmit(&mut self, config: &Config) -> Option<Outgoing> {
        let answer = self.answers.pop_front()?;
        let bytes = match answer.kind() {
            RdmaKind::Sack => config.sack_bytes,
            _ => config.control_bytes,
        };
        Some(config.packet(answer, bytes, config.class))
    }

    /// Whether an answer is to go out.
    pub(crate) fn answers(&self) -> bool {
        !self.answers.is_empty()
    }
}
