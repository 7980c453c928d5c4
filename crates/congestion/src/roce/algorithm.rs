//! Interface of a rate control.

use switchbed_config::param::Unfit;
use switchbed_units::{Rate, Span, Time};

/// Description of a rate control.
#[derive(Clone, Copy, Debug)]
pub struct RateAbout {
    /// Packets gather INT, which ACKs echo.
    pub int: bool,
    /// Receivers answer marks with CNPs.
    pub cnp: bool,
    /// Data carries its sending time, and ACKs echo it.
    pub stamps: bool,
    /// A sender has NSCC's window.
    pub nscc: bool,
    /// A sender needs its receiver's credit.
    pub credits: bool,
    /// Whether it was checked against its paper or its authors' code.
    pub verified: bool,
    /// Citation of the publication.
    pub paper: &'static str,
}

impl RateAbout {
    /// One that asks nothing of the network.
    pub const PLAIN: RateAbout = RateAbout {
        int: false,
        cnp: false,
        stamps: false,
        nscc: false,
        credits: false,
        verified: true,
        paper: "",
    };

    /// Whether packets are sprayed and delivered in any order.
    pub const fn unordered(&self) -> bool {
        self.nscc || self.credits
    }
}

/// Properties of a queue pair's path to its receiver, as the sender knows them.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Line of the sender's card.
    pub line: Rate,
    /// The round trip of a full packet and its ACK through empty queues.
    pub base_rtt: Span,
    /// Number of switches on the way.
    pub hops: u32,
    /// Payload of a full packet in bytes.
    pub mss: u32,
    /// A full packet on the wire in bytes.
    pub wire: u32,
}

impl Path {
    /// Returns the bytes that the line sends in a base round trip.
    pub fn bdp(&self) -> f64 {
        self.line.as_bps() as f64 / 8.0 * self.base_rtt.as_secs_f64()
    }
}

/// Record that a port writes into a packet as it leaves: HPCC's INT. Time and bytes are counted
/// from the beginning of the run. The header's counters wrap, which is undone before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntHop {
    /// Rate of the port's line.
    pub rate: Rate,
    /// Time when the packet left.
    pub at: Time,
    /// Bytes that the port has sent.
    pub tx_bytes: u64,
    /// Bytes that wait in the port's queue.
    pub queue_bytes: u64,
}

/// An ACK of new data.
#[derive(Clone, Copy, Debug)]
pub struct RoceAck<'a> {
    /// Time at which it came.
    pub now: Time,
    /// The round trip of the packet that it answers; zero where data carries no stamps.
    pub rtt: Span,
    /// Bytes that it newly acknowledges.
    pub bytes: u32,
    /// The stream's offset up to which all is acknowledged.
    pub acked: u64,
    /// The offset up to which data is out.
    pub sent: u64,
    /// Records that the packet gathered on its way, hop by hop.
    pub hops: &'a [IntHop],
}

/// A rate control, as what one queue pair remembers of it; `params` are what the scenario says.
pub trait RateAlgorithm: Sized {
    /// Settings of the control; `()` where it has none.
    type Params;
    /// Description of the control.
    const ABOUT: RateAbout;

    /// Whether its settings go together, beyond their ranges.
    ///
    /// # Errors
    /// The first that does not fit.
    fn check(_params: &Self::Params) -> Result<(), Unfit> {
        Ok(())
    }

    /// The least time between two CNPs of a receiver to one queue pair.
    fn cnp_interval(_params: &Self::Params) -> Option<Span> {
        None
    }

    /// Makes the state of a queue pair that begins.
    fn new(params: &Self::Params, path: &Path, now: Time) -> Self;

    /// The rate at which the card may send it now.
    fn rate(&self) -> Rate;

    /// Bytes in flight at most, a packet at least.
    fn window(&self) -> Option<u64> {
        None
    }

    /// An ACK of new data came.
    fn acked(&mut self, _params: &Self::Params, _path: &Path, _ack: &RoceAck) {}

    /// Handles a CNP that has arrived.
    fn cnp(&mut self, _params: &Self::Params, _now: Time) {}

    /// Accounts for bytes sent, counted as on the wire.
    fn sent(&mut self, _params: &Self::Params, _bytes: u32, _now: Time) {}

    /// Data is taken to be lost, by a timeout or else by a NACK.
    fn lost(&mut self, _params: &Self::Params, _timeout: bool, _now: Time) {}

    /// When [`RateAlgorithm::timer`] is due; [`Time::NEVER`] without one.
    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    /// Makes up for the timers that are due by now, each at its own time: it does nothing before they
    /// are, and may come late as long as nobody has asked for the rate.
    fn timer(&mut self, _params: &Self::Params, _now: Time) {}
}

/// A rate of a control's own reckoning, of one bit per second at least.
pub(super) fn bps(rate: f64) -> Rate {
    Rate::from_bps((rate as u64).max(1))
}

/// A parameter that has to last some time, does.
pub(super) fn lasts(key: &'static str, span: Span) -> Result<(), Unfit> {
    match span {
        Span::ZERO => Err(Unfit::new(key, "it must be longer than 0")),
        _ => Ok(()),
    }
}
