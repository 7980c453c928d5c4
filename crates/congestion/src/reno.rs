//! Reno (RFC 5681) with classic ECN (RFC 3168): a mark is answered as a loss, which halves what
//! `loss_halves` names.

use crate::{About, Control, Mark};
use std::ops::Deref;
use switchbed_units::Time;

/// Reno (RFC 5681), a control without state.
#[derive(Clone, Debug)]
pub struct Reno;

impl Control for Reno {
    type Params = ();
    const ABOUT: About = About::TCP;

    fn new(_: &()) -> Reno {
        Reno
    }

    fn marked(&mut self, _: impl Deref<Target = ()>, _: f64, _: Time) -> Mark {
        Mark::AsLoss { least: 2.0 }
    }
}
