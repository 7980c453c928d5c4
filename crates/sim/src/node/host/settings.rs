//! Settings that all hosts share.

use super::probes::{self, Source};
use super::program::Programs;
use super::reception;
use crate::ids::HostId;
use crate::transport::Kind;
use std::sync::Arc;
use switchbed_scenario::Scenario;
use switchbed_scenario::measure::FlowSeries;
use switchbed_scenario::protocols::Protocols;
use switchbed_scenario::topology::choice::Choice;
use switchbed_scenario::traffic::FlowStart;
use switchbed_scenario::transport::Warm;
use switchbed_scenario::{FctEnd, Reaction};
use switchbed_units::Span;

/// A transport as hosts have it.
#[derive(Clone, Debug)]
pub(crate) struct Carrier {
    pub(crate) transport: Kind,
    pub(crate) warm: Option<Warm>,
    /// ACKs travel in their flow's class; else in class 0.
    pub(crate) ack_class_follows: bool,
}

/// One copy for all hosts.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The first kind of transport, which most runs have alone, and the others.
    first: Carrier,
    others: Vec<Carrier>,
    /// Which of them flows have.
    protocols: Protocols,
    fct_end: FctEnd,
    /// Cards ask connections for their packets, at hosts that have such.
    cards_ask: bool,
    /// Cards send when the port behind them has nothing to send; else when their own packets are through.
    cards_yield: bool,
    /// Receivers give credit, and less of it while the fabric trims or marks, where it is oversubscribed.
    pub(super) credits: bool,
    pub(super) oversubscription: f64,
    pub(super) seed: u64,
    pub(super) ecmp_by_row: bool,
    /// Least time that a notice takes from one host to another.
    pub(crate) lookahead: Span,
    pub(super) reaction: Option<Reaction>,
    /// Connections hear when their packets have left the card (small queues).
    pub(crate) tells_left: bool,
    /// By stack of hosts.
    receptions: Vec<Option<reception::Settings>>,
    pub(super) probes: Vec<Source>,
    pub(super) programs: Arc<Programs>,
    /// Space for each source's samples.
    pub(super) probe_samples: u64,
    /// Somebody wants to know what each class's receivers have taken, at any time.
    pub(super) tells_taken: bool,
    /// Somebody wants to know which connections have something to send.
    pub(super) tells_unsent: bool,
    /// Flows whose senders somebody follows, change by change.
    pub(super) followed: Option<FlowSeries>,
    /// Either of these.
    pub(super) watches_senders: bool,
    /// Connections leave congested paths.
    pub(super) plb: bool,
    /// Each packet chooses its link, at hosts with several.
    pub(super) by_packet: bool,
    /// Somebody wants to know of each operation of programs.
    pub(super) traces: bool,
}

impl Settings {
    /// A scenario's; `carriers` are its `protocols` as hosts have them, one at least.
    pub(crate) fn new(
        scenario: &Scenario,
        protocols: Protocols,
        mut carriers: Vec<Carrier>,
        (programs, lookahead): (Arc<Programs>, Span),
    ) -> Settings {
        let Scenario { host, measure, run, reaction, .. } = scenario;
        let probes = probes::sources(scenario);
        let any = |is: fn(&Kind) -> bool| carriers.iter().any(|carrier| is(&carrier.transport));
        let tcp = any(|kind| matches!(kind, Kind::Tcp(_)));
        let datagrams = any(|kind| matches!(kind, Kind::Datagrams(_)));
        let pairs = any(Kind::is_pairs);
        let credits = any(Kind::credits);
        let times = carriers.iter().map(|carrier| carrier.transport.oversubscription());
        let oversubscription = times.fold(1.0, f64::max);
        let tells_unsent = !measure.monitors.underflow.is_empty();
        let followed = measure.monitors.flow_series.clone();
        let followed = followed.filter(|_| measure.monitors.follows_senders());
        Settings {
            first: carriers.remove(0),
            others: carriers,
            protocols,
            fct_end: measure.fct_end,
            cards_ask: datagrams || pairs,
            // ACKs of others share the line with what a card paces.
            cards_yield: pairs || datagrams && tcp,
            credits,
            oversubscription,
            seed: run.seed,
            ecmp_by_row: run.ecmp_by_row,
            lookahead,
            reaction: *reaction,
            tells_left: host.each().any(|host| host.small_queues.on) && tcp,
            receptions: host.each().map(reception::Settings::of).collect(),
            probe_samples: measure.samples / (probes.len() as u64).max(1),
            probes,
            programs,
            tells_taken: measure.goodput_every.is_some(),
            plb: scenario.routing.plb(),
            by_packet: scenario.routing.choice() != Choice::ByFlow,
            traces: measure.operations.unwrap_or(false),
            tells_unsent,
            watches_senders: tells_unsent || followed.is_some(),
            followed,
        }
    }

    /// The transport of a flow, by number.
    pub(super) fn kind_of(&self, flow: &FlowStart) -> u8 {
        self.protocols.place(flow.traffic, flow.class, (flow.src, flow.dst))
    }

    /// The same of what goes the other way: the request for it.
    pub(super) fn kind_back(&self, flow: &FlowStart) -> u8 {
        self.protocols.place(flow.traffic, flow.class, (flow.dst, flow.src))
    }

    /// How a host takes frames in; `None`: each goes up as it comes.
    pub(super) fn reception(&self, host: HostId) -> Option<reception::Settings> {
        self.receptions[usize::from(self.protocols.stack(host))]
    }

    /// How many there are.
    pub(crate) fn kinds(&self) -> usize {
        1 + self.others.len()
    }

    /// The transport of this number, as hosts have it.
    #[inline]
    pub(super) fn kind(&self, number: u8) -> &Carrier {
        match number {
            0 => &self.first,
            number => self.other(number),
        }
    }

    #[cold]
    fn other(&self, number: u8) -> &Carrier {
        &self.others[usize::from(number) - 1]
    }

    /// The settings of the transport of this number.
    #[inline]
    pub(super) fn transport(&self, number: u8) -> &Kind {
        &self.kind(number).transport
    }

    /// Whether packets gather INT.
    pub(crate) fn gathers(&self) -> bool {
        self.others.iter().chain([&self.first]).any(|carrier| carrier.transport.gathers())
    }

    pub(super) fn cards_yield(&self) -> bool {
        self.cards_yield
    }

    pub(super) fn has_cards(&self) -> bool {
        self.cards_ask || self.reaction.is_some()
    }

    /// Flows that are acknowledged end with the ACK of their last byte; else with its arrival.
    pub(super) fn ends_acked(&self) -> bool {
        self.fct_end == FctEnd::Acked
    }

    /// ECMP keys for both directions.
    pub(super) fn keys(&self, a: u64, b: u64) -> [u32; 2] {
        crate::topology::keys(self.seed, a, b)
    }
}
