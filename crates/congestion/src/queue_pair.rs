//! The words of `transport.kind` that are RoCE's: what controls a queue pair's rate is in [`crate::roce`], and
//! its settings are `[roce]`'s.

use crate::{About, Control, Mark};
use std::ops::Deref;
use switchbed_units::Time;

macro_rules! queue_pairs {
    ($($name:ident)+) => {$(
        /// Senders of this kind use a queue pair instead of a window.
        #[derive(Clone, Debug)]
        pub struct $name;

        impl Control for $name {
            type Params = ();
            const ABOUT: About = About { tcp: false, roce: true, ..About::TCP };

            fn new(_: &()) -> Self {
                $name
            }

            fn marked(&mut self, _: impl Deref<Target = ()>, _: f64, _: Time) -> Mark {
                Mark::Leaves(1.0)
            }
        }
    )+};
}

queue_pairs! { Dcqcn Timely Hpcc Swift Roce Nscc Rccc NsccRccc }
