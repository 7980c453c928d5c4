//! A change of a port, a link or a class, and the keys that say it.

use crate::topology::graph::Graph;
use crate::topology::{bounds, links};
use serde::Serialize;
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Field, Param, ParamKind, SectionSpec};
use switchbed_config::section::Section;
use switchbed_config::{key, words};
use switchbed_units::{Bytes, Rate, Span};

/// A change at a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// When, before anything else that happens then.
    pub at: Span,
    /// Change that happens then.
    #[serde(flatten)]
    pub change: Change,
}

/// Change of a port, a link or a class.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Change {
    /// The rate at which a port sends.
    Rate {
        /// The port's name.
        port: String,
        /// Rate from now on.
        rate: Rate,
    },
    /// Whether a port sends at all.
    Link {
        /// The port's name.
        port: String,
        /// From now on it does, or does not.
        up: bool,
    },
    /// A link's change, in both directions.
    OfLink {
        /// The link's name.
        link: String,
        /// Change of the link.
        #[serde(flatten)]
        what: LinkChange,
    },
    /// Packets that the line behind a port loses.
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
    /// Packets that the line behind a port marks.
    Mark {
        /// The port's name.
        port: String,
        /// Flow whose packets are marked, as for losses.
        #[serde(skip_serializing_if = "Option::is_none")]
        flow: Option<u64>,
        /// The packets' numbers, likewise.
        mark: Vec<u64>,
    },
    /// The node at a port sends pause frames without end (a storm).
    Storm {
        /// The port that sends them.
        port: String,
        /// The class that they pause.
        storm: u8,
        /// Duration of the storm.
        lasts: Span,
    },
    /// A class's weight or cap at every switch port, where the scheme has any.
    Share {
        /// The class.
        class: u8,
        /// Weight from now on; `None`: as before.
        #[serde(skip_serializing_if = "Option::is_none")]
        weight: Option<f64>,
        /// Cap from now on; `None`: as before.
        #[serde(skip_serializing_if = "Option::is_none")]
        max: Option<Rate>,
    },
}

words! {
    /// Treatment of the packets in the queue of a port that goes down.
    pub enum Held {
        /// Drops the packets.
        Drop = "drop",
        /// Keeps the packets until the port comes up.
        Wait = "wait",
    }
}

/// A link's change.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum LinkChange {
    /// The link carries nothing any more, or carries again.
    Up {
        /// Whether it carries.
        up: bool,
        /// When its ends know, after that.
        detect: Span,
        /// When all switches have other tables, after that.
        converge: Span,
        /// Treatment of the queues at its ends.
        #[serde(skip_serializing_if = "Option::is_none")]
        queue: Option<Held>,
    },
    /// Tables lead round it, or over it again; it carries what comes.
    Drain {
        /// Whether they lead round it.
        drain: bool,
        /// When all switches have other tables, after that.
        converge: Span,
    },
    /// The link has another rate.
    Rate {
        /// From now on.
        rate: Rate,
        /// When all switches have weights by that rate, after that; `None`: at once.
        #[serde(skip_serializing_if = "Option::is_none")]
        converge: Option<Span>,
    },
    /// The link has another propagation delay.
    Delay {
        /// From now on.
        delay: Span,
    },
    /// Bit errors, each bit alone.
    Ber {
        /// The fraction of bits that are wrong.
        ber: f64,
    },
    /// Lost packets, alone or several in a row.
    Loss {
        /// The fraction of packets that are lost.
        loss: f64,
        /// How many are lost in a row on average; `None`: each is lost or not alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        burst: Option<f64>,
    },
}

impl LinkChange {
    /// Whether packets may take other paths from then on.
    pub fn reroutes(&self) -> bool {
        matches!(self, LinkChange::Up { .. } | LinkChange::Drain { .. })
    }
}

/// `[[event]]`.
pub const SECTION: SectionSpec = SectionSpec {
    name: "event",
    repeated: true,
    doc: "A change during the run: of a link (link; up, drain, rate, delay, ber or loss), of a port's rate \
          (port, rate), of whether it sends at all (port, up), of what its line loses or marks (port, lose or mark, flow), of a storm of pause frames (port, \
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
        Param::optional(
            "link",
            ParamKind::Text,
            "A link by its ends, such as \"leaf0-spine1\" or \"host3-leaf0\"; of parallel ones the second is \
             \"leaf0-spine1#2\". Both of its directions change.",
        ),
        Param::optional("rate", ParamKind::Rate, "The port's or link's rate from then on."),
        Param::optional(
            "up",
            ParamKind::Flag,
            "Of a port, false: it sends nothing from then on, and packets wait in its queues (what is \
             on the line still arrives). Of a link, false: it loses what it carries and what is on it. true: it \
             sends, or carries, again.",
        ),
        Param::optional(
            "detect",
            ParamKind::Time,
            "link, up: the ports at its ends are used, or not used, that long after.",
        ),
        Param::optional(
            "converge",
            ParamKind::Time,
            "link, up or drain: all switches have tables for it that long after. link, rate: all switches have weights by \
             the new rate that long after (routing.kind = \"wcmp\"; default: at once).",
        ),
        Param::optional(
            "queue",
            Held::KIND,
            "link, up = false: what becomes of packets that wait at its ends' switch ports when these know, drop or \
             wait. Default: drop.",
        ),
        Param::optional(
            "drain",
            ParamKind::Flag,
            "link, true: tables lead round it from then on, and it carries what still comes. false: they lead over it.",
        ),
        Param::optional("delay", ParamKind::Time, "The link's propagation from then on."),
        Param::optional(
            "ber",
            ParamKind::Number { min: 0.0, max: 0.5 },
            "The fraction of the link's bits that are wrong from then on, each alone; a packet with a wrong bit is lost.",
        ),
        Param::optional(
            "loss",
            ParamKind::Number { min: 0.0, max: 0.5 },
            "The fraction of the link's packets that are lost from then on.",
        ),
        Param::optional(
            "burst",
            ParamKind::Number { min: 1.0, max: 1e6 },
            "loss: so many packets in a row are lost on average (Gilbert's model of two states, by packet). Default: \
             each packet is lost or not alone.",
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
            "The port sends its peer pause frames of this lossless class as if it never had space (switch.pfc), as \
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

/// The rate, whose refusal tells how a line goes down.
pub(super) fn check_rate_words(section: &Section<'_>, mtu: Bytes) -> Result<Rate, Mistake> {
    // The message is about a rate too low; 0 would be meant as an outage.
    let outage = |Mistake { message, .. }: &Mistake| format!("{message} (up = false is down)");
    bounds::rate(section, key!(rate), mtu)
        .map_err(|mistake| Mistake { message: outage(&mistake), ..mistake })
}

/// When a link's ends know of its change, and when all switches do.
pub(super) fn times(
    section: &Section<'_>,
    (detect, converge): (&str, &str),
) -> Result<(Span, Span), Mistake> {
    let (ends, all): (Span, Span) = (section.get(detect)?, section.get(converge)?);
    match all < ends {
        false => Ok((ends, all)),
        true => {
            let why = format!("all switches know after the link's ends do: at least {ends}");
            Err(section.refuse(converge, why))
        }
    }
}

/// The link that a section names, and what happens to it.
pub(super) fn read_link(
    section: &Section<'_>,
    link: &str,
    graph: &Graph,
    mtu: Bytes,
) -> Result<LinkChange, Mistake> {
    if links::find(graph, link).is_none() {
        let why = format!("there is no such link: {}", links::advice(graph));
        return Err(section.refuse(key!(link), why));
    }
    if let Some(up) = section.maybe(key!(up))? {
        let (detect, converge) = times(section, (key!(detect), key!(converge)))?;
        let queue = match up {
            true => None,
            false => Some(section.maybe(key!(queue))?.unwrap_or(Held::Drop)),
        };
        section.close(if up { "a link that comes up" } else { "a link that goes down" })?;
        return Ok(LinkChange::Up { up, detect, converge, queue });
    }
    if let Some(drain) = section.maybe(key!(drain))? {
        let converge = section.get(key!(converge))?;
        section.close("a link that is drained")?;
        return Ok(LinkChange::Drain { drain, converge });
    }
    if section.given(key!(delay)).is_some() {
        let delay = bounds::delay(section, key!(delay))?;
        section.close("a change of a link's delay")?;
        return Ok(LinkChange::Delay { delay });
    }
    if let Some(ber) = section.maybe(key!(ber))? {
        section.close("a link with bit errors")?;
        return Ok(LinkChange::Ber { ber });
    }
    if let Some(loss) = section.maybe(key!(loss))? {
        let burst = section.maybe(key!(burst))?;
        section.close("a link that loses packets")?;
        return Ok(LinkChange::Loss { loss, burst });
    }
    if section.given(key!(rate)).is_none() {
        let like =
            "\"10Gbps\", or up = false, drain = true, delay = \"5us\", ber = 1e-9, loss = 0.01";
        return Err(section.missing_like(key!(rate), like));
    }
    let rate = check_rate_words(section, mtu)?;
    let converge = section.maybe(key!(converge))?;
    section.close("a change of a link's rate")?;
    Ok(LinkChange::Rate { rate, converge })
}
