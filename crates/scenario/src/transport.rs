//! TCP's settings; those of each congestion control are in crate `congestion`. What the papers'
//! simulators and kernels do otherwise than the RFCs is a setting each; defaults are the host
//! profile's.

use crate::Host;
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Field, Params, SectionSpec, Unfit, Value, Values};
use switchbed_config::section::Section;
use switchbed_config::tree::At;
use switchbed_config::{params, words};
pub use switchbed_congestion::{
    Arithmetic, BbrParams, CongestionControl, CubicParams, DctcpParams, PragueParams,
};
use switchbed_units::{Bytes, Span};

params! {
    /// The transport of every host.
    pub struct Transport {
        /// How the window answers marks.
        control: CongestionControl;
        /// Payload of a full segment. Default: host.mtu less header.
        mss: Bytes, follows;
        /// Headers of every packet on the wire; an ACK without options is this long.
        header: Bytes;
        /// Window of a new connection, in packets (RFC 6928).
        initial_window: u32 as Packets;
        /// Where slow start ends at first, in packets. Default: receive_window.
        initial_ssthresh: u32 as Packets, follows;
        /// The receiver's window, in packets (about Linux's largest).
        receive_window: u32 as Packets;
        /// Window that a receiver offers at first, a packet at least; it opens from there as Linux's
        /// does, ahead of what arrives in a round trip, up to receive_window (tcp_moderate_rcvbuf), and
        /// each packet that opens it is acknowledged at once. Default: receive_window, from the start.
        initial_receive_window: Bytes, follows;
        /// Unacknowledged data that a sender's socket holds at most (Linux: 4 MiB, the most of
        /// tcp_wmem). Default: no limit.
        send_buffer: Option<Bytes>;
        /// Retransmission timeout before the first RTT sample (RFC 6298: 1 s).
        rto_initial: Span;
        /// Floor of the retransmission timeout (RFC 6298: 1 s; Linux: 200 ms).
        rto_min: Span;
        /// Ceiling of the retransmission timeout (RFC 6298: at least 60 s).
        rto_max: Span;
        /// How slow start grows. bytes: by what an ACK covers, at most abc_limit packets (RFC 5681,
        /// equation 2; RFC 3465). acks: a packet an ACK (ns-2; Linux up to 3.12). segments-and-one:
        /// by the segments that an ACK covers, up to a packet over ssthresh (Linux 3.13 to 3.18).
        /// segments: the same up to ssthresh, and with the rest as in congestion avoidance (Linux
        /// since 4.0).
        slow_start: SlowStart;
        /// The most packets that an ACK adds with slow_start = bytes (RFC 3465's L); 1 in the slow
        /// start after a timeout.
        abc_limit: u32 as count(1, 1000);
        /// When slow start ends before a loss or a mark. off: at ssthresh alone. linux: with cubic,
        /// at a train of ACKs or at longer round trips (tcp_cubic.c since 5.5); with others never.
        /// plus-plus: at longer round trips, after slowing down (RFC 9406).
        hystart: Hystart;
        /// How the window grows in congestion avoidance where the control has no rule of its own.
        /// bytes: by 1/cwnd of a packet for each packet acknowledged. acks: by a packet every cwnd
        /// ACKs (ns-2). acks-and-one: every cwnd + 1 ACKs (Linux up to 3.18). segments: every cwnd
        /// segments acknowledged (Linux since 4.0).
        avoidance: Avoidance;
        /// Full segments that an ACK may cover; 1 is an ACK a packet.
        ack_every: u32 as count(1, 1000);
        /// The longest that an ACK is held back when ack_every is over 1 (Linux: 40 ms).
        ack_delay: Span;
        /// The delay follows the gaps between arrivals, from ack_delay up to this and the handshake's
        /// round trip (Linux: 200 ms). Default: ack_delay.
        ack_delay_max: Span, follows ack_delay;
        /// ACKs that go out for a packet each at a connection's start, after a pause of more than
        /// rto_min, and after repeated data (Linux: 16). With any, other ACKs are for more than
        /// ack_every - 1 full segments.
        quick_acks: u32 as count(0, 1000);
        /// A segment that is not full is acknowledged at once, since the application has read all
        /// then (Linux).
        ack_short: bool;
        /// The last segment of a flow is acknowledged at once, full or not: it has TCP's PSH, and the
        /// application has read all (Linux since 6.6).
        ack_pushed: bool;
        /// SACK blocks that an ACK may carry (RFC 2018), 8 bytes each and 2 more; 0 switches SACK
        /// off.
        sack_blocks: u8 as count(0, 3);
        /// RTT samples. every-ack: from each ACK of new data, as timestamps give. one-at-a-time:
        /// one segment timed at a time, never a retransmitted one.
        rtt_sampling: RttSampling;
        /// A host that accepts a connection takes its first RTT sample from the answer to its SYN-ACK;
        /// else it has none before its first data is acknowledged, and waits rto_initial for that.
        rtt_of_syn_ack: bool;
        /// Window of a sender that was idle. keep: nothing changes. after-rto: the initial window
        /// after idling longer than the RTO (RFC 5681, section 4.1). after-unclamped-rto: the same
        /// after srtt + 4·rttvar, and even from a smaller window (ns-2). halve-per-rto: half for
        /// each RTO, down to the initial window, with ssthresh at 3/4 of it at least (Linux).
        restart: Restart;
        /// When packets leave. off: as soon as the window lets them. linux: at 1.2 times what the
        /// window and the RTT come to, twice that while the window is under half of the slow
        /// start threshold; not the first ten packets, nor any before the first RTT sample. With
        /// host.nic = "fq" they wait in the card, else in the connection.
        pacing: Pacing;
        /// The window grows while the application, not the window, limits the sender.
        grow_when_app_limited: bool;
        /// When it is the window that limits the sender. at-ack: an ACK comes while no more fits into
        /// it. at-ack-nearly: while no more than 3 packets fit, or less than a third of it and 64 KiB
        /// (Linux 2.6). at-send: it has stopped the sender in this window of data or, in slow start,
        /// half of it was out (Linux since 3.16).
        cwnd_limited: CwndLimited;
        /// Quantity that a loss halves (cubic: cuts to β): the data in flight (flight, RFC 5681,
        /// equation 4) or the window, even where the application did not fill it (window, ns-2,
        /// Linux).
        loss_halves: LossHalves;
        /// A cut window falls to the fraction that the rule gives (exact) or further down to whole
        /// packets (whole-packets, ns-2).
        cut: WindowCut;
        /// Rule by which segments count as lost. dupthresh: three segments have overtaken it, by
        /// SACK (RFC 6675) or, without SACK, by duplicate ACKs. fack: it lies three segments below
        /// the highest that is SACKed (Linux up to 4.14). rack: it was sent before something that
        /// has arrived, a round trip and a wait for reordering ago (RFC 8985, Linux since 4.18);
        /// retransmissions too.
        loss_detection: LossDetection;
        /// Without SACK a repair's partial ACKs restart the retransmission timer: each, or the first
        /// alone, so that a timeout ends a long repair (RFC 6582's impatient variant; ns-3, with SACK
        /// too).
        partial_acks: PartialAcks;
        /// SACKs of data that was sent before the first missing segment was sent last restart the
        /// retransmission timer, and are RTT samples (Linux since 3.13: tcp_clean_rtx_queue).
        sacks_restart_timer: bool;
        /// In a repair by SACK with dupthresh or fack, what counts as lost is taken to be in flight
        /// until its retransmission has arrived (ns-2's pipe); else it is not (RFC 6675).
        lost_in_flight: bool;
        /// With SACK a receiver's next ACK reports data that came twice (RFC 2883; Linux: tcp_dsack). It
        /// ends a tail loss probe, lengthens rack's wait and lets `undo` see what was needless.
        dsack: bool;
        /// A cut is taken back, window and threshold, once an ACK shows that nothing was lost: all that
        /// was sent again came twice (dsack), or the ACK's time stamp, of whole milliseconds, is older
        /// than the first retransmission (Eifel, RFC 4015). With rack alone (Linux:
        /// tcp_undo_cwnd_reduction).
        undo: bool;
        /// The ACK after a timeout lets new data out before what is taken for lost; data that then
        /// arrives and was sent once shows that the timeout was needless, and `undo` takes it back
        /// (F-RTO, RFC 5682; Linux: tcp_frto).
        frto: bool;
        /// Two round trips without an ACK bring a probe, new data or the last segment again, before
        /// the retransmission timeout (RFC 8985, section 7; Linux since 3.10).
        tail_loss_probe: bool;
        /// Time that Linux adds to the timers of tail loss probes and of reordering (since 6.7: 2
        /// ms; before: two clock ticks). RFC 8985: 0.
        timer_slack: Span;
        /// The first two duplicate ACKs let new data out (RFC 3042).
        limited_transmit: bool;
        /// Fewer duplicate ACKs do where fewer than four segments are out and nothing new can be sent
        /// (RFC 5827). delayed: after a quarter of a round trip, at least 2 ms (Linux 3.5 to 4.x).
        early_retransmit: EarlyRetransmit;
        /// Quantity that rto_min bounds: the retransmission timeout (timeout, RFC 6298) or its part
        /// above the smoothed RTT (variance, Linux).
        rto_floor: RtoFloor;
        /// Number of SYN timeouts that do not double the next one (Linux since 6.5: 4).
        syn_linear_timeouts: u32 as count(0, 100);
        /// More than one lost SYN leaves an initial window of one packet (RFC 6928, section 2; Linux).
        one_after_lost_syns: bool;
        /// SYNs are sent again so often, besides syn_linear_timeouts, before the connection fails and
        /// its flows with it (Linux: tcp_syn_retries); 0: for ever.
        syn_retries: u32 as count(0, 100);
        /// Without an ACK of new data a connection fails after so many retransmission timeouts (ns-3),
        /// or as data_retries_by says; 0: never.
        data_retries: u32 as count(0, 1000);
        /// timeouts: the next timeout after data_retries of them fails. time: the first one does that
        /// comes as long after the first retransmission as so many timeouts take which begin at 200 ms
        /// and double up to rto_max (Linux: tcp_retries2, retransmits_timed_out).
        data_retries_by: RetriesBy;
        /// A timeout in a window of data that a loss or a mark has cut sets ssthresh anew (RFC 5681);
        /// else it stays (Linux).
        timeout_cuts_again: bool;
        /// How the window comes down to what a cut leaves, of a loss or a mark. at-once: at that
        /// instant. prr: packet by packet in a round trip (RFC 9937 as Linux has it since 3.2).
        /// rate-halving: a packet every second ACK, and never above what is in flight and one more
        /// (Linux up to 3.1).
        reduction: Reduction;
        /// The least window after a mark, in packets, with ecn-star, and with dctcp in exact
        /// arithmetic; slow start's threshold is two at least, or this if it is less.
        mark_least: u32 as count(1, 2);
        /// Data packets are ECN-capable.
        ecn: bool;
        /// A SYN that is sent again asks for no ECN, and the connection has none (RFC 3168, section
        /// 6.1.1.1; Linux since 4.2: tcp_ecn_fallback): dctcp then answers losses alone, as Reno does.
        ecn_fallback: bool;
        /// Pure ACKs are ECN-capable: marked instead of dropped, to no further effect. Default: true
        /// with dctcp and prague, as Linux has them, false with the others (RFC 3168, section 6.1.4).
        ecn_acks: bool, follows;
        /// SYNs and SYN-ACKs are ECN-capable too. Default: true with dctcp (RFC 8257, section 3.5)
        /// and prague, false with the others (RFC 3168, section 6.1).
        ecn_syn: bool, follows;
        /// Retransmissions are ECN-capable too. Default: as for ecn_syn.
        ecn_retransmits: bool, follows;
        /// With prague, ACKs carry accurate ECN's option (RFC 9768), and so no more than two SACK blocks;
        /// else three bits alone count marks, and an ACK of more than seven packets is taken to tell of
        /// as many as those bits allow.
        accecn_option: bool;
        /// ACKs travel in their flow's class; else in class 0.
        ack_class_follows: bool;
        /// A timeout right after an ECN cut leaves ssthresh as it is (ns-2).
        timeout_after_cut_keeps_ssthresh: bool;
        /// An ACK with ECE grows the window if the one before had ECE too (ns-2); else an ACK with
        /// ECE never does (RFC 3168, section 6.1.2).
        grow_on_repeated_ece: bool;
        /// State in which persistent connections start, as if warmed up before the clock. Default:
        /// they start cold, with a handshake.
        warm: Option<Warm>;
    }
}

/// `[transport]`.
pub const SECTION: SectionSpec = SectionSpec {
    name: "transport",
    repeated: false,
    doc: "TCP on every host.",
    keys: Transport::TABLE,
};

words! {
    /// How slow start grows for an ACK.
    pub enum SlowStart {
        /// By the bytes that it covers, up to a limit.
        Bytes = "bytes",
        /// By a packet.
        Acks = "acks",
        /// By the segments that it covers, up to a packet over ssthresh.
        SegmentsAndOne = "segments-and-one",
        /// By the segments that it covers, up to ssthresh; the rest is congestion avoidance's.
        Segments = "segments",
    }
}

words! {
    /// Rule that ends slow start before a loss or a mark.
    pub enum Hystart {
        /// Nothing.
        Off = "off",
        /// The detectors of Linux's CUBIC.
        Linux = "linux",
        /// RFC 9406.
        PlusPlus = "plus-plus",
    }
}

words! {
    /// Unit that is counted in congestion avoidance.
    pub enum Avoidance {
        /// Bytes acknowledged; windows have fractions.
        Bytes = "bytes",
        /// ACKs, for whole packets.
        Acks = "acks",
        /// Units of `acks`, and one more.
        AcksAndOne = "acks-and-one",
        /// Segments acknowledged, for whole packets.
        Segments = "segments",
    }
}

words! {
    /// When the window limits the sender.
    pub enum CwndLimited {
        /// An ACK comes while it is full.
        AtAck = "at-ack",
        /// An ACK comes while it is nearly full.
        AtAckNearly = "at-ack-nearly",
        /// The window was full when the sender sent.
        AtSend = "at-send",
    }
}

words! {
    /// RTT samples.
    pub enum RttSampling {
        /// A sample from every ACK of new data, as timestamps give (their bytes not counted).
        EveryAck = "every-ack",
        /// One segment timed at a time, never a retransmitted one (RFC 6298 without timestamps).
        OneAtATime = "one-at-a-time",
    }
}

words! {
    /// Window of a sender that sends again after it was idle.
    pub enum Restart {
        /// Nothing.
        Keep = "keep",
        /// Back to the initial window after idling longer than the RTO (RFC 5681, section 4.1).
        AfterRto = "after-rto",
        /// To the initial window, even from below, after srtt + 4·rttvar, not clamped to the
        /// RTO's floor (ns-2).
        AfterUnclampedRto = "after-unclamped-rto",
        /// Half for each RTO of idleness (Linux's tcp_cwnd_restart).
        HalvePerRto = "halve-per-rto",
    }
}

words! {
    /// When packets leave.
    pub enum Pacing {
        /// Sends as soon as the window allows.
        Off = "off",
        /// At Linux's pacing rate.
        Linux = "linux",
    }
}

words! {
    /// Quantity that is halved when a loss is seen.
    pub enum LossHalves {
        /// The data in flight (RFC 5681, equation 4).
        Flight = "flight",
        /// The window, even where the application did not fill it (ns-2).
        Window = "window",
    }
}

words! {
    /// Rule by which segments count as lost.
    pub enum LossDetection {
        /// Segments that three others have overtaken (RFC 6675, RFC 6582).
        Dupthresh = "dupthresh",
        /// Segments three below the highest that is SACKed.
        Fack = "fack",
        /// Segments sent before something that has arrived, long enough ago (RFC 8985).
        Rack = "rack",
    }
}

words! {
    /// Whether fewer duplicate ACKs do where few segments are out.
    pub enum EarlyRetransmit {
        /// No.
        Off = "off",
        /// Yes (RFC 5827).
        AtOnce = "at-once",
        /// After a quarter of a round trip.
        Delayed = "delayed",
    }
}

words! {
    /// Quantity that the floor of the retransmission timeout bounds.
    pub enum RtoFloor {
        /// The timeout (RFC 6298).
        Timeout = "timeout",
        /// The part above the smoothed RTT (Linux).
        Variance = "variance",
    }
}

words! {
    /// How the window comes down to what a cut leaves.
    pub enum Reduction {
        /// At that instant.
        AtOnce = "at-once",
        /// Packet by packet, in proportion to what is delivered (RFC 9937).
        Prr = "prr",
        /// A packet every second ACK.
        RateHalving = "rate-halving",
    }
}

words! {
    /// Partial ACKs that restart the retransmission timer.
    pub enum PartialAcks {
        /// Each.
        All = "all",
        /// A repair's first.
        First = "first",
    }
}

words! {
    /// Limit of a sender's patience with data that is not acknowledged.
    pub enum RetriesBy {
        /// A number of timeouts.
        Timeouts = "timeouts",
        /// The time that so many would take in Linux.
        Time = "time",
    }
}

words! {
    /// How a window is cut.
    pub enum WindowCut {
        /// To the fraction that the rule gives.
        Exact = "exact",
        /// Down to a whole number of packets, at least 1.
        WholePackets = "whole-packets",
    }
}

params! {
    /// A persistent connection's state when the clock starts.
    #[derive(Copy)]
    pub struct Warm {
        /// Congestion window in packets.
        cwnd: f64 as number(1.0, 1e9);
        /// Smoothed RTT; its variance is taken as half of it, as after a first sample.
        srtt: Span;
    }
}

impl Transport {
    /// The transport that was read, over links that carry packets of `mtu`.
    ///
    /// # Errors
    /// The key that does not fit the rest.
    pub fn of(mut values: Values, mtu: Bytes) -> Result<Transport, Unfit> {
        let key = Transport::KEY;
        // From a copy, since `take` removes, and all are read from `values` below.
        let read = &mut values.clone();
        let header: Bytes = Field::take(read, key.header);
        let receive_window: u32 = Field::take(read, key.receive_window);
        let control: CongestionControl = Field::take(read, key.control);
        if header == Bytes::ZERO {
            let why =
                "it must be at least 1B: a packet without bytes would take no time".to_owned();
            return Err(Unfit::new(key.header, why));
        }
        if header >= mtu {
            return Err(Unfit::new(key.header, format!("it must be less than host.mtu, {mtu}")));
        }
        let mut follows = |key: &str, value| {
            values.entry(key.to_owned()).or_insert(value);
        };
        follows(key.mss, Value::Bytes(mtu - header));
        follows(key.initial_ssthresh, Value::Count(receive_window.into()));
        for kind in [key.ecn_acks, key.ecn_syn, key.ecn_retransmits] {
            follows(kind, Value::Flag(control.about().ecn_throughout));
        }
        if !values.contains_key(key.initial_receive_window) {
            // After `mss` has its own default.
            let mss: Bytes = Field::take(&mut values.clone(), key.mss);
            let most = mss.get().saturating_mul(receive_window.into());
            values.insert(key.initial_receive_window.to_owned(), Value::Bytes(Bytes::new(most)));
        }
        let transport = Transport::from_values(&mut values);
        if transport.mss > mtu - header {
            let most = mtu - header;
            let why = format!("with a header of {header} it must be at most {most} (host.mtu)");
            return Err(Unfit::new(key.mss, why));
        }
        transport.check().map(|()| transport)
    }

    /// Whether its settings go together.
    ///
    /// # Errors
    /// The first that does not.
    pub fn check(&self) -> Result<(), Unfit> {
        let key = Transport::KEY;
        let unfit = |key, why: &str| Err(Unfit::new(key, why));
        self.control.check()?;
        if self.mss == Bytes::ZERO {
            return unfit(key.mss, "a segment carries at least 1 byte");
        }
        for (key, length) in [(key.mss, self.mss), (key.header, self.header)] {
            if length > Bytes::new(65_535) {
                return unfit(key, "a packet has at most 65535 bytes");
            }
        }
        // SACK blocks count their distance from the ACK in 32 bits, dsack's with a sign.
        let bytes = if self.dsack { u32::MAX / 2 } else { u32::MAX };
        let (mss, most) = (self.mss, u64::from(bytes) / self.mss.get());
        if u64::from(self.receive_window) > most {
            let why = format!("with an mss of {mss} it must be at most {most}pkt");
            return Err(Unfit::new(key.receive_window, why));
        }
        if self.send_buffer.is_some_and(|most| most < mss) {
            return Err(Unfit::new(key.send_buffer, format!("it must hold a segment, {mss}")));
        }
        if self.ack_delay_max < self.ack_delay {
            let why = format!("it must be at least ack_delay, {}", self.ack_delay);
            return Err(Unfit::new(key.ack_delay_max, why));
        }
        let most = self.rto_max;
        for (key, rto) in [(key.rto_initial, self.rto_initial), (key.rto_min, self.rto_min)] {
            if rto == Span::ZERO {
                return unfit(key, "a timeout is longer than 0");
            }
            if rto > most {
                return Err(Unfit::new(key, format!("it must be at most rto_max, {most}")));
            }
        }
        let needs_sack = |key, what: &str| {
            let why = format!("{what} needs SACK: sack_blocks must be at least 1");
            Err(Unfit::new(key, why))
        };
        match self.loss_detection {
            LossDetection::Fack if self.sack_blocks == 0 => {
                return needs_sack(key.loss_detection, "fack");
            }
            LossDetection::Rack if self.sack_blocks == 0 => {
                return needs_sack(key.loss_detection, "rack");
            }
            LossDetection::Rack if self.early_retransmit != EarlyRetransmit::Off => {
                return unfit(key.early_retransmit, "rack does that by itself: it must be off");
            }
            _ => {}
        }
        if self.tail_loss_probe && self.sack_blocks == 0 {
            return needs_sack(key.tail_loss_probe, "a probe");
        }
        match self.warm {
            Some(Warm { srtt: Span::ZERO, .. }) => unfit("warm.srtt", "an RTT is longer than 0"),
            _ => Ok(()),
        }
    }
}

/// The transport, and where `warm` was written.
pub(crate) fn resolve(section: Section<'_>, host: &Host) -> Result<(Transport, At), Mistake> {
    let values = section.values()?;
    let kind: String = section.get(CongestionControl::KEY)?;
    let transport = Transport::of(values, host.mtu);
    let transport = transport.map_err(|unfit| section.unfit(unfit))?;
    let warm_at = written(&section, Transport::KEY.warm);
    section.close(&format!("kind = \"{kind}\""))?;
    Ok((transport, warm_at))
}

/// Where a section's `what` was written, for mistakes that show only later.
fn written(section: &Section<'_>, what: &str) -> At {
    section.given(what).map_or(section.at, |node| node.at)
}
