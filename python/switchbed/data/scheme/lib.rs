//! A scheme of one's own: a packet is marked as it leaves if it has waited for longer than a threshold.
//! TCN's rule (Bai, Chen, Chen, Kim, Wu: Enabling ECN over Generic Packet Scheduling, CoNEXT 2016), under
//! another name. `switchbed new scheme NAME` writes this file: put your rule in its place.

use switchbed_qdisc::hooks::{Departure, Intent, Marker};
use switchbed_qdisc::param::Unfit;
use switchbed_qdisc::schemes::definition::{About, Definition, SchemeInfo, marker};
use switchbed_qdisc::schemes::site::{Built, Site};
use switchbed_qdisc::units::{Bytes, Span};
use switchbed_qdisc::{Note, Packet, QueueId, Random, SlotId, View, params};

params! {
    /// What a scenario says of it.
    pub struct WaitingParams {
        /// The longest wait without a mark. The paper's: the standard threshold's time on the line.
        threshold: Span;
    }
}

/// Schemes that the crate adds to Switchbed's.
pub static SCHEMES: &[SchemeInfo] = &[SchemeInfo::of::<Waiting>()];

/// The scheme.
pub struct Waiting {
    threshold: Span,
}

impl Definition for Waiting {
    type Params = WaitingParams;

    const ABOUT: About = About {
        name: "waiting",
        paper: "Bai et al., Enabling ECN over Generic Packet Scheduling, CoNEXT 2016",
        summary: "Marks a packet that has waited for longer than the threshold.",
        source: "section 3",
        seats: marker("the wait of the packet"),
        needs_pool: false,
    };

    fn complete(params: &mut WaitingParams, _: Bytes) -> Result<(), Unfit> {
        match params.threshold {
            Span::ZERO => Err(Unfit::new(WaitingParams::KEY.threshold, "it must be over 0")),
            _ => Ok(()),
        }
    }

    fn build(params: &WaitingParams, site: Site) -> Built {
        site.mark(Waiting { threshold: params.threshold })
    }
}

impl Marker for Waiting {
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

#[cfg(test)]
mod tests {
    use super::SCHEMES;
    use switchbed_qdisc::golden;

    #[test]
    fn the_golden_trace_comes_out_as_written() {
        if let Err(rows) = golden::check(&SCHEMES[0], include_str!("golden.txt")) {
            panic!("\n{rows}");
        }
    }
}
