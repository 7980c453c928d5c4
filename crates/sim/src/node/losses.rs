//! Packets that a line loses because the scenario says so.

use crate::packet::row_of;
use switchbed_qdisc::Packet;

/// Which packets a line is to lose.
pub(crate) struct Pattern {
    /// Of the connection that flow number so much opened; `None`: of any, and of none.
    flow: Option<u64>,
    /// Their numbers among those that the line carries, from 1, in order.
    lose: Vec<u64>,
    carried: u64,
}

impl Pattern {
    /// `lose` are numbers from 1, in any order.
    pub(crate) fn new(flow: Option<u64>, lose: &[u64]) -> Pattern {
        let mut lose = lose.to_vec();
        lose.sort_unstable();
        Pattern { flow, lose, carried: 0 }
    }

    /// The line carries a packet; whether it is one of those.
    fn loses(&mut self, packet: &Packet) -> bool {
        if self.flow.is_some() && self.flow != row_of(packet.flow) {
            return false;
        }
        self.carried += 1;
        self.lose.binary_search(&self.carried).is_ok()
    }
}

/// What a line is to lose, and what it has lost.
#[derive(Default)]
pub(super) struct Losses {
    pub(super) patterns: Vec<Pattern>,
    pub(super) lost: u64,
}

impl Losses {
    /// The line carries a packet; whether it is lost.
    pub(super) fn lose(&mut self, packet: &Packet) -> bool {
        // Each counts every packet.
        let lost = self.patterns.iter_mut().fold(false, |lost, each| each.loses(packet) | lost);
        self.lost += u64::from(lost);
        lost
    }
}
