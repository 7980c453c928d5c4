//! Offered load: the number that a summary prints with it.

use std::fmt;
use switchbed_units::Rate;

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
