//! Counters and state of the switch, for `stats` and for tables. Fields are named as in the
//! simulator's tables.

use serde::Serialize;
use switchbed_qdisc::QueueId;
use switchbed_qdisc::port::view::{Counters, DropReason, PortState};
use switchbed_units::{Span, Time};

/// The switch at a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stats {
    /// Seconds since the switch began.
    pub time_s: f64,
    /// Label of the scheme in force.
    pub scheme: String,
    /// Frames in the switch, links included.
    pub frames: usize,
    /// Frames that went to all ports, their station being unknown or a group.
    pub flooded: u64,
    /// Messages sent to sources (802.1Qau).
    pub notified: u64,
    /// Frames that reached no port, by reason.
    pub refused: Refused,
    /// How punctual the switch is.
    pub wakes: Wakes,
    /// The ports in the file's order.
    pub ports: Vec<PortStats>,
}

/// A port at a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/live.md has them all, with docs/results.md")]
pub struct PortStats {
    pub port: String,
    pub rate_bps: u64,
    pub received_packets: u64,
    pub received_bytes: u64,
    pub sent_packets: u64,
    pub sent_bytes: u64,
    pub marked_packets: u64,
    pub unmarkable_packets: u64,
    pub drops_full: u64,
    pub drops_not_ecn_capable: u64,
    pub drops_early: u64,
    pub drops_pushed_out: u64,
    pub drops_at_departure: u64,
    pub trim_packets: u64,
    pub tx_trim_packets: u64,
    pub dropped_trim_packets: u64,
    pub host_drops: u64,
    pub overruns: u64,
    pub received_frames: u64,
    pub sent_frames: u64,
    pub bad_offloads: u64,
    pub limiters: u64,
    pub device_errors: u64,
    pub gone: bool,
    pub round_time_s: f64,
    pub mean_bytes: f64,
    pub max_bytes: u64,
    pub tx_pfc_frames: u64,
    pub rx_pfc_frames: u64,
    pub bad_pfc_frames: u64,
    pub groups: Vec<GroupStats>,
    pub queues: Vec<QueueStats>,
    pub dscps: Vec<DscpStats>,
}

/// Packets that came with a DSCP, and were sent or dropped by a port since the switch began.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DscpStats {
    /// The DSCP, 0 to 63.
    pub dscp: u8,
    /// Counts of its packets.
    #[serde(flatten)]
    pub counts: Counts,
}

/// Packets sent and dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes of the packets sent.
    pub sent_bytes: u64,
    /// Packets that left with CE by the port's scheme.
    pub marked_packets: u64,
    /// Packets dropped, whatever for.
    pub dropped_packets: u64,
    /// Packets dropped as memory was full.
    pub drops_full: u64,
    /// Packets dropped that could not be marked.
    pub drops_not_ecn_capable: u64,
    /// Packets that the scheme dropped as they came.
    pub drops_early: u64,
    /// Packets pushed out by others.
    pub drops_pushed_out: u64,
    /// Packets that the scheme dropped as they were to leave.
    pub drops_at_departure: u64,
}

impl Counts {
    /// Counts a packet that leaves.
    pub fn sent(&mut self, bytes: usize, marked: bool) {
        self.sent_packets += 1;
        self.sent_bytes += bytes as u64;
        self.marked_packets += u64::from(marked);
    }

    /// Counts a packet that is dropped.
    pub fn dropped(&mut self, why: DropReason) {
        self.dropped_packets += 1;
        *match why {
            DropReason::Full => &mut self.drops_full,
            DropReason::NotEcnCapable => &mut self.drops_not_ecn_capable,
            DropReason::Early => &mut self.drops_early,
            DropReason::PushedOut => &mut self.drops_pushed_out,
            DropReason::AtDeparture => &mut self.drops_at_departure,
        } += 1;
    }
}

/// A lossless class of a port's arrivals ([`switchbed_qdisc::hooks::GroupUse`]), since the switch
/// was last set.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/live.md has them all, with docs/pfc.md")]
pub struct GroupStats {
    pub class: u8,
    pub max_shared_bytes: u64,
    pub max_headroom_bytes: u64,
    pub lost_packets: u64,
    pub dropped_packets: u64,
    pub paused: bool,
}

/// A queue at a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueStats {
    /// Index in the port, from 0.
    pub queue: QueueId,
    /// Bytes in the queue now.
    pub bytes: u64,
    /// Packets in the queue now.
    pub packets: u32,
    /// The marking threshold in force.
    pub threshold_bytes: Option<f64>,
    /// Time-weighted mean length, since the switch began or was last set.
    pub mean_bytes: f64,
    /// Greatest length over the same time.
    pub max_bytes: u64,
    /// Time for which the peer has paused it, over the same time.
    pub paused_s: f64,
    /// Storms of pauses that the watchdog has seen.
    pub storms: u64,
    /// Packets that the watchdog has dropped.
    pub storm_drops: u64,
    /// Packets sent and dropped since the switch began.
    #[serde(flatten)]
    pub tally: Tally,
}

/// Bounds of waits in [`Tally`]: 2ⁿ us for each n below this.
const WAITS: usize = 21;
/// Bounds of lengths in [`Tally`]: 2ⁿ KiB for each n below this.
const LENGTHS: usize = 17;

/// Packets of a queue since the switch began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Tally {
    /// Counts of its packets.
    #[serde(flatten)]
    pub counts: Counts,
    /// Sum of the waits of the packets sent, from arrival to the start of transmission.
    pub waited_s: f64,
    /// Numbers of waits of at most 1 us, of more and at most 2 us, and so on in powers of two up to 1.05 s,
    /// and of longer ones.
    pub waits: [u64; WAITS + 1],
    /// Sum of the bytes that the packets sent left behind them in the queue.
    pub left_bytes: u64,
    /// Numbers of packets sent that left at most 1 KiB in the queue, more and at most 2 KiB, and so on in powers of
    /// two up to 64 MiB, and more.
    pub lengths: [u64; LENGTHS + 1],
}

impl Tally {
    /// Counts a packet that leaves after this time in the queue, and so many bytes there.
    pub fn sent(&mut self, bytes: usize, marked: bool, wait: Span, left_bytes: u64) {
        self.counts.sent(bytes, marked);
        self.waited_s += wait.as_secs_f64();
        self.waits[bin(wait.as_ps().div_ceil(Span::from_us(1).as_ps())).min(WAITS)] += 1;
        self.left_bytes += left_bytes;
        self.lengths[bin(left_bytes.div_ceil(1_024)).min(LENGTHS)] += 1;
    }
}

/// Number of the least power of two that is not below this: 0 of 0 and 1.
fn bin(of: u64) -> usize {
    of.next_power_of_two().trailing_zeros() as usize
}

/// A row of the series: the simulator's table `series`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Time since the switch began.
    pub at: Time,
    /// Number of the port in the switch.
    pub port: u16,
    /// Index in the port, from 0.
    pub queue: QueueId,
    /// Bytes in the queue now.
    pub bytes: u64,
    /// The marking threshold in force.
    pub threshold_bytes: Option<f64>,
    /// The smoothed round time, if the scheme has one.
    pub round_time: Option<Span>,
    /// Packets that have left the port with a CE mark of it so far.
    pub port_marked: u64,
    /// Packets that the port has dropped so far.
    pub port_dropped: u64,
}

/// Frames that reached no port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Shorter than an Ethernet header.
    pub truncated: u64,
    /// Longer than the MTU allows.
    pub oversized: u64,
    /// To addresses that no bridge forwards (IEEE 802.1D, table 7-10): pause, spanning tree.
    pub reserved: u64,
    /// Frames to a MAC address that is behind the port that they came from.
    pub here: u64,
}

/// How late the switch woke for what it slept for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Wakes {
    /// Times it slept for a departure, a delivery or a sample.
    pub count: u64,
    /// Half of the times it was no later than this.
    pub p50_late_ns: u64,
    /// 99 % of the times it was no later than this.
    pub p99_late_ns: u64,
    /// Greatest lateness since the start.
    pub max_late_ns: u64,
}

/// Counts of lateness by powers of two.
#[derive(Clone, Debug)]
pub struct Lateness {
    bins: [u64; 64],
    max_ns: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Lateness { bins: [0; 64], max_ns: 0 }
    }
}

impl Lateness {
    /// Counts a wake-up that was `late` after its time.
    pub fn count(&mut self, late: Span) {
        let ns = late.as_ps() / 1000;
        // Bin n holds times below 2ⁿ ns.
        self.bins[(u64::BITS - ns.leading_zeros()).min(63) as usize] += 1;
        self.max_ns = self.max_ns.max(ns);
    }
    /// Percentiles, to the next power of two.
    pub fn wakes(&self) -> Wakes {
        let count: u64 = self.bins.iter().sum();
        let percentile = |part: f64| {
            // Rounded up: the bin in which so many of them have passed.
            let target = (part * count as f64).ceil() as u64;
            let mut passed = 0;
            let bin = self.bins.iter().position(|&n| {
                passed += n;
                passed >= target && n > 0
            });
            // A bin's upper bound, but never over the longest seen.
            bin.map_or(0, |bin| ((1u64 << bin) - 1).min(self.max_ns))
        };
        Wakes {
            count,
            p50_late_ns: percentile(0.5),
            p99_late_ns: percentile(0.99),
            max_late_ns: self.max_ns,
        }
    }
}

/// Time-weighted lengths of a port's queues, and of the port.
#[derive(Clone, Debug)]
pub struct Lengths {
    queues: Vec<Length>,
    port: Length,
    began: Option<Time>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Length {
    bytes: u64,
    since: Time,
    area_byte_ps: u128,
    max_bytes: u64,
}

impl Length {
    fn pass(&mut self, now: Time) {
        // 128 bits: bytes times picoseconds pass 2⁶⁴ within seconds.
        self.area_byte_ps += u128::from(self.bytes) * u128::from(now.since(self.since).as_ps());
        self.since = self.since.max(now);
    }
    fn change(&mut self, now: Time, bytes: u64) {
        self.pass(now);
        self.bytes = bytes;
        self.max_bytes = self.max_bytes.max(bytes);
    }
}

impl Lengths {
    /// Makes the statistics of a port with `queues` queues, from its first packet on.
    pub fn new(queues: usize) -> Lengths {
        Lengths { queues: vec![Length::default(); queues], port: Length::default(), began: None }
    }
    /// Accounts for a queue whose length has changed.
    pub fn change(&mut self, now: Time, queue: QueueId, state: &PortState) {
        self.begin(now);
        self.queues[queue as usize].change(now, state.queue_bytes(queue).get());
        self.port.change(now, state.bytes().get());
    }
    fn begin(&mut self, now: Time) {
        if self.began.is_none() {
            // Time before the first change would count as empty.
            self.began = Some(now);
            self.queues.iter_mut().chain([&mut self.port]).for_each(|length| length.since = now);
        }
    }
    /// Counts the time up to `now`.
    pub fn close(&mut self, now: Time) {
        if self.began.is_some() {
            self.queues.iter_mut().chain([&mut self.port]).for_each(|length| length.pass(now));
        }
    }
    fn of(&self, length: &Length, now: Time) -> (f64, u64) {
        // A copy: asking must not change what is measured.
        let mut length = *length;
        length.pass(now);
        let ps = self.began.map_or(0, |began| now.since(began).as_ps());
        let mean = if ps == 0 { 0.0 } else { length.area_byte_ps as f64 / ps as f64 };
        (mean, length.max_bytes)
    }
    /// Bytes in a queue now.
    pub fn now(&self, queue: QueueId) -> u64 {
        self.queues[queue as usize].bytes
    }
    /// A queue's mean and greatest length up to `now`, in bytes.
    pub fn queue(&self, queue: QueueId, now: Time) -> (f64, u64) {
        self.of(&self.queues[queue as usize], now)
    }
    /// Mean and greatest length of all queues together.
    pub fn port(&self, now: Time) -> (f64, u64) {
        self.of(&self.port, now)
    }
}

impl PortStats {
    /// The counters under their names; what the switch knows beside them is zero.
    pub(crate) fn counted(port: String, rate_bps: u64, counters: &Counters) -> PortStats {
        let drops = |why: DropReason| counters.drops[why as usize];
        PortStats {
            port,
            rate_bps,
            received_packets: 0,
            received_bytes: 0,
            sent_packets: counters.sent,
            sent_bytes: counters.sent_bytes,
            marked_packets: counters.marked,
            unmarkable_packets: counters.unmarkable,
            drops_full: drops(DropReason::Full),
            drops_not_ecn_capable: drops(DropReason::NotEcnCapable),
            drops_early: drops(DropReason::Early),
            drops_pushed_out: drops(DropReason::PushedOut),
            drops_at_departure: drops(DropReason::AtDeparture),
            trim_packets: counters.trims.trimmed,
            tx_trim_packets: counters.trims.sent,
            dropped_trim_packets: counters.trims.dropped,
            host_drops: 0,
            overruns: 0,
            received_frames: 0,
            sent_frames: 0,
            bad_offloads: 0,
            limiters: 0,
            device_errors: 0,
            gone: false,
            round_time_s: 0.0,
            mean_bytes: 0.0,
            max_bytes: 0,
            tx_pfc_frames: 0,
            rx_pfc_frames: 0,
            bad_pfc_frames: 0,
            groups: Vec::new(),
            queues: Vec::new(),
            dscps: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_counted_to_the_next_power_of_two() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.wakes(), Wakes::default());
        (0..90).for_each(|_| lateness.count(Span::from_ns(1000)));
        (0..9).for_each(|_| lateness.count(Span::from_ns(5000)));
        lateness.count(Span::from_us(100));
        let wakes = lateness.wakes();
        assert_eq!((wakes.count, wakes.p50_late_ns, wakes.p99_late_ns), (100, 1023, 8191));
        assert_eq!(wakes.max_late_ns, 100_000);
    }

    #[test]
    fn a_wait_is_counted_at_the_least_bound_that_it_does_not_pass() {
        let mut tally = Tally::default();
        let us = Span::from_us;
        let over = |span: Span| span + Span::from_ps(1);
        for wait in
            [Span::ZERO, us(1), over(us(1)), us(2), over(us(2)), us(1 << 20), over(us(1 << 20))]
        {
            tally.sent(100, false, wait, 0);
        }
        tally.sent(100, true, Span::from_ms(3_600_000), 0);
        let seen = tally.waits.iter().zip(0..).filter(|&(&count, _)| count > 0);
        let seen: Vec<(u64, usize)> = seen.map(|(&count, at)| (count, at)).collect();
        assert_eq!(seen, [(2, 0), (2, 1), (1, 2), (1, 20), (2, 21)]);
        let counts = tally.counts;
        assert_eq!((counts.sent_packets, counts.sent_bytes, counts.marked_packets), (8, 800, 1));
        assert!((tally.waited_s - 3_602.097_158).abs() < 1e-6, "{}", tally.waited_s);
    }

    #[test]
    fn what_packets_leave_behind_is_counted_in_powers_of_two() {
        let mut tally = Tally::default();
        let lengths = [0, 1_024, 1_025, 2_048, 2_049, 64 << 20, (64 << 20) + 1, u64::MAX >> 8];
        for length in lengths {
            tally.sent(100, false, Span::ZERO, length);
        }
        let seen = tally.lengths.iter().zip(0..).filter(|&(&count, _)| count > 0);
        let seen: Vec<(u64, usize)> = seen.map(|(&count, at)| (count, at)).collect();
        assert_eq!(seen, [(2, 0), (2, 1), (1, 2), (1, 16), (2, 17)]);
        assert_eq!(tally.left_bytes, lengths.iter().sum::<u64>());
    }

    #[test]
    fn drops_are_counted_by_reason() {
        let mut counts = Counts::default();
        for (times, why) in (1..).zip(DropReason::ALL) {
            (0..times).for_each(|_| counts.dropped(why));
        }
        let Counts { drops_full, drops_not_ecn_capable, drops_early, .. } = counts;
        assert_eq!((drops_full, drops_not_ecn_capable, drops_early), (1, 2, 3));
        assert_eq!((counts.drops_pushed_out, counts.drops_at_departure), (4, 5));
        assert_eq!(counts.dropped_packets, 15);
    }
}
