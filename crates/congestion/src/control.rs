//! Interface of a congestion control.

use crate::{Connection, LostPacket, Model, RateSample, Steer};
use std::ops::Deref;
use switchbed_config::param::Unfit;
use switchbed_config::words;
use switchbed_units::{Span, Time};

/// Description of a control: the behaviour that it expects of TCP.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Whether it is TCP with a window. Without TCP only the network card paces a sender.
    pub tcp: bool,
    /// Hosts have RoCE's queue pairs, whose rate control has the same name ([`crate::roce`]).
    pub roce: bool,
    /// SYNs, pure ACKs and retransmissions are ECN-capable, unless a file says otherwise.
    pub ecn_throughout: bool,
    /// The receiver echoes each mark as it comes, instead of until it hears of a cut (RFC 3168).
    pub exact_echo: bool,
    /// Packets are ECT(1) and ACKs count marks (accurate ECN, RFC 9768). Unmarked data grows the
    /// window even while marks arrive.
    pub scalable: bool,
    /// The control sets the window and the pacing rate by rate samples ([`Control::steer`]); neither
    /// slow start nor losses do.
    pub model: bool,
    /// A loss in a window that a mark has cut cuts it again: the mark's cut was not as deep.
    pub loss_adds_to_mark: bool,
}

impl About {
    /// TCP as RFC 5681 and RFC 3168 have it.
    pub const TCP: About = About {
        tcp: true,
        roce: false,
        ecn_throughout: false,
        exact_echo: false,
        scalable: false,
        model: false,
        loss_adds_to_mark: false,
    };
}

/// Effect of a mark on the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark {
    /// Cuts as a loss does, but to no fewer than `least` packets.
    AsLoss {
        /// Least window in packets.
        least: f64,
    },
    /// Leaves this part of the window.
    Leaves(f64),
    /// Sets the window to this many packets.
    To(f64),
    /// Leaves the window as it is.
    Ignored,
}

/// An ACK of new data.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Number of bytes that it acknowledges.
    pub bytes: u32,
    /// Number of these bytes that arrived with a mark.
    pub marked: u32,
    /// The offset up to which it acknowledges.
    pub end: u64,
    /// The offset up to which data is out.
    pub sent: u64,
    /// Time at which it came.
    pub now: Time,
    /// RTT sample that it gives, if any.
    pub rtt: Option<Span>,
}

/// A congestion control, as what one connection remembers of it. Slow start and what is not
/// overridden are RFC 5681's. Windows are in packets; `params` are what the scenario says.
pub trait Control: Sized {
    /// Settings of the control; `()` where it has none.
    type Params;
    /// Description of the control.
    const ABOUT: About;

    /// Whether its settings go together, beyond their ranges.
    ///
    /// # Errors
    /// The first that does not fit.
    fn check(_params: &Self::Params) -> Result<(), Unfit> {
        Ok(())
    }

    /// Makes the state of a new connection.
    fn new(params: &Self::Params) -> Self;

    /// An ACK of new data came.
    #[inline]
    fn acked(&mut self, _params: impl Deref<Target = Self::Params>, _ack: Acked) {}

    /// The window in congestion avoidance after an ACK of so many `packets`; `None` is a packet more
    /// a round trip.
    #[inline]
    fn grown(
        &mut self,
        _params: impl Deref<Target = Self::Params>,
        _cwnd: f64,
        _packets: f64,
        _now: Time,
        _srtt: Option<Span>,
    ) -> Option<f64> {
        None
    }

    /// The application, not the window, limited the sender until now.
    #[inline]
    fn paused(&mut self, _now: Time) {}

    /// Data goes out again after `idle` without any in the network.
    fn resumed(&mut self, _idle: Span, _now: Time) {}

    /// Decides the effect of a mark on a window of `window` packets.
    fn marked(&mut self, params: impl Deref<Target = Self::Params>, window: f64, now: Time)
    -> Mark;

    /// The part of the window that a loss leaves.
    fn kept(&self, _params: impl Deref<Target = Self::Params>) -> f64 {
        0.5
    }

    /// The window, this large until now, is cut as for a loss.
    fn cut(&mut self, _params: impl Deref<Target = Self::Params>, _window: f64) {}

    /// Slow start comes next, after a timeout or a pause.
    fn left(&mut self) {}

    /// The connection draws by this key, which the run's seed and its ends give.
    fn keyed(&mut self, _key: u32) {}

    /// The connection is open and about to send, where the control steers by a model.
    fn begun(&mut self, _params: impl Deref<Target = Self::Params>, _conn: &Connection) {}

    /// An ACK came with this rate sample, where the control steers by a model.
    fn steer(
        &mut self,
        _params: impl Deref<Target = Self::Params>,
        conn: Connection,
        _sample: &RateSample,
    ) -> Steer {
        Steer { cwnd: conn.cwnd, app_limited: false }
    }

    /// A packet is taken for lost, where the control steers by a model.
    fn lost(
        &mut self,
        _params: impl Deref<Target = Self::Params>,
        _conn: &Connection,
        _packet: &LostPacket,
    ) {
    }

    /// Data goes out with none in the network, where the control steers by a model. Returns the window.
    fn restarted(&mut self, _params: impl Deref<Target = Self::Params>, conn: Connection) -> u32 {
        conn.cwnd
    }

    /// The retransmission timer has expired, where the control steers by a model.
    fn timed_out(&mut self, _params: impl Deref<Target = Self::Params>, _conn: &Connection) {}

    /// A repair turns out to have been needless, where the control steers by a model.
    fn undone(&mut self, _params: impl Deref<Target = Self::Params>, _conn: &Connection) {}

    /// Pacing rate in bytes of payload a second, where the control sets one.
    #[inline]
    fn pacing(&self) -> Option<u64> {
        None
    }

    /// Model of the path, where there is one; a packet has `mss` bytes of payload.
    fn model(&self, _mss: u32) -> Option<Model> {
        None
    }

    /// The marked fraction, for probes.
    fn alpha(&self) -> Option<f64> {
        None
    }
}

words! {
    /// Arithmetic that a control computes in.
    pub enum Arithmetic {
        /// In fractions, as its RFC has it.
        Exact = "exact",
        /// Integers, rounded as in Linux.
        Kernel = "kernel",
    }
}
