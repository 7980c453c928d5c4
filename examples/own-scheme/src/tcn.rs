//! TCN (Bai, Chen, Chen, Kim, Wu: Enabling ECN over Generic Packet Scheduling, CoNEXT 2016): a
//! packet is marked as it leaves if it has waited for longer than a threshold.

use switchbed_qdisc::definition::{About, Definition, marker};
use switchbed_qdisc::param::Unfit;
use switchbed_qdisc::seats::{Departure, Intent, Marker};
use switchbed_qdisc::site::{Built, Site};
use switchbed_qdisc::units::{Bytes, Span};
use switchbed_qdisc::{Note, Packet, QueueId, Random, SlotId, View, params};

params! {
    /// What a scenario says of it.
    pub struct TcnParams {
        /// The longest wait without a mark. The paper's: the standard threshold's time on the line.
        threshold: Span;
    }
}

/// TCN.
pub struct Tcn {
    threshold: Span,
}

impl Definition for Tcn {
    type Params = TcnParams;

    const ABOUT: About = About {
        name: "tcn",
        paper: "Bai et al., Enabling ECN over Generic Packet Scheduling, CoNEXT 2016",
        summary: "Marks a packet that has waited for longer than the threshold.",
        source: "section 3",
        seats: marker("TCN"),
        needs_pool: false,
    };

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
