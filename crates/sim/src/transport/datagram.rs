//! Senders without TCP: what an application writes is sent as its network card lets it, and
//! never again. A flow ends when its last packet arrives, or, if that was lost, a packet of a
//! flow behind it.

use super::Outgoing;
use crate::packet::Body;
use std::collections::VecDeque;
use switchbed_qdisc::Ecn;
use switchbed_scenario::Transport;

/// Settings, one copy for all.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub(super) mss: u32,
    header: u32,
    ecn: Ecn,
}

impl Config {
    /// A scenario's.
    pub fn new(transport: &Transport) -> Config {
        let ecn = if transport.ecn { Ecn::Ect0 } else { Ecn::NotEct };
        Config { mss: transport.mss.get() as u32, header: transport.header.get() as u32, ecn }
    }
}

impl Config {
    /// Bytes of a datagram's payload that are missing in a packet of so many bytes.
    pub(super) fn trimmed(&self, len: u32, len_bytes: u32) -> u32 {
        // Headers stay whole when a switch cuts a packet, so that all that is missing is payload.
        (len + self.header).saturating_sub(len_bytes).min(len)
    }
}

/// The sending half.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    /// Stream offset of the next byte to send.
    sent: u64,
    /// Stream offsets after writes that have not been sent whole, the oldest first: no packet
    /// holds parts of two.
    ends: VecDeque<u64>,
}

impl Sender {
    /// The application appends `bytes` to the stream.
    pub fn write(&mut self, bytes: u64) {
        self.ends.push_back(self.written() + bytes);
    }

    /// The application takes back what has not been sent; where the stream ends now.
    pub fn truncate(&mut self) -> u64 {
        self.ends.clear();
        self.sent
    }

    /// Where the stream ends.
    pub fn written(&self) -> u64 {
        self.ends.back().copied().unwrap_or(self.sent)
    }

    /// Bytes written and not sent.
    pub fn unsent(&self) -> u64 {
        self.written() - self.sent
    }

    pub(super) fn poll_transmit(&mut self, config: &Config) -> Option<Outgoing> {
        let end = *self.ends.front()?;
        let len = u64::from(config.mss).min(end - self.sent) as u32;
        let body = Body::Datagram { offset: self.sent, len };
        self.sent += u64::from(len);
        if self.sent == end {
            self.ends.pop_front();
        }
        Some(Outgoing {
            body,
            len_bytes: len + config.header,
            ecn: config.ecn,
            class: None,
            entropy: 0,
        })
    }
}

/// The receiving half.
#[derive(Clone, Copy, Debug, Default)]
pub struct Receiver {
    reached: u64,
}

impl Receiver {
    /// The stream offset after the last byte that came.
    pub fn reached(&self) -> u64 {
        self.reached
    }

    pub(super) fn on_datagram(&mut self, offset: u64, len: u32) {
        // Where this one ends, even if a later one came first: nothing puts datagrams in order.
        self.reached = offset + u64::from(len);
    }
}
