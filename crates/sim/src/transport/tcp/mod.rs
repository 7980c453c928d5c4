//! TCP as two state machines without input or output of their own: a [`Sender`] and a
//! [`Receiver`] that share no state, so that they may live on different threads.
//!
//! Whoever drives them hands in segments and time and polls for what to send:
//! after each `on_segment`, `on_timeout` or `write`, call `poll_transmit` until it answers
//! `None`, then ask `next_timeout`. Timers may be kept lazily: `on_timeout` before the
//! deadline does nothing. All settings are in one [`Config`], passed to every call.
//!
//! | file | what |
//! | --- | --- |
//! | `config` | settings, checked and resolved |
//! | `sender` | the sending half: stream, timer, marks |
//! | `repair` | the sending half while segments are missing |
//! | `loss` | the scoreboard and the phase of a repair (RFC 6675, RFC 6582), early retransmit (RFC 5827) |
//! | `extras` | what settings beyond those need; the others do not carry it along |
//! | `sent` | a log of the segments that are out |
//! | `rack` | losses found by time, and the tail loss probe (RFC 8985) |
//! | `rate` | delivery-rate samples, for controls that steer by a model |
//! | `reduction` | the window's way down after a cut: PRR (RFC 9937), rate halving; cuts taken back: DSACK, Eifel, F-RTO |
//! | `output` | pace and size of what is sent: pacing rate, small queues, large segment offload |
//! | `control` | the congestion window, with a control of crate `congestion` |
//! | `growth` | its growth where settings are not RFC 5681's as it stands, and how much of it is used |
//! | `rtt` | RFC 6298's estimate and timeout, and which timer a sender waits for |
//! | `receiver` | the receiving half: order, delayed ACKs, SACK blocks, ECN echo, opening of the window |
//! | `pace` | when it acknowledges, as Linux does |
//! | `accurate` | accurate ECN's counters (RFC 9768) |
//! | `info` | a sender's state as Linux's `tcp_info` has it |
//!
//! Not modelled: FIN, Nagle, a closing receive window, the ACK that ends the
//! handshake (it rides on the first data), RFC 6675's rescue retransmission.

mod accurate;
mod config;
mod control;
mod extras;
mod growth;
mod info;
mod loss;
mod output;
mod pace;
mod plb;
mod rack;
mod rate;
mod receiver;
mod reduction;
mod repair;
mod rtt;
mod sender;
mod sent;

pub use crate::packet::segment::{Flags, MAX_SACKS, SackBlock, Segment};
pub use config::{BadSetting, Config};
pub use info::{CaState, Info};
pub use receiver::Receiver;
pub use sender::Sender;

#[cfg(test)]
mod tests {
    use super::*;

    /// An idle connection costs at most 448 bytes, a segment fits beside its envelope in
    /// a cache line.
    #[test]
    fn halves_and_segments_are_small() {
        assert!(size_of::<Sender>() <= 192, "{}", size_of::<Sender>());
        assert!(size_of::<Receiver>() <= 64, "{}", size_of::<Receiver>());
        assert!(size_of::<Segment>() <= 48, "{}", size_of::<Segment>());
    }
}
