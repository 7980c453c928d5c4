//! Offered load: the number that a summary prints with it.

use super::Sizes;
use crate::protocol::Protocol;
use crate::roce::{RateControl, Roce};
use std::fmt;
use switchbed_units::{Bytes, Rate};

/// Packets that a transport makes of flows.
#[derive(Clone, Copy, Debug)]
pub struct Frames {
    /// Payload of a full packet, and headers of each.
    payload: Bytes,
    header: Bytes,
    /// An answer, and how many packets it is for; none without answers.
    answer: Option<(u32, u32)>,
    /// Whether connections begin with a handshake.
    handshake: bool,
    /// Repetition of what a full queue refuses.
    again: Again,
}

/// Repetition of what a full queue refuses, by transport.
#[derive(Clone, Copy, Debug)]
enum Again {
    /// Seldom needed: senders begin with little.
    Small,
    /// After so many seconds at the line's rate once more, and again.
    Each(f64),
    /// After so many seconds, in windows that have shrunk.
    Once(f64),
    /// The flow never ends.
    Never,
}

impl Frames {
    /// Packets of a transport.
    pub fn of(protocol: &Protocol) -> Frames {
        let (payload, header) = protocol.framing();
        let every = match (protocol.queue_pairs(), protocol.tcp()) {
            (Some(roce), _) => Some(roce.ack_every),
            (_, Some(tcp)) => Some(tcp.ack_every),
            _ => None,
        };
        let answer = every.map(|every| (protocol.ack_bytes(), every));
        let again = match (protocol.queue_pairs(), protocol.tcp()) {
            (Some(roce), _) if roce.control.about().unordered() => Again::Small,
            (Some(Roce { control: RateControl::Swift(_), .. }), _) => Again::Small,
            (Some(roce), _) if roce.control.about().int => Again::Once(roce.rto.as_secs_f64()),
            (Some(roce), _) => Again::Each(roce.rto.as_secs_f64()),
            (_, Some(tcp)) => Again::Once(tcp.rto_min.as_secs_f64()),
            _ => Again::Never,
        };
        Frames { payload, header, answer, handshake: protocol.tcp().is_some(), again }
    }

    /// Whether connections begin with a handshake.
    pub(super) fn opens(&self) -> bool {
        self.handshake
    }

    /// How long so many bytes at a time take that meet a queue with this much space: each time as many as it holds get
    /// through. 0 where all do, or where senders send less.
    pub(super) fn repeated_s(&self, bytes: f64, space: f64) -> f64 {
        match self.again {
            _ if bytes <= space => 0.0,
            Again::Small => 0.0,
            Again::Each(rto_s) => rto_s * bytes / space,
            Again::Once(rto_s) => rto_s,
            Again::Never => f64::INFINITY,
        }
    }

    /// Bytes on the wire from a sender to its receiver, and back, for a byte of payload, by the means that size tables
    /// state; repetitions are not counted. `persists`: connections are kept.
    pub fn factors(&self, sizes: &[Sizes], persists: bool) -> (f64, f64) {
        let header = self.header.as_f64();
        let answers = |packets: f64| {
            self.answer.map_or(0.0, |(bytes, every)| {
                f64::from(bytes) * (packets / f64::from(every)).max(1.0)
            })
        };
        // A SYN and the ACK of its answer there, and that answer back.
        let opens = if self.handshake && !persists { header } else { 0.0 };
        let of = |table: &Sizes| {
            let packets = table.mean_packets(self.payload);
            let there = table.exact_mean() + header * packets + 2.0 * opens;
            (there / table.mean_bytes, (answers(packets) + opens) / table.mean_bytes)
        };
        if sizes.is_empty() {
            // Of flows without an end.
            let packets = 1000.0;
            let bytes = packets * self.payload.as_f64();
            return (1.0 + packets * header / bytes, answers(packets) / bytes);
        }
        let sum = sizes.iter().map(of).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        (sum.0 / sizes.len() as f64, sum.1 / sizes.len() as f64)
    }
}

/// Load of a Poisson entry: payload bits offered by each sender over its link's rate. A flow counts
/// as the mean that its size table states. The wire carries more (headers), and the sizes as drawn
/// may have another mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    /// The entry's place among the scenario's traffic, from 0.
    pub entry: usize,
    /// The load as the scenario gives it.
    pub load: f64,
    /// Sending hosts.
    pub senders: u32,
    /// Flows a second, all senders together.
    pub flows_per_s: f64,
    /// Payload bits a second by the tables' stated means: load × rate × senders.
    pub nominal_bps: f64,
    /// Payload bits a second by the exact means of the sizes as drawn.
    pub payload_bps: f64,
    /// Load with the headers of the data packets; ACKs and retransmissions are not counted.
    pub wire_bps: f64,
    /// Each size table's part, in the entry's order.
    pub tables: Vec<TableOffered>,
}

/// A size table's part in what is offered.
#[derive(Clone, Debug, PartialEq)]
pub struct TableOffered {
    /// The table's name.
    pub name: String,
    /// The mean in bytes that it states.
    pub stated_mean_bytes: f64,
    /// The exact mean in bytes of the sizes as drawn.
    pub drawn_mean_bytes: f64,
    /// Flows a second, all senders together.
    pub flows_per_s: f64,
}

impl Offered {
    /// The load with the sizes as drawn: payload bits over the links' rate.
    pub fn payload_load(&self) -> f64 {
        self.load * self.payload_bps / self.nominal_bps
    }

    /// The load with headers: bits on the wire over the links' rate.
    pub fn wire_load(&self) -> f64 {
        self.load * self.wire_bps / self.nominal_bps
    }
}

impl fmt::Display for Offered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "load {} (payload over the senders' links, by the size tables' stated means) is \
             {} of payload from {} senders in {:.1} flows/s; {:.4} by the sizes as drawn, \
             {:.4} on the wire with headers; mean sizes:",
            self.load,
            Rate::from_bps((self.nominal_bps + 0.5) as u64),
            self.senders,
            self.flows_per_s,
            self.payload_load(),
            self.wire_load(),
        )?;
        for (i, table) in self.tables.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let (stated, drawn) = (table.stated_mean_bytes, table.drawn_mean_bytes);
            write!(f, "{comma} {} {stated:.0} B", table.name)?;
            if stated != drawn {
                write!(f, " (drawn {drawn:.0} B)")?;
            }
        }
        Ok(())
    }
}
