//! TCP's settings as its two halves use them: checked, resolved, one copy for all.

use super::{Flags, Segment, accurate};
use std::fmt;
use std::ops::Deref;
use switchbed_config::param::{Params, Unfit};
use switchbed_qdisc::Ecn;
use switchbed_scenario::transport::{
    Avoidance, CongestionControl, Hystart, LossDetection, LossHalves, Pacing, PartialAcks,
    Reduction, Restart, RetriesBy, RtoFloor, RttSampling, SlowStart, Transport, WindowCut,
};
use switchbed_scenario::{Autosize, Host, Lso, NicQueue};
use switchbed_units::{Bytes, Span, Time};

/// TCP's settings, built once and passed to every call.
#[derive(Clone, Debug)]
pub struct Config {
    /// As the scenario has them; fields below of the same name stand in their places.
    settings: Transport,
    /// End of the warm-up, from which waits count.
    pub(super) counts_from: Time,
    pub(super) mss: u32,
    pub(super) header: u32,
    /// The receive window in bytes, or the send buffer if that is smaller.
    pub(super) receive_bytes: u64,
    /// Windows and thresholds are in packets.
    pub(super) receive_window: f64,
    /// Window in bytes that a receiver offers at first, if it opens its window from there.
    pub(super) initial_receive_bytes: u32,
    pub(super) opens: bool,
    pub(super) initial_window: f64,
    pub(super) initial_ssthresh: f64,
    /// When ACKs go out is decided in `pace`.
    pub(super) paced_acks: bool,
    pub(super) sack_blocks: u8,
    /// The receiver echoes each mark as it comes, not as RFC 3168 has it.
    pub(super) exact_echo: bool,
    /// ACKs count marks (RFC 9768), in an option, too.
    pub(super) accurate: bool,
    pub(super) accurate_option: bool,
    ect: Ecn,
    /// The control sets window and pacing rate by rate samples.
    pub(super) by_model: bool,
    /// Each round trip that is measured is handed on ([`super::Sender::take_rtt`]).
    pub(super) tells_rtts: bool,
    /// A loss in a window that a mark has cut cuts it again.
    pub(super) loss_adds_to_mark: bool,
    pub(super) abc_limit: f64,
    pub(super) hystart: Hystart,
    /// Growth is RFC 5681's as it stands: by bytes, a packet an ACK at most in slow start.
    pub(super) plain_growth: bool,
    pub(super) restart: Restart,
    pub(super) every_ack_timed: bool,
    pub(super) loss_halves_window: bool,
    pub(super) cut_to_whole: bool,
    pub(super) reduction: Reduction,
    /// Receivers report data that came twice.
    pub(super) dsack: bool,
    /// Needless recoveries are taken back.
    pub(super) undo: bool,
    /// The floor is of what the timeout adds to the smoothed RTT.
    pub(super) floor_of_variance: bool,
    /// SYNs that are sent again at most; [`u32::MAX`]: for ever.
    pub(super) syn_retries: u32,
    /// The patience with data that is not acknowledged.
    pub(super) patience: Patience,
    /// A repair's first partial ACK alone restarts the timer.
    pub(super) impatient: bool,
    pub(super) sacks_restart_timer: bool,
    pub(super) ecn_fallback: bool,
    /// The least window after a mark, and the least threshold, in packets.
    pub(super) mark_least: f64,
    /// Large segment offload's largest segment in bytes, in whole packets; 0 is off.
    pub(super) lso_max: u64,
    /// The share of the window that is worth a segment.
    pub(super) lso_beta: f64,
    /// Data waits after a cut for a mark, too.
    pub(super) lso_after_cut: bool,
    /// Data waits only while the next ACK is near.
    pub(super) lso_recent: bool,
    /// Rule that makes segments smaller.
    pub(super) autosize: Autosize,
    /// The largest segment's bytes, not rounded.
    pub(super) gso_max: u64,
    /// Packets leave at the pacing rate, and wait for that in the card.
    pub(super) paced: bool,
    pub(super) paced_by_card: bool,
    /// Bytes in the card that are enough of a connection that is not paced; 0: nothing is.
    pub(super) small_queue_limit: u64,
    /// One of these three is on.
    pub(super) shapes: bool,
    /// Connections leave congested paths.
    pub(super) plb: bool,
}

/// When a sender gives up data that is not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::tcp) enum Patience {
    Endless,
    /// At the timeout after so many.
    Timeouts(u32),
    /// At a timeout so long after the first retransmission.
    Time(Span),
}

impl Patience {
    fn of(t: &Transport) -> Patience {
        match t.data_retries_by {
            _ if t.data_retries == 0 => Patience::Endless,
            RetriesBy::Timeouts => Patience::Timeouts(t.data_retries),
            RetriesBy::Time => Patience::Time(modelled(t.data_retries, t.rto_max)),
        }
    }
}

/// The time of `retries` timeouts, and one more, that begin at 200 ms and double up to `most`
/// (Linux's tcp_model_timeout, with TCP_RTO_MIN whatever rto_min is).
fn modelled(retries: u32, most: Span) -> Span {
    const BASE: Span = Span::from_ms(200);
    // How often 200 ms double before they reach the most (`linear_backoff_thresh`).
    let doublings = (most.as_ps() / BASE.as_ps()).max(1).ilog2();
    let doubled = retries.min(doublings);
    BASE * ((2 << doubled) - 1) + most * u64::from(retries - doubled)
}

/// A setting that TCP cannot work with.
#[derive(Clone, Debug, PartialEq)]
pub struct BadSetting {
    /// Name of the key in [`Transport`].
    pub key: &'static str,
    /// Description of what is wrong and what would be right.
    pub problem: String,
}

impl fmt::Display for BadSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.problem)
    }
}

impl std::error::Error for BadSetting {}

/// Refuses `key` unless `good`.
fn require(good: bool, key: &'static str, problem: impl Fn() -> String) -> Result<(), BadSetting> {
    if good { Ok(()) } else { Err(BadSetting { key, problem: problem() }) }
}

impl Deref for Config {
    type Target = Transport;

    #[inline]
    fn deref(&self) -> &Transport {
        &self.settings
    }
}

impl Config {
    /// The settings of `t`, or the first that cannot work.
    pub fn new(t: &Transport) -> Result<Config, BadSetting> {
        let bad = |unfit: Unfit| BadSetting { key: unfit.param, problem: unfit.why };
        t.check_ranges().and_then(|()| t.check()).map_err(bad)?;
        let about = t.control.about();
        let receive_bytes = t.receive_window as u64 * t.mss.get();
        let receive_bytes = receive_bytes.min(t.send_buffer.map_or(u64::MAX, Bytes::get));
        let opens = t.initial_receive_window.get() < t.receive_window as u64 * t.mss.get();
        // The window holds at least a packet.
        let initial_receive_bytes =
            t.initial_receive_window.max(t.mss).get().min(u32::MAX.into()) as u32;
        let paced = t.pacing == Pacing::Linux || about.model;
        let hystart = match t.control {
            // Linux has HyStart in tcp_cubic.c alone.
            CongestionControl::Cubic(_) => t.hystart,
            _ if t.hystart == Hystart::Linux || about.model => Hystart::Off,
            _ => t.hystart,
        };
        Ok(Config {
            settings: t.clone(),
            counts_from: Time::ZERO,
            mss: t.mss.get() as u32,
            header: t.header.get() as u32,
            receive_bytes,
            receive_window: t.receive_window as f64,
            initial_receive_bytes,
            opens,
            initial_window: t.initial_window as f64,
            // With a threshold of 0 the window is never slow start's.
            initial_ssthresh: if about.model { 0.0 } else { t.initial_ssthresh as f64 },
            paced_acks: opens || t.quick_acks > 0 || t.ack_short || t.ack_delay_max > t.ack_delay,
            // Three leave no space for accurate ECN's option beside timestamps.
            sack_blocks: match about.scalable && t.ecn && t.accecn_option {
                true => t.sack_blocks.min(2),
                false => t.sack_blocks,
            },
            exact_echo: about.exact_echo,
            accurate: about.scalable && t.ecn,
            accurate_option: about.scalable && t.ecn && t.accecn_option,
            ect: if about.scalable { Ecn::Ect1 } else { Ecn::Ect0 },
            by_model: about.model,
            tells_rtts: false,
            loss_adds_to_mark: about.loss_adds_to_mark,
            abc_limit: t.abc_limit as f64,
            hystart,
            plain_growth: t.slow_start == SlowStart::Bytes
                && t.abc_limit == 1
                && hystart == Hystart::Off
                && t.avoidance == Avoidance::Bytes,
            // Linux's cong_control: neither an idle time nor PRR touches the window.
            restart: if about.model { Restart::Keep } else { t.restart },
            every_ack_timed: t.rtt_sampling == RttSampling::EveryAck,
            loss_halves_window: t.loss_halves == LossHalves::Window,
            cut_to_whole: t.cut == WindowCut::WholePackets,
            reduction: if about.model { Reduction::AtOnce } else { t.reduction },
            dsack: t.dsack && t.sack_blocks > 0,
            undo: t.undo && t.loss_detection == LossDetection::Rack,
            floor_of_variance: t.rto_floor == RtoFloor::Variance,
            syn_retries: match t.syn_retries {
                // 0 in the file stands for no limit.
                0 => u32::MAX,
                retries => retries + t.syn_linear_timeouts,
            },
            patience: Patience::of(t),
            impatient: t.partial_acks == PartialAcks::First,
            sacks_restart_timer: t.sacks_restart_timer && t.sack_blocks > 0,
            ecn_fallback: t.ecn && t.ecn_fallback,
            mark_least: t.mark_least as f64,
            lso_max: 0,
            lso_beta: 1.0,
            lso_after_cut: false,
            lso_recent: false,
            autosize: Autosize::Off,
            gso_max: 0,
            paced,
            paced_by_card: false,
            small_queue_limit: 0,
            shapes: paced,
            plb: false,
        })
    }

    /// Sets large segment offload of the hosts.
    pub fn with_lso(self, lso: &Lso) -> Result<Config, BadSetting> {
        if !lso.on {
            return Ok(self);
        }
        require(lso.beta > 0.0 && lso.beta <= 1.0, "lso_beta", || {
            format!("{}, a share of the window must be above 0 and at most 1", lso.beta)
        })?;
        let mss = self.mss as u64;
        require(lso.max.get() >= mss, "lso_max", || {
            format!("{}, must hold a packet's payload, {mss}B", lso.max)
        })?;
        // Rounded down: a segment is cut into full packets.
        let lso_max = lso.max.get() / mss * mss;
        Ok(Config {
            lso_max,
            lso_beta: lso.beta,
            lso_after_cut: lso.after_cut,
            lso_recent: lso.recent == Some(true),
            autosize: lso.autosize,
            gso_max: lso.max.get(),
            shapes: self.shapes || lso.autosize != Autosize::Off,
            ..self
        })
    }

    /// Sets the keys of the hosts.
    pub fn on(self, host: &Host) -> Result<Config, BadSetting> {
        let config = self.with_lso(&host.lso)?;
        let small = host.small_queues;
        Ok(Config {
            paced_by_card: host.nic == NicQueue::Fq,
            small_queue_limit: if small.on { small.limit.get() } else { 0 },
            shapes: config.shapes || small.on,
            ..config
        })
    }

    /// The same with waits that count from the end of a run's warm-up.
    #[must_use]
    pub(crate) fn counting(self, counts_from: Time) -> Config {
        Config { counts_from, ..self }
    }

    /// The same where each round trip that is measured is handed on, or not.
    pub(crate) fn telling_rtts(self, tells_rtts: bool) -> Config {
        Config { tells_rtts, ..self }
    }

    /// The same where connections leave congested paths, or stay.
    pub(crate) fn balancing(self, plb: bool) -> Config {
        Config { plb, ..self }
    }

    /// The same where the peer's window is known from its segments alone ([`super::Sender::offer`]).
    #[must_use]
    pub fn offered_by_peer(self) -> Config {
        Config { opens: true, initial_receive_bytes: 0, ..self }
    }

    /// The same for data that nothing will follow: none of it waits for a large segment
    /// (`tcp_tso_should_defer`).
    pub(crate) fn at_end_of_data(self) -> Config {
        Config { lso_beta: 0.0, ..self }
    }

    /// The same where receivers echo each mark as it comes, or as RFC 3168 has it.
    pub(crate) fn echoing(self, exact: Option<bool>) -> Config {
        Config { exact_echo: exact.unwrap_or(self.exact_echo), ..self }
    }

    /// Whether something has to be known of a sender's way out.
    pub(crate) fn shapes(&self) -> bool {
        self.shapes
    }

    /// A segment's length on the wire in bytes: payload, headers, and 2 + 8n for n SACK blocks.
    #[inline]
    pub fn wire_bytes(&self, segment: &Segment) -> u32 {
        let option = if segment.sacks == 0 { 0 } else { 2 + 8 * u32::from(segment.sacks) };
        let counts = self.accurate_option && segment.flags.contains(Flags::ACK);
        segment.payload() + self.header + option + if counts { accurate::OPTION_BYTES } else { 0 }
    }

    /// Whether a segment may be marked instead of dropped.
    #[inline]
    pub fn ecn_capable(&self, segment: &Segment) -> bool {
        let is = |flag| segment.flags.contains(flag);
        self.ecn
            && !is(Flags::NO_ECN)
            && (self.ecn_syn || !is(Flags::SYN))
            && (self.ecn_retransmits || !is(Flags::RETRANSMIT))
            // A SYN-ACK is judged as a SYN, above.
            && (self.ecn_acks || !is(Flags::ACK) || is(Flags::SYN))
    }

    /// Returns the codepoint of ECN-capable packets.
    #[inline]
    pub fn ect(&self) -> Ecn {
        self.ect
    }

    /// The largest timeout.
    pub fn longest_rto(&self) -> Span {
        self.rto_max
    }

    /// Payload of a full segment in bytes.
    pub fn mss(&self) -> u32 {
        self.mss
    }

    /// Whether losses are found by time (RFC 8985).
    pub(super) fn rack(&self) -> bool {
        self.loss_detection == LossDetection::Rack
    }

    /// Whether it must be known when each segment was sent.
    pub(super) fn logs(&self) -> bool {
        self.rack() || self.tail_loss_probe || self.sacks_restart_timer
    }

    /// Whether ACKs carry SACK blocks.
    pub fn has_sack(&self) -> bool {
        self.sack()
    }

    /// Whether losses are repaired by SACK (else by NewReno).
    pub(super) fn sack(&self) -> bool {
        self.sack_blocks > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_gives_up_after_what_its_documentation_says() {
        // ip-sysctl.rst, tcp_retries2: 15 is a hypothetical timeout of 924.6 seconds.
        assert_eq!(modelled(15, Span::from_ms(120_000)), Span::from_ms(924_600));
        // 200 + 400 + 800 ms.
        assert_eq!(modelled(2, Span::from_ms(120_000)), Span::from_ms(1_400));
        // At most 300 ms: 200, then 300 and 300.
        assert_eq!(modelled(2, Span::from_ms(300)), Span::from_ms(800));
    }
}
