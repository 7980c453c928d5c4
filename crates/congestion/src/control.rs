//! What a congestion control is.

use std::ops::Deref;
use switchbed_config::param::Unfit;
use switchbed_units::{Span, Time};

/// What a control says of itself.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// There is a window: else there is no TCP, and nothing but the network card paces a sender.
    pub tcp: bool,
    /// Hosts have RoCE's queue pairs, whose rate control has the same name ([`crate::roce`]).
    pub roce: bool,
    /// SYNs, pure ACKs and retransmissions are ECN-capable, unless a file says otherwise.
    pub ecn_throughout: bool,
    /// The receiver echoes each mark as it comes, instead of until it hears of a cut (RFC 3168).
    pub exact_echo: bool,
    /// Its packets are ECT(1), its ACKs count marks (accurate ECN, RFC 9768), and what is not marked
    /// grows the window even as marks come.
    pub scalable: bool,
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
        loss_adds_to_mark: false,
    };
}

/// What a mark does to the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark {
    /// What a loss does, down to so many packets at least.
    AsLoss {
        /// The least window.
        least: f64,
    },
    /// It leaves this part.
    Leaves(f64),
    /// It leaves so many packets.
    To(f64),
    /// Nothing, this time.
    Ignored,
}

/// An ACK of new data.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Bytes that it acknowledges.
    pub bytes: u32,
    /// Those of them that came with a mark.
    pub marked: u32,
    /// The offset up to which it acknowledges.
    pub end: u64,
    /// The offset up to which data is out.
    pub sent: u64,
    /// When it came.
    pub now: Time,
    /// Its RTT sample.
    pub rtt: Option<Span>,
}

/// A congestion control, as what one connection remembers of it. Slow start and what is not
/// overridden are RFC 5681's. Windows are in packets; `params` are what the scenario says.
pub trait Control: Sized {
    /// Its settings; `()` where it has none.
    type Params;
    /// What it says of itself.
    const ABOUT: About;

    /// Whether its settings go together, beyond their ranges.
    ///
    /// # Errors
    /// The first that does not fit.
    fn check(_params: &Self::Params) -> Result<(), Unfit> {
        Ok(())
    }

    /// Of a new connection.
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

    /// What a mark does to a window of so many packets.
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

    /// The marked fraction, for probes.
    fn alpha(&self) -> Option<f64> {
        None
    }
}
