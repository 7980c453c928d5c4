//! A sender's state as Linux's `tcp_info` names it (`include/uapi/linux/tcp.h`, `tcp_get_info`).

use super::Config;
use super::loss::Phase;
use super::sender::Sender;
use switchbed_units::Span;

/// Phase of Linux's congestion control (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaState {
    /// Nothing unusual.
    Open = 0,
    /// Segments are SACKed, or ACKs repeated.
    Disorder = 1,
    /// The window comes down after a mark.
    Cwr = 2,
    /// Fast recovery.
    Recovery = 3,
    /// Repair after a timeout.
    Loss = 4,
}

/// Counts and windows of a sender, in Linux's units: packets, and times in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Phase of congestion control.
    pub ca_state: CaState,
    /// Timeouts in a row for the first segment.
    pub retransmits: u32,
    /// Doublings of the timeout.
    pub backoff: u32,
    /// Retransmission timeout.
    pub rto_us: u64,
    /// Payload of a full segment.
    pub snd_mss: u32,
    /// Segments sent and not acknowledged.
    pub unacked: u32,
    /// Segments SACKed; without SACK, duplicate ACKs.
    pub sacked: u32,
    /// Segments taken for lost.
    pub lost: u32,
    /// Segments sent again and not yet acknowledged.
    pub retrans: u32,
    /// Segments ever sent again.
    pub total_retrans: u32,
    /// Smoothed round-trip time.
    pub rtt_us: u64,
    /// Variation of the round-trip time.
    pub rttvar_us: u64,
    /// Shortest round trip of a segment sent once, where losses are found by time.
    pub min_rtt_us: u64,
    /// Slow start's threshold; [`Info::INFINITE`] before the first cut.
    pub snd_ssthresh: u32,
    /// Congestion window.
    pub snd_cwnd: u32,
    /// Bytes acknowledged.
    pub bytes_acked: u64,
    /// Bytes written and not sent.
    pub notsent_bytes: u64,
}

impl Info {
    /// Linux's threshold before the first cut (`TCP_INFINITE_SSTHRESH`).
    pub const INFINITE: u32 = 0x7fff_ffff;
}

fn micros(span: Span) -> u64 {
    span.as_ps() / 1_000_000
}

impl Sender {
    /// The phase of congestion control.
    fn ca_state(&self, config: &Config) -> CaState {
        let Some(loss) = &self.loss else {
            return if self.reducing() { CaState::Cwr } else { CaState::Open };
        };
        match loss.phase {
            Phase::Recovery => CaState::Recovery,
            // Without SACK a recovery ends in the same phase, for its duplicate ACKs.
            Phase::Holdoff if loss.timed_out() => CaState::Loss,
            _ if self.reducing() => CaState::Cwr,
            _ if loss.left_the_network() >= config.mss.into() => CaState::Disorder,
            _ => CaState::Open,
        }
    }

    /// The sender's state as `tcp_info` has it.
    pub fn info(&self, config: &Config) -> Info {
        let mss = u64::from(config.mss);
        let packets = |bytes: u64| u32::try_from(bytes.div_ceil(mss)).unwrap_or(u32::MAX);
        let left = self.loss.as_ref().map_or(0, |loss| loss.left_the_network());
        let (mut unacked, mut sacked) = (packets(self.sent - self.una), packets(left));
        let (mut lost, mut retrans) = (0, 0);
        if let (true, Some(extras)) = (config.logs(), &self.extras) {
            let fates = extras.log.fates();
            unacked = u32::try_from(extras.log.len()).unwrap_or(u32::MAX);
            if config.sack() {
                sacked = fates.sacked;
            }
            (lost, retrans) = (fates.lost, fates.retransmitted);
        }
        if !config.rack()
            && let Some(loss) = &self.loss
        {
            // The part of the stream that this repair counts as lost, or has sent again.
            let again = loss.high_rxt.clamp(self.una, self.sent);
            match loss.phase {
                Phase::Disorder => {}
                Phase::Recovery if config.sack() => {
                    let below = loss.lost_below(config).clamp(self.una, self.sent).max(again);
                    lost = packets(loss.missing(self.una, below));
                    retrans = packets(loss.missing(self.una, again));
                }
                Phase::Recovery => {
                    lost = 1;
                    retrans = u32::from(!loss.retransmit_first);
                }
                Phase::Holdoff if loss.timed_out() => {
                    lost = packets(loss.missing(self.una, self.sent));
                    retrans = packets(loss.missing(self.una, self.nxt.max(self.una)));
                }
                Phase::Holdoff => {}
            }
        }
        let whole = |packets: f64| packets.min(f64::from(Info::INFINITE)).floor() as u32;
        let threshold = self.ssthresh();
        Info {
            ca_state: self.ca_state(config),
            retransmits: self.loss.as_ref().map_or(0, |loss| loss.timeouts_at(self.una)),
            backoff: self.backoff.into(),
            rto_us: micros(self.rto(config)),
            snd_mss: config.mss,
            unacked,
            sacked,
            lost,
            retrans,
            total_retrans: self.counters().retransmits,
            rtt_us: self.srtt().map_or(0, micros),
            rttvar_us: micros(self.rtt.rttvar()),
            min_rtt_us: match &self.extras {
                Some(extras) if extras.rack.min_rtt < Span::MAX => micros(extras.rack.min_rtt),
                _ => 0,
            },
            snd_ssthresh: match threshold < config.initial_ssthresh {
                true => whole(threshold),
                false => Info::INFINITE,
            },
            snd_cwnd: whole(self.cwnd()),
            bytes_acked: self.una,
            notsent_bytes: self.unsent(),
        }
    }
}
