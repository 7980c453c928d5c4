//! TCN (Bai, Chen, Chen, Kim, Wu: Enabling ECN over Generic Packet Scheduling, CoNEXT 2016): a
//! packet is marked as it leaves if it has waited for longer than a threshold, the same whatever queue it
//! was in and however that was served: no estimate of a queue's rate is needed.

use crate::hooks::{Departure, Intent, Marker};
use crate::port::arena::{Note, SlotId};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::View;
use crate::schemes::definition::{About, Definition, Equivalents, marker};
use crate::schemes::site::{Built, Site};
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Span};

params! {
    /// Parameters of TCN, as a scenario gives them.
    pub struct TcnParams {
        /// The longest wait without a mark: λ·RTT, the time that the standard threshold takes on the line.
        /// The authors' simulations at 10 Gbps: 100.8us.
        threshold: Span as Wait;
    }
}

/// TCN's marker, by sojourn time at departure.
#[derive(Clone, Copy, Debug)]
pub struct Tcn {
    /// The longest wait without a mark.
    pub threshold: Span,
}

impl Definition for Tcn {
    type Params = TcnParams;

    const ABOUT: About = About {
        name: "tcn",
        paper: "Bai et al., Enabling ECN over Generic Packet Scheduling, CoNEXT 2016",
        summary: "Marks a packet that has waited for longer than the threshold.",
        source: "its rule; settings: github.com/HKUST-SING/TCN-NS2",
        seats: marker("TCN"),
        needs_pool: false,
    };

    const EQUIVALENTS: Equivalents = Equivalents { main: "threshold", ..Equivalents::NONE };

    fn complete(params: &mut TcnParams, _: Bytes) -> Result<(), Unfit> {
        match params.threshold {
            Span::ZERO => Err(Unfit::new(TcnParams::KEY.threshold, "it must be over 0")),
            _ => Ok(()),
        }
    }

    fn build(params: &TcnParams, site: Site) -> Built {
        site.mark(Tcn { threshold: params.threshold })
    }
}

impl Marker for Tcn {
    fn intend(&self, _: &View, _: QueueId, _: &Packet, _: &mut dyn Random) -> Intent {
        Intent::Pass
    }

    fn depart(
        &mut self,
        view: &View,
        _: QueueId,
        slot: SlotId,
        _: Note,
        _: &mut dyn Random,
    ) -> Departure {
        let waited = view.now.since(view.arena.arrived(slot));
        if waited > self.threshold { Departure::Mark } else { Departure::Pass }
    }
}
