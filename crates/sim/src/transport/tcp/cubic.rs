//! CUBIC's window (RFC 9438): a cubic function of the time since congestion avoidance
//! began, W(t) = C·(t − K)³ + W_max, which flattens out around the window at the last cut;
//! never below what AIMD with the same cut, as fair as Reno, would have.
//!
//! Windows are in packets, times in seconds, so that C is in packets/s³. Not modelled:
//! HyStart++ (section 4.10) and undoing spurious cuts (section 4.9).

use super::Config;
use switchbed_qdisc::units::{Span, Time};
use switchbed_spec::transport::{self, CongestionControl};

/// What CUBIC remembers between ACKs; names are the RFC's (section 4.1.2).
#[derive(Clone, Debug)]
pub(super) struct Cubic {
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

fn params(config: &Config) -> transport::Cubic {
    match config.control {
        CongestionControl::Cubic(params) => params,
        _ => unreachable!("CUBIC's state without its settings"),
    }
}

/// The fraction of the window that a cut leaves, β_cubic.
pub(super) fn kept(config: &Config) -> f64 {
    params(config).beta
}

impl Cubic {
    pub(super) fn new() -> Cubic {
        Cubic {
            w_max: 0.0,
            cwnd_prior: 0.0,
            w_est: 0.0,
            k_s: 0.0,
            elapsed: Span::ZERO,
            counted: Time::NEVER,
        }
    }

    /// The window after an ACK of `packets` in congestion avoidance (sections 4.2 to 4.5).
    pub(super) fn grown(
        &mut self,
        config: &Config,
        cwnd: f64,
        packets: f64,
        now: Time,
        srtt: Span,
    ) -> f64 {
        let transport::Cubic { c, beta, reno_friendly, .. } = params(config);
        if self.counted == Time::NEVER {
            self.begin(c, cwnd);
        } else {
            self.elapsed += now.since(self.counted);
        }
        self.counted = now;
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

    /// The window `cwnd` is about to be cut for a mark or a loss (sections 4.6 and 4.7).
    pub(super) fn cut(&mut self, config: &Config, cwnd: f64) {
        let transport::Cubic { beta, fast_convergence, .. } = params(config);
        let gives_way = fast_convergence && cwnd < self.w_max;
        self.w_max = if gives_way { cwnd * (1.0 + beta) / 2.0 } else { cwnd };
        self.cwnd_prior = cwnd;
        self.counted = Time::NEVER;
    }

    /// Slow start comes next, after a timeout or a pause: the stage that follows it begins
    /// with a flat curve (section 4.8).
    pub(super) fn leave(&mut self) {
        self.w_max = 0.0;
        self.counted = Time::NEVER;
    }

    /// The application, not the window, limited the sender until now: the epoch stands
    /// still meanwhile (section 5.8).
    pub(super) fn pause(&mut self, now: Time) {
        if self.counted != Time::NEVER {
            self.counted = now;
        }
    }
}
