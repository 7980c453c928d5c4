//! What changes during a run.

use crate::param::{Param, ParamKind, Section};
use serde::Serialize;
use switchbed_units::{Rate, Span};

/// A change at a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// When, before anything else that happens then.
    pub at: Span,
    /// What.
    #[serde(flatten)]
    pub change: Change,
}

/// What changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Change {
    /// The rate at which a port sends.
    Rate {
        /// The port's name.
        port: String,
        /// Its rate from now on.
        rate: Rate,
    },
    /// Whether a port sends at all.
    Link {
        /// The port's name.
        port: String,
        /// From now on it does, or does not.
        up: bool,
    },
    /// What the line behind a port loses.
    Lose {
        /// The port's name.
        port: String,
        /// The flow that opened the connection, by its number in the order of starts, from 0; `None`:
        /// any packet counts.
        #[serde(skip_serializing_if = "Option::is_none")]
        flow: Option<u64>,
        /// The packets' numbers, from 1, among those that the line carries from now on.
        lose: Vec<u64>,
    },
    /// What the line behind a port marks.
    Mark {
        /// The port's name.
        port: String,
        /// As of what it loses.
        #[serde(skip_serializing_if = "Option::is_none")]
        flow: Option<u64>,
        /// The packets' numbers, likewise.
        mark: Vec<u64>,
    },
    /// What is at a port sends pause frames without end (a storm).
    Storm {
        /// The port that sends them.
        port: String,
        /// The class that they pause.
        storm: u8,
        /// For how long.
        lasts: Span,
    },
    /// A class's weight or cap at every switch port, where the scheme has any.
    Share {
        /// The class.
        class: u8,
        /// Its weight from now on; `None`: as before.
        #[serde(skip_serializing_if = "Option::is_none")]
        weight: Option<f64>,
        /// Its cap from now on; `None`: as before.
        #[serde(skip_serializing_if = "Option::is_none")]
        max: Option<Rate>,
    },
}

/// `[[event]]`.
pub const SECTION: Section = Section {
    name: "event",
    repeated: true,
    doc: "A change during the run: of a port's rate (port, rate), of whether it sends at all \
          (port, up), of what its line loses or marks (port, lose or mark, flow), of a storm of pause frames (port, \
          storm, lasts), or of a class's weight or cap \
          (class, weight, max). Flows come and go by start and stop of their [[traffic]].",
    keys: &[
        Param::required("at", ParamKind::Time, "When, before anything else that happens then."),
        Param::optional(
            "port",
            ParamKind::Text,
            "A port as in measure.queues, such as \"left:0\"; the other direction of its link \
             stays as it is.",
        ),
        Param::optional("rate", ParamKind::Rate, "The port's rate from then on."),
        Param::optional(
            "up",
            ParamKind::Flag,
            "false: the port sends nothing from then on, and packets wait in its queues (what is \
             on the line still arrives). true: it sends again.",
        ),
        Param::optional(
            "lose",
            ParamKind::List(&ParamKind::Count { min: 1, max: 1_000_000_000_000 }),
            "The line behind the port loses these of the packets that it carries from then on, \
             counted from 1, retransmissions too. Of a sender's card, \"host0\", they are data (and \
             its SYN); of a receiver's, ACKs.",
        ),
        Param::optional(
            "mark",
            ParamKind::List(&ParamKind::Count { min: 1, max: 1_000_000_000_000 }),
            "The line behind the port marks these (CE), counted in the same way, where they are \
             ECN-capable.",
        ),
        Param::optional(
            "flow",
            ParamKind::Count { min: 0, max: u32::MAX as u64 >> 1 },
            "lose, mark: only packets of the connection that this flow opened count (flows are numbered from 0 in \
             the order of their starts). Default: every packet.",
        ),
        Param::optional(
            "storm",
            ParamKind::Count { min: 0, max: 7 },
            "The port sends its peer pause frames of this lossless class as if it never had room (switch.pfc), as \
             a broken card does: \"host0\" is one.",
        ),
        Param::optional(
            "lasts",
            ParamKind::Time,
            "storm: for how long; the last frame's pause goes on after that.",
        ),
        Param::optional(
            "class",
            ParamKind::Count { min: 0, max: 255 },
            "A class, whose weight or cap changes at every switch port. Schemes without weights \
             ignore it.",
        ),
        Param::optional(
            "weight",
            ParamKind::Number { min: 0.000_001, max: f64::INFINITY },
            "The class's weight from then on. Default: as before.",
        ),
        Param::optional(
            "max",
            ParamKind::Rate,
            "The most that the class may have from then on. Default: as before.",
        ),
    ],
};
