//! A scenario file, from text to what is to be run: parse → expand → resolve. The simulator and the
//! command line, live switches and Python share it.
//!
//! `tree` parses the text and keeps every line; `expand` applies `[compare]` and the overrides
//! (`place` finds what they point at); `resolve` reads the sections. A section is a file or a folder:
//! its keys with their units, defaults and meanings, the value that they become, and its checks.
//! `cautions` has what is said of a scenario before it runs. Every refusal is a [`Mistake`].

#![forbid(unsafe_code)]
#![deny(unreachable_pub)]

pub mod build;
mod catalog;
pub mod cautions;
pub mod delay;
pub mod deploy;
pub mod event;
mod expand;
mod file;
pub mod host;
pub mod int;
mod lists;
pub mod live;
pub mod measure;
mod migrate;
mod numbers;
mod place;
mod profiles;
pub mod protocol;
pub mod protocols;
mod queue;
pub mod reaction;
mod reference;
mod resolve;
pub mod roce;
pub mod routing;
pub mod run;
mod scenario;
pub mod scheme;
mod sections;
pub mod sizes;
pub mod stack;
mod stack_described;
pub mod switch;
pub mod topology;
pub mod traffic;
pub mod transport;
mod trimming;
mod unread;

pub use catalog::{Asked, chips, headroom, policies, schemes, size_tables};
pub use cautions::lossless::{Headroom, HeadroomOfLinks, HeadroomOfSwitches};
pub use cautions::offered::{CarryingLink, OfferedLink, Repetition};
pub use delay::{Delays, HostDelay};
pub use deploy::Deploy;
pub use event::Event;
pub use expand::{Plan, Source, plans, plans_of};
pub use host::{Autosize, Coalesce, Host, Lso, Merge, MergeFlush, NicFifo, NicQueue, SmallQueues};
pub use live::read::{live, live_of};
pub use live::{Attach, Faults, Live, LivePort};
pub use measure::{Measure, PortNames, QueueProbe};
pub use migrate::migrated;
pub use profiles::{Hosts, HostsOf, profile, profiles};
pub use reaction::{CardReaction, Limiters, Reaction};
pub use reference::{live_reference, reference, reference_of, schema};
pub use roce::{Recovery, Roce};
pub use routing::Routing;
pub use run::{FctEnd, Run};
pub use scenario::{Scenario, to_toml};

pub use scheme::SchemeChoice;
pub use sections::SECTIONS;
pub use stack::{Stack, Stacks};
pub use switch::{BufferPolicy, Classify, Discipline, Sharing, StrictOrder, Switch, Unmarkable};
pub use switchbed_config::mistake::Mistake;
pub use topology::{
    Clos, Dumbbell, FatTree, FromFile, LeafSpine, ParkingLot, Ring, Shape, Star, Tiers, Topology,
};
pub use traffic::{
    Carried, Connections, Entry, HostSet, Load, LogNormal, LongLived, Off, OnOff, OneHost, Poisson,
    Probe, RequestResponse, Service, Sizes, Traffic,
};
pub use transport::{
    Arithmetic, CongestionControl, CubicParams, DctcpParams, LossHalves, Pacing, Restart,
    RttSampling, Transport, Warm, WindowCut,
};

pub use switchbed_units::{Bytes, quantity};
