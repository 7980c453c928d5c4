//! What the monitors of a run have seen.

pub use super::bursts::{Burst, Peak};
pub use super::changes::{LengthChange, slopes_bps};
pub use super::convergence::{Converged, RateSample};

use super::bursts::Bursts;
use super::changes::PortChanges;
use super::convergence::Convergence;
use super::observer::{Observed, Observers};
use crate::ids::LinkId;
use switchbed_qdisc::units::Time;

/// What the monitors of a run have seen.
#[derive(Clone, Debug, Default)]
pub struct Monitored {
    /// Each port's changes.
    pub changes: Vec<(LinkId, Vec<LengthChange>)>,
    /// The bursts since the warm-up.
    pub bursts: Vec<Burst>,
    /// The flows' rates.
    pub rates: Vec<RateSample>,
    /// The flows' convergence.
    pub converged: Vec<Converged>,
}

impl Monitored {
    /// Up to now.
    pub(crate) fn take(
        observers: &mut Observers,
        now: Time,
        network: &mut dyn Observed,
    ) -> Monitored {
        let changes = observers.of::<PortChanges>().map(|changes| changes.take(now, network));
        let bursts = observers.of::<Bursts>().map(|bursts| bursts.take(now, network));
        let convergence = observers.of_mut::<Convergence>().map(Convergence::take);
        let (rates, converged) = convergence.unwrap_or_default();
        Monitored {
            changes: changes.unwrap_or_default(),
            bursts: bursts.unwrap_or_default(),
            rates,
            converged,
        }
    }
}
