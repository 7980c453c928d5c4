//! No rate control: a queue pair sends at line rate whatever happens, and PFC alone holds it.

use super::{Path, RateAbout, RateAlgorithm};
use switchbed_units::{Rate, Time};

/// Sending at the line's rate, whatever happens.
#[derive(Clone, Debug)]
pub struct Unlimited {
    line: Rate,
}

impl RateAlgorithm for Unlimited {
    type Params = ();
    const ABOUT: RateAbout = RateAbout::PLAIN;

    fn new(_: &(), path: &Path, _: Time) -> Unlimited {
        Unlimited { line: path.line }
    }

    fn rate(&self) -> Rate {
        self.line
    }
}
