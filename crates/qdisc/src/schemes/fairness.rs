//! Parts of the schemes that share a link approximately fairly: who is entitled to how much
//! ([`Share`], [`water_level`]) and who sends how much ([`Arrivals`]).

mod arrivals;

pub use arrivals::Arrivals;
pub(crate) use arrivals::power;

use crate::port::packet::Packet;
use switchbed_config::{params, words};
use switchbed_units::{Rate, Span};

words! {
    /// Traffic that is counted together as one party.
    #[derive(Default)]
    pub enum Party {
        /// A flow's.
        #[default]
        Flow = "flow",
        /// A class's: a tenant.
        Class = "class",
    }
}

params! {
    /// Parties that share, with their weights and caps.
    pub struct ShareParams {
        /// Granularity of a party: a flow, or a class (a tenant).
        by: Party = "flow";
        /// Weights of the classes 0, 1, …; a flow has its class's. Default: 1.
        weights: Vec<f64> = "[]" as List(&POSITIVE);
        /// The most that the classes 0, 1, … may have; a flow has its class's. Default: no cap.
        max: Vec<Rate> = "[]";
    }
}

impl ShareParams {
    /// The classes' weights and caps: two lists, of which either may be the longer.
    pub fn shares(&self) -> Shares {
        let share = |class: usize| Share {
            weight: self.weights.get(class).copied().unwrap_or(1.0),
            cap: self.max.get(class).copied(),
        };
        Shares::new((0..self.weights.len().max(self.max.len())).map(share).collect())
    }
}

impl Party {
    /// The number that a packet is counted under.
    #[inline]
    pub fn of(self, packet: &Packet) -> u32 {
        match self {
            Party::Flow => packet.flow.0,
            Party::Class => packet.class as u32,
        }
    }
}

/// Entitlement of a party to the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Weight against other parties, over 0.
    pub weight: f64,
    /// The most that it may have; `None`: no cap.
    pub cap: Option<Rate>,
}

impl Default for Share {
    fn default() -> Self {
        Share { weight: 1.0, cap: None }
    }
}

/// Every class's share; a flow has its class's.
#[derive(Clone, Debug, Default)]
pub struct Shares(Vec<Share>);

impl Shares {
    /// Shares of classes 0, 1, …; further classes have weight 1 and no cap.
    pub fn new(shares: Vec<Share>) -> Self {
        Shares(shares)
    }

    /// Returns the share of a class.
    #[inline]
    pub fn of(&self, class: u8) -> Share {
        self.0.get(class as usize).copied().unwrap_or_default()
    }

    /// Replaces the share of a class.
    pub fn set(&mut self, class: u8, share: Share) {
        let n = self.0.len().max(class as usize + 1);
        self.0.resize(n, Share::default());
        self.0[class as usize] = share;
    }

    /// A class's weight, and its cap in bytes over a time (infinite without one).
    pub fn over(&self, class: u8, time: Span) -> (f64, f64) {
        let Share { weight, cap } = self.of(class);
        let bytes = |cap: Rate| cap.as_bps() as f64 / 8.0 * time.as_secs_f64();
        (weight, cap.map_or(f64::INFINITY, bytes))
    }
}

/// Weighted max-min fairness by water filling: the level λ at which the parties' min(limit,
/// λ·weight) add up to `total`; infinite where all limits together do not exceed it. A party is
/// (weight, limit), weights over 0; the order of the parties is changed.
pub fn water_level(total: f64, parties: &mut [(f64, f64)]) -> f64 {
    // Vessels of width `weight` are full at limit / weight: the lowest fill first.
    parties.sort_unstable_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
    let mut weights: f64 = parties.iter().map(|party| party.0).sum();
    let mut rest = total;
    for &(weight, limit) in parties.iter() {
        // Rounding may take the rest a little below zero.
        let level = (rest / weights).max(0.0);
        if limit >= level * weight {
            return level;
        }
        rest -= limit;
        weights -= weight;
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(total: f64, parties: &[(f64, f64)]) -> Vec<f64> {
        let level = water_level(total, &mut parties.to_vec());
        parties.iter().map(|&(weight, limit)| limit.min(level * weight)).collect()
    }

    #[test]
    fn what_the_capped_leave_goes_to_the_rest_by_weight() {
        let no = f64::INFINITY;
        assert_eq!(
            shares(10.0, &[(4.0, no), (3.0, no), (2.0, no), (1.0, no)]),
            [4.0, 3.0, 2.0, 1.0]
        );
        // AF-QCN's figure 9: flow 1 of weight 4 is held to 1; 9 remain for 3 : 2 : 1.
        assert_eq!(
            shares(10.0, &[(4.0, 1.0), (3.0, no), (2.0, no), (1.0, no)]),
            [1.0, 4.5, 3.0, 1.5]
        );
        // The first cap frees so much that the second binds too.
        assert_eq!(shares(12.0, &[(1.0, 1.0), (1.0, 4.0), (1.0, 9.0)]), [1.0, 4.0, 7.0]);
        assert_eq!(shares(20.0, &[(1.0, 1.0), (1.0, 4.0)]), [1.0, 4.0]);
        assert_eq!(shares(0.0, &[(1.0, 1.0), (2.0, no)]), [0.0, 0.0]);
        assert_eq!(water_level(5.0, &mut []), f64::INFINITY);
    }

    #[test]
    fn shares_of_classes_not_named_are_equal_and_uncapped() {
        let mut shares = Shares::new(vec![Share { weight: 4.0, cap: Some(Rate::from_gbps(1)) }]);
        assert_eq!(shares.over(0, Span::from_ms(1)), (4.0, 125_000.0));
        assert_eq!(shares.over(7, Span::from_ms(1)), (1.0, f64::INFINITY));
        shares.set(2, Share { weight: 0.5, cap: None });
        assert_eq!((shares.of(1), shares.of(2).weight), (Share::default(), 0.5));
    }
}
