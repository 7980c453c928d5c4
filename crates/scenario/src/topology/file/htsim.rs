//! The `.topo` form of htsim (Broadcom/csg-htsim and ultraethernet/uet-htsim, `fat_tree_topology.cpp`): a fat-tree of two
//! or three tiers by its numbers.
//!
//! ```text
//! # Eight hosts.
//! Nodes 8
//! Tiers 2
//! Podsize 8
//! Tier 0
//! Downlink_speed_Gbps 100
//! Radix_Down 4
//! Radix_Up 4
//! Downlink_Latency_ns 1000
//! Tier 1
//! Downlink_speed_Gbps 100
//! Radix_Down 2
//! Bundle 1
//! Downlink_Latency_ns 1000
//! ```
//!
//! Names of attributes are in any case. `Bundle` is the number of parallel links to each switch below. The j-th
//! aggregation of a pod of A is linked to the cores j, j + A, j + 2A, …, as there. Hosts are `host0`, …, switches `tor0`,
//! `agg0`, `core0`. A link's delay is its `Downlink_Latency_ns` and half the `Switch_Latency_ns` of either end's switch, so
//! that the latency between hosts is htsim's. `Queue_Up` and `Queue_Down` are no part of a topology.

use super::described::{Described, Link, Node, Word, Wrong, lines};
use switchbed_units::{Rate, Span};

/// Numbers of a file are below.
const MOST: u32 = 1 << 20;
const SPEED: &str = "Downlink_speed_Gbps";
const DOWN: &str = "Radix_Down";
const UP: &str = "Radix_Up";
const LATENCY: &str = "Downlink_Latency_ns";
const SWITCH: &str = "Switch_Latency_ns";
const BUNDLE: &str = "Bundle";
const OVER: &str = "Oversubscribed";
/// Attributes of a file, then those of a tier.
const HEAD: [&str; 3] = ["Nodes", "Tiers", "Podsize"];
const TIER: [&str; 9] = [SPEED, DOWN, UP, LATENCY, SWITCH, BUNDLE, OVER, "Queue_Up", "Queue_Down"];
/// Names of the switches of each tier.
const NAMES: [&str; 3] = ["tor", "agg", "core"];

/// A number that a file gives, and where.
#[derive(Clone, Copy)]
struct Given<'a> {
    key: Word<'a>,
    word: Word<'a>,
    number: u32,
}

impl Given<'_> {
    fn wrong(&self, what: &str) -> Wrong {
        self.word.wrong(what)
    }
}

/// Attributes by their place in a list of names.
type Block<'a, const N: usize> = [Option<Given<'a>>; N];

/// Contents of a tier's block.
struct Tier<'a> {
    speed: Rate,
    latency: Span,
    switch: Span,
    down: Given<'a>,
    /// 0 at the top.
    up: u32,
    /// Parallel links to each switch below.
    bundle: u32,
    over: Option<Given<'a>>,
}

/// Whether a text begins so.
pub(super) fn is_one(text: &str) -> bool {
    let first = lines(text).find(|(_, words)| !words[0].text.starts_with('#'));
    first.is_some_and(|(_, words)| HEAD.iter().any(|name| name.eq_ignore_ascii_case(words[0].text)))
}

/// Puts an attribute into its place.
fn place<'a, const N: usize>(
    block: &mut Block<'a, N>,
    names: &[&str; N],
    (key, value): (Word<'a>, Option<Word<'a>>),
) -> Result<(), Wrong> {
    let known = names.iter().position(|name| name.eq_ignore_ascii_case(key.text));
    let Some(at) = known else {
        return Err(key.wrong(&format!("there is no such attribute: write {}", names.join(", "))));
    };
    let word = value.ok_or_else(|| key.wrong("a number is missing behind it"))?;
    let number = word.below(MOST, names[at])?;
    match block[at].replace(Given { key, word, number }) {
        Some(before) => {
            Err(key.wrong(&format!("it is there already, on line {}", before.key.line)))
        }
        None => Ok(()),
    }
}

pub(super) fn parse(text: &str) -> Result<Described, Wrong> {
    let mut head: Block<3> = [None; 3];
    let mut blocks: [Option<(u32, Block<9>)>; 3] = [None; 3];
    let mut current = None;
    for (line, words) in lines(text) {
        // Comments may follow an attribute.
        let comment = words.iter().position(|word| word.text.starts_with('#'));
        let words = &words[..comment.unwrap_or(words.len())];
        let (Some(&key), value) = (words.first(), words.get(1).copied()) else { continue };
        if let Some(more) = words.get(2) {
            return Err(more.wrong("a line has an attribute and its number"));
        }
        if key.text.eq_ignore_ascii_case("tier") {
            let word = value.ok_or_else(|| key.wrong("a number is missing behind it"))?;
            let tier = word.below(3, "a tier")? as usize;
            if blocks[tier].replace((line, [None; 9])).is_some() {
                return Err(word.wrong("this tier is there already"));
            }
            current = Some(tier);
            continue;
        }
        // Attributes before the first tier are the file's.
        match current.and_then(|tier| blocks[tier].as_mut()) {
            None => place(&mut head, &HEAD, (key, value))?,
            Some((_, block)) => place(block, &TIER, (key, value))?,
        }
    }
    let [nodes, tiers, pod] = head;
    let missing = |name: &str| Wrong::file(format!("has no {name} before its first Tier"));
    let [nodes, tiers, pod] = [
        nodes.ok_or_else(|| missing(HEAD[0]))?,
        tiers.ok_or_else(|| missing(HEAD[1]))?,
        pod.ok_or_else(|| missing(HEAD[2]))?,
    ];
    if !(2..=3).contains(&tiers.number) {
        return Err(tiers.wrong("a fat-tree has 2 or 3 tiers"));
    }
    if pod.number == 0 || nodes.number == 0 || !nodes.number.is_multiple_of(pod.number) {
        return Err(pod.wrong(&format!("Nodes, {}, is a multiple of Podsize", nodes.number)));
    }
    let count = tiers.number as usize;
    // Tiers beyond the number that the file gives.
    if let Some((line, _)) = blocks[count..].iter().flatten().next() {
        return Err(Wrong::line(*line, format!("this tier is one more: Tiers is {count}")));
    }
    let mut read = Vec::new();
    for (nth, block) in blocks[..count].iter().enumerate() {
        let Some((line, block)) = block else {
            return Err(Wrong::file(format!("has no Tier {nth}: Tiers is {count}")));
        };
        read.push(tier(*line, block, (nth, nth + 1 == count))?);
    }
    build(nodes.number, pod, &read)
}

/// A tier's block.
fn tier<'a>(line: u32, block: &Block<'a, 9>, (nth, top): (usize, bool)) -> Result<Tier<'a>, Wrong> {
    let [speed, down, up, latency, switch, bundle, over, queue_up, _] = *block;
    let needed = |given: Option<Given<'a>>, name: &str| match given {
        Some(given) if given.number == 0 => Err(given.wrong("it is a whole number over 0")),
        Some(given) => Ok(given),
        None => Err(Wrong::line(line, format!("this tier has no {name}"))),
    };
    // Links up of the uppermost tier would lead nowhere.
    // Versions of csg-htsim ask for them in the second of two tiers, and do not use them.
    if nth == 2
        && let Some(given) = up.or(queue_up)
    {
        return Err(given.key.wrong("the uppermost tier has no links up"));
    }
    let up = if top { 0 } else { needed(up, UP)?.number };
    let or_one = |given: Option<Given<'a>>, name| given.map(|given| needed(Some(given), name));
    let bundle = or_one(bundle, BUNDLE).transpose()?.map_or(1, |given| given.number);
    let over = or_one(over, OVER).transpose()?;
    let ns = |given: Given| Span::from_ns(u64::from(given.number));
    Ok(Tier {
        speed: Rate::from_gbps(u64::from(needed(speed, SPEED)?.number)),
        latency: ns(needed(latency, LATENCY)?),
        switch: switch.map_or(Span::ZERO, ns),
        down: needed(down, DOWN)?,
        up,
        bundle,
        over,
    })
}

/// The network of these numbers.
fn build(hosts: u32, pod: Given, tiers: &[Tier]) -> Result<Described, Wrong> {
    let [tor, agg, ..] = tiers else { return Err(Wrong::file("has no tiers")) };
    let pods = hosts / pod.number;
    // Ports that lead to hosts: so many links lead to each.
    if !tor.down.number.is_multiple_of(tor.bundle) {
        return Err(tor.down.wrong(&format!("a multiple of Tier 0's Bundle, {}", tor.bundle)));
    }
    let each = tor.down.number / tor.bundle;
    let whole = |given: &Given, what: u64, why: &str| match u64::from(given.number) == what {
        true => Ok(()),
        false => Err(given.wrong(&format!("{why}: {what}"))),
    };
    if !pod.number.is_multiple_of(each) {
        return Err(pod.wrong(&format!("a multiple of Tier 0's Radix_Down / Bundle, {each}")));
    }
    let tors = pod.number / each;
    whole(
        &agg.down,
        u64::from(tors) * u64::from(agg.bundle),
        "an aggregation is linked to all ToRs of its pod, so many times its Bundle",
    )?;
    let aggs = switches_above(tor, agg)?;
    let mut cores = 0;
    if let [_, _, core] = tiers {
        cores = aggs.saturating_mul(switches_above(agg, core)?);
        whole(
            &core.down,
            u64::from(pods) * u64::from(core.bundle),
            "a core is linked to one aggregation of each pod, pods × Bundle",
        )?;
    }
    // Each tier with the one above.
    for pair in tiers.windows(2) {
        oversubscription(&pair[0], &pair[1])?;
    }
    let counts = [pods * tors, pods.saturating_mul(aggs), cores];
    let links = |switches: u32, up: u32| u64::from(switches) * u64::from(up);
    let total = links(hosts, tor.bundle) + links(counts[0], tor.up) + links(counts[1], agg.up);
    // Links and cores both become numbers of the graph.
    if total.max(u64::from(cores)) >= u64::from(MOST) {
        return Err(Wrong::file(format!("has {total} links: at most {}", MOST - 1)));
    }
    let mut described = Described::default();
    let node =
        |name: String, tier: Option<&str>| Node { name, tier: tier.map(str::to_owned), line: 1 };
    described.nodes.extend((0..hosts).map(|nth| node(format!("host{nth}"), None)));
    for (name, count) in NAMES.into_iter().zip(counts) {
        described.nodes.extend((0..count).map(|nth| node(format!("{name}{nth}"), Some(name))));
    }
    let [first_tor, first_agg, first_core] =
        [hosts, hosts + counts[0], hosts + counts[0] + counts[1]];
    let mut links = |upper: usize, low: u32, high: u32| {
        let below = if upper == 0 { Span::ZERO } else { tiers[upper - 1].switch };
        let Tier { speed: rate, latency, switch, bundle, down, .. } = &tiers[upper];
        // Switches take no time here: each link has half of the latency of the switches at its
        // ends.
        let delay = *latency + (below + *switch) / 2;
        let (mtu, loss, line) = (None, 0.0, down.key.line);
        let link = Link { ends: [low, high], rate: *rate, delay, mtu, loss, line };
        described.links.extend(std::iter::repeat_n(link, *bundle as usize));
    };
    (0..hosts).for_each(|host| links(0, host, first_tor + host / each));
    for nth in 0..counts[0] {
        // Aggregations are numbered pod by pod.
        let above = nth / tors * aggs;
        (above..above + aggs).for_each(|agg| links(1, first_tor + nth, first_agg + agg));
    }
    for nth in 0..if cores > 0 { counts[1] } else { 0 } {
        // Core c is linked to aggregation c modulo their number in each pod.
        let own = (nth % aggs..cores).step_by(aggs as usize);
        own.for_each(|core| links(2, first_agg + nth, first_core + core));
    }
    Ok(described)
}

/// The switches above that one of a tier is linked to.
fn switches_above(tier: &Tier, above: &Tier) -> Result<u32, Wrong> {
    match tier.up.is_multiple_of(above.bundle) {
        true => Ok(tier.up / above.bundle),
        false => Err(above.down.wrong(&format!(
            "the tier below has Radix_Up {}, which is no multiple of this tier's Bundle {}",
            tier.up, above.bundle
        ))),
    }
}

/// Refuses an oversubscription that is not that of the links.
fn oversubscription(tier: &Tier, above: &Tier) -> Result<(), Wrong> {
    let down = u64::from(tier.down.number) * tier.speed.as_bps();
    let up = u64::from(tier.up) * above.speed.as_bps();
    match tier.over {
        Some(given) if u64::from(given.number) != (down / up).max(1) => Err(given.wrong(&format!(
            "its links make it {}: {} of {} down, {} of {} up",
            (down / up).max(1),
            tier.down.number,
            tier.speed,
            tier.up,
            above.speed
        ))),
        _ => Ok(()),
    }
}
