//! A switch port's queue management, as a library that knows neither simulator nor wire.
//!
//! A port has five seats ([`seats`]): who chooses a packet's queue, who says in or out, who marks, who
//! goes next, who tells sources. Five packets through one that marks from 3000 bytes on:
//!
//! ```
//! use switchbed_qdisc::buffer::Shared;
//! use switchbed_qdisc::classifier::Single;
//! use switchbed_qdisc::marker::{MarkAt, Step};
//! use switchbed_units::random::NoRandom;
//! use switchbed_qdisc::scheduler::Fifo;
//! use switchbed_qdisc::seats::Nobody;
//! use switchbed_units::{Bytes, Rate, Time};
//! use switchbed_qdisc::*;
//!
//! let step = Step::per_queue(Bytes::new(3_000), 1, MarkAt::Enqueue);
//! let memory = Shared { limit: Bytes::new(6_000) };
//! let state = PortState::new(Rate::from_gbps(10), &[Bytes::new(1_500)]);
//! let mut port = Port::new(state, Seats::new(Single, memory, step, Fifo, Nobody));
//!
//! // Packets stay with the caller, in an arena; time and randomness are arguments.
//! let (mut arena, mut pool, mut out) = (Arena::new(), Pool::new(Bytes::MAX), Outcome::default());
//! for _ in 0..5 {
//!     let slot =
//!         arena.alloc(Packet { len_bytes: 1_500, ecn: Ecn::Ect0, ..Packet::default() });
//!     let (arena, pool, out) = (&mut arena, &mut pool, &mut out);
//!     let mut cx = Cx { now: Time::ZERO, arena, pool, rng: &mut NoRandom, out };
//!     port.enqueue(slot, &mut cx);
//! }
//! // Four have room; the line is free again after 1.2 us each.
//! let (mut now, mut marks) = (Time::ZERO, Vec::new());
//! loop {
//!     let (arena, pool, out) = (&mut arena, &mut pool, &mut out);
//!     let mut cx = Cx { now, arena, pool, rng: &mut NoRandom, out };
//!     let Dequeued::Sent { until, marked, .. } = port.dequeue(&mut cx) else { break };
//!     marks.push(marked);
//!     now = until;
//! }
//! assert_eq!(marks, [false, false, true, true]);
//! assert_eq!(now, Time::from_ps(4 * 1_200_000));
//! ```
//!
//! The port runs its seats in a fixed protocol ([`port`]), with the line behind it ([`driver`]). A
//! scheme is one file with its parameters, what it says of itself and how it is built
//! ([`definition`]), and a line of the [`registry`]; it sits in one seat ([`classifier`], [`buffer`],
//! [`marker`], [`scheduler`], [`notifier`]) or in several ([`cqrd`], [`dualpi2`], [`fq_codel`], [`hcf`]). The senders' half of
//! those that notify is [`reaction`]; a host's card may have a fair queue ([`fq`]).

#![forbid(unsafe_code)]
#![deny(unreachable_pub)]

pub mod arena;
pub mod buffer;
pub mod chip;
pub mod classifier;
pub mod cqrd;
pub mod definition;
#[cfg(test)]
mod draws;
pub mod driver;
pub mod dualpi2;
pub mod fairness;
pub mod fq;
pub mod fq_codel;
pub mod hcf;
pub mod marker;
pub mod notifier;
pub mod numbered;
pub mod packet;
pub mod pauses;
pub mod pfc;
pub mod port;
pub mod reaction;
pub mod registry;
pub mod scheduler;
pub mod scheme;
pub mod seats;
pub mod set;
pub mod site;
pub mod switch;
pub mod view;

pub use arena::{Arena, Cargo, Note, SlotId};
pub use driver::{Driver, Wire};
pub use packet::{Ecn, FlowId, Packet, QueueId};
pub use port::{Cx, Dequeued, Enqueued, Outcome, Passed, Port, Qdisc};
pub use reaction::{ReactionPoint, ReactionSettings};
pub use scheme::{Needs, Scheme, Seats};
pub use set::{MAX_QUEUES, QueueSet};
pub use view::{PauseFrames, Pool, PortState, View};

// So that a scheme of one's own needs this crate alone.
pub use switchbed_config::{kinds, param, params, words};
pub use switchbed_units::{self as units, random, random::Random};
