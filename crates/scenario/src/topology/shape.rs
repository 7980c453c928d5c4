//! Answers that every kind of topology gives.

use super::graph::{Graph, SwitchGroup};
use super::rates::HostRates;
use switchbed_config::param::Unfit;
use switchbed_units::{Rate, Span};

/// Description of a kind of topology.
pub trait Shape {
    /// The number of hosts.
    fn hosts(&self) -> u32;

    /// Rate and propagation of a host's link.
    fn access(&self) -> (Rate, Span);

    /// The number of hosts' links.
    fn host_links(&self) -> u64 {
        self.hosts().into()
    }

    /// The rates of hosts' links, each host's together.
    fn host_rates(&self) -> HostRates {
        HostRates::Same(self.access().0)
    }

    /// The propagation between the first switch and the last of the longest way.
    fn across(&self) -> Span;

    /// The kinds of switch, in the order that numbers the switches.
    fn switch_groups(&self) -> Vec<SwitchGroup>;

    /// The key that is to blame where it is too large, or too small.
    fn size(&self) -> &'static str;

    /// Refuses values that do not go together.
    fn check(&self) -> Result<(), Unfit> {
        Ok(())
    }

    /// Builds the cables and routes, with the switches named as [`Shape::switch_groups`] has them.
    fn graph(&self) -> Graph;
}
