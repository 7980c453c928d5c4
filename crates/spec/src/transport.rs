//! TCP's settings. Defaults are RFC 5681, 6298, 6675, 3168, 8257 and 9438 where they give
//! one; what the papers' simulators do otherwise is a setting each.

use crate::param::{FRACTION, Param, ParamKind, Section};
use serde::Serialize;
use switchbed_qdisc::units::{Bytes, Span};

/// The transport of every host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transport {
    /// How the window answers marks.
    #[serde(flatten)]
    pub control: CongestionControl,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Headers of every packet on the wire; an ACK without options is this long.
    pub header: Bytes,
    /// Initial window in packets (RFC 6928: 10).
    pub initial_window: u32,
    /// Slow start's first threshold in packets.
    pub initial_ssthresh: u32,
    /// The receiver's window in packets.
    pub receive_window: u32,
    /// RTO before the first RTT sample (RFC 6298: 1 s).
    pub rto_initial: Span,
    /// RTO's floor (RFC 6298: 1 s; Linux 200 ms).
    pub rto_min: Span,
    /// RTO's ceiling.
    pub rto_max: Span,
    /// Full segments an ACK may cover; 1 is an ACK a packet (RFC 5681 delayed ACKs: 2).
    pub ack_every: u32,
    /// The longest that an ACK is held back when `ack_every` > 1.
    pub ack_delay: Span,
    /// SACK blocks an ACK may carry, 0 to 3; each costs 8 bytes, and the option 2 bytes
    /// more. 0 switches SACK off (NewReno recovery).
    pub sack_blocks: u8,
    /// How the RTT is sampled.
    pub rtt_sampling: RttSampling,
    /// What an idle sender's window becomes.
    pub restart: Restart,
    /// Whether the window grows while the application, not the window, limits the sender.
    pub grow_when_app_limited: bool,
    /// What a loss halves.
    pub loss_halves: LossHalves,
    /// Whether a window that is cut falls to a whole number of packets.
    pub cut: WindowCut,
    /// Data packets are ECN-capable.
    pub ecn: bool,
    /// Pure ACKs are ECN-capable (they can be marked instead of dropped; the mark has no effect).
    pub ecn_acks: bool,
    /// SYNs and retransmissions are ECN-capable too (Linux with DCTCP, ns-2; RFC 3168 forbids
    /// it, and they are dropped where others are marked).
    pub ecn_control: bool,
    /// ACKs travel in their flow's class; else in class 0.
    pub ack_class_follows: bool,
    /// A timeout right after an ECN cut leaves ssthresh (ns-2).
    pub timeout_after_cut_keeps_ssthresh: bool,
    /// An ACK with ECE grows the window only if the one before had ECE too (ns-2); else
    /// an ACK with ECE never does (RFC 3168, section 6.1.2).
    pub grow_on_repeated_ece: bool,
    /// State in which persistent connections start, as if warmed up before the clock;
    /// `None`: they start cold, with a handshake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm: Option<Warm>,
}

/// `[transport]`.
pub const SECTION: Section = Section {
    name: "transport",
    repeated: false,
    doc: "TCP on every host.",
    keys: &[
        Param::with_default(
            "kind",
            ParamKind::Word(&["dctcp", "ecn-star", "ecn*", "reno", "cubic", "udp"]),
            "dctcp",
            "How the window grows and answers marks, at most once a window of data. dctcp: \
             cut by the marked fraction (RFC 8257). ecn-star or ecn*: halved. reno: as for \
             a loss (RFC 3168), which halves what loss_halves names; NewReno with \
             sack_blocks = 0. cubic: RFC 9438, marks as losses. udp: no window, no ACKs, no \
             TCP: packets go as the network card and its rate limiter let them, and what is \
             lost stays lost; of the other keys mss, header and ecn count.",
        ),
        Param::with_default(
            "g",
            FRACTION,
            "0.0625",
            "dctcp: weight of a new sample of the marked fraction.",
        ),
        Param::with_default(
            "alpha_start",
            FRACTION,
            "1",
            "dctcp: α of a new connection (RFC 8257: 1).",
        ),
        Param::with_default(
            "c",
            ParamKind::Number { min: 0.0, max: 1e18 },
            "0.4",
            "cubic: how steeply the window grows, C, in packets/s³ (RFC 9438: 0.4).",
        ),
        Param::with_default(
            "beta",
            FRACTION,
            "0.7",
            "cubic: what a cut leaves of the window, β (RFC 9438: 0.7).",
        ),
        Param::with_default(
            "fast_convergence",
            ParamKind::Flag,
            "true",
            "cubic: a flow whose window has stopped growing gives way to newer ones (RFC \
             9438, section 4.7).",
        ),
        Param::with_default(
            "reno_friendly",
            ParamKind::Flag,
            "true",
            "cubic: the window is never below that of an AIMD as fair as Reno (RFC 9438, \
             section 4.3), which rules where RTTs are short.",
        ),
        Param::optional(
            "mss",
            ParamKind::Size,
            "Payload of a full segment. Default: host.mtu less header.",
        ),
        Param::with_default(
            "header",
            ParamKind::Size,
            "40B",
            "Headers of every packet on the wire; an ACK without options is this long.",
        ),
        Param::with_default(
            "initial_window",
            ParamKind::Packets,
            "10pkt",
            "Window of a new connection, in packets (RFC 6928).",
        ),
        Param::optional(
            "initial_ssthresh",
            ParamKind::Packets,
            "Where slow start ends at first, in packets. Default: receive_window.",
        ),
        Param::with_default(
            "receive_window",
            ParamKind::Packets,
            "4096pkt",
            "The receiver's window, in packets (about Linux's largest).",
        ),
        Param::with_default(
            "rto_initial",
            ParamKind::Time,
            "1s",
            "Retransmission timeout before the first RTT sample (RFC 6298: 1 s).",
        ),
        Param::with_default(
            "rto_min",
            ParamKind::Time,
            "200ms",
            "Floor of the retransmission timeout (RFC 6298: 1 s; Linux: 200 ms).",
        ),
        Param::with_default(
            "rto_max",
            ParamKind::Time,
            "60s",
            "Ceiling of the retransmission timeout (RFC 6298: at least 60 s).",
        ),
        Param::with_default(
            "ack_every",
            ParamKind::Count { min: 1, max: 1000 },
            "1",
            "Full segments that an ACK may cover; 1 is an ACK a packet.",
        ),
        Param::with_default(
            "ack_delay",
            ParamKind::Time,
            "40ms",
            "The longest that an ACK is held back when ack_every is over 1 (Linux: 40 ms).",
        ),
        Param::with_default(
            "sack_blocks",
            ParamKind::Count { min: 0, max: 3 },
            "3",
            "SACK blocks that an ACK may carry (RFC 2018), 8 bytes each and 2 more; 0 \
             switches SACK off.",
        ),
        Param::with_default(
            "rtt_sampling",
            ParamKind::Word(&["every-ack", "one-at-a-time"]),
            "every-ack",
            "RTT samples. every-ack: from each ACK of new data, as timestamps give. \
             one-at-a-time: one segment timed at a time, never a retransmitted one.",
        ),
        Param::with_default(
            "restart",
            ParamKind::Word(&["keep", "after-rto", "after-unclamped-rto"]),
            "after-rto",
            "What an idle sender's window becomes. keep: nothing changes. after-rto: the \
             initial window after idling longer than the RTO (RFC 5681, section 4.1). \
             after-unclamped-rto: the same after srtt + 4·rttvar, and even from a smaller \
             window (ns-2).",
        ),
        Param::with_default(
            "grow_when_app_limited",
            ParamKind::Flag,
            "false",
            "The window grows while the application, not the window, limits the sender.",
        ),
        Param::with_default(
            "loss_halves",
            ParamKind::Word(&["flight", "window"]),
            "flight",
            "What a loss halves (cubic: cuts to β): the data in flight (flight, RFC 5681, \
             equation 4) or the window, even where the application did not fill it (window, \
             ns-2, Linux).",
        ),
        Param::with_default(
            "cut",
            ParamKind::Word(&["exact", "whole-packets"]),
            "exact",
            "A cut window falls to the fraction that the rule gives (exact) or further down \
             to whole packets (whole-packets, ns-2).",
        ),
        Param::with_default("ecn", ParamKind::Flag, "true", "Data packets are ECN-capable."),
        Param::with_default(
            "ecn_acks",
            ParamKind::Flag,
            "false",
            "Pure ACKs are ECN-capable: marked instead of dropped, to no further effect.",
        ),
        Param::optional(
            "ecn_control",
            ParamKind::Flag,
            "SYNs and retransmissions are ECN-capable too. Default: true with dctcp \
             (RFC 8257, section 3.5), false with the others (RFC 3168, section 6.1).",
        ),
        Param::with_default(
            "ack_class_follows",
            ParamKind::Flag,
            "true",
            "ACKs travel in their flow's class; else in class 0.",
        ),
        Param::with_default(
            "timeout_after_cut_keeps_ssthresh",
            ParamKind::Flag,
            "false",
            "A timeout right after an ECN cut leaves ssthresh as it is (ns-2).",
        ),
        Param::with_default(
            "grow_on_repeated_ece",
            ParamKind::Flag,
            "false",
            "An ACK with ECE grows the window if the one before had ECE too (ns-2); else an \
             ACK with ECE never does (RFC 3168, section 6.1.2).",
        ),
        Param::optional(
            "warm",
            ParamKind::Table(WARM),
            "State in which persistent connections start, as if warmed up before the clock. \
             Default: they start cold, with a handshake.",
        ),
    ],
};

const WARM: &[Param] = &[
    Param::required(
        "cwnd",
        ParamKind::Number { min: 1.0, max: 1e9 },
        "Congestion window in packets.",
    ),
    Param::required(
        "srtt",
        ParamKind::Time,
        "Smoothed RTT; its variance is taken as half of it, as after a first sample.",
    ),
];

/// How the window grows and answers marks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CongestionControl {
    /// RFC 5681, with RFC 3168's classic ECN: a mark is answered as a loss.
    Reno,
    /// CUBIC (RFC 9438), with classic ECN.
    Cubic {
        /// How steeply the window grows, C, in packets/s³ (RFC 9438: 0.4).
        c: f64,
        /// What a cut leaves of the window, β (RFC 9438: 0.7).
        beta: f64,
        /// A flow whose window has stopped growing gives way (section 4.7).
        fast_convergence: bool,
        /// Never below an AIMD as fair as Reno (section 4.3).
        reno_friendly: bool,
    },
    /// RFC 3168 with NewReno's growth: halve once a window of data (the papers' ECN*).
    EcnStar,
    /// DCTCP (RFC 8257).
    Dctcp {
        /// Weight of a new sample of the marked fraction, g.
        g: f64,
        /// α of a new connection (RFC 8257: 1).
        alpha_start: f64,
    },
    /// No TCP at all: packets go as the network card lets them, and never again.
    Udp,
}

/// RTT samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RttSampling {
    /// One segment timed at a time, never a retransmitted one (RFC 6298 without timestamps).
    OneAtATime,
    /// A sample from every ACK of new data, as timestamps give (their bytes not counted).
    EveryAck,
}

/// What an idle sender does with its window when it sends again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// Nothing.
    Keep,
    /// Back to the initial window after idling longer than the RTO (RFC 5681, section 4.1).
    AfterRto,
    /// To the initial window, even from below, after srtt + 4·rttvar, not clamped to the
    /// RTO's floor (ns-2).
    AfterUnclampedRto,
}

/// What is halved when a loss is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossHalves {
    /// The data in flight (RFC 5681, equation 4).
    Flight,
    /// The window, even where the application did not fill it (ns-2).
    Window,
}

/// How a window is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowCut {
    /// To the fraction that the rule gives.
    Exact,
    /// Down to a whole number of packets, at least 1.
    WholePackets,
}

/// A persistent connection's state when the clock starts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Warm {
    /// Congestion window in packets.
    pub cwnd: f64,
    /// Smoothed RTT; its variance is taken as half of it, as after a first sample.
    pub srtt: Span,
}
