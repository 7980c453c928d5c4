//! The engine: nodes that own their state, moved on window by window.
//!
//! Nothing that a node does now reaches another before the lookahead has passed: the least
//! delay of a link and the time of the smallest frame on it. So time is cut into windows as
//! long as the lookahead, which nodes handle in phases ([`phases`]): each node is visited once a
//! phase, alone, with all that happens to it there. What a visit sends belongs to a later phase:
//! it is put into that phase's bucket ([`calendar`]), or, if its node is another shard's, into
//! the mail.
//!
//! A shard ([`shard`]) is a sequential engine over some of the nodes. Shards meet between
//! phases, on one thread ([`drive`]) or on several ([`teams`]). A visit sees the same events in the same
//! order however the nodes are dealt out, so results are the same bytes.
//!
//! The engine knows nothing of packets or switches: a [`World`] is what it moves.

mod calendar;
pub(crate) mod drive;
pub(crate) mod phases;
pub(crate) mod prefetch;
mod shard;
mod teams;
pub(crate) mod tie;

pub(crate) use drive::{Engine, Ran};

use crate::ids::{NodeId, ShardId};
use phases::Phases;
use shard::Agenda;
use switchbed_units::Time;

/// Something that happens to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) at: Time,
    /// The node and what happens to it, in one word: two words are passed in registers.
    to: u64,
}

impl Event {
    /// `node` is the node's place in its shard; `what` is as its world has it, or [`WAKE`]: nothing
    /// but that the node is to be visited.
    #[inline(always)]
    pub(crate) const fn new(at: Time, node: NodeId, what: u32) -> Event {
        Event { at, to: (node.0 as u64) << 32 | what as u64 }
    }

    /// The node's place in its shard.
    #[inline(always)]
    pub(crate) const fn node(self) -> NodeId {
        NodeId((self.to >> 32) as u32)
    }

    /// Code of the event, as its world defines it.
    #[inline(always)]
    pub(crate) const fn what(self) -> u32 {
        self.to as u32
    }
}

/// The event that does nothing.
pub(crate) const WAKE: u32 = u32::MAX;

/// How far what an event needs is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Few events: the packet only, in place of the first stage.
    Packet,
    /// In turn, all of it.
    First,
    Second,
    Third,
    Fourth,
}

/// The nodes of one shard.
pub(crate) trait World: Send + 'static {
    /// Event for a node of another shard, passed by value.
    type Parcel: Send + 'static;

    /// An event comes soon: fetch what it will need, as far as what was fetched before says where
    /// that is. It is called once for each stage, the first long before, the last just before.
    fn fetch(&self, event: &Event, stage: Stage);
    /// Whether visits are prepared.
    fn prepares(&self) -> bool;
    /// A visit comes soon, or next (at [`Stage::Packet`]): do what depends on its node and its events alone. It is called
    /// at the second stage, when they may be in no order, and at the third or [`Stage::Packet`], when they are in order.
    fn prepare(&mut self, node: NodeId, events: &mut [Event], stage: Stage);
    /// All that happens to a node before `end` (never [`WAKE`]), in the order of time; what it sends goes
    /// to `out`.
    /// Answers when it wants to be visited again if nothing else happens to it.
    fn visit(
        &mut self,
        node: NodeId,
        events: &mut [Event],
        end: Time,
        out: &mut Outbox<Self::Parcel>,
    ) -> Time;
    /// Takes what came from another shard in.
    fn unpack(&mut self, parcel: Self::Parcel) -> Event;
    /// Returns the number of things that keep the run going. The run has ended when this is 0 at
    /// every shard.
    fn running(&self) -> u64;
}

/// Where a visit puts what it sends.
pub(crate) struct Outbox<'a, P> {
    agenda: &'a mut Agenda,
    phases: Phases,
    /// Mail by receiving shard.
    mail: &'a mut [Vec<P>],
    /// The earliest of what is in the mail.
    earliest: &'a mut Time,
    next: u64,
}

impl<P> Outbox<'_, P> {
    /// Sends an event to a node of this shard.
    #[inline(always)]
    pub(crate) fn event(&mut self, event: Event) {
        if self.agenda.push(event) < self.next {
            too_early(event);
        }
    }

    /// Sends an event to a node of another shard, where it happens at `at`.
    #[inline]
    pub(crate) fn post(&mut self, shard: ShardId, at: Time, parcel: P) {
        // The node's beat is not known here, so only the last phase that may handle it can be
        // checked.
        let last = self.phases.last(self.phases.window(at));
        assert!(last >= self.next, "mail earlier than the lookahead allows");
        *self.earliest = (*self.earliest).min(at);
        self.mail[shard.index()].push(parcel);
    }
}

/// A defect of the world's: its lookahead is not what it said.
#[cold]
fn too_early(event: Event) -> ! {
    panic!("{event:?} is earlier than the lookahead allows");
}
