//! CUBIC's window (RFC 9438): a cubic function of the time since congestion avoidance
//! began, W(t) = C·(t − K)³ + W_max, which flattens out around the window at the last cut;
//! never below what AIMD with the same cut, as fair as Reno, would have.
//!
//! Windows are in packets, times in seconds, so that C is in packets/s³. HyStart++ (section
//! 4.10) is slow start's (`hystart`). Not modelled: undoing spurious cuts (section 4.9).

use crate::{About, Acked, Arithmetic, Control, Mark, cubic_kernel};
use std::ops::Deref;
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::{Span, Time};

params! {
    /// CUBIC's parameters.
    #[derive(Copy)]
    pub struct CubicParams {
        /// How steeply the window grows, C, in packets/s³ (RFC 9438: 0.4).
        c: f64 as number(0.0, 1e18);
        /// Part of the window that a cut leaves, β (RFC 9438: 0.7).
        beta: f64 as FRACTION;
        /// A flow whose window has stopped growing gives way to newer ones (RFC 9438,
        /// section 4.7).
        fast_convergence: bool;
        /// The window is never below that of an AIMD as fair as Reno (RFC 9438, section
        /// 4.3), which rules where RTTs are short.
        reno_friendly: bool;
        /// exact: RFC 9438 in fractions. kernel: as tcp_cubic.c, in whole packets and milliseconds;
        /// without a cut the window grows by a twentieth a round trip at least, and a mark leaves two
        /// packets.
        arithmetic("curve"): Arithmetic;
    }
}

/// CUBIC; apart, since it is larger than others' memory and touched less.
#[derive(Clone, Debug)]
pub enum Cubic {
    /// Curve in fractions, by RFC 9438.
    Exact(Box<Curve>),
    /// Curve in the arithmetic of Linux.
    Kernel(Box<cubic_kernel::Curve>),
}

/// State of CUBIC between ACKs; names are the RFC's (section 4.1.2).
#[derive(Clone, Debug)]
pub struct Curve {
    /// Where the curve flattens out; 0 if no cut says.
    w_max: f64,
    /// The window just before the last cut.
    cwnd_prior: f64,
    /// The window of the equally fair AIMD.
    w_est: f64,
    /// K: when the curve reaches `w_max`, in seconds of the epoch.
    k_s: f64,
    /// Time in this stage of congestion avoidance, without pauses of the application.
    elapsed: Span,
    /// Until when `elapsed` counts; [`Time::NEVER`] before the stage has begun.
    counted: Time,
}

impl Control for Cubic {
    type Params = CubicParams;
    const ABOUT: About = About::TCP;

    fn check(params: &CubicParams) -> Result<(), Unfit> {
        let key = CubicParams::KEY;
        match *params {
            CubicParams { c: 0.0, .. } => {
                Err(Unfit::new(key.c, "with a steepness of 0 the window would not grow"))
            }
            CubicParams { beta: 0.0 | 1.0, .. } => {
                let why = "a cut leaves more than 0 and less than 1 of the window";
                Err(Unfit::new(key.beta, why))
            }
            _ => Ok(()),
        }
    }

    fn new(params: &CubicParams) -> Cubic {
        match params.arithmetic {
            Arithmetic::Exact => Cubic::Exact(Box::default()),
            Arithmetic::Kernel => Cubic::Kernel(Box::default()),
        }
    }

    fn acked(&mut self, _: impl Deref<Target = CubicParams>, ack: Acked) {
        if let (Cubic::Kernel(curve), Some(rtt)) = (self, ack.rtt) {
            curve.sample(rtt);
        }
    }

    /// Window after an ACK, by sections 4.2 to 4.5.
    fn grown(
        &mut self,
        params: impl Deref<Target = CubicParams>,
        cwnd: f64,
        packets: f64,
        now: Time,
        srtt: Option<Span>,
    ) -> Option<f64> {
        Some(match self {
            Cubic::Exact(curve) => {
                curve.grown(&params, cwnd, packets, now, srtt.unwrap_or(Span::ZERO))
            }
            Cubic::Kernel(curve) => curve.grown(&params, cwnd, packets, now),
        })
    }

    /// The epoch stands still meanwhile (section 5.8).
    fn paused(&mut self, now: Time) {
        if let Cubic::Exact(curve) = self
            && curve.counted != Time::NEVER
        {
            curve.counted = now;
        }
    }

    /// Linux's does only while nothing is out.
    fn resumed(&mut self, idle: Span, now: Time) {
        if let Cubic::Kernel(curve) = self {
            curve.resumed(idle, now);
        }
    }

    /// Cuts as for a loss, but down to one packet (section 4.6); in Linux to two.
    fn marked(&mut self, _: impl Deref<Target = CubicParams>, _: f64, _: Time) -> Mark {
        match self {
            Cubic::Exact(_) => Mark::AsLoss { least: 1.0 },
            Cubic::Kernel(_) => Mark::AsLoss { least: 2.0 },
        }
    }

    /// Part that a cut leaves, β (section 4.6).
    fn kept(&self, params: impl Deref<Target = CubicParams>) -> f64 {
        match self {
            Cubic::Exact(_) => params.beta,
            Cubic::Kernel(_) => cubic_kernel::kept(&params),
        }
    }

    /// CUBIC aims at the window that is cut (sections 4.6 and 4.7).
    fn cut(&mut self, params: impl Deref<Target = CubicParams>, window: f64) {
        let CubicParams { beta, fast_convergence, .. } = *params;
        match self {
            Cubic::Exact(curve) => {
                let gives_way = fast_convergence && window < curve.w_max;
                curve.w_max = if gives_way { window * (1.0 + beta) / 2.0 } else { window };
                curve.cwnd_prior = window;
                curve.counted = Time::NEVER;
            }
            Cubic::Kernel(curve) => curve.cut(&params, window),
        }
    }

    /// The stage that follows slow start begins with a flat curve (section 4.8).
    fn left(&mut self) {
        match self {
            Cubic::Exact(curve) => {
                curve.w_max = 0.0;
                curve.counted = Time::NEVER;
            }
            Cubic::Kernel(curve) => curve.forget(),
        }
    }
}

impl Default for Curve {
    fn default() -> Curve {
        Curve {
            w_max: 0.0,
            cwnd_prior: 0.0,
            w_est: 0.0,
            k_s: 0.0,
            elapsed: Span::ZERO,
            counted: Time::NEVER,
        }
    }
}

impl Curve {
    /// The window after an ACK of `packets` in congestion avoidance.
    fn grown(
        &mut self,
        params: &CubicParams,
        cwnd: f64,
        packets: f64,
        now: Time,
        srtt: Span,
    ) -> f64 {
        let CubicParams { c, beta, reno_friendly, .. } = *params;
        if self.counted == Time::NEVER {
            self.begin(c, cwnd);
        } else {
            self.elapsed += now.since(self.counted);
        }
        self.counted = now;
        // RFC 9438, section 4.3: once W_est is back at the window before the cut, α is Reno's 1.
        let alpha =
            if self.w_est >= self.cwnd_prior { 1.0 } else { 3.0 * (1.0 - beta) / (1.0 + beta) };
        self.w_est += alpha * packets / cwnd;
        let w_cubic = |t_s: f64| {
            let t = t_s - self.k_s;
            c * t * t * t + self.w_max
        };
        let t_s = self.elapsed.as_secs_f64();
        if reno_friendly && w_cubic(t_s) < self.w_est {
            return self.w_est.max(cwnd);
        }
        // Section 4.2: the target is at least the window, and at most 1.5 times it.
        let target = w_cubic(t_s + srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
        // An ACK of several packets counts for as many ACKs.
        cwnd + (target - cwnd) * (packets / cwnd).min(1.0)
    }

    /// A stage of congestion avoidance begins with this window (equation 2).
    fn begin(&mut self, c: f64, cwnd: f64) {
        self.w_max = self.w_max.max(cwnd);
        self.k_s = libm::cbrt((self.w_max - cwnd) / c);
        self.w_est = cwnd;
        self.elapsed = Span::ZERO;
    }
}
