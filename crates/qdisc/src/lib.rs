//! A switch port's queue management, as a library that knows neither simulator nor
//! wire: five seats ([`seats`]), the umbrella trait they compose into ([`scheme`]),
//! the port that runs them in a fixed protocol ([`port`]), the line behind it ([`driver`]), and every scheme, one file
//! each ([`classifier`], [`buffer`], [`marker`], [`scheduler`], [`notifier`]; over several
//! seats: [`hcf`]); and the senders' half of those that notify ([`reaction`]).
//!
//! A packet here is a small plain value; bytes stay with the caller, who finds what
//! carries a packet by its [`SlotId`]. Time and randomness are always arguments.

#![forbid(unsafe_code)]

pub mod arena;
pub mod buffer;
pub mod classifier;
pub mod cqrd;
pub mod definition;
pub mod driver;
pub mod fairness;
pub mod hcf;
pub mod marker;
pub mod notifier;
pub mod packet;
pub mod param;
pub mod port;
pub mod quantity;
pub mod random;
pub mod reaction;
pub mod registry;
pub mod scheduler;
pub mod scheme;
pub mod seats;
pub mod set;
pub mod site;
pub mod switch;
pub mod units;
pub mod view;

pub use arena::{Arena, Cargo, Note, SlotId};
pub use driver::{Driver, Wire};
pub use packet::{Ecn, FlowId, Packet, QueueId};
pub use port::{Cx, Dequeued, Enqueued, Outcome, Passed, Port, Qdisc};
pub use random::Random;
pub use reaction::{ReactionPoint, ReactionSettings};
pub use scheme::{Needs, Scheme, Seats};
pub use set::{MAX_QUEUES, QueueSet};
pub use view::{Pool, PortState, View};
