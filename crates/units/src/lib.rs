//! Time, rate and size as types: picoseconds, bits per second, bytes.
//!
//! Time is an integer number of picoseconds, so 1500 bytes at 10 Gbps last
//! exactly 1,200,000 and sums never drift. A `u64` of picoseconds reaches 213 days.
//! Beside them stand how files write them ([`quantity`]), the numbers that things of a network have
//! ([`ids`](mod@ids)) and randomness by key ([`random`]).

#![forbid(unsafe_code)]
#![deny(unreachable_pub)]

pub mod ids;
pub mod quantity;
pub mod random;

use serde::{Serialize, Serializer};
use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// Picoseconds in a second.
pub const PS_PER_S: u64 = 1_000_000_000_000;

/// An instant: picoseconds since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of time in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// A size or count in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than everything that happens.
    pub const NEVER: Time = Time(u64::MAX);

    /// The instant `ps` picoseconds after the start.
    #[inline]
    pub const fn from_ps(ps: u64) -> Self {
        Time(ps)
    }
    /// Picoseconds since the start.
    #[inline]
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Seconds since the start, rounded to a double.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// How long after `earlier` this is; zero if it is not after it.
    #[inline]
    // Not below 0: an earlier time is asked for where the order of two is open.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// A duration of no time.
    pub const ZERO: Span = Span(0);
    /// Greatest duration, which stands for "without end".
    pub const MAX: Span = Span(u64::MAX);

    /// Makes a duration of `ps` picoseconds.
    #[inline]
    pub const fn from_ps(ps: u64) -> Self {
        Span(ps)
    }
    /// Makes a duration of `ns` nanoseconds.
    #[inline]
    pub const fn from_ns(ns: u64) -> Self {
        Span(ns * 1_000)
    }
    /// Makes a duration of `us` microseconds.
    #[inline]
    pub const fn from_us(us: u64) -> Self {
        Span(us * 1_000_000)
    }
    /// Makes a duration of `ms` milliseconds.
    #[inline]
    pub const fn from_ms(ms: u64) -> Self {
        Span(ms * 1_000_000_000)
    }
    /// `s` seconds, rounded to the nearest picosecond; negative counts as zero.
    #[inline]
    pub fn from_secs_f64(s: f64) -> Self {
        // A cast truncates and saturates: hence the half, and negative numbers come to 0.
        Span((s * PS_PER_S as f64 + 0.5) as u64)
    }
    /// Picoseconds.
    #[inline]
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Seconds, rounded to a double.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// Microseconds, rounded to a double.
    #[inline]
    pub fn as_us_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Sum that stops at [`Span::MAX`].
    #[inline]
    pub const fn saturating_add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl Rate {
    /// `bps` bits per second.
    #[inline]
    pub const fn from_bps(bps: u64) -> Self {
        Rate(bps)
    }
    /// `gbps` times 10⁹ bits per second.
    #[inline]
    pub const fn from_gbps(gbps: u64) -> Self {
        Rate(gbps * 1_000_000_000)
    }
    /// `mbps` times 10⁶ bits per second.
    #[inline]
    pub const fn from_mbps(mbps: u64) -> Self {
        Rate(mbps * 1_000_000)
    }
    /// Bits per second.
    #[inline]
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// The time that `bytes` take, rounded down to a picosecond (see [`Line`] for
    /// the exact long run).
    #[inline]
    pub const fn tx_time(self, bytes: u32) -> Span {
        // Overflows from 2.3 MB on, which no packet is long.
        Span(8 * PS_PER_S * bytes as u64 / self.0)
    }
}

impl Bytes {
    /// A size of no bytes.
    pub const ZERO: Bytes = Bytes(0);
    /// Greatest size, which stands for "without limit".
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// `n` bytes.
    #[inline]
    pub const fn new(n: u64) -> Self {
        Bytes(n)
    }
    /// The number of bytes.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
    /// The number of bytes as a double.
    #[inline]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
    /// Difference that stops at zero.
    #[inline]
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

/// A transmitter's clock: it carries the remainder of each division, so that n
/// packets take exactly the time that their bytes take at the rate, for any rate.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    rate: Rate,
    /// Picoseconds a byte where the rate divides them evenly, else 0.
    ps_per_byte: u64,
    /// (8·10¹²·bytes) mod rate, carried to the next packet.
    rest: u64,
}

impl Line {
    /// A line of the given rate. A rate of zero is refused before it gets here.
    #[inline]
    pub const fn new(rate: Rate) -> Self {
        // Rates that divide 8·10¹² have whole picoseconds a byte: no division, and nothing left
        // over.
        let whole = (8 * PS_PER_S).is_multiple_of(rate.0);
        Line { rate, ps_per_byte: if whole { 8 * PS_PER_S / rate.0 } else { 0 }, rest: 0 }
    }
    /// Returns the present rate of the line.
    #[inline]
    pub const fn rate(&self) -> Rate {
        self.rate
    }
    /// The time the next packet takes; the remainder is carried to the one after.
    #[inline]
    pub const fn transmit(&mut self, bytes: u32) -> Span {
        if self.ps_per_byte != 0 {
            return Span(self.ps_per_byte * bytes as u64);
        }
        // The rest of a picosecond goes to the next packet: in the long run the rate is exact.
        let work = 8 * PS_PER_S * bytes as u64 + self.rest;
        self.rest = work % self.rate.0;
        Span(work / self.rate.0)
    }
}

macro_rules! arithmetic {
    ($($left:ident $op:ident $method:ident $right:ident = $out:ident;)*) => {$(
        impl $op<$right> for $left {
            type Output = $out;
            #[inline]
            fn $method(self, other: $right) -> $out {
                $out(self.0.$method(other.0))
            }
        }
    )*};
}
arithmetic! {
    Time Add add Span = Time;
    Time Sub sub Span = Time;
    Time Sub sub Time = Span;
    Span Add add Span = Span;
    Span Sub sub Span = Span;
    Bytes Add add Bytes = Bytes;
    Bytes Sub sub Bytes = Bytes;
}
impl Mul<u64> for Span {
    type Output = Span;
    #[inline]
    fn mul(self, n: u64) -> Span {
        Span(self.0 * n)
    }
}
impl Div<u64> for Span {
    type Output = Span;
    #[inline]
    fn div(self, n: u64) -> Span {
        Span(self.0 / n)
    }
}
impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        self.0 += span.0;
    }
}
impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        self.0 += span.0;
    }
}
impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}
impl SubAssign for Bytes {
    #[inline]
    fn sub_assign(&mut self, other: Bytes) {
        self.0 -= other.0;
    }
}

/// The largest unit in which `value` is a number of at most three decimals, as a
/// scenario file writes it. Exact: reading it back gives `value`.
fn scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    for &(size, name) in units {
        let thousandth = (size / 1000).max(1);
        // Only units that print with three decimals at most, or digits would be lost.
        if value >= size && value.is_multiple_of(thousandth) {
            let decimals = format!(".{:03}", value % size / thousandth);
            let decimals = decimals.trim_end_matches('0').trim_end_matches('.');
            return write!(f, "{}{decimals}{name}", value / size);
        }
    }
    let (_, name) = units[units.len() - 1];
    write!(f, "{value}{name}")
}

impl fmt::Display for Span {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units =
            [(PS_PER_S, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns"), (1, "ps")];
        scaled(f, self.0, &units)
    }
}
impl fmt::Display for Time {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}
impl fmt::Display for Rate {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1_000_000_000, "Gbps"), (1_000_000, "Mbps"), (1_000, "kbps"), (1, "bps")];
        scaled(f, self.0, &units)
    }
}
impl fmt::Display for Bytes {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, &[(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB"), (1, "B")])
    }
}

/// Serialized as printed, so that a manifest reads like a scenario file.
macro_rules! serialize_as_text {
    ($($unit:ident)*) => {$(
        impl Serialize for $unit {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )*};
}
serialize_as_text! { Time Span Rate Bytes }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_packet_at_10_gbps_lasts_1_2_us_exactly() {
        assert_eq!(Rate::from_gbps(10).tx_time(1500).as_ps(), 1_200_000);
    }

    #[test]
    fn a_line_is_exact_in_the_long_run() {
        // 99.5 % of 100 Gbps: one packet is no whole number of picoseconds.
        let rate = Rate::from_bps(99_500_000_000);
        let mut line = Line::new(rate);
        let total: u64 = (0..995).map(|_| line.transmit(1500).as_ps()).sum();
        assert_eq!(total, 8 * PS_PER_S / 1000 * 1500 * 995 / 99_500_000);
        assert!(Line::new(rate).transmit(1500) < rate.tx_time(1501));
    }

    #[test]
    fn units_print_as_a_scenario_file_writes_them() {
        assert_eq!(Span::from_ns(85_200).to_string(), "85.2us");
        assert_eq!(Rate::from_gbps(10).to_string(), "10Gbps");
        assert_eq!(Bytes::new(300_000).to_string(), "300KB");
        assert_eq!(Bytes::new(65 * 1500).to_string(), "97.5KB");
        assert_eq!(Bytes::new(12_187).to_string(), "12.187KB");
        assert_eq!(Span::ZERO.to_string(), "0ps");
        assert_eq!(Bytes::new(7).to_string(), "7B");
        assert_eq!(Bytes::MAX.to_string(), "18446744073709551.615KB");
    }
}
