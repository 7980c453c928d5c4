//! DCTCP (RFC 8257): a mark cuts the window by half the marked fraction α, of which each window of
//! data is a sample.

use crate::{About, Control, Mark};
use std::ops::Deref;
use switchbed_qdisc::param::Unfit;
use switchbed_qdisc::params;

params! {
    /// DCTCP's parameters.
    #[derive(Copy)]
    pub struct DctcpParams {
        /// Weight of a new sample of the marked fraction.
        g: f64 as FRACTION;
        /// α of a new connection (RFC 8257: 1).
        alpha_start: f64 as FRACTION;
    }
}

/// DCTCP's estimate of the marked fraction (section 3.3).
#[derive(Clone, Debug)]
pub struct Dctcp {
    alpha: f64,
    /// An ACK beyond this ends the window of data over which marks are counted.
    window_end: u64,
    acked: u32,
    marked: u32,
}

impl Control for Dctcp {
    type Params = DctcpParams;
    const ABOUT: About = About {
        ecn_throughout: true, // section 3.5
        exact_echo: true,
        loss_adds_to_mark: true,
        ..About::TCP
    };

    fn check(params: &DctcpParams) -> Result<(), Unfit> {
        match params.g {
            0.0 => Err(Unfit::new(DctcpParams::KEY.g, "a weight is greater than 0")),
            _ => Ok(()),
        }
    }

    fn new(params: &DctcpParams) -> Dctcp {
        Dctcp { alpha: params.alpha_start, window_end: 0, acked: 0, marked: 0 }
    }

    #[inline]
    fn acked(
        &mut self,
        params: impl Deref<Target = DctcpParams>,
        acked: u32,
        ece: bool,
        ack: u64,
        sent: u64,
    ) {
        self.acked += acked;
        self.marked += if ece { acked } else { 0 };
        if ack > self.window_end {
            let (g, fraction) = (params.g, self.marked as f64 / self.acked as f64);
            self.alpha = (1.0 - g) * self.alpha + g * fraction;
            (self.window_end, self.acked, self.marked) = (sent, 0, 0);
        }
    }

    fn marked(&self) -> Mark {
        Mark::Leaves(1.0 - self.alpha / 2.0)
    }

    fn alpha(&self) -> Option<f64> {
        Some(self.alpha)
    }
}
