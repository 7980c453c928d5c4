//! Schemes, a file each, and their list ([`SCHEMES`]). A file has the scheme's parameters, what it says
//! of itself and how it is built ([`definition`]), and its rule. Most sit in one seat of a port; `cqrd`,
//! `dualpi2`, `fq_codel`, `fq_pie` and `hcf` in several. Markers that work on arrival or departure alike take a
//! [`MarkAt`].

mod af_qcn;
mod afd;
pub mod by_queue;
mod cedm;
mod cobalt;
mod codel;
pub mod cqrd;
pub mod definition;
pub mod dualpi2;
mod e_ecn;
mod ecn_sharp;
pub mod fairness;
pub mod flow_queues;
pub mod fq_codel;
pub mod fq_pie;
pub mod hcf;
mod mq_ecn;
mod none;
mod pie;
mod pmsb;
mod qcn;
mod red;
mod s_ecn;
mod share;
pub mod site;
mod step;
mod tcn;

pub use af_qcn::{AfQcn, AfQcnParams, AfQcnSettings, Rounding};
pub use afd::{Afd, AfdParams, AfdSettings};
pub use cedm::{Cedm, CedmParams, CedmSettings};
pub use cobalt::{Cobalt, CobaltParams};
pub use codel::{Codel, CodelParams, NextMark, Root};
pub(crate) use codel::{Controller, Rule};
pub use cqrd::RandomMark;
pub use e_ecn::{EEcn, EEcnParams, GrowthParams};
pub use ecn_sharp::{EcnSharp, EcnSharpParams};
pub(crate) use fairness::power;
pub use mq_ecn::{Estimate, MqEcn, MqEcnParams};
pub use pie::{Pie, PieParams};
pub use pmsb::Pmsb;
pub use qcn::{Qcn, QcnParams, QcnSettings};
pub use red::{Red, RedParams, RedSettings, Spacing};
pub use s_ecn::{SEcn, SEcnParams, Slope};
pub use share::{Rounds, Share, Timed, Weights, Whole};
pub use step::{
    PerPool, PerPort, PerQueue, PerQueueDq, PerQueueMin, StandardThreshold, Step, StepParams,
    divides_threshold,
};
pub use tcn::{Tcn, TcnParams};

use crate::hooks::Nobody;
use cqrd::{Cq, Cqrd, CqrdConfigured, Oq};
use definition::SchemeInfo;
use dualpi2::DualPi2;
use fq_codel::FqCodel;
use fq_pie::FqPie;
use hcf::Hcf;
use std::sync::RwLock;
use switchbed_config::words;

/// Every scheme of ours, in the order that `switchbed schemes` prints.
pub const SCHEMES: &[SchemeInfo] = &[
    SchemeInfo::of::<Nobody>(),
    SchemeInfo::of::<PerQueue>(),
    SchemeInfo::of::<PerQueueMin>(),
    SchemeInfo::of::<PerPort>(),
    SchemeInfo::of::<PerPool>(),
    SchemeInfo::of::<MqEcn>(),
    SchemeInfo::of::<Red>(),
    SchemeInfo::of::<PerQueueDq>(),
    SchemeInfo::of::<Cedm>(),
    SchemeInfo::of::<EEcn>(),
    SchemeInfo::of::<SEcn>(),
    SchemeInfo::of::<Tcn>(),
    SchemeInfo::of::<Codel>(),
    SchemeInfo::of::<FqCodel>(),
    SchemeInfo::of::<FqPie>(),
    SchemeInfo::of::<Cobalt>(),
    SchemeInfo::of::<Pie>(),
    SchemeInfo::of::<DualPi2>(),
    SchemeInfo::of::<EcnSharp>(),
    SchemeInfo::of::<Pmsb>(),
    SchemeInfo::of::<Qcn>(),
    SchemeInfo::of::<Afd>(),
    SchemeInfo::of::<AfQcn>(),
    SchemeInfo::of::<Oq>(),
    SchemeInfo::of::<Cq>(),
    SchemeInfo::of::<Cqrd>(),
    SchemeInfo::of::<CqrdConfigured>(),
    SchemeInfo::of::<Hcf>(),
];

static OWN: RwLock<Vec<&'static SchemeInfo>> = RwLock::new(Vec::new());

/// Adds a program's own scheme, which scenario files may then name.
///
/// # Errors
/// There is one of this name.
pub fn register(scheme: &'static SchemeInfo) -> Result<(), String> {
    // A poisoned lock is as good: the list only grows.
    let mut own = OWN.write().unwrap_or_else(|poisoned| poisoned.into_inner());
    if SCHEMES.iter().chain(own.iter().copied()).any(|other| other.name == scheme.name) {
        return Err(format!("there is a scheme {} already", scheme.name));
    }
    own.push(scheme);
    Ok(())
}

/// Every scheme, the program's own last.
pub fn schemes() -> impl Iterator<Item = &'static SchemeInfo> + Clone {
    // A copy: the lock is not held while the caller goes through it.
    let own = OWN.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
    SCHEMES.iter().chain(own)
}

/// Finds the scheme called `name`.
pub fn find(name: &str) -> Option<&'static SchemeInfo> {
    schemes().find(|scheme| scheme.name == name)
}

words! {
    /// Where a marker compares the queue with its threshold.
    pub enum MarkAt {
        /// When the packet arrives, itself counted.
        Enqueue = "enqueue",
        /// When the packet leaves, itself counted.
        Dequeue = "dequeue",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kebab_case_and_unique() {
        for (i, scheme) in SCHEMES.iter().enumerate() {
            let kebab = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            assert!(scheme.name.bytes().all(kebab));
            assert!(SCHEMES[..i].iter().all(|other| other.name != scheme.name));
            assert_eq!(find(scheme.name).map(|found| found.name), Some(scheme.name));
        }
    }

    #[test]
    fn powers() {
        assert_eq!(power(0.75, 0), 1.0);
        assert_eq!(power(0.75, 3), 0.421875);
        assert_eq!(power(0.5, 1 << 40), 0.0);
    }
}
