//! A scenario file, from text to results: parse → resolve → expand → build → run one.
//! What the command line and Python share.
//!
//! `tree` parses the text and keeps every line; `expand` applies `[compare]` and the
//! overrides (`place` finds what they point at); `resolve` reads each section (`section`,
//! `read`) by its table of keys in `switchbed_spec` and checks it against the others;
//! every refusal is a [`Mistake`].

#![forbid(unsafe_code)]
#![deny(unreachable_pub)]

mod catalog;
mod cycles;
mod expand;
mod headroom;
mod hops;
mod impossible;
mod lists;
mod live;
mod marking;
mod memory;
mod migrate;
mod mistake;
mod offered;
mod pauses;
mod place;
mod policy;
mod profile;
mod read;
mod reference;
mod resolve;
mod results;
mod run;
mod schema;
mod section;
mod sections;
mod stalled;
mod summary;
mod thresholds;
mod tree;
mod waits;
mod warnings;
mod watchdog;
mod write;

pub use catalog::{chips, policies, schemes, sizes};
pub use expand::{Plan, Source, plans, plans_of};
pub use impossible::Impossible;
pub use live::{live, live_of};
pub use memory::Part;
pub use migrate::migrated;
pub use mistake::Mistake;
pub use offered::OfferedLink;
pub use profile::{Hosts, profile, profiles};
pub use reference::{live_reference, reference};
pub use results::{Results, SeriesRow, series_of};
pub use run::{Progress, Unfinished, run, run_on, run_with};
pub use schema::schema;
pub use sections::SECTIONS;
pub use summary::{BUILD, SCHEMA_VERSION, Summary};

pub use switchbed_sim::table::{Column, Names, Table, Values};
pub use switchbed_sim::{Division, Scenario};
pub use watchdog::Excess;
pub use write::to_toml;

pub use switchbed_units::Bytes;
pub use switchbed_units::quantity;

/// The names of the tables that only some runs have: monitors', and what flow control did.
pub fn monitored_tables() -> impl Iterator<Item = &'static str> {
    switchbed_sim::monitored_tables().chain([
        "pauses",
        "pause_tree",
        "paused_flows",
        "storms",
        "deadlocks",
    ])
}
