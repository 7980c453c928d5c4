//! What a sender remembers where a setting asks for more than RFC 5681 and 6675 have; the others do
//! not carry it along.

use super::Config;
use super::growth::Growth;
use super::lso::Lso;
use super::outlet::Outlet;
use super::reduction::Reduction;
use switchbed_spec::transport;

/// What a connection with such settings remembers.
#[derive(Clone, Debug, Default)]
pub(super) struct Extras {
    /// Bytes that the receiver has told of: acknowledged, SACKed, or counted by duplicate ACKs.
    pub(super) delivered: u64,
    /// The window is on its way down.
    pub(super) reduction: Option<Reduction>,
    /// Growth of the window.
    pub(super) growth: Growth,
    /// Large segment offload.
    pub(super) lso: Lso,
    /// What is known of the way out.
    pub(super) outlet: Outlet,
}

impl Extras {
    pub(super) fn new(config: &Config) -> Option<Box<Extras>> {
        let any = config.lso_max > 0
            || config.shapes
            || Growth::needed(config)
            || config.reduction != transport::Reduction::AtOnce;
        any.then(Box::default)
    }

    /// A segment goes out.
    pub(super) fn sent(&mut self) {
        if let Some(reduction) = &mut self.reduction {
            reduction.sent();
        }
    }
}
