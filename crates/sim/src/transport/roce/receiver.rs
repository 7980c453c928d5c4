//! The responder of a queue pair: takes data in order, or keeps what is not, and answers.

use super::Config;
use crate::packet::Body;
use crate::packet::rdma::{Rdma, RdmaKind, Trail};
use crate::transport::Outgoing;
use crate::transport::ranges::Ranges;
use switchbed_scenario::Recovery;
use switchbed_units::Time;

/// The receiving half; by default nothing has come yet.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    /// Stream offset of the next byte expected, and the number of its packet.
    expected: u64,
    psn: u32,
    /// Packets since the last ACK.
    unanswered: u32,
    /// An answer that is to go out, how many packets beyond the one that is expected the packet is that it
    /// answers, if that is kept, and what that packet has gathered.
    answer: Option<RdmaKind>,
    beyond: u32,
    trail: Trail,
    hops: u8,
    /// Not before then is what is expected asked for again; [`Time::ZERO`]: it was not asked for.
    asked_until: Time,
    /// A CNP is to go out.
    cnp: bool,
    /// Not before then another.
    cnp_after: Time,
    /// A mark came since the last one.
    marked: bool,
    /// Data that came out of order and is kept.
    kept: Ranges,
    /// The numbers of its packets.
    kept_psns: Ranges,
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

    /// A packet came; `ce`: with a congestion mark.
    pub(crate) fn on_data(&mut self, config: &Config, data: &Rdma, ce: bool, now: Time) {
        if ce && let Some(interval) = config.cnp_interval {
            if now >= self.cnp_after {
                (self.cnp, self.marked, self.cnp_after) = (true, false, now + interval);
            } else {
                self.marked = true;
            }
        }
        (self.trail, self.hops) = (data.trail, data.hops);
        let end = data.offset + u64::from(data.len);
        if data.offset == self.expected {
            self.in_order(config, data, end);
        } else if data.offset < self.expected {
            // A packet was sent again, though it had come: its sender must know.
            self.answer(RdmaKind::Ack, 0);
        } else {
            self.out_of_order(config, data, end, now);
        }
    }

    fn in_order(&mut self, config: &Config, data: &Rdma, end: u64) {
        (self.expected, self.psn) = (end, data.psn.wrapping_add(1));
        self.asked_until = Time::ZERO;
        let filled = !self.kept.is_empty();
        if filled && let Some((_, end)) = self.kept.containing(end) {
            self.expected = end;
            self.kept.remove_below(end);
            if let Some((_, psn)) = self.kept_psns.containing(self.psn.into()) {
                self.kept_psns.remove_below(psn);
                self.psn = psn as u32;
            }
        }
        self.unanswered += 1;
        // The last packet of a message is acknowledged at once, or its sender would wait for the
        // timer.
        let at_once = data.kind.ends() || filled;
        if at_once || self.unanswered >= config.ack_every {
            self.answer(RdmaKind::Ack, 0);
        }
    }

    fn answer(&mut self, kind: RdmaKind, beyond: u32) {
        (self.answer, self.beyond) = (Some(kind), beyond);
    }

    fn out_of_order(&mut self, config: &Config, data: &Rdma, end: u64, now: Time) {
        match config.recovery {
            Recovery::GoBackN => {
                if now >= self.asked_until {
                    self.asked_until = now + config.nack_interval;
                    self.answer(RdmaKind::Nack, 0);
                }
            }
            Recovery::Selective => {
                self.kept.insert(data.offset, end);
                self.kept_psns.insert(data.psn.into(), u64::from(data.psn) + 1);
                self.answer(RdmaKind::Ack, data.psn.wrapping_sub(self.psn));
            }
        }
    }

    /// The next answer: CNPs first.
    pub(crate) fn poll_transmit(&mut self, config: &Config, _now: Time) -> Option<Outgoing> {
        let answer = |kind, psn, len, trail, hops, class, len_bytes| {
            let rdma = Rdma { offset: self.expected, trail, psn, len, hops, kind };
            Some(Outgoing { body: Body::Rdma(rdma), len_bytes, ecn: config.ecn, class, entropy: 0 })
        };
        if std::mem::take(&mut self.cnp) {
            let (class, bytes) = (config.cnp_class, config.cnp_bytes);
            return answer(RdmaKind::Cnp, 0, 0, Trail::default(), 0, class, bytes);
        }
        let (kind, beyond) = (self.answer.take()?, self.beyond);
        self.unanswered = 0;
        // An ACK names the last packet that came in order, a NACK the one that is expected
        // (InfiniBand, chapter 9.7.5); with selective repeat the one that is kept (IRN).
        let psn = match kind {
            RdmaKind::Ack if beyond == 0 => self.psn.wrapping_sub(1),
            _ => self.psn.wrapping_add(beyond),
        };
        let kept = u16::from(beyond > 0);
        answer(kind, psn, kept, self.trail, self.hops, config.ack_class, config.ack_bytes)
    }

    /// Whether an answer is to go out.
    pub(crate) fn answers(&self) -> bool {
        self.cnp || self.answer.is_some()
    }

    /// When a mark that came too soon after a CNP brings another.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.marked.then_some(self.cnp_after)
    }

    pub(crate) fn on_timeout(&mut self, config: &Config, now: Time) {
        if let Some(interval) = config.cnp_interval
            && self.marked
            && now >= self.cnp_after
        {
            (self.cnp, self.marked, self.cnp_after) = (true, false, now + interval);
        }
    }
}
