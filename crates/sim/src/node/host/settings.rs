//! What is the same at all hosts.

use super::intake;
use super::probes::{self, Source};
use crate::transport;
use crate::transport::roce;
use crate::transport::tcp::Config;
use switchbed_scenario::Scenario;
use switchbed_scenario::transport::Warm;
use switchbed_scenario::{FctEnd, Reaction};
use switchbed_units::Span;

/// One copy for all hosts.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) transport: transport::Settings,
    pub(super) warm: Option<Warm>,
    fct_end: FctEnd,
    pub(super) ack_class_follows: bool,
    pub(super) seed: u64,
    pub(super) ecmp_by_row: bool,
    /// As fast as word can get from one host to another.
    pub(crate) lookahead: Span,
    pub(super) reaction: Option<Reaction>,
    /// Connections hear when their packets have left the card (small queues).
    pub(crate) tells_left: bool,
    pub(super) intake: Option<intake::Settings>,
    pub(super) probes: Vec<Source>,
    /// Room for each source's samples.
    pub(super) probe_samples: u64,
    /// Somebody wants to know what each class's receivers have taken, at any time.
    pub(super) tells_taken: bool,
    /// Somebody wants to know which connections have something to send.
    pub(super) tells_unsent: bool,
}

impl Settings {
    /// A scenario's; `config` is its transport read as TCP's, `roce` its queue pairs.
    pub(crate) fn new(
        scenario: &Scenario,
        config: Config,
        roce: Option<roce::Config>,
        lookahead: Span,
    ) -> Settings {
        let Scenario { host, transport, traffic, measure, run, reaction, .. } = scenario;
        let probes = probes::sources(traffic, transport.ecn, run.seed);
        Settings {
            transport: transport::Settings::new(transport, config, roce),
            warm: transport.warm,
            fct_end: measure.fct_end,
            ack_class_follows: transport.ack_class_follows,
            seed: run.seed,
            ecmp_by_row: run.ecmp_by_row,
            lookahead,
            reaction: *reaction,
            tells_left: host.small_queues.on && transport.control.about().tcp,
            intake: intake::Settings::of(host),
            probe_samples: measure.samples / (probes.len() as u64).max(1),
            probes,
            tells_taken: measure.goodput_every.is_some(),
            tells_unsent: !measure.monitors.underflow.is_empty(),
        }
    }

    /// A card asks every connection for its packets: nothing else would pace them.
    pub(super) fn cards_for_all(&self) -> bool {
        self.transport.paced_by_card()
    }

    /// Cards send when the port behind them has nothing to send; else when their own packets are through.
    pub(super) fn cards_yield(&self) -> bool {
        self.transport.roce.is_some()
    }

    pub(super) fn has_cards(&self) -> bool {
        self.cards_for_all() || self.reaction.is_some()
    }

    /// Flows end with the ACK of their last byte; else with its arrival. Without TCP there are
    /// no ACKs.
    pub(super) fn ends_acked(&self) -> bool {
        self.fct_end == FctEnd::Acked && !self.transport.unanswered()
    }

    /// ECMP keys for both directions.
    pub(super) fn keys(&self, a: u64, b: u64) -> [u32; 2] {
        crate::topology::keys(self.seed, a, b)
    }
}
