//! What senders count.

/// What happened on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Expiries of the retransmission timer, those for SYNs too.
    pub timeouts: u32,
    /// Data segments sent again.
    pub retransmits: u32,
    /// Window cuts for marks.
    pub mark_cuts: u32,
    /// Fast recoveries.
    pub fast_recoveries: u32,
}
