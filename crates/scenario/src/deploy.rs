//! Switches that differ from the rest: another scheme, or other memory, on a tier, on
//! switches by name, or on the first part of them.

use super::{queue, scheme};
use crate::scheme::SchemeInfo;
use crate::topology::graph::{self, Graph, Tier};
use crate::{SchemeChoice, Switch};
use serde::Serialize;
use switchbed_config::key;
use switchbed_config::mistake::{Mistake, Origin, list_of};
use switchbed_config::param::{FRACTION, Param, ParamKind, SectionSpec};
use switchbed_config::section::Section;
use switchbed_config::tree::{Data, Node, Table};
use switchbed_qdisc::schemes::definition::Scope;
use switchbed_units::Bytes;
use switchbed_units::ids::SwitchId;

/// Some switches, and what is different there; what is `None` is as everywhere.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deploy {
    /// Names of the switches. No switch is in two entries.
    pub switches: Vec<String>,
    /// Memory of each switch, in equal parts for its ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// Scheme of these switches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<SchemeChoice>,
}

/// `[[deploy]]`.
pub const SECTION: SectionSpec = SectionSpec {
    name: "deploy",
    repeated: true,
    doc: "Switches that differ from the rest in scheme or memory.",
    keys: &[
        Param::required(
            "switches",
            ParamKind::Either(&[ParamKind::Text, ParamKind::List(&ParamKind::Text)]),
            "Which: a tier such as \"leaf\", a switch such as \"spine1\", a range such as \
             \"leaf0-11\", or a list of these.",
        ),
        Param::with_default(
            "fraction",
            FRACTION,
            "1",
            "The first so many of them, rounded: neighbours, as the CQRD paper deploys by clusters.",
        ),
        Param::optional(
            "scheme",
            ParamKind::Either(&[ParamKind::Text, ParamKind::Table(crate::scheme::SECTION.keys)]),
            "Their scheme: a name, or a table as [scheme] is. Default: [scheme].",
        ),
        Param::optional(
            "queue",
            crate::queue::QUEUES,
            "The queues that have this scheme: 3, \"0-2\" or a list of these; the others have what queues \
             have everywhere. Default: all.",
        ),
        Param::optional(
            "memory",
            ParamKind::Size,
            "The packet memory of each, in equal parts for its ports. Default: as [switch] has it.",
        ),
    ],
};

impl Deploy {
    /// `[switch]` as these switches have it.
    pub fn switch(&self, switch: &Switch) -> Switch {
        Switch { memory: self.memory.or(switch.memory), ..switch.clone() }
    }
}

/// Parts of the scenario that an entry is checked against.
pub(crate) struct Context<'a> {
    pub origin: &'a Origin,
    pub graph: &'a Graph,
    pub switch: &'a Switch,
    pub scheme: &'a SchemeChoice,
    /// `[switch]` has entries by queue.
    pub by_queue: bool,
    pub mtu: Bytes,
    pub compared: &'a [&'static SchemeInfo],
}

impl Context<'_> {
    /// Every entry of the file.
    pub(super) fn resolve(&self, root: &Table) -> Result<Vec<Deploy>, Mistake> {
        let entries = root.get("deploy").and_then(Node::as_list).unwrap_or_default();
        let mut taken: Vec<String> = Vec::new();
        let mut resolved = Vec::new();
        for (i, node) in entries.iter().enumerate() {
            let path = match entries.len() {
                1 => "deploy".to_owned(),
                _ => format!("deploy.{i}"),
            };
            let packet = Some(self.mtu);
            let section = Section::open(self.origin, &path, SECTION.keys, Some(node), packet)?;
            let deploy = self.entry(&section)?;
            if let Some(twice) = deploy.switches.iter().find(|name| taken.contains(name)) {
                return Err(section.refuse(key!(switches), format!("{twice} is named twice")));
            }
            taken.extend(deploy.switches.iter().cloned());
            // With a fraction of none it changes nothing.
            if !deploy.switches.is_empty() {
                resolved.push(deploy);
            }
        }
        Ok(resolved)
    }

    fn entry(&self, section: &Section<'_>) -> Result<Deploy, Mistake> {
        let (mut switches, ports) = self.switches(section)?;
        let fraction: f64 = section.get(key!(fraction))?;
        // Names stand in the order of the tier: neighbours, as the CQRD paper deploys.
        switches.truncate((switches.len() as f64 * fraction).round() as usize);
        let memory: Option<Bytes> = section.maybe(key!(memory))?;
        // Memory is dealt among ports: the switch with the most has the smallest parts.
        let most = ports.iter().copied().max().unwrap_or(1);
        if let Some(memory) = memory
            && memory.get() / u64::from(most) < self.mtu.get()
        {
            let why = format!("a port's part must hold a packet, {}", self.mtu);
            return Err(section.refuse(key!(memory), why));
        }
        let mut deploy = Deploy { switches, memory, scheme: None };
        match section.given(key!(scheme)) {
            None if memory.is_none() => return Err(section.missing_like(key!(scheme), "\"cqrd\"")),
            None => {}
            Some(node) => {
                let here = deploy.switch(self.switch);
                let path = section.key(key!(scheme));
                let keys = crate::scheme::SECTION.keys;
                let table = scheme::read::named(node);
                let packet = Some(self.mtu);
                let section = Section::open(self.origin, &path, keys, Some(&table), packet)?;
                let choice = scheme::read::resolve(section, &here, &ports, packet, self.compared)?;
                deploy.scheme = Some(choice);
            }
        }
        if let Some(choice) = deploy.scheme.take() {
            deploy.scheme = Some(self.on_queues(section, choice)?);
        } else if section.given(key!(queue)).is_some() {
            return Err(section.missing_like(key!(scheme), "\"red\""));
        }
        Ok(deploy)
    }

    /// A scheme of all queues, or of those that the entry names.
    fn on_queues(
        &self,
        section: &Section<'_>,
        choice: SchemeChoice,
    ) -> Result<SchemeChoice, Mistake> {
        let refuse = |why: String| section.refuse(key!(scheme), why);
        if self.by_queue && choice.scheme.scope() == Scope::Whole {
            return Err(refuse(queue::has_its_own(&choice)));
        }
        let queues = self.switch.queues;
        let Some(named) = queue::named_in(section, key!(queue), queues)? else { return Ok(choice) };
        let of = |queue: usize| match named.contains(&queue) {
            true => choice.clone(),
            false => SchemeChoice { queues: Vec::new(), ..self.scheme.at(queue).clone() },
        };
        let each = (0..usize::from(queues)).map(of).collect();
        SchemeChoice::by_queue(&choice, each).map_err(|(_, why)| refuse(why))
    }

    /// The names of the switches, and the ports of each kind among them.
    fn switches(&self, section: &Section<'_>) -> Result<(Vec<String>, Vec<u32>), Mistake> {
        let node = section.node(key!(switches)).ok_or_else(|| section.missing(key!(switches)))?;
        let items = match &node.data {
            Data::List(items) => items.as_slice(),
            _ => std::slice::from_ref(&node),
        };
        let (mut names, mut ports) = (Vec::new(), Vec::new());
        for (i, item) in items.iter().enumerate() {
            let key = match &node.data {
                Data::List(_) => format!("switches.{i}"),
                _ => "switches".to_owned(),
            };
            let wrong = |why: String| section.wrong(&key, item, &why);
            let text = item.as_text().unwrap_or_default();
            let found = found(self.graph, text).ok_or_else(|| wrong(there_are(self.graph)))?;
            for switch in found {
                let name = self.graph.name(switch).to_owned();
                if names.contains(&name) {
                    return Err(wrong(format!("{name} is named twice")));
                }
                names.push(name);
                let count = self.graph.ports(graph::Node::Switch(switch));
                // Schemes are checked once for each count of ports.
                if !ports.contains(&count) {
                    ports.push(count);
                }
            }
        }
        match names.is_empty() {
            true => Err(section.wrong(key!(switches), &node, "at least one switch is needed")),
            false => Ok((names, ports)),
        }
    }
}

/// The switches that a text names: a tier, a switch, or a range of numbers behind a name.
fn found(graph: &Graph, text: &str) -> Option<Vec<SwitchId>> {
    if let Some(tier) = graph.tiers.iter().find(|tier| tier.name == text) {
        return Some(tier.switches.clone());
    }
    if let Some(switch) = graph.switch(text) {
        return Some(vec![switch]);
    }
    // The last hyphen: names have some themselves.
    let (first, last) = text.rsplit_once('-').map_or((text, None), |(of, last)| (of, Some(last)));
    let name = first.trim_end_matches(|c: char| c.is_ascii_digit());
    // A name without digits is neither switch nor range.
    let first: u32 = first[name.len()..].parse().ok()?;
    let last: u32 = last.map_or(Ok(first), str::parse).ok()?;
    // A range that is longer than all names something that there is not.
    let fits = first <= last && (last - first) < graph.switches.len() as u32;
    // A name of no switch makes the whole range wrong.
    let all = (first..=last).map(|nth| graph.switch(&format!("{name}{nth}")));
    fits.then(|| all.collect()).flatten()
}

/// The switches by tier, for a message.
fn there_are(graph: &Graph) -> String {
    let tier = |tier: &Tier| match tier.ends().map(|switch| graph.name(switch)) {
        [first, last] if first == last => first.to_owned(),
        [first, last] => format!("{first} to {last}"),
    };
    let names: Vec<String> = graph.tiers.iter().map(tier).collect();
    let names = list_of(names.iter().map(String::as_str));
    format!("the topology has {names}: write a tier, a switch, a range or a list of these")
}
