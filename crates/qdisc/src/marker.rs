//! Markers, one scheme a file. Those that work on arrival or departure alike take a
//! [`MarkAt`].

mod mq_ecn;
mod step;

pub use mq_ecn::MqEcn;
pub use step::Step;

/// Where a marker compares the queue with its threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MarkAt {
    /// As the packet arrives, itself counted.
    #[default]
    Enqueue,
    /// As it leaves, itself counted.
    Dequeue,
}
