//! Packets that a line loses or marks because the scenario says so.

use super::row_of;
use switchbed_qdisc::port::numbered::Numbered;
use switchbed_qdisc::{Ecn, Packet};

/// What becomes of the packets that are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// They are lost.
    Lost,
    /// They are marked, if they are ECN-capable.
    Marked,
}

/// Which packets a line is to lose or to mark.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pattern {
    /// Of the connection that flow number so much opened; `None`: of any, and of none.
    flow: Option<u64>,
    /// Among those that the line carries.
    which: Numbered,
    fate: Fate,
}

impl Pattern {
    /// `numbers` are from 1, in any order.
    pub(crate) fn new(flow: Option<u64>, numbers: &[u64], fate: Fate) -> Pattern {
        Pattern { flow, which: Numbered::new(numbers), fate }
    }

    /// The line carries a packet; what becomes of it.
    fn fate(&mut self, packet: &Packet) -> Option<Fate> {
        let counts = self.flow.is_none() || self.flow == row_of(packet.flow);
        (counts && self.which.count()).then_some(self.fate)
    }
}

/// What a line is to lose and to mark, and what it has lost.
#[derive(Default)]
pub(crate) struct Losses {
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) lost: u64,
}

impl Losses {
    /// The line carries a packet, which may be marked; whether it is lost.
    pub(crate) fn lose(&mut self, packet: &mut Packet) -> bool {
        let mut lost = false;
        // Each counts every packet.
        for pattern in &mut self.patterns {
            match pattern.fate(packet) {
                Some(Fate::Lost) => lost = true,
                Some(Fate::Marked) if packet.ecn.capable() => packet.ecn = Ecn::Ce,
                Some(Fate::Marked) | None => {}
            }
        }
        self.lost += u64::from(lost);
        lost
    }
}
