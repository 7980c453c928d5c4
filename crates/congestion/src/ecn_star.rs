//! ECN* of the papers: RFC 3168 with NewReno's growth, and a mark halves the window, however much of
//! it is in flight.

use crate::{About, Control, Mark};
use std::ops::Deref;
use switchbed_units::Time;

/// ECN* for TCP, a control without state.
#[derive(Clone, Debug)]
pub struct EcnStar;

impl Control for EcnStar {
    type Params = ();
    const ABOUT: About = About::TCP;

    fn new(_: &()) -> EcnStar {
        EcnStar
    }

    fn marked(&mut self, _: impl Deref<Target = ()>, _: f64, _: Time) -> Mark {
        Mark::Leaves(0.5)
    }
}
