//! DCQCN (Zhu et al., SIGCOMM 2015): a receiver answers marks with CNPs, at most one an interval; a
//! CNP cuts the rate by half of α, an average of how often CNPs come; timer and byte counter bring it
//! back: first half the way to the rate of before, a step at a time, then beyond.
//!
//! Two machines by name. `paper`: a CNP cuts at once; the target becomes the rate of before, α grows;
//! without a CNP for the alpha timer, α shrinks. `connectx`, as the HPCC authors have it of the
//! vendor's cards: a CNP leaves two flags; α is worked out and the rate cut each in a period of its
//! own, counted from the first CNP; the target becomes the rate only if that was raised since the
//! last cut; there is no byte counter.
//!
//! Timers are exact, and few: α is seen only by a cut, which makes up for all of its updates since the
//! last one, so it needs no timer and may decay as long as it likes; a period of cuts is waited for
//! only with a CNP to answer; and the timer of increases stops at line rate. A rate within 1 bps of
//! the line's is the line's, since halving the distance would never end.

use super::algorithm::{bps, lasts};
use super::{Path, RateAbout, RateAlgorithm};
use switchbed_config::param::Unfit;
use switchbed_config::{params, words};
use switchbed_units::{Bytes, Rate, Span, Time};

words! {
    /// Which machine, and the defaults of what is not written.
    pub enum DcqcnVariant {
        /// Algorithm and defaults of the paper.
        Paper = "paper",
        /// Algorithm and defaults of the vendor's cards.
        Connectx = "connectx",
    }
}

// Where a default comes from stands at `PAPER` and `CONNECTX`.
params! {
    /// DCQCN's parameters.
    #[derive(Copy)]
    pub struct DcqcnParams {
        /// paper: a CNP cuts at once. connectx: as the vendor's cards, α, cuts and increases each in a
        /// period of its own. Whatever of DCQCN is not written is as the variant has it.
        variant: DcqcnVariant = "paper";
        /// Weight of a new sample of α. Default: paper 1/256, connectx 5/1024.
        g: Option<f64> as PORTION;
        /// α at the first CNP. Default: paper 1, connectx 1023/1024.
        alpha_start: Option<f64> as FRACTION;
        /// paper: without a CNP for so long α shrinks, again and again. connectx: α is updated so
        /// often. Default: paper 55us, connectx 1us.
        alpha_timer: Option<Span>;
        /// The least time between two CNPs of a receiver to one queue pair. Default: paper 50us,
        /// connectx 4us.
        cnp_interval: Option<Span>;
        /// With connectx: CNPs cut the rate at most so often. Default: 4us.
        cut_interval: Option<Span>;
        /// With connectx: the part of the rate that the first CNP leaves, before its cut. Default: 1.
        first_cnp_rate: Option<f64> as PORTION;
        /// A cut makes the rate of before the target, even if it was not raised since the last cut.
        /// Default: paper true, connectx false.
        clamp_target: Option<bool>;
        /// The timer raises the rate so long after a cut, and again and again. Default: paper 55us,
        /// connectx 300us.
        increase_timer: Option<Span>;
        /// With paper: so many bytes sent raise it too; 0 switches that off. Default: 10MB.
        byte_counter: Option<Bytes>;
        /// Steps of fast recovery, half the way to the target each, before the target rises. Default:
        /// paper 5, connectx 1.
        recovery_steps: Option<u32> as count(0, 1_000);
        /// Rate that a step of additive increase adds to the target, R_AI. Default: paper 40Mbps,
        /// connectx 5 Mbps for each 25 Gbps of the line.
        additive_increase: Option<Rate>;
        /// Rate that a step of hyper increase adds, R_HAI; with paper multiplied by the step's
        /// number. Default: paper 200Mbps, connectx 50 Mbps for each 25 Gbps of the line.
        hyper_increase: Option<Rate>;
        /// The least rate. Default: paper 10Mbps, connectx 1Mbps.
        min_rate: Option<Rate>;
    }
}

/// All of the parameters, as they are written or else as the variant has them.
struct Settings {
    g: f64,
    alpha_start: f64,
    alpha_timer: Span,
    cnp_interval: Span,
    cut_interval: Span,
    first_cnp_rate: f64,
    clamp_target: bool,
    increase_timer: Span,
    byte_counter: u64,
    recovery_steps: u32,
    additive_increase: Rate,
    hyper_increase: Rate,
    min_rate: Rate,
}

/// The paper's, all from memory of it but for the last two. uet-htsim has the same α, CNP interval,
/// timer, byte counter and F; ns3-rdma the same α, CNP interval, F and R_AI, but 60 us and 300 MB.
const PAPER: Settings = Settings {
    g: 1.0 / 256.0,
    alpha_start: 1.0,
    alpha_timer: Span::from_us(55),
    cnp_interval: Span::from_us(50),
    cut_interval: Span::ZERO,
    first_cnp_rate: 1.0,
    clamp_target: true,
    increase_timer: Span::from_us(55),
    byte_counter: 10_000_000,
    recovery_steps: 5,
    additive_increase: Rate::from_mbps(40),
    // The paper has no number; ns3-rdma's config.txt has this one.
    hyper_increase: Rate::from_mbps(200),
    // The paper has no number; 802.1Qau's, on which it builds.
    min_rate: Rate::from_mbps(10),
};

/// The vendor's: NVIDIA DOCA, "DCQCN CC parameters", where nothing else is said.
const CONNECTX: Settings = Settings {
    g: 5.0 / 1024.0, // dce_tcp_g 1019: what is kept, in 1/1024
    alpha_start: 1023.0 / 1024.0,
    alpha_timer: Span::from_us(1),
    // From memory: min_time_between_cnps of the cards' driver.
    cnp_interval: Span::from_us(4),
    cut_interval: Span::from_us(4),
    // The HPCC authors' "no cut", which is what 0 (switched off) comes to.
    first_cnp_rate: 1.0,
    clamp_target: false,
    // From memory, as the HPCC authors have it.
    increase_timer: Span::from_us(300),
    byte_counter: 0,
    // The HPCC authors' simulation/run.py: FAST_RECOVERY_TIMES 1; ai = 5·bw/25, hai = 50·bw/25.
    recovery_steps: 1,
    additive_increase: Rate::from_mbps(5),
    hyper_increase: Rate::from_mbps(50),
    min_rate: Rate::from_mbps(1),
};

/// The line of which connectx's steps are, in bits per second.
const STEPS_OF: f64 = 25e9;

impl DcqcnParams {
    /// The settings at a line of this rate in bits per second.
    fn at(&self, line: f64) -> Settings {
        let mut settings = self.settings();
        if self.variant == DcqcnVariant::Connectx {
            let part = line / STEPS_OF;
            let step = |given: Option<Rate>, step: Rate| match given {
                Some(given) => given,
                None => bps(step.as_bps() as f64 * part),
            };
            settings.additive_increase = step(self.additive_increase, CONNECTX.additive_increase);
            settings.hyper_increase = step(self.hyper_increase, CONNECTX.hyper_increase);
        }
        settings
    }

    /// The settings at 25 Gbps.
    fn settings(&self) -> Settings {
        let of = match self.variant {
            DcqcnVariant::Paper => PAPER,
            DcqcnVariant::Connectx => CONNECTX,
        };
        Settings {
            g: self.g.unwrap_or(of.g),
            alpha_start: self.alpha_start.unwrap_or(of.alpha_start),
            alpha_timer: self.alpha_timer.unwrap_or(of.alpha_timer),
            cnp_interval: self.cnp_interval.unwrap_or(of.cnp_interval),
            cut_interval: self.cut_interval.unwrap_or(of.cut_interval),
            first_cnp_rate: self.first_cnp_rate.unwrap_or(of.first_cnp_rate),
            clamp_target: self.clamp_target.unwrap_or(of.clamp_target),
            increase_timer: self.increase_timer.unwrap_or(of.increase_timer),
            byte_counter: self.byte_counter.map_or(of.byte_counter, Bytes::get),
            recovery_steps: self.recovery_steps.unwrap_or(of.recovery_steps),
            additive_increase: self.additive_increase.unwrap_or(of.additive_increase),
            hyper_increase: self.hyper_increase.unwrap_or(of.hyper_increase),
            min_rate: self.min_rate.unwrap_or(of.min_rate),
        }
    }
}

/// DCQCN's reaction point; rates in bits per second.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    line: f64,
    rate: f64,
    target: f64,
    alpha: f64,
    /// The last update of α, before which all are made up for; never before the first CNP.
    updated: Time,
    /// When a CNP that has come is answered.
    cut_at: Time,
    /// When the timer raises the rate.
    increase_at: Time,
    /// Bytes since the byte counter was at 0.
    bytes: u64,
    /// Expiries of the timer and of the byte counter since the last cut.
    by_timer: u32,
    by_bytes: u32,
    /// connectx: where the periods of cuts are counted from, modulo the period.
    phase: u64,
    limited: bool,
    /// connectx: there was one since α was updated.
    sampled: bool,
}

impl RateAlgorithm for Dcqcn {
    type Params = DcqcnParams;
    const ABOUT: RateAbout = RateAbout {
        cnp: true,
        paper: "Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015",
        ..RateAbout::PLAIN
    };

    fn check(params: &DcqcnParams) -> Result<(), Unfit> {
        let (key, settings) = (DcqcnParams::KEY, params.settings());
        lasts(key.alpha_timer, settings.alpha_timer)?;
        lasts(key.increase_timer, settings.increase_timer)?;
        let foreign = |key, why: &str| Err(Unfit::new(key, why));
        match params.variant {
            DcqcnVariant::Paper if params.cut_interval.is_some() => {
                foreign(key.cut_interval, "with variant = \"paper\" each CNP cuts at once")
            }
            DcqcnVariant::Paper if params.first_cnp_rate.is_some() => {
                foreign(key.first_cnp_rate, "with variant = \"paper\" the first CNP cuts as any")
            }
            DcqcnVariant::Paper => Ok(()),
            DcqcnVariant::Connectx if settings.byte_counter > 0 => {
                foreign(key.byte_counter, "with variant = \"connectx\" the timer alone counts")
            }
            DcqcnVariant::Connectx => lasts(key.cut_interval, settings.cut_interval),
        }
    }

    fn cnp_interval(params: &DcqcnParams) -> Option<Span> {
        Some(params.settings().cnp_interval)
    }

    fn new(params: &DcqcnParams, path: &Path, _: Time) -> Dcqcn {
        let line = path.line.as_bps() as f64;
        Dcqcn {
            line,
            rate: line,
            target: line,
            alpha: params.settings().alpha_start,
            updated: Time::ZERO,
            cut_at: Time::NEVER,
            increase_at: Time::NEVER,
            bytes: 0,
            by_timer: 0,
            by_bytes: 0,
            phase: 0,
            limited: false,
            sampled: false,
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        bps(self.rate)
    }

    fn cnp(&mut self, params: &DcqcnParams, now: Time) {
        self.timer(params, now);
        let settings = params.at(self.line);
        let first = !self.limited;
        if first {
            (self.limited, self.updated) = (true, now);
        }
        match params.variant {
            DcqcnVariant::Paper => {
                self.decay(&settings, now);
                self.cut(&settings, now);
                self.alpha = (1.0 - settings.g) * self.alpha + settings.g;
                self.updated = now;
            }
            DcqcnVariant::Connectx => {
                let period = settings.cut_interval.as_ps();
                if first {
                    self.phase = now.as_ps() % period;
                    self.rate *= settings.first_cnp_rate;
                    self.bound(&settings);
                    self.target = self.rate;
                } else {
                    self.decay(&settings, now);
                    self.sampled = true;
                }
                if self.cut_at == Time::NEVER {
                    // Time since the period began; a period more keeps the difference above zero.
                    let into = (now.as_ps() % period + period - self.phase) % period;
                    self.cut_at = now + Span::from_ps(period - into);
                }
            }
        }
    }

    #[inline]
    fn sent(&mut self, params: &DcqcnParams, bytes: u32, now: Time) {
        if self.rate >= self.line || params.variant == DcqcnVariant::Connectx {
            return;
        }
        self.timer(params, now);
        let cycle = params.byte_counter.map_or(PAPER.byte_counter, Bytes::get);
        if cycle == 0 {
            return;
        }
        self.bytes += u64::from(bytes);
        while self.bytes >= cycle && self.rate < self.line {
            self.bytes -= cycle;
            self.by_bytes += 1;
            self.increase(&params.at(self.line), params.variant);
        }
    }

    #[inline]
    fn next_timer(&self) -> Time {
        self.cut_at.min(self.increase_at)
    }

    fn timer(&mut self, params: &DcqcnParams, now: Time) {
        while self.next_timer() <= now {
            let settings = params.at(self.line);
            // A cut forgets the increase that is due with it.
            if self.cut_at <= self.increase_at {
                let at = std::mem::replace(&mut self.cut_at, Time::NEVER);
                self.decay(&settings, at);
                self.cut(&settings, at);
            } else {
                self.increase_at += settings.increase_timer;
                self.by_timer += 1;
                self.increase(&settings, params.variant);
            }
        }
    }
}

impl Dcqcn {
    /// Makes up for the updates of α that are due by now.
    fn decay(&mut self, settings: &Settings, now: Time) {
        let due = now.since(self.updated).as_ps() / settings.alpha_timer.as_ps();
        if due == 0 {
            return;
        }
        let kept = 1.0 - settings.g;
        if std::mem::take(&mut self.sampled) {
            // The first of them heard of a CNP.
            self.alpha = kept * self.alpha + settings.g;
            self.alpha *= libm::pow(kept, (due - 1) as f64);
        } else {
            self.alpha *= libm::pow(kept, due as f64);
        }
        // By whole periods: the rest of the last one counts towards the next update.
        self.updated += settings.alpha_timer * due;
    }

    fn cut(&mut self, settings: &Settings, now: Time) {
        if settings.clamp_target || self.by_timer > 0 {
            self.target = self.rate;
        }
        self.rate *= 1.0 - self.alpha / 2.0;
        self.bound(settings);
        (self.by_timer, self.by_bytes, self.bytes) = (0, 0, 0);
        self.increase_at = now + settings.increase_timer;
        self.rest();
    }

    fn increase(&mut self, settings: &Settings, variant: DcqcnVariant) {
        let (steps, last) = (self.by_timer.max(self.by_bytes), settings.recovery_steps);
        let additive = settings.additive_increase.as_bps() as f64;
        let hyper = settings.hyper_increase.as_bps() as f64;
        self.target += match variant {
            _ if steps <= last => 0.0,
            DcqcnVariant::Paper => match self.by_timer.min(self.by_bytes).saturating_sub(last) {
                0 => additive,
                number => hyper * f64::from(number),
            },
            DcqcnVariant::Connectx if steps == last + 1 => additive,
            DcqcnVariant::Connectx => hyper,
        };
        self.target = self.target.min(self.line);
        self.rate = (self.rate + self.target) / 2.0;
        if self.line - self.rate < 1.0 {
            self.rate = self.line;
        }
        self.bound(settings);
        self.rest();
    }

    fn bound(&mut self, settings: &Settings) {
        let least = (settings.min_rate.as_bps() as f64).min(self.line);
        self.rate = self.rate.clamp(least, self.line);
    }

    /// At line rate there is nothing to raise.
    fn rest(&mut self) {
        if self.rate >= self.line {
            self.increase_at = Time::NEVER;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchbed_config::param::at_defaults;

    const PATH: Path = Path {
        line: Rate::from_gbps(100),
        base_rtt: Span::from_us(8),
        hops: 1,
        mss: 1_000,
        wire: 1_082,
    };

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn paper() -> DcqcnParams {
        DcqcnParams { byte_counter: Some(Bytes::ZERO), ..at_defaults() }
    }

    fn gbps(dcqcn: &Dcqcn) -> f64 {
        dcqcn.rate().as_bps() as f64 / 1e9
    }

    /// As a host would: wakes up when it asked to, then a CNP.
    fn wake(dcqcn: &mut Dcqcn, params: &DcqcnParams, until: Time) {
        while dcqcn.next_timer() <= until {
            let due = dcqcn.next_timer();
            dcqcn.timer(params, due);
            assert!(dcqcn.next_timer() > due);
        }
    }

    #[test]
    fn cnps_each_interval_halve_the_rate_each() {
        let params = paper();
        let mut dcqcn = Dcqcn::new(&params, &PATH, Time::ZERO);
        // α is 1 and stays so: 50 us from CNP to CNP is less than the 55 us of the alpha timer.
        for (n, rate) in [50.0, 25.0, 12.5, 6.25].into_iter().enumerate() {
            dcqcn.cnp(&params, us(50 * n as u64));
            assert_eq!(gbps(&dcqcn), rate);
            assert_eq!(dcqcn.alpha, 1.0);
        }
        // 6.25 Gbps / 2^10 is under the least rate.
        for n in 4..14 {
            dcqcn.cnp(&params, us(50 * n));
        }
        assert_eq!(dcqcn.rate(), Rate::from_mbps(10));
    }

    #[test]
    fn alpha_grows_to_one_under_cnps_and_halves_in_177_updates_without() {
        let params = DcqcnParams { alpha_start: Some(0.0), ..paper() };
        let mut dcqcn = Dcqcn::new(&params, &PATH, Time::ZERO);
        // After n CNPs it is 1 − (255/256)^n.
        for n in 0..177 {
            dcqcn.cnp(&params, us(50 * n));
        }
        let expected = 1.0 - libm::pow(255.0 / 256.0, 177.0);
        assert!((dcqcn.alpha - expected).abs() < 1e-12 && (0.499..0.501).contains(&expected));

        // α = 1 at 0; 177 alpha timers of 55 us later ln 2/−ln(255/256) = 177.1 of them are not over:
        // 0.5002. The cut there leaves 1 − 0.5002/2 of the rate, which is the line's again by then
        // with such a large R_AI.
        let rai = Rate::from_gbps(100);
        let params = DcqcnParams { additive_increase: Some(rai), ..paper() };
        let mut dcqcn = Dcqcn::new(&params, &PATH, Time::ZERO);
        dcqcn.cnp(&params, Time::ZERO);
        wake(&mut dcqcn, &params, us(177 * 55));
        assert_eq!((dcqcn.rate(), dcqcn.next_timer()), (PATH.line, Time::NEVER));
        dcqcn.cnp(&params, us(177 * 55));
        let alpha = libm::pow(255.0 / 256.0, 177.0);
        assert!((alpha - 0.5002).abs() < 1e-4);
        assert!((gbps(&dcqcn) - 100.0 * (1.0 - alpha / 2.0)).abs() < 1e-8);
        // A picosecond earlier it is one update less.
        let mut dcqcn = Dcqcn::new(&params, &PATH, Time::ZERO);
        dcqcn.cnp(&params, Time::ZERO);
        dcqcn.cnp(&params, us(177 * 55) - Span::from_ps(1));
        let alpha = libm::pow(255.0 / 256.0, 176.0);
        assert!((gbps(&dcqcn) - 100.0 * (1.0 - alpha / 2.0)).abs() < 1e-8);
    }

    #[test]
    fn the_steps_of_the_vendors_cards_follow_the_line() {
        let connectx = DcqcnParams { variant: DcqcnVariant::Connectx, ..at_defaults() };
        let steps = |params: &DcqcnParams, line: f64| {
            let settings = params.at(line);
            [settings.additive_increase, settings.hyper_increase].map(Rate::as_bps)
        };
        for (line, by) in [(10e9, 2), (25e9, 5), (100e9, 20), (400e9, 80)] {
            assert_eq!(steps(&connectx, line), [by * 1_000_000, by * 10_000_000]);
            // The paper's are of its own 40 Gbps, and stay.
            assert_eq!(steps(&paper(), line), [40_000_000, 200_000_000]);
        }
        let given = DcqcnParams { additive_increase: Some(Rate::from_mbps(7)), ..connectx };
        assert_eq!(steps(&given, 100e9), [7_000_000, 200_000_000]);
    }

    #[test]
    fn recovery_halves_the_distance_five_times_then_the_target_rises() {
        let params = paper();
        let mut dcqcn = Dcqcn::new(&params, &PATH, Time::ZERO);
        dcqcn.cnp(&params, Time::ZERO);
        dcqcn.cnp(&params, us(1)); // 25 Gbps, and the target 50
        let step = |dcqcn: &mut Dcqcn, n: u64| {
            assert_eq!(dcqcn.next_timer(), us(1 + 55 * n));
            dcqcn.timer(&params, us(1 + 55 * n) - Span::from_ps(1));
            let before = dcqcn.rate();
            dcqcn.timer(&params, us(1 + 55 * n));
            assert!(dcqcn.rate() > before);
            gbps(dcqcn)
        };
        // 75, 87.5, 93.75, 96.875, 98.4375 % of 50.
        for (n, rate) in [37.5, 43.75, 46.875, 48.4375, 49.21875].into_iter().enumerate() {
            assert_eq!(step(&mut dcqcn, n as u64 + 1), rate);
        }
        // The target 50.04: (49.21875 + 50.04)/2, and so on by 0.04 a step.
        assert!((step(&mut dcqcn, 6) - 49.629_375).abs() < 1e-8);
        assert!((step(&mut dcqcn, 7) - 49.854_687_5).abs() < 1e-8);
        for n in 8..=40 {
            step(&mut dcqcn, n);
        }
        // The distance d becomes (d + 0.04)/2, in the limit 0.04.
        assert!((dcqcn.target / 1e9 - (50.0 + 0.04 * 35.0)).abs() < 1e-6);
        assert!(((dcqcn.target - dcqcn.rate) / 1e9 - 0.04).abs() < 1e-6);
    }

    #[test]
    fn timer_and_byte_counter_past_recovery_make_hyper_increase() {
        let params =
            DcqcnParams { byte_counter: Some(Bytes::new(10_000)), ..at_defaults::<DcqcnParams>() };
        let mut dcqcn = Dcqcn::new(&params, &PATH, Time::ZERO);
        dcqcn.sent(&params, 1_000_000, Time::ZERO);
        dcqcn.cnp(&params, Time::ZERO); // bytes of before do not count
        dcqcn.cnp(&params, Time::ZERO);
        let sent = |dcqcn: &mut Dcqcn, bytes| {
            dcqcn.sent(&params, bytes, Time::ZERO);
            dcqcn.target / 1e9
        };
        assert_eq!((sent(&mut dcqcn, 9_999), gbps(&dcqcn)), (50.0, 25.0));
        // A cut begins the cycle anew.
        dcqcn.cnp(&params, Time::ZERO);
        (dcqcn.rate, dcqcn.target) = (25e9, 50e9);
        assert_eq!((sent(&mut dcqcn, 9_999), gbps(&dcqcn)), (50.0, 25.0));
        assert_eq!((sent(&mut dcqcn, 1), gbps(&dcqcn)), (50.0, 37.5));
        assert_eq!((sent(&mut dcqcn, 40_000), gbps(&dcqcn)), (50.0, 49.218_75));
        // The sixth and seventh expiry of the byte counter, none of the timer: R_AI each.
        assert!((sent(&mut dcqcn, 20_000) - 50.08).abs() < 1e-9);
        // Five of the timer: R_AI each, as the byte counter is past recovery.
        dcqcn.timer(&params, us(55 * 5));
        assert!((dcqcn.target / 1e9 - 50.28).abs() < 1e-9);
        // Both are past it: by the lesser count, 1 then 2 (7 by bytes) then 2: 0.2, 0.4, 0.4.
        for (n, target) in [(6, 50.48), (7, 50.88), (8, 51.28)] {
            dcqcn.timer(&params, us(55 * n));
            assert!((dcqcn.target / 1e9 - target).abs() < 1e-9, "{}", dcqcn.target);
        }
    }

    #[test]
    fn the_vendors_machine_cuts_and_updates_in_periods_from_the_first_cnp() {
        let params = DcqcnParams { variant: DcqcnVariant::Connectx, ..at_defaults() };
        let mut dcqcn = Dcqcn::new(&params, &PATH, Time::ZERO);
        dcqcn.cnp(&params, us(10));
        // The first CNP leaves the rate and is answered 4 us later, after four updates of α without
        // another: 1023/1024·(1019/1024)⁴.
        assert_eq!((dcqcn.rate(), dcqcn.next_timer()), (PATH.line, us(14)));
        dcqcn.timer(&params, us(14));
        let alpha = 1023.0 / 1024.0 * libm::pow(1019.0 / 1024.0, 4.0);
        assert!((dcqcn.alpha - alpha).abs() < 1e-12);
        let rate = 100.0 * (1.0 - alpha / 2.0);
        assert!((gbps(&dcqcn) - rate).abs() < 1e-8);
        // Two CNPs of one period cut once, at its end; the next period is not waited for.
        assert_eq!(dcqcn.next_timer(), us(14 + 300));
        dcqcn.cnp(&params, us(15));
        dcqcn.cnp(&params, us(17));
        assert_eq!(dcqcn.next_timer(), us(18));
        dcqcn.timer(&params, us(18));
        // Of the updates at 15 to 18 us, those at 16 and 18 heard of a CNP: at 15 us the update comes
        // before the CNP.
        let (kept, g) = (1019.0 / 1024.0, 5.0 / 1024.0);
        let alpha = kept * (kept * (kept * (kept * alpha) + g)) + g;
        assert!((dcqcn.alpha - alpha).abs() < 1e-12);
        let cut = rate * (1.0 - alpha / 2.0);
        assert!((gbps(&dcqcn) - cut).abs() < 1e-8);
        // A CNP between two updates leaves their times as they are: the next is at 19 us.
        dcqcn.cnp(&params, us(18) + Span::from_ns(500));
        assert_eq!(dcqcn.updated, us(18));
        (dcqcn.cut_at, dcqcn.sampled) = (Time::NEVER, false); // as if it had not come
        dcqcn.decay(&params.settings(), us(20) + Span::from_ns(500));
        assert_eq!(dcqcn.updated, us(20));
        // No increase since: the target is as before. One step of fast recovery, one of R_AI, then
        // R_HAI.
        let mut expected = (cut, 100.0);
        for (n, more) in [(1, 0.0), (2, 0.02), (3, 0.2)] {
            dcqcn.timer(&params, us(18 + 300 * n));
            expected.1 = f64::min(expected.1 + more, 100.0);
            expected.0 = (expected.0 + expected.1) / 2.0;
            assert!((gbps(&dcqcn) - expected.0).abs() < 1e-8);
        }
        // An increase since: the target is the rate.
        let before = dcqcn.rate;
        dcqcn.cnp(&params, us(18 + 900));
        dcqcn.timer(&params, us(18 + 904));
        assert_eq!(dcqcn.target, before);
        dcqcn.timer(&params, us(18 + 904 + 300));
        dcqcn.timer(&params, us(18 + 904 + 600));
        assert!((dcqcn.target - before - 20e6).abs() < 1.0);
    }

    #[test]
    fn at_line_rate_no_timer_runs() {
        for variant in [DcqcnVariant::Paper, DcqcnVariant::Connectx] {
            let params = DcqcnParams { variant, ..at_defaults() };
            let mut dcqcn = Dcqcn::new(&params, &PATH, Time::ZERO);
            assert_eq!(dcqcn.next_timer(), Time::NEVER);
            dcqcn.cnp(&params, us(7));
            let mut wakes = 0;
            while dcqcn.next_timer() < Time::NEVER {
                dcqcn.timer(&params, dcqcn.next_timer());
                wakes += 1;
            }
            assert_eq!(dcqcn.rate(), PATH.line);
            // 50 Gbps from the line's, halved 36 times, are less than 1 bps (50e9/2^36 = 0.73); the
            // vendor's cut leaves as much, and is a wake-up itself.
            let cuts = usize::from(variant == DcqcnVariant::Connectx);
            assert_eq!(wakes, 36 + cuts);
        }
    }

    #[test]
    fn what_a_variant_has_not_is_refused() {
        let refused = |params: DcqcnParams| Dcqcn::check(&params).map_err(|unfit| unfit.param);
        let paper = at_defaults::<DcqcnParams>();
        let connectx = DcqcnParams { variant: DcqcnVariant::Connectx, ..paper };
        let (span, bytes) = (Some(Span::from_us(4)), Some(Bytes::new(1)));
        assert_eq!([refused(paper), refused(connectx)], [Ok(()), Ok(())]);
        assert_eq!(refused(DcqcnParams { cut_interval: span, ..paper }), Err("cut_interval"));
        assert_eq!(
            refused(DcqcnParams { first_cnp_rate: Some(0.5), ..paper }),
            Err("first_cnp_rate")
        );
        assert_eq!(refused(DcqcnParams { byte_counter: bytes, ..connectx }), Err("byte_counter"));
        let never = Some(Span::ZERO);
        assert_eq!(refused(DcqcnParams { cut_interval: never, ..connectx }), Err("cut_interval"));
        assert_eq!(refused(DcqcnParams { alpha_timer: never, ..paper }), Err("alpha_timer"));
        assert_eq!(refused(DcqcnParams { increase_timer: never, ..paper }), Err("increase_timer"));
    }
}
