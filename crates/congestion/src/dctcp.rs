//! DCTCP (RFC 8257): a mark cuts the window by half the marked fraction α, of which each window of
//! data is a sample.

use crate::{About, Acked, Arithmetic, Control, Mark};
use std::ops::Deref;
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::Time;

params! {
    /// DCTCP's parameters.
    #[derive(Copy)]
    pub struct DctcpParams {
        /// Weight of a new sample of the marked fraction.
        g: f64 as FRACTION;
        /// α of a new connection (RFC 8257: 1).
        alpha_start: f64 as FRACTION;
        /// exact: RFC 8257 in fractions. kernel: as tcp_dctcp.c, α in 1/1024, whole packets, two at
        /// least, and a sample without the ACK that ends its window.
        arithmetic("alpha"): Arithmetic;
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
        let key = DctcpParams::KEY;
        let shifts = (0..=10).any(|shift| params.g == 1.0 / f64::from(1 << shift));
        match params.arithmetic {
            _ if params.g == 0.0 => Err(Unfit::new(key.g, "a weight is greater than 0")),
            Arithmetic::Kernel if !shifts => {
                let why = "with alpha = \"kernel\" it must be 1/2ⁿ, from 1 to 1/1024";
                Err(Unfit::new(key.g, why))
            }
            _ => Ok(()),
        }
    }

    fn new(params: &DctcpParams) -> Dctcp {
        let alpha = match params.arithmetic {
            Arithmetic::Exact => params.alpha_start,
            Arithmetic::Kernel => (params.alpha_start * WHOLE).floor() / WHOLE,
        };
        Dctcp { alpha, window_end: 0, acked: 0, marked: 0 }
    }

    #[inline]
    fn acked(&mut self, params: impl Deref<Target = DctcpParams>, ack: Acked) {
        if params.arithmetic == Arithmetic::Kernel {
            return self.acked_in_kernel(params.g, ack);
        }
        self.acked += ack.bytes;
        self.marked += ack.marked;
        if ack.end > self.window_end {
            let (g, fraction) = (params.g, self.marked as f64 / self.acked as f64);
            self.alpha = (1.0 - g) * self.alpha + g * fraction;
            (self.window_end, self.acked, self.marked) = (ack.sent, 0, 0);
        }
    }

    fn marked(&mut self, params: impl Deref<Target = DctcpParams>, window: f64, _: Time) -> Mark {
        match params.arithmetic {
            Arithmetic::Exact => Mark::Leaves(1.0 - self.alpha / 2.0),
            Arithmetic::Kernel => {
                let cwnd = window as u64;
                // α in 1/1024, and half of it: hence a shift by 11.
                let cut = (cwnd * (self.alpha * WHOLE) as u64) >> 11;
                Mark::To((cwnd - cut).max(2) as f64)
            }
        }
    }

    fn alpha(&self) -> Option<f64> {
        Some(self.alpha)
    }
}

/// The kernel's α is in parts of this, so that each of its values is a fraction that a float holds.
const WHOLE: f64 = 1024.0;

impl Dctcp {
    /// `dctcp_update_alpha`, which runs before the ACK that ends a window is counted (up to 6.14).
    #[cold]
    fn acked_in_kernel(&mut self, g: f64, ack: Acked) {
        if ack.end >= self.window_end {
            let shift = ((1.0 / g) as u32).ilog2();
            let alpha = (self.alpha * WHOLE) as u64;
            let decay = alpha >> shift;
            // `min_not_zero`: an α too small to be shifted falls to 0 at once.
            let rest = alpha - if decay > 0 { decay } else { alpha };
            let sample = (u64::from(self.marked) << (10 - shift)) / u64::from(self.acked).max(1);
            self.alpha = (rest + sample).min(WHOLE as u64) as f64 / WHOLE;
            (self.window_end, self.acked, self.marked) = (ack.sent, 0, 0);
        }
        self.acked += ack.bytes;
        self.marked += ack.marked;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: DctcpParams =
        DctcpParams { g: 0.0625, alpha_start: 1.0, arithmetic: Arithmetic::Kernel };

    /// An ACK of one packet, the `end`-th of the stream, with a window of ten packets out.
    fn ack(end: u64, marked: bool) -> Acked {
        let (bytes, now) = (1460, Time::ZERO);
        let marked = if marked { bytes } else { 0 };
        Acked { bytes, marked, end: end * 1460, sent: (end + 10) * 1460, now, rtt: None }
    }

    /// α in 1/1024 after windows of ten packets of which so many are marked.
    fn alphas(dctcp: &mut Dctcp, marks: &[u64]) -> Vec<f64> {
        let mut end = 0;
        let mut window = |marked: u64| {
            // The ACK that begins a window is counted in it, the one that ends it in the next.
            for n in 0..10 {
                end += 1;
                dctcp.acked(&KERNEL, ack(end, n < marked));
            }
            dctcp.alpha * WHOLE
        };
        marks.iter().map(|&marked| window(marked)).collect()
    }

    #[test]
    fn alpha_is_what_the_kernels_integers_make_of_it() {
        let mut dctcp = Dctcp::new(&KERNEL);
        // 1024 − 64 with the first ACK, before which there was nothing; 960 − 60 + 64·3/10;
        // 919 − 57 + 64; 926 − 57 + 0.
        assert_eq!(alphas(&mut dctcp, &[3, 10, 0, 0]), [960.0, 919.0, 926.0, 869.0]);
        // Less than 16 goes at once.
        dctcp.alpha = 15.0 / WHOLE;
        dctcp.acked(&KERNEL, ack(100, false));
        assert_eq!(dctcp.alpha, 0.0);
    }

    #[test]
    fn a_mark_leaves_whole_packets_and_two_at_least() {
        let cut = |alpha: f64, window| {
            let mut dctcp = Dctcp { alpha: alpha / WHOLE, ..Dctcp::new(&KERNEL) };
            dctcp.marked(&KERNEL, window, Time::ZERO)
        };
        assert_eq!(cut(1024.0, 21.9), Mark::To(11.0));
        // 20·100/2048 is less than a packet, 21·100/2048 is one.
        assert_eq!([cut(100.0, 20.0), cut(100.0, 21.0)], [Mark::To(20.0), Mark::To(20.0)]);
        assert_eq!(cut(1024.0, 3.0), Mark::To(2.0));
        assert_eq!(cut(1024.0, 1.0), Mark::To(2.0));
    }

    #[test]
    fn the_kernel_weighs_by_powers_of_two() {
        let check = |g| Dctcp::check(&DctcpParams { g, ..KERNEL }).map_err(|unfit| unfit.param);
        assert_eq!(
            [check(0.0625), check(1.0), check(0.1), check(0.0)],
            [Ok(()), Ok(()), Err("g"), Err("g")]
        );
    }
}
