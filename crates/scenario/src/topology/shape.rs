//! Answers that every kind of topology gives, the rates of hosts' links among them: a load is a fraction of its host's.

use super::graph::{Graph, SwitchGroup};
use std::sync::Arc;
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

/// The rate of each host's link, or of all its links together.
#[derive(Clone, Debug, PartialEq)]
pub enum HostRates {
    /// All have this one.
    Same(Rate),
    /// By host.
    Each(Arc<[Rate]>),
}

impl HostRates {
    /// The rate of one host's link, or of all of one host's links together.
    pub fn of(&self, host: u32) -> Rate {
        match self {
            HostRates::Same(rate) => *rate,
            HostRates::Each(rates) => rates[host as usize],
        }
    }

    /// The sum of what each of these hosts' rates comes to.
    pub fn total(&self, hosts: &[u32], each: impl Fn(Rate) -> f64) -> f64 {
        match self {
            HostRates::Same(rate) => each(*rate) * hosts.len() as f64,
            HostRates::Each(rates) => hosts.iter().map(|&host| each(rates[host as usize])).sum(),
        }
    }

    /// The fastest.
    pub fn most(&self) -> Rate {
        match self {
            HostRates::Same(rate) => *rate,
            HostRates::Each(rates) => rates.iter().copied().max().unwrap_or(Rate::from_bps(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_one_rate_are_as_hosts_that_each_have_it() {
        let rate = Rate::from_gbps(10);
        let (same, each) = (HostRates::Same(rate), HostRates::Each(vec![rate; 4].into()));
        let bps = |rate: Rate| rate.as_bps() as f64;
        assert_eq!(same.total(&[0, 3], bps), each.total(&[0, 3], bps));
        let mixed = HostRates::Each([1, 25, 10].map(Rate::from_gbps).into());
        assert_eq!(mixed.total(&[0, 2], bps), 11e9);
        assert_eq!((mixed.most(), mixed.of(2)), (Rate::from_gbps(25), rate));
    }
}
