//! `[[failures]]`: links that fail, drawn by the seed. Each becomes events of its link.

use super::change::{Change, Event, Held, LinkChange, times};
use crate::Run;
use crate::topology::graph::{Graph, Node};
use crate::topology::links;
use std::collections::BTreeSet;
use switchbed_config::key;
use switchbed_config::mistake::{Mistake, Origin, list_of};
use switchbed_config::param::{Field, Param, ParamKind, SectionSpec};
use switchbed_config::section::Section;
use switchbed_config::tree::Table;
use switchbed_units::Span;
use switchbed_units::ids::{LinkId, PortId, SwitchId};
use switchbed_units::random::Stream;

/// Failures of an entry come to no more events.
const MOST: usize = 100_000;

/// `[[failures]]`.
pub(crate) const SECTION: SectionSpec = SectionSpec {
    name: "failures",
    repeated: true,
    doc: "Links of a tier that fail, drawn by run.seed: so many at a time (at, links, lasts), or each again and again \
          (mtbf, mttr). Each is as an [[event]] of its link with up = false, and one with up = true.",
    keys: &[
        Param::required(
            "tier",
            ParamKind::Text,
            "Links between a switch of this tier and another switch, such as \"spine\"; \"host\": hosts' links.",
        ),
        Param::optional("at", ParamKind::Time, "When links fail."),
        Param::optional(
            "links",
            ParamKind::Count { min: 1, max: 1_000_000 },
            "at: how many fail, each once at most. Default: 1.",
        ),
        Param::optional(
            "lasts",
            ParamKind::Time,
            "at: when they come up, after that. Default: never.",
        ),
        Param::optional(
            "mtbf",
            ParamKind::Time,
            "The mean time that each link is up before it fails, exponentially distributed; needs run.until.",
        ),
        Param::optional("mttr", ParamKind::Time, "mtbf: the mean time that it is down, likewise."),
        Param::required("detect", ParamKind::Time, "As of an [[event]]."),
        Param::required("converge", ParamKind::Time, "As of an [[event]]."),
        Param::optional("queue", Held::KIND, "As of an [[event]]. Default: drop."),
    ],
};

/// The events of the file's entries.
pub(super) fn resolve(
    origin: &Origin,
    root: &Table,
    graph: &Graph,
    run: &Run,
) -> Result<Vec<Event>, Mistake> {
    let nodes = root.get(SECTION.name).and_then(|node| node.as_list()).unwrap_or_default();
    let mut events = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        let path = if nodes.len() == 1 { "failures".to_owned() } else { format!("failures.{i}") };
        let section = Section::open(origin, &path, SECTION.keys, Some(node), None)?;
        events.extend(entry(&section, graph, run, i as u64)?);
    }
    Ok(events)
}

/// One direction of each link of a tier.
fn of_tier(section: &Section<'_>, graph: &Graph) -> Result<Vec<LinkId>, Mistake> {
    let tier: String = section.get(key!(tier))?;
    if tier == "host" {
        return Ok((0..graph.access.len()).map(LinkId::at).collect());
    }
    let Some(found) = graph.tiers.iter().find(|of| of.name == tier) else {
        let names = graph.tiers.iter().map(|tier| tier.name.as_str()).chain(["host"]);
        let why = format!("there is no such tier: it is {}", list_of(names));
        return Err(section.refuse(key!(tier), why));
    };
    let own: BTreeSet<SwitchId> = found.switches.iter().copied().collect();
    let mut all = Vec::new();
    for &switch in &found.switches {
        for (port, cable) in graph.switches[switch.index()].1.iter().enumerate() {
            // A link between two of the tier counts once.
            if let Node::Switch(to) = cable.to
                && (!own.contains(&to) || switch < to)
            {
                all.push(graph.link(switch, PortId::at(port)));
            }
        }
    }
    if all.is_empty() {
        let why = "its switches have no links to other switches";
        return Err(section.refuse(key!(tier), why));
    }
    Ok(all)
}

fn entry(section: &Section<'_>, graph: &Graph, run: &Run, nth: u64) -> Result<Vec<Event>, Mistake> {
    let tier = of_tier(section, graph)?;
    let (detect, converge) = times(section, (key!(detect), key!(converge)))?;
    let queue = section.maybe(key!(queue))?.unwrap_or(Held::Drop);
    let change = |at: Span, link: LinkId, up: bool| {
        let queue = (!up).then_some(queue);
        let what = LinkChange::Up { up, detect, converge, queue };
        Event { at, change: Change::OfLink { link: links::named(graph, link), what } }
    };
    let mut events = Vec::new();
    if let Some(at) = section.maybe::<Span>(key!(at))? {
        if let Some(until) = run.until.filter(|&until| at > until) {
            return Err(section.refuse(key!(at), format!("the run ends at {until} (run.until)")));
        }
        let count: u32 = section.maybe(key!(links))?.unwrap_or(1);
        if count as usize > tier.len() {
            let why = format!("the tier has {} links", tier.len());
            return Err(section.refuse(key!(links), why));
        }
        let lasts: Option<Span> = section.maybe(key!(lasts))?;
        section.close("links that fail at a time")?;
        // The first so many of a permutation: each link once at most.
        let order = Stream::new(run.seed, "failures", nth).permutation(tier.len() as u32);
        for &place in &order[..count as usize] {
            let link = tier[place as usize];
            events.push(change(at, link, false));
            events.extend(lasts.map(|lasts| change(at + lasts, link, true)));
        }
        return Ok(events);
    }
    let Some(mtbf) = section.maybe::<Span>(key!(mtbf))? else {
        return Err(section.missing_like(key!(at), "\"10ms\", or mtbf = \"1s\""));
    };
    let mttr: Span = section.get(key!(mttr))?;
    for (key, mean) in [(key!(mtbf), mtbf), (key!(mttr), mttr)] {
        if mean == Span::ZERO {
            return Err(section.refuse(key, "it must be greater than 0"));
        }
    }
    // Each failure brings the next: without an end there is no last one.
    let Some(until) = run.until else {
        return Err(section.refuse(key!(mtbf), "links fail again and again: give until in [run]"));
    };
    section.close("links that fail again and again")?;
    for &link in &tier {
        // Each link has a stream of its own: another link or tier does not move its failures.
        let name = u64::from(link.0) | nth << 32;
        let mut rng = Stream::new(run.seed, "failures of a link", name);
        let mut draw = |mean: Span| Span::from_secs_f64(mean.as_secs_f64() * rng.exponential());
        // All links are up at the start.
        let (mut at, mut up) = (draw(mtbf), true);
        while at < until {
            up = !up;
            events.push(change(at, link, up));
            if events.len() > MOST {
                let why = format!("links would fail more than {MOST} times until run.until");
                return Err(section.refuse(key!(mtbf), why));
            }
            at = at.saturating_add(draw(if up { mtbf } else { mttr }));
        }
    }
    Ok(events)
}
