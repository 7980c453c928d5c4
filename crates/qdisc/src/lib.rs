//! A switch port's queue management, as a library that knows neither simulator nor wire.
//!
//! A port has five seats ([`hooks`]): who chooses a packet's queue, who says in or out, who marks, who
//! goes next, who tells sources. Five packets through one that marks from 3000 bytes on:
//!
//! ```
//! use switchbed_qdisc::memory::Shared;
//! use switchbed_qdisc::classifier::Single;
//! use switchbed_qdisc::schemes::{MarkAt, Step};
//! use switchbed_units::random::NoRandom;
//! use switchbed_qdisc::schedulers::Fifo;
//! use switchbed_qdisc::hooks::Nobody;
//! use switchbed_units::{Bytes, Rate, Time};
//! use switchbed_qdisc::*;
//!
//! let step = Step::per_queue(Bytes::new(3_000), 1, MarkAt::Enqueue);
//! let memory = Shared { limit: Bytes::new(6_000) };
//! let state = PortState::new(Rate::from_gbps(10), &[Bytes::new(1_500)]);
//! let mut port = Port::new(state, Seats::new(Single, memory, step, Fifo, Nobody));
//!
//! // Packets stay with the caller, in an arena; time and randomness are arguments.
//! let (mut arena, mut memory, mut out) = (Arena::new(), SwitchMemory::new(Bytes::MAX), Outcome::default());
//! for _ in 0..5 {
//!     let slot =
//!         arena.alloc(Packet { len_bytes: 1_500, ecn: Ecn::Ect0, ..Packet::default() });
//!     let (arena, memory, out) = (&mut arena, &mut memory, &mut out);
//!     let mut cx = Cx { now: Time::ZERO, arena, memory, rng: &mut NoRandom, out };
//!     port.enqueue(slot, &mut cx);
//! }
//! // Four have space; the line is free again after 1.2 us each.
//! let (mut now, mut marks) = (Time::ZERO, Vec::new());
//! loop {
//!     let (arena, memory, out) = (&mut arena, &mut memory, &mut out);
//!     let mut cx = Cx { now, arena, memory, rng: &mut NoRandom, out };
//!     let Dequeued::Sent { until, marked, .. } = port.dequeue(&mut cx) else { break };
//!     marks.push(marked);
//!     now = until;
//! }
//! assert_eq!(marks, [false, false, true, true]);
//! assert_eq!(now, Time::from_ps(4 * 1_200_000));
//! ```
//!
//! The port runs its seats in a fixed protocol ([`port`]), with the line behind it
//! ([`port::driver`]). What a seat is asked is a trait ([`hooks`]); who sits there is a scheme
//! ([`schemes`], a file each), a port's or a switch's memory ([`memory`]), or who goes next
//! ([`schedulers`]). The senders' half of schemes that notify is [`reaction`]; a host's card may have a
//! fair queue ([`fq`]).

#![forbid(unsafe_code)]
#![deny(unreachable_pub)]

pub mod classifier;
#[cfg(test)]
mod draws;
pub mod fq;
pub mod golden;
pub mod hooks;
pub mod memory;
pub mod port;
pub mod reaction;
pub mod schedulers;
pub mod scheme;
pub mod schemes;
pub mod switch;
pub mod trimming;

pub use memory::SwitchMemory;
pub use port::arena::{Arena, Cargo, Note, SlotId};
pub use port::driver::{Driver, Wire};
pub use port::packet::{Ecn, FlowId, Packet, QueueId};
pub use port::set::{MAX_QUEUES, QueueSet};
pub use port::view::{PauseFrames, PortState, View};
pub use port::{Cx, Dequeued, Enqueued, Outcome, Passed, Port, Qdisc};
pub use reaction::{ReactionPoint, ReactionSettings};
pub use scheme::{Needs, Scheme, Seats};

// A scheme of one's own then needs this crate alone.
pub use switchbed_config::{kinds, param, params, words};
pub use switchbed_units::{self as units, random, random::Random};
