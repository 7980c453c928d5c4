//! ECN# (Zhang, Bai, Chen: Enabling ECN for Datacenter Networks with RTT Variations, CoNEXT 2019), a
//! queue at a time, as packets leave: a packet that waited for longer than `ins_target` is marked, and
//! so is one now and then, ever more often, while packets have waited for longer than `pst_target`
//! throughout an interval.
//!
//! | parameter | unit | default |
//! | --- | --- | --- |
//! | ins_target | time | – ; λ times a high percentile of base round trips |
//! | pst_target | time | – ; far below that |
//! | pst_interval | time | – ; the longest round trip |
//!
//! The paper's algorithm 1 as its authors' simulator has it (snowzjx/ns3-ecn-sharp): the persistent
//! rule is CoDel's detector; each next mark is timed from the one before, not from when that was due;
//! nothing is remembered between episodes, and no queue is too short. Nothing is dropped on purpose.
//! Theirs marks ECT(1) alone, which is what their DCTCP sends; here any ECN-capable packet.

use crate::hooks::{Departure, Intent, Marker};
use crate::port::arena::{Note, SlotId};
use crate::port::packet::{Ecn, Packet, QueueId};
use crate::port::view::View;
use crate::schemes::definition::{About, Definition, marker};
use crate::schemes::site::{Built, Site};
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Span, Time};

params! {
    /// ECN#'s parameters.
    pub struct EcnSharpParams {
        /// Every packet that waited for longer is marked. The authors' at 10 Gbps: 70us.
        ins_target: Span as Wait;
        /// The wait that a queue may stand at. The authors': 10us.
        pst_target: Span as Wait;
        /// How long packets wait for longer than pst_target before one is marked for that. The
        /// authors': 70us.
        pst_interval: Span;
    }
}

impl Definition for EcnSharp {
    type Params = EcnSharpParams;

    const ABOUT: About = About {
        name: "ecn-sharp",
        paper: "Zhang, Bai, Chen, Enabling ECN for Datacenter Networks with RTT Variations, \
                CoNEXT 2019",
        summary: "Marks what waited for longer than a threshold as it leaves, and now and then \
                  while a queue stands.",
        source: "the authors' simulator, github.com/snowzjx/ns3-ecn-sharp",
        seats: marker("ECN# on the queue"),
        needs_pool: false,
    };

    fn complete(params: &mut EcnSharpParams, _: Bytes) -> Result<(), Unfit> {
        let key = EcnSharpParams::KEY;
        if params.pst_interval == Span::ZERO {
            return Err(Unfit::new(key.pst_interval, "an interval is longer than 0"));
        }
        if params.pst_target > params.ins_target {
            let why = format!("it must be at most ins_target, {}", params.ins_target);
            return Err(Unfit::new(key.pst_target, why));
        }
        Ok(())
    }

    fn build(params: &EcnSharpParams, site: Site) -> Built {
        let ecn_sharp = EcnSharp::new(params, site.queues());
        site.mark(ecn_sharp)
    }
}

/// ECN#'s marker over all queues of a port.
#[derive(Clone, Debug)]
pub struct EcnSharp {
    params: EcnSharpParams,
    queues: Box<[Standing]>,
}

/// State of one queue.
#[derive(Clone, Copy, Debug, Default)]
struct Standing {
    /// When the wait will have been over the target for an interval, if it is.
    first_above: Option<Time>,
    /// Marks in this episode, and when the next is due; none while there is no episode.
    episode: Option<(u32, Time)>,
}

impl EcnSharp {
    /// Makes the marker for `queues` queues.
    pub fn new(params: &EcnSharpParams, queues: usize) -> Self {
        EcnSharp { params: params.clone(), queues: vec![Standing::default(); queues].into() }
    }

    /// Whether a packet that leaves now is marked since the queue stands.
    fn stands(&mut self, queue: QueueId, now: Time, waited: Span) -> bool {
        let EcnSharpParams { pst_target, pst_interval, .. } = self.params;
        let of = &mut self.queues[queue as usize];
        if waited < pst_target {
            *of = Standing::default();
            return false;
        }
        // Strictly after, as ns-3's CoDel has it (`CoDelTimeAfter`).
        let above = now > *of.first_above.get_or_insert(now + pst_interval);
        let count = match of.episode {
            None if above => 1,
            Some((count, next)) if above && now >= next => count.saturating_add(1),
            Some(_) if above => return false,
            _ => {
                of.episode = None;
                return false;
            }
        };
        // CoDel's controller: the gap shrinks with the root of the marks so far.
        let gap = pst_interval.as_ps() as f64 / f64::from(count).sqrt();
        of.episode = Some((count, now + Span::from_ps(gap as u64)));
        true
    }
}

impl Marker for EcnSharp {
    fn intend(&self, _: &View, _: QueueId, _: &Packet, _: &mut dyn Random) -> Intent {
        Intent::Pass
    }

    fn depart(
        &mut self,
        view: &View,
        queue: QueueId,
        slot: SlotId,
        _: Note,
        _: &mut dyn Random,
    ) -> Departure {
        let waited = view.now.since(view.arena.arrived(slot));
        let stands = self.stands(queue, view.now, waited);
        // A packet that is not ECN-capable is passed, not dropped.
        let ect = view.arena.packet(slot).ecn != Ecn::NotEct;
        match ect && (stands || waited > self.params.ins_target) {
            true => Departure::Mark,
            false => Departure::Pass,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marks, in us, where a packet leaves every 10 us, having waited for so many us.
    fn marks(waits_us: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let us = Span::from_us;
        let params =
            EcnSharpParams { ins_target: us(70), pst_target: us(10), pst_interval: us(70) };
        let mut marker = EcnSharp::new(&params, 1);
        let mut marked = Vec::new();
        for (nth, wait) in (1..).zip(waits_us) {
            let stands = marker.stands(0, Time::ZERO + us(10 * nth), us(wait));
            if stands || us(wait) > params.ins_target {
                marked.push(10 * nth);
            }
        }
        marked
    }

    /// Above since 10, so marks after 80: at 90; 70/√1 later, at 160; 160 + 70/√2 = 209.5, at 210;
    /// 210 + 70/√3 = 250.4, at 260; …
    #[test]
    fn a_standing_queue_is_marked_ever_more_often() {
        assert_eq!(marks([20; 40]), [90, 160, 210, 260, 300, 340, 370, 400]);
    }

    #[test]
    fn a_long_wait_is_marked_at_once_and_a_short_one_ends_the_episode() {
        let waits = [vec![20; 5], vec![80; 3], vec![5], vec![20; 15]].concat();
        assert_eq!(marks(waits), [60, 70, 80, 180]);
    }
}
