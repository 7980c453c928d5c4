//! Changes of a link, in both directions at once.

use super::{SECTION, check_rate_words};
use crate::topology::bounds;
use crate::topology::graph::Graph;
use crate::topology::links;
use serde::Serialize;
use switchbed_config::key;
use switchbed_config::mistake::Mistake;
use switchbed_config::section::Section;
use switchbed_config::words;
use switchbed_units::{Bytes, Rate, Span};

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
pub(super) fn read(
    section: &Section<'_>,
    link: String,
    graph: &Graph,
    mtu: Bytes,
) -> Result<super::Change, Mistake> {
    if links::find(graph, &link).is_none() {
        let why = format!("there is no such link: {}", links::advice(graph));
        return Err(section.refuse(key!(link), why));
    }
    let of_link = |what| Ok(super::Change::OfLink { link: link.clone(), what });
    if let Some(up) = section.maybe(key!(up))? {
        let (detect, converge) = times(section, (key!(detect), key!(converge)))?;
        let queue = match up {
            true => None,
            false => Some(section.maybe(key!(queue))?.unwrap_or(Held::Drop)),
        };
        section.close(if up { "a link that comes up" } else { "a link that goes down" })?;
        return of_link(LinkChange::Up { up, detect, converge, queue });
    }
    if let Some(drain) = section.maybe(key!(drain))? {
        let converge = section.get(key!(converge))?;
        section.close("a link that is drained")?;
        return of_link(LinkChange::Drain { drain, converge });
    }
    if section.given(key!(delay)).is_some() {
        let delay = bounds::delay(section, key!(delay))?;
        section.close("a change of a link's delay")?;
        return of_link(LinkChange::Delay { delay });
    }
    if let Some(ber) = section.maybe(key!(ber))? {
        section.close("a link with bit errors")?;
        return of_link(LinkChange::Ber { ber });
    }
    if let Some(loss) = section.maybe(key!(loss))? {
        let burst = section.maybe(key!(burst))?;
        section.close("a link that loses packets")?;
        return of_link(LinkChange::Loss { loss, burst });
    }
    if section.given(key!(rate)).is_none() {
        let like =
            "\"10Gbps\", or up = false, drain = true, delay = \"5us\", ber = 1e-9, loss = 0.01";
        return Err(section.missing_like(key!(rate), like));
    }
    let rate = check_rate_words(section, mtu)?;
    let converge = section.maybe(key!(converge))?;
    section.close("a change of a link's rate")?;
    of_link(LinkChange::Rate { rate, converge })
}
