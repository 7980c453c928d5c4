//! Every scheme, a line each, and those that a program adds of its own.

use crate::cqrd::{Cq, Cqrd, CqrdConfigured, Oq};
use crate::definition::SchemeInfo;
use crate::dualpi2::DualPi2;
use crate::fq_codel::FqCodel;
use crate::hcf::Hcf;
use crate::marker::{
    Afd, Cedm, Cobalt, Codel, EEcn, EcnSharp, MqEcn, PerPool, PerPort, PerQueue, PerQueueDq,
    PerQueueMin, Pie, Pmsb, Red, SEcn, Tcn,
};
use crate::notifier::{AfQcn, Qcn};
use crate::seats::Nobody;
use std::sync::RwLock;

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
    let mut own = OWN.write().unwrap_or_else(|poisoned| poisoned.into_inner());
    if SCHEMES.iter().chain(own.iter().copied()).any(|other| other.name == scheme.name) {
        return Err(format!("there is a scheme {} already", scheme.name));
    }
    own.push(scheme);
    Ok(())
}

/// Every scheme, the program's own last.
pub fn schemes() -> impl Iterator<Item = &'static SchemeInfo> + Clone {
    let own = OWN.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
    SCHEMES.iter().chain(own)
}

/// The scheme called `name`.
pub fn find(name: &str) -> Option<&'static SchemeInfo> {
    schemes().find(|scheme| scheme.name == name)
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
}
