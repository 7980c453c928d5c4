//! Markers, one scheme a file (`growth` is what E-ECN and S-ECN share). Those that work on arrival or departure alike take a
//! [`MarkAt`].

mod afd;
mod cedm;
mod cobalt;
mod codel;
mod e_ecn;
mod ecn_sharp;
mod growth;
mod mq_ecn;
mod none;
mod pie;
mod pmsb;
mod random_mark;
mod red;
mod s_ecn;
mod share;
mod step;
mod tcn;

pub use afd::{Afd, AfdParams, AfdSettings};
pub use cedm::{Cedm, CedmParams, CedmSettings};
pub use cobalt::{Cobalt, CobaltParams};
pub use codel::{Codel, CodelParams, NextMark, Root};
pub(crate) use codel::{Law, Rule};
pub use e_ecn::{EEcn, EEcnParams};
pub use ecn_sharp::{EcnSharp, EcnSharpParams};
pub use growth::GrowthParams;
pub use mq_ecn::{Estimate, MqEcn, MqEcnParams};
pub use pie::{Pie, PieParams};
pub use pmsb::Pmsb;
pub use random_mark::RandomMark;
pub use red::{Red, RedParams, RedSettings, Spacing};
pub use s_ecn::{SEcn, SEcnParams, Slope};
pub use share::{Rounds, Share, Timed, Weights, Whole};
pub use step::{
    PerPool, PerPort, PerQueue, PerQueueDq, PerQueueMin, StandardThreshold, Step, StepParams,
    divides_threshold,
};
pub use tcn::{Tcn, TcnParams};

use switchbed_config::words;

words! {
    /// Where a marker compares the queue with its threshold.
    pub enum MarkAt {
        /// As the packet arrives, itself counted.
        Enqueue = "enqueue",
        /// As it leaves, itself counted.
        Dequeue = "dequeue",
    }
}

/// base^n by squaring.
pub(crate) fn power(mut base: f64, mut n: u64) -> f64 {
    let mut result = 1.0;
    while n > 0 && result > 0.0 {
        if n & 1 == 1 {
            result *= base;
        }
        base *= base;
        n >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::power;

    #[test]
    fn powers() {
        assert_eq!(power(0.75, 0), 1.0);
        assert_eq!(power(0.75, 3), 0.421875);
        assert_eq!(power(0.5, 1 << 40), 0.0);
    }
}
