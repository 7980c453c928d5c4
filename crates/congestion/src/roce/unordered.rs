//! Unordered delivery: the card sends at line rate what window and credit allow. The window is in
//! [`crate::nscc`], and credit is the receiver's.

use super::{Path, RateAbout, RateAlgorithm};
use switchbed_units::{Rate, Time};

macro_rules! unordered {
    ($($name:ident: $nscc:literal, $credits:literal;)+) => {$(
        /// Delivery in any order; no rate limits it.
        #[derive(Clone, Debug)]
        pub struct $name {
            line: Rate,
        }

        impl RateAlgorithm for $name {
            type Params = ();
            const ABOUT: RateAbout = RateAbout {
                nscc: $nscc,
                credits: $credits,
                verified: false,
                paper: "uet-htsim 40ccb05 (2025), uec.cpp; the UEC specification was not at hand",
                ..RateAbout::PLAIN
            };

            fn new(_: &(), path: &Path, _: Time) -> Self {
                $name { line: path.line }
            }

            fn rate(&self) -> Rate {
                self.line
            }
        }
    )+};
}

unordered! {
    Nscc: true, false;
    Rccc: false, true;
    NsccRccc: true, true;
}
