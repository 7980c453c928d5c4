//! A distribution of flow sizes: drawing from it, its exact mean.

use switchbed_units::Bytes;

/// A flow-size distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// Name of a built-in table, or of the file.
    pub name: String,
    /// Points (bytes, cumulative probability), both rising, the last at 1; linear between.
    pub points: Vec<(Bytes, f64)>,
    /// The mean that turns a load into an arrival rate, in bytes.
    pub mean_bytes: f64,
    /// Sizes are rounded up to whole multiples of this payload; `None`: to whole bytes.
    pub round_up_to: Option<Bytes>,
}

/// Shares of flows that estimates of means go by.
const DRAWS: u32 = 1_024;

/// Unit of a table's sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeUnit {
    /// Bytes of payload.
    Bytes,
    /// Full packets.
    Packets,
}

impl Sizes {
    /// Bytes that sizes are whole multiples of.
    fn unit(&self) -> u64 {
        self.round_up_to.map_or(1, Bytes::get)
    }

    /// The size below which a flow falls with probability `p` (0 to 1), rounded up to
    /// whole packets or bytes: draw `p` uniformly and this is a flow's size. Never 0.
    pub fn quantile(&self, p: f64) -> Bytes {
        // The first point that is not below `p`: on a step the size at which it begins.
        let after = self.points.partition_point(|point| point.1 < p);
        let size = match (after.checked_sub(1).map(|i| self.points[i]), self.points.get(after)) {
            (Some((a, pa)), Some(&(b, pb))) => {
                a.as_f64() + (b.as_f64() - a.as_f64()) * ((p - pa) / (pb - pa))
            }
            (None, Some(&(size, _))) | (Some((size, _)), None) => size.as_f64(),
            (None, None) => 0.0,
        };
        let unit = self.unit();
        // Rounded up, as a flow's last packet counts whole.
        Bytes::new(((size / unit as f64).ceil() as u64).max(1) * unit)
    }

    /// The share of flows, 0 to 1, whose size (as drawn, rounded up) is at most `size`.
    pub fn share_up_to(&self, size: Bytes) -> f64 {
        // Sizes are multiples of the unit: what lies above the last multiple is none.
        let size = Bytes::new(size.get() / self.unit() * self.unit());
        let after = self.points.partition_point(|point| point.0 <= size);
        match (after.checked_sub(1).map(|i| self.points[i]), self.points.get(after)) {
            (None, _) => 0.0,
            (Some(_), None) => 1.0,
            (Some((a, pa)), Some(&(b, pb))) => {
                pa + (pb - pa) * ((size - a).as_f64() / (b - a).as_f64())
            }
        }
    }

    /// The mean size in bytes as drawn: the table's own plus what rounding up adds.
    pub fn exact_mean(&self) -> f64 {
        self.mean_units(self.unit()) * self.unit() as f64
    }

    /// The mean number of packets, as drawn, that carry a flow at `payload` bytes each.
    pub fn mean_packets(&self, payload: Bytes) -> f64 {
        let (unit, payload) = (self.unit(), payload.get());
        if unit.is_multiple_of(payload) {
            return self.exact_mean() / payload as f64;
        }
        if payload.is_multiple_of(unit) {
            // Rounding up twice is rounding up once to the coarser unit.
            return self.mean_units(payload);
        }
        // Σ P(more than n packets).
        let more_than = |n| 1.0 - self.share_up_to(Bytes::new(n * payload));
        (0..).map(more_than).take_while(|&p| p > 0.0).sum()
    }

    /// The bytes that came before one of the same flow, at most `most`: their mean over all bytes of all flows. A window
    /// that opens by what has arrived is as large on average.
    pub(crate) fn mean_reach(&self, most: Bytes) -> f64 {
        let most = most.as_f64();
        let (mut sum, mut bytes) = (0.0, 0.0);
        for size in self.spread() {
            let opens = size.min(most);
            sum += 0.5 * opens * opens + (size - opens) * most;
            bytes += size;
        }
        sum / bytes
    }

    /// The mean of what flows have sent of which each has sent `most` bytes or has ended.
    pub(crate) fn mean_up_to(&self, most: f64) -> f64 {
        self.spread().map(|size| size.min(most)).sum::<f64>() / f64::from(DRAWS)
    }

    /// Bytes that a host's card holds on average of flows that come to it at `per_s` and are alone on a line of
    /// `line` bytes a second, where `others` a second meet each, `lasts_s` after the first.
    ///
    /// Slow start lets out twice what arrives: the card has as much as it has sent, until a flow has no more. Where two
    /// flows meet, marks or drops end that.
    pub(crate) fn mean_alone(&self, per_s: f64, line: f64, others: f64, lasts_s: f64) -> f64 {
        // Integrals of exp(-others * t) and of t * exp(-others * t) from 0.
        let gone = |t: f64| -libm::expm1(-others * t) / others;
        let risen = |t: f64| (gone(t) - t * libm::exp(-others * t)) / others;
        let held = |size: f64| {
            let (half, end) = ((0.5 * size / line).min(lasts_s), (size / line).min(lasts_s));
            let falls = size * (gone(end) - gone(half)) - line * (risen(end) - risen(half));
            line * risen(half) + falls
        };
        per_s * self.spread().map(held).sum::<f64>() / f64::from(DRAWS)
    }

    /// Sizes of equal shares of flows.
    fn spread(&self) -> impl Iterator<Item = f64> {
        let draw = |nth| self.quantile((f64::from(nth) + 0.5) / f64::from(DRAWS)).as_f64();
        (0..DRAWS).map(draw)
    }

    /// The mean of size / `unit` rounded up, in closed form.
    fn mean_units(&self, unit: u64) -> f64 {
        // ∫₀ˣ ⌈t / unit⌉ dt: whole steps 1, 2, …, n, then part of step n + 1.
        let area = |x: Bytes| {
            // 128 bits: the area is quadratic in the size.
            let (x, unit) = (x.get() as u128, unit as u128);
            let n = x / unit;
            unit * n * (n + 1) / 2 + (x - n * unit) * (n + 1)
        };
        let mut mean = 0.0;
        let (mut a, mut pa) = (Bytes::ZERO, 0.0);
        for (i, &(b, pb)) in self.points.iter().enumerate() {
            // The share at the first point lies there, not spread below it.
            mean += (pb - pa)
                * if i == 0 || a == b {
                    b.get().div_ceil(unit) as f64
                } else {
                    (area(b) - area(a)) as f64 / (b - a).as_f64()
                };
            (a, pa) = (b, pb);
        }
        mean
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BUILT_IN, PAYLOAD, named};
    use super::*;

    fn packets(sizes: &Sizes, p: f64) -> u64 {
        let size = sizes.quantile(p).get();
        assert!(size.is_multiple_of(PAYLOAD.get()));
        size / PAYLOAD.get()
    }

    #[test]
    fn quantiles_at_the_points_are_the_tables_sizes() {
        for table in &BUILT_IN {
            let sizes = table.sizes();
            for (i, &(size, p)) in sizes.points.iter().enumerate() {
                // At a jump the first of its points is the quantile; both have the same size.
                if i + 1 == sizes.points.len() || sizes.points[i + 1].1 > p {
                    assert_eq!(sizes.quantile(p), size.max(Bytes::new(1)), "{} at {p}", table.name);
                    let last = sizes.points.iter().rfind(|point| point.0 == size).unwrap();
                    assert_eq!(sizes.share_up_to(size), last.1, "{} at {size}", table.name);
                }
            }
        }
    }

    #[test]
    fn quantiles_between_the_points_are_interpolated_and_rounded_up() {
        let web = named("web-search").unwrap();
        assert_eq!(packets(&web, 0.1), 6); // in the jump at 6
        assert_eq!(packets(&web, 0.175), 10); // 9.5
        assert_eq!(packets(&web, 0.36), 28); // 19 + 14 · 0.6 = 27.4
        assert_eq!(packets(&web, 0.985), 13_334); // 13,333.5
        let hadoop = named("hadoop").unwrap();
        assert_eq!(packets(&hadoop, 0.35), 33); // between two points of one size
        assert_eq!(packets(&hadoop, 0.05), 13); // 12.5
        let hpcc = named("web-search-hpcc").unwrap();
        assert_eq!(hpcc.quantile(0.0), Bytes::new(1)); // no flow is empty
        assert_eq!(hpcc.quantile(0.075), Bytes::new(5000));
        assert_eq!(hpcc.quantile(0.565), Bytes::new(140_000));
    }

    #[test]
    fn a_window_reaches_half_of_a_flow_or_its_most() {
        let of = |points: &[(u64, f64)]| Sizes {
            name: String::new(),
            points: points.iter().map(|&(size, p)| (Bytes::new(size), p)).collect(),
            mean_bytes: 1.0,
            round_up_to: None,
        };
        let same = of(&[(10_000, 0.0), (10_000, 1.0)]);
        assert_eq!(same.mean_reach(Bytes::new(20_000)), 5_000.0);
        // The first tenth of its bytes at half of 1,000 on average, the others at 1,000.
        assert_eq!(same.mean_reach(Bytes::new(1_000)), 950.0);
        assert_eq!((same.mean_up_to(1_000.0), same.mean_up_to(1e9)), (1_000.0, 10_000.0));
        // Half of the flows have nearly all bytes.
        let mixed = of(&[(1, 0.0), (1, 0.5), (10_000, 0.5), (10_000, 1.0)]);
        assert!((mixed.mean_reach(Bytes::new(20_000)) - 5_000.0).abs() < 1.0);
        assert_eq!(mixed.mean_up_to(1_001.0), 501.0);
    }

    #[test]
    fn a_flow_alone_has_as_much_in_its_card_as_it_has_sent_or_has_left() {
        let web = named("web-search").unwrap();
        let (per_s, line, others, lasts_s) = (400.0, 1.25e9, 900.0, 2e-3);
        let steps = 2_000;
        let step = lasts_s / f64::from(steps);
        let each = |nth| {
            let age = (f64::from(nth) + 0.5) * step;
            let held = |size: f64| (line * age).min(size - line * age).max(0.0);
            let mean = web.spread().map(held).sum::<f64>() / f64::from(DRAWS);
            mean * libm::exp(-others * age) * step
        };
        let summed = per_s * (0..steps).map(each).sum::<f64>();
        let found = web.mean_alone(per_s, line, others, lasts_s);
        assert!((found / summed - 1.0).abs() < 1e-3, "{found} {summed}");
        // Nobody comes for long, and all has been sent.
        let whole = web.mean_alone(1.0, line, 1e-3, 1.0);
        let square = web.spread().map(|size| size * size).sum::<f64>() / f64::from(DRAWS);
        assert!((whole / (square / 4.0 / line) - 1.0).abs() < 1e-3, "{whole}");
    }

    #[test]
    fn exact_means_are_those_worked_out_by_hand() {
        // Mean in packets before rounding, Σ Δp·(a + b)/2, and the share of flows not at a
        // jump, which rounding up makes half a packet longer.
        let by_hand = [
            ("web-search", 1140.98, 0.85),
            ("data-mining", 5116.6, 0.5),
            ("cache", 623.76, 0.65),
            ("hadoop", 2832.395, 0.9),
        ];
        for (name, mean, spread) in by_hand {
            let sizes = named(name).unwrap();
            let expected = (mean + spread / 2.0) * 1460.0;
            assert!((sizes.exact_mean() / expected - 1.0).abs() < 1e-12, "{name}");
            // The published mean is the unrounded one at 1500 · 1000/1024 bytes a packet.
            assert!((sizes.mean_bytes - mean * 1_500_000.0 / 1024.0).abs() < 10.0, "{name}");
            let above = sizes.mean_bytes / sizes.exact_mean() - 1.0;
            assert!((0.0027..0.0034).contains(&above), "{name}: {above}");
        }
        // As printed by others for their tables in bytes: 1.71 MB, 12.7 MB, 0.12 MB, 40.9 KB.
        let in_bytes = [
            ("web-search-hpcc", 1_711_250.0),
            ("data-mining-trafficgenerator", 12_658_198.6),
            ("hadoop-hpcc", 120_420.75),
            ("storage-alibaba-hpcc", 40_869.8),
        ];
        for (name, mean) in in_bytes {
            let sizes = named(name).unwrap();
            assert!((sizes.exact_mean() - mean - 0.5).abs() < 1e-6, "{name}");
            assert_eq!(sizes.exact_mean(), sizes.mean_bytes, "{name}");
        }
    }

    /// Log-linear tables are polygons of eight sides a decade: their means are within 1 % of
    /// Σ Δp·(b − a) / ln(b / a).
    #[test]
    fn cqrds_assumed_tables_are_straight_against_the_logarithm() {
        let to_1_mb = [(1e3, 0.0), (1e4, 0.8), (1e5, 0.9), (1e6, 0.97)];
        let tails: [(&str, &[(f64, f64)]); 2] = [
            ("cqrd-assumed", &[(1e7, 0.995), (1e8, 1.0)]),
            ("cqrd-assumed-short-tail", &[(1e7, 1.0)]),
        ];
        for (name, tail) in tails {
            let sizes = named(name).unwrap();
            let knots = [&to_1_mb[..], tail].concat();
            let mut mean = 0.0;
            for pair in knots.windows(2) {
                let ((a, pa), (b, pb)) = (pair[0], pair[1]);
                mean += (pb - pa) * (b - a) / libm::log(b / a);
                assert_eq!(sizes.quantile(pb), Bytes::new(b as u64), "{name}");
                let middle = sizes.quantile((pa + pb) / 2.0).as_f64();
                assert!((middle / (a * b).sqrt() - 1.0).abs() < 1e-3, "{name}: {middle}");
            }
            assert!((sizes.exact_mean() / mean - 1.0).abs() < 0.01, "{name}");
        }
    }

    #[test]
    fn the_three_ways_of_counting_packets_agree() {
        let by_sum = |sizes: &Sizes, payload: u64| -> f64 {
            (0..)
                .map(|n| 1.0 - sizes.share_up_to(Bytes::new(n * payload)))
                .take_while(|&p| p > 0.0)
                .sum()
        };
        let web = named("web-search").unwrap();
        let hpcc = named("web-search-hpcc").unwrap();
        for (sizes, payload) in [(&web, 730), (&web, 1460), (&web, 1448), (&hpcc, 1460)] {
            let mean = sizes.mean_packets(Bytes::new(payload));
            assert!((mean / by_sum(sizes, payload) - 1.0).abs() < 1e-9, "{payload}");
            assert!(mean * payload as f64 >= sizes.exact_mean() * (1.0 - 1e-12));
        }
    }

    #[test]
    fn midpoints_of_the_unit_interval_have_the_exact_mean() {
        for table in &BUILT_IN {
            let sizes = table.sizes();
            let n = 200_000;
            let sum: f64 =
                (0..n).map(|i| sizes.quantile((i as f64 + 0.5) / n as f64).as_f64()).sum();
            assert!((sum / n as f64 / sizes.exact_mean() - 1.0).abs() < 1e-3, "{}", table.name);
        }
    }

    /// Claim mqecn.fig9.mice, exactly: the share of fig9's small flows (under 102,400 B)
    /// that are under 24 KB, which is up to 16 packets. Each workload's flows arrive in
    /// inverse proportion to its published mean.
    fn mice(limit_applies_to: impl Fn(Sizes) -> Sizes) -> f64 {
        let (mut tiny, mut small) = (0.0, 0.0);
        for name in ["cache", "web-search", "hadoop", "data-mining"] {
            let sizes = named(name).unwrap();
            tiny += sizes.share_up_to(Bytes::new(24_000)) / sizes.mean_bytes;
            small +=
                limit_applies_to(sizes.clone()).share_up_to(Bytes::new(102_399)) / sizes.mean_bytes;
        }
        tiny / small
    }

    #[test]
    fn of_fig9s_small_flows_65_1_percent_are_under_24_kb() {
        // The paper says 65.1 %. Small by the size as sent (up to 70 packets): 65.14 %;
        // small by the size before it was rounded up (up to 70.14 packets): 65.12 %.
        assert!((mice(|as_drawn| as_drawn) - 0.651_42).abs() < 5e-6);
        let unrounded = |sizes| Sizes { round_up_to: None, ..sizes };
        assert!((mice(unrounded) - 0.651_23).abs() < 5e-6);
    }

    #[test]
    fn an_unknown_name_is_no_table() {
        assert!(named("websearch").is_none());
    }
}
