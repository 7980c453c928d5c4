//! Seed and end of a run, and what ends a flow.

use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Params, SectionSpec};
use switchbed_config::section::Section;
use switchbed_config::{params, words};
use switchbed_units::Span;

params! {
    /// Seed and end of a run.
    pub struct Run {
        /// Everything random follows from it.
        seed: u64 = "1" as count(0, i64::MAX as u64);
        /// Stop then even if flows have not finished; needed where flows never end.
        /// Default: run until the last flow has finished.
        until: Option<Span>;
        /// Paths are drawn by a flow's number instead of its connection, so that a flow
        /// takes the same path in every run that is compared.
        ecmp_by_row: bool = "false";
    }
}

/// `[run]`.
pub const SECTION: SectionSpec =
    SectionSpec { name: "run", repeated: false, doc: "Seed and end of a run.", keys: Run::TABLE };

words! {
    /// Event that ends a flow.
    pub enum FctEnd {
        /// The last byte's ACK reaches the sender.
        Acked = "acked",
        /// The last byte reaches the receiver.
        Received = "received",
    }
}

/// The section as a file has it.
pub(crate) fn resolve(section: &Section<'_>) -> Result<Run, Mistake> {
    let run = Run::from_values(&mut section.values()?);
    match run.until {
        Some(Span::ZERO) => Err(section.refuse(Run::KEY.until, "a run lasts longer than 0")),
        _ => Ok(run),
    }
}
