//! No TCP at all: packets go as the network card lets them, and never again.

use crate::{About, Control, Mark};
use std::ops::Deref;
use switchbed_units::Time;

/// Senders of this kind have no window.
#[derive(Clone, Debug)]
pub struct Udp;

impl Control for Udp {
    type Params = ();
    const ABOUT: About = About { tcp: false, ..About::TCP };

    fn new(_: &()) -> Udp {
        Udp
    }

    fn marked(&mut self, _: impl Deref<Target = ()>, _: f64, _: Time) -> Mark {
        Mark::Leaves(1.0)
    }
}
