//! Payload that a source asks pairs of hosts to carry.

/// A source's demand: host `i` sends `x_i · y_j` bits of payload a second to each host `j` but itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Senders `i`, each with its `x_i`.
    pub from: Vec<(u32, f64)>,
    /// Receivers `j`, each with its `y_j`.
    pub to: Vec<(u32, f64)>,
}

impl Demand {
    /// Every sender offers its `each_bps`, spread evenly over the receivers but itself.
    pub(super) fn spread(from: &[u32], to: &[u32], each_bps: impl Fn(u32) -> f64) -> Demand {
        let mut sorted = to.to_vec();
        sorted.sort_unstable();
        let others = |host: &u32| to.len() - usize::from(sorted.binary_search(host).is_ok());
        let share = |host: &u32| (*host, each_bps(*host) / others(host).max(1) as f64);
        let one = |&host: &u32| (host, 1.0);
        let (small, large) = (from.iter().map(share), to.iter().map(one));
        Demand { from: small.collect(), to: large.collect() }
    }

    /// Multiplies the senders' demand by a factor.
    pub(super) fn times(self, factor: f64) -> Demand {
        let from = self.from.into_iter().map(|(host, of)| (host, factor * of)).collect();
        Demand { from, ..self }
    }

    /// The same the other way round: what senders ask for comes to them.
    pub(super) fn reversed(self) -> Demand {
        Demand { from: self.to, to: self.from }
    }
}
