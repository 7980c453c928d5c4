//! Changes of a link, in both directions at once.

use super::change::{Held, LinkChange, SECTION, check_rate_words};
use crate::topology::bounds;
use crate::topology::graph::Graph;
use crate::topology::links;
use switchbed_config::key;
use switchbed_config::mistake::Mistake;
use switchbed_config::section::Section;
use switchbed_units::{Bytes, Span};

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
