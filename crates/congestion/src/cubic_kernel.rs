//! CUBIC as Linux computes it (`tcp_cubic.c`, 5.5 to 6.x): whole packets, a counter of segments for
//! each packet of growth, time in milliseconds. Results differ from RFC 9438's where round trips
//! are short or no cut has been. The curve is evaluated every 31 ms or as the window moves, and it
//! looks ahead by the least RTT. The AIMD beside it always grows at one slope. Without a cut the
//! window grows by at least a twentieth a round trip.
//!
//! The kernel's cube root comes from a table and is 0.2 % off; here it is exact.

use crate::CubicParams;
use switchbed_units::{Span, Time};

/// β and the steepness are in parts of this.
const SCALE: f64 = 1024.0;
/// Time in ms before the curve is evaluated again while the window does not change (HZ/32).
const PATIENCE_MS: u64 = 31;

/// State between ACKs; names are the kernel's.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// Segments of growth counted towards the next packet.
    snd_cwnd_cnt: u64,
    /// Segments that must be acknowledged for a packet of growth.
    cnt: u64,
    last_max_cwnd: u64,
    last_cwnd: u64,
    /// In milliseconds, as all times.
    last_time: u64,
    origin_point: u64,
    /// Time K in 1/1024 s.
    k: u64,
    /// When the epoch began; 0 before.
    epoch_start: u64,
    /// The least RTT since the beginning or the last timeout; `None` before the first.
    delay_min: Option<Span>,
    /// Segments since the AIMD's last packet.
    ack_cnt: u64,
    tcp_cwnd: u64,
}

fn ms(now: Time) -> u64 {
    // A clock that is 0 stands for "never".
    now.as_ps() / 1_000_000_000 + 1
}

impl Curve {
    /// An ACK with this RTT sample.
    pub(crate) fn sample(&mut self, rtt: Span) {
        self.delay_min = Some(self.delay_min.map_or(rtt, |least| least.min(rtt)));
    }

    /// The window after an ACK of so many packets in congestion avoidance.
    pub(crate) fn grown(
        &mut self,
        params: &CubicParams,
        cwnd: f64,
        packets: f64,
        now: Time,
    ) -> f64 {
        let (cwnd, acked) = (cwnd.floor().max(1.0) as u64, packets.ceil() as u64);
        self.update(params, cwnd, acked, ms(now));
        let mut grown = cwnd;
        // `tcp_cong_avoid_ai`: credits that were counted for a larger `cnt` are applied gently.
        if self.snd_cwnd_cnt >= self.cnt {
            self.snd_cwnd_cnt = 0;
            grown += 1;
        }
        self.snd_cwnd_cnt += acked;
        grown += self.snd_cwnd_cnt / self.cnt;
        self.snd_cwnd_cnt %= self.cnt;
        grown as f64
    }

    /// bictcp_update: how many segments make a packet.
    fn update(&mut self, params: &CubicParams, cwnd: u64, acked: u64, now: u64) {
        self.ack_cnt += acked;
        if self.last_cwnd == cwnd && now - self.last_time <= PATIENCE_MS {
            return;
        }
        // At most one evaluation a jiffy (1 ms), unless a cut has set the epoch to 0.
        if self.epoch_start == 0 || now != self.last_time {
            (self.last_cwnd, self.last_time) = (cwnd, now);
            self.cnt = self.by_curve(params, cwnd, acked, now);
        }
        if params.reno_friendly {
            // 8·(1024 + β)/(3·(1024 − β)) eighths of cwnd.
            let beta = (params.beta * SCALE).round();
            let scale = (8.0 * (SCALE + beta) / 3.0 / (SCALE - beta)) as u64;
            let delta = ((cwnd * scale) >> 3).max(1);
            // Until it is greater, as the kernel's loop.
            let packets = (self.ack_cnt.max(1) - 1) / delta;
            self.ack_cnt -= packets * delta;
            self.tcp_cwnd += packets;
            if self.tcp_cwnd > cwnd {
                self.cnt = self.cnt.min(cwnd / (self.tcp_cwnd - cwnd));
            }
        }
        // Half a packet an ACK at most.
        self.cnt = self.cnt.max(2);
    }

    /// Window after an ACK by the curve alone.
    fn by_curve(&mut self, params: &CubicParams, cwnd: u64, acked: u64, now: u64) -> u64 {
        let steepness = (params.c * SCALE).round();
        if self.epoch_start == 0 {
            (self.epoch_start, self.ack_cnt, self.tcp_cwnd) = (now, acked, cwnd);
            let below = self.last_max_cwnd.saturating_sub(cwnd);
            self.k = (libm::cbrt(below as f64 * SCALE / steepness) * SCALE) as u64;
            self.origin_point = self.last_max_cwnd.max(cwnd);
        }
        let ahead_ms = self.delay_min.map_or(0, |least| least.as_ps().div_ceil(1_000_000_000));
        let t = (now - self.epoch_start + ahead_ms) * 1024 / 1000;
        let offset = t.abs_diff(self.k) as f64 / SCALE;
        let delta = (steepness / SCALE * offset * offset * offset) as u64;
        let target = match t < self.k {
            true => self.origin_point.saturating_sub(delta),
            false => self.origin_point + delta,
        };
        // At or above the target the window hardly grows: a packet in 100 windows.
        let cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        // Without a cut the bandwidth is unknown: at least a twentieth of the window a round trip.
        if self.last_max_cwnd == 0 { cnt.min(20) } else { cnt }
    }

    /// The window, this large until now, is cut.
    pub(crate) fn cut(&mut self, params: &CubicParams, window: f64) {
        let cwnd = window.floor();
        let gives_way = params.fast_convergence && (cwnd as u64) < self.last_max_cwnd;
        let max = if gives_way { cwnd * (1.0 + kept(params)) / 2.0 } else { cwnd };
        (self.last_max_cwnd, self.epoch_start, self.snd_cwnd_cnt) = (max as u64, 0, 0);
    }

    /// A timeout: nothing of it is known any more.
    pub(crate) fn forget(&mut self) {
        *self = Curve::default();
    }

    /// Data goes out again after so long without any: the epoch stood still.
    pub(crate) fn resumed(&mut self, idle: Span, now: Time) {
        if self.epoch_start > 0 {
            let idle = idle.as_ps() / 1_000_000_000;
            // The epoch must not begin in the future.
            self.epoch_start = (self.epoch_start + idle).min(ms(now));
        }
    }
}

/// β in 1/1024: 717 of 0.7.
pub(crate) fn kept(params: &CubicParams) -> f64 {
    (params.beta * SCALE).round() / SCALE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arithmetic;

    const PARAMS: CubicParams = CubicParams {
        c: 0.4,
        beta: 0.7,
        fast_convergence: true,
        reno_friendly: false,
        arithmetic: Arithmetic::Kernel,
    };

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn without_a_cut_a_packet_takes_twenty_segments_at_most() {
        // At the epoch's start the curve is flat: 100·cwnd, were it not for the bound.
        let mut curve = Curve::default();
        let mut cwnd = 100.0;
        let acks = (1..).find(|_| {
            cwnd = curve.grown(&PARAMS, cwnd, 1.0, at(0));
            cwnd > 100.0
        });
        assert_eq!(acks, Some(20));
    }

    #[test]
    fn after_a_cut_the_window_is_back_when_k_is_over() {
        // 100 → 70: K = ∛(30·1024/410) s = 4.215 s, then it stands still before it grows again.
        let mut curve = Curve::default();
        curve.cut(&PARAMS, 100.0);
        let mut cwnd = (100.0 * kept(&PARAMS)).floor();
        assert_eq!(cwnd, 70.0);
        let mut windows = Vec::new();
        // A window's worth of ACKs in every 10 ms.
        for round in 0..600 {
            let acks = cwnd as u64;
            for n in 0..acks {
                let now = at(10 * round) + Span::from_us(10_000 * n / acks);
                cwnd = curve.grown(&PARAMS, cwnd, 1.0, now);
            }
            windows.push(cwnd);
        }
        let expected = |s: f64| {
            let t = s - 4.215;
            100.0 + 410.0 / 1024.0 * t * t * t
        };
        for s in [1.0, 2.0, 3.0, 5.9] {
            let is = windows[(s * 100.0) as usize];
            assert!((is - expected(s)).abs() <= 1.5, "{s} s: {is}, {}", expected(s));
        }
        // Whole packets make its plateau long: from 99.5 on the window gains one in a hundred rounds.
        assert!((100.0..=101.0).contains(&windows[422]), "{}", windows[422]);
    }

    #[test]
    fn the_aimd_beside_it_grows_by_a_packet_each_15_eighths_of_a_window() {
        // 8·1741/(3·307) is 15: 30 segments of a window of 16, 31 of 17. The curve stands still.
        let params = CubicParams { c: 0.001, reno_friendly: true, ..PARAMS };
        let mut curve = Curve::default();
        curve.cut(&params, 16.0);
        let windows: Vec<f64> = (0..63)
            .scan(16.0, |cwnd, n| {
                *cwnd = curve.grown(&params, *cwnd, 1.0, at(40 * n));
                Some(*cwnd)
            })
            .collect();
        assert_eq!([29, 30, 60, 61].map(|n| windows[n]), [16.0, 17.0, 17.0, 18.0]);
    }

    #[test]
    fn a_flow_that_has_stopped_growing_gives_way() {
        let mut curve = Curve::default();
        curve.cut(&PARAMS, 100.0);
        assert_eq!(curve.last_max_cwnd, 100);
        // 80·1741/2048.
        curve.cut(&PARAMS, 80.9);
        assert_eq!(curve.last_max_cwnd, 68);
        curve.cut(&PARAMS, 90.0);
        assert_eq!(curve.last_max_cwnd, 90);
    }
}
