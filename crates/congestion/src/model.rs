//! State of a connection, and rate samples of its ACKs, for controls that steer by a model of the path
//! (draft-cheng-iccrg-delivery-rate-estimation; Linux, `tcp_rate.c`).

use switchbed_units::Time;

/// Repair of losses that a connection is in (Linux's `icsk_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repair {
    /// No losses are being repaired.
    #[default]
    Open,
    /// Fast recovery.
    Recovery,
    /// A timeout came, and what was out then is not acknowledged yet.
    Timeout,
}

/// A connection as it stands.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    /// Time now.
    pub now: Time,
    /// Payload of a packet in bytes.
    pub mss: u32,
    /// Smoothed round trip in microseconds, once there is a sample.
    pub srtt_us: Option<u64>,
    /// The least round trip of the connection in microseconds.
    pub min_rtt_us: Option<u64>,
    /// Congestion window in packets.
    pub cwnd: u32,
    /// Packets in the network.
    pub in_flight: u32,
    /// Packets that have arrived since the connection began.
    pub delivered: u64,
    /// Packets taken for lost since the connection began.
    pub lost: u64,
    /// When the last ACK came that reported an arrival, or data was sent with none out.
    pub delivered_at: Time,
    /// Microseconds until pacing lets the next packet go.
    pub wait_us: u64,
    /// The application limits what is out now.
    pub app_limited: bool,
    /// Repair of losses.
    pub repair: Repair,
}

#[cfg(test)]
impl Connection {
    /// A connection at time 0 with its first round trip known, and so much in flight.
    pub(crate) fn opened(mss: u32, rtt_us: u64, in_flight: u32) -> Connection {
        Connection {
            now: Time::ZERO,
            mss,
            srtt_us: Some(rtt_us),
            min_rtt_us: Some(rtt_us),
            cwnd: 10,
            in_flight,
            delivered: 0,
            lost: 0,
            delivered_at: Time::ZERO,
            wait_us: 0,
            app_limited: false,
            repair: Repair::Open,
        }
    }
}

/// Packets that arrived between a packet's departure and its ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Number of packets.
    pub packets: u64,
    /// Packets that had arrived as the packet left.
    pub prior: u64,
    /// Time in which they arrived, or were sent if that took longer, in microseconds.
    pub interval_us: u64,
}

/// A rate sample of an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Delivery, where an ACK tells of one that was timed.
    pub delivered: Option<Delivered>,
    /// Packets that it reports first.
    pub newly: u32,
    /// Packets that it shows to be lost.
    pub losses: u32,
    /// Round trip of the packet that it acknowledges and that was sent last, in microseconds.
    pub rtt_us: Option<u64>,
    /// The receiver may have held it back.
    pub ack_delayed: bool,
    /// Packets in the network before it.
    pub prior_in_flight: u32,
    /// The application limited what was out.
    pub app_limited: bool,
    /// Packets in the network as the packet left that it acknowledges and that was sent last, that one
    /// included.
    pub tx_in_flight: u32,
    /// Packets lost since.
    pub lost: u64,
}

/// A packet that is taken for lost.
#[derive(Clone, Copy, Debug)]
pub struct LostPacket {
    /// Bytes of the stream that it carried.
    pub from: u64,
    /// After its last byte.
    pub end: u64,
    /// Packets in the network as it left, itself included.
    pub tx_in_flight: u32,
    /// Packets lost since, itself included.
    pub lost: u64,
    /// The application limited what was out as it left.
    pub app_limited: bool,
}

/// Decision of a control at an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steer {
    /// Congestion window in packets.
    pub cwnd: u32,
    /// Samples of what is out now are to count as limited by the application.
    pub app_limited: bool,
}

/// Model of the path, as `ss -i` shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// State of the control.
    pub mode: &'static str,
    /// Bandwidth in bytes of payload a second.
    pub bw: u64,
    /// The least round trip in microseconds; `None` before the first.
    pub min_rtt_us: Option<u64>,
    /// Gain of the pacing rate.
    pub pacing_gain: f64,
    /// Gain of the window.
    pub cwnd_gain: f64,
    /// Threshold of slow start in packets, which BBR sets as it leaves STARTUP.
    pub ssthresh: Option<u32>,
}
