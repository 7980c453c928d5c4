//! `[[switch.queue]]`: queues of a port that differ from the rest.

use crate::SchemeChoice;
use crate::numbers::Numbered;
use crate::scheme::read::{named, resolve};
use switchbed_config::key;
use switchbed_config::mistake::{Mistake, Origin};
use switchbed_config::param::{Field, Param, ParamKind, SectionSpec, count};
use switchbed_config::section::Section;
use switchbed_config::tree::{At, Data, Node, Table};
use switchbed_qdisc::MAX_QUEUES;
use switchbed_qdisc::schemes::definition::Scope;
use switchbed_qdisc::switch::QueueRules;
use switchbed_qdisc::switch::{BufferPolicy, Switch, Unmarkable};
use switchbed_units::Bytes;

/// Queues as a file names them.
pub(crate) const QUEUES: ParamKind = ParamKind::Either(&[
    QUEUE,
    ParamKind::Text,
    ParamKind::List(&ParamKind::Either(&[ParamKind::Text, QUEUE])),
]);
const QUEUE: ParamKind = count(0, MAX_QUEUES as u64 - 1);

/// `[[switch.queue]]`.
pub(crate) const SECTION: SectionSpec = SectionSpec {
    name: "switch.queue",
    repeated: true,
    doc: "Queues of a port that differ from the rest.",
    keys: &[
        Param::required(
            "queue",
            QUEUES,
            "Which: 3, \"0-2\" or a list of these. No queue is in two entries.",
        ),
        Param::optional(
            "scheme",
            ParamKind::Either(&[ParamKind::Text, ParamKind::Table(crate::scheme::ALONE)]),
            "Their scheme: a name, or a table as [scheme] is. Without a name it is [scheme]'s, and so \
             are the parameters that it does not give. Default: [scheme].",
        ),
        Param::optional(
            "quantum",
            ParamKind::Size,
            "Bytes that each may send in a round, and its weight. Default: switch.quantum.",
        ),
        Param::optional(
            "strict",
            ParamKind::Flag,
            "Strict priority over the queues that have not; switch.strict_order says \
             which of several goes first. Default: as switch.strict counts.",
        ),
        Param::optional(
            "alpha",
            ParamKind::Number { min: 0.001, max: 1000.0 },
            "Each one's part of the free memory, where switch.policy has an alpha. Default: switch.alpha.",
        ),
        Param::optional(
            "reserve",
            ParamKind::Size,
            "Memory that each has for itself, with switch.asic or switch.pfc: what is more than the chip's \
             reserve is taken from what all share. Default: the chip's; else none.",
        ),
        Param::optional(
            "limit",
            ParamKind::Size,
            "The most that each may hold, whatever is free. Default: only the policy bounds it.",
        ),
        Param::optional(
            "lossless",
            ParamKind::Flag,
            "Its class pauses before it loses, as those that switch.pfc.priorities lists. Default: false.",
        ),
        Param::optional(
            "trim",
            ParamKind::Flag,
            "Whether switch.trimming cuts their packets that the memory refuses. Default: as \
             switch.trimming.queues says.",
        ),
        Param::optional(
            "unmarkable",
            Unmarkable::KIND,
            "What becomes of their arrivals that are to be marked and are not ECN-capable. Default: \
             switch.unmarkable.",
        ),
    ],
};

/// An entry that is being read.
pub(crate) struct Entry<'a> {
    /// The queues that it is for.
    pub queues: Vec<usize>,
    /// Keys of the entry.
    pub section: Section<'a>,
}

/// The entries of `[switch]`, which has so many queues.
pub(crate) fn entries<'a>(switch: &Section<'a>, queues: u16) -> Result<Vec<Entry<'a>>, Mistake> {
    let mut taken = Vec::new();
    let mut entries = Vec::new();
    for section in switch.tables("queue")? {
        let named = named_in(&section, key!(queue), queues)?;
        let Some(named) = named else { return Err(section.missing_like(key!(queue), "0")) };
        if let Some(twice) = named.iter().find(|queue| taken.contains(*queue)) {
            let why = format!("queue {twice} has an entry already: no queue is in two entries");
            return Err(section.refuse(key!(queue), why));
        }
        taken.extend(&named);
        entries.push(Entry { queues: named, section });
    }
    Ok(entries)
}

/// Rules of each queue, for a switch that has none yet: empty where all are alike.
pub(crate) fn rules(
    entries: &[Entry<'_>],
    switch: &Switch,
    (ports, mtu): (u32, Bytes),
) -> Result<Vec<QueueRules>, Mistake> {
    let queues = usize::from(switch.queues);
    let usual: Vec<QueueRules> = (0..queues).map(|queue| switch.rules(queue)).collect();
    // Read on top of the usual rules, so that an entry equal to them leaves nothing behind.
    let mut rules = usual.clone();
    for Entry { queues, section } in entries {
        let own = own_rules(section, switch, mtu)?;
        let lossless = |queue: &&usize| {
            let pfc = switch.pfc.as_ref();
            pfc.is_some_and(|pfc| pfc.priorities.iter().any(|class| usize::from(*class) == **queue))
        };
        let bounds = [key!(alpha), key!(reserve), key!(limit)];
        // A resolved scenario writes it for each queue.
        let is_usual = |key: &&str| *key == key!(alpha) && own.alpha == switch.alpha;
        if let (Some(queue), Some(key)) = (
            queues.iter().find(lossless),
            bounds.into_iter().find(|key| section.given(key).is_some() && !is_usual(key)),
        ) {
            let why = format!(
                "queue {queue} is lossless and counts at its inputs: write switch.pfc.alpha"
            );
            return Err(section.refuse(key, why));
        }
        for &queue in queues {
            let usual = rules[queue];
            rules[queue] = QueueRules {
                strict: own.strict.unwrap_or(usual.strict),
                unmarkable: own.unmarkable.unwrap_or(usual.unmarkable),
                alpha: own.alpha.or(usual.alpha),
                reserve: own.reserve,
                limit: own.limit,
            };
        }
    }
    // Reserves are every port's, and come out of what all share.
    let reserved: u64 = rules.iter().filter_map(|own| own.reserve).map(Bytes::get).sum();
    let all = Bytes::new(reserved.saturating_mul(ports.into()));
    let reserves = entries.iter().find(|entry| entry.section.given(key!(reserve)).is_some());
    // Two packets: one that is sent and one that waits.
    if let Some(entry) = reserves.filter(|_| all + mtu + mtu > switch.buffer) {
        let why = format!(
            "{ports} ports have {all} for their queues alone: two packets must be left of {}",
            switch.buffer
        );
        return Err(entry.section.refuse(key!(reserve), why));
    }
    Ok(if rules == usual { Vec::new() } else { rules })
}

/// The part of [`QueueRules`] that an entry gives.
struct OwnRules {
    strict: Option<bool>,
    unmarkable: Option<Unmarkable>,
    alpha: Option<f64>,
    reserve: Option<Bytes>,
    limit: Option<Bytes>,
}

fn own_rules(section: &Section<'_>, switch: &Switch, mtu: Bytes) -> Result<OwnRules, Mistake> {
    let policy = switch.policy.word();
    let alpha: Option<f64> = section.maybe(key!(alpha))?;
    if alpha.is_some() && !switch.policy.has_alpha() {
        let why = format!(
            "switch.policy = \"{policy}\" has no alpha: dynamic, abm, fab, occamy and asic have"
        );
        return Err(section.refuse(key!(alpha), why));
    }
    let reserve: Option<Bytes> = section.maybe(key!(reserve))?;
    if reserve.is_some() && switch.policy != BufferPolicy::Asic {
        let why = format!(
            "switch.policy = \"{policy}\" reserves nothing: write switch.asic or switch.pfc"
        );
        return Err(section.refuse(key!(reserve), why));
    }
    let limit: Option<Bytes> = section.maybe(key!(limit))?;
    if limit.is_some_and(|limit| limit < mtu) {
        return Err(section.refuse(key!(limit), format!("it must hold a packet, {mtu}")));
    }
    let (strict, unmarkable) = (section.maybe(key!(strict))?, section.maybe(key!(unmarkable))?);
    Ok(OwnRules { strict, unmarkable, alpha, reserve, limit })
}

/// The queues whose entries say that they are lossless, and the first entry that has the key.
pub(crate) fn lossless<'e, 'a>(
    entries: &'e [Entry<'a>],
) -> Result<(Vec<usize>, Option<&'e Section<'a>>), Mistake> {
    let mut classes = Vec::new();
    for entry in entries {
        if entry.section.maybe(LOSSLESS)? == Some(true) {
            classes.extend(&entry.queues);
        }
    }
    classes.sort_unstable();
    let written = entries.iter().find(|entry| entry.section.given(LOSSLESS).is_some());
    Ok((classes, written.map(|entry| &entry.section)))
}

/// The key that makes classes lossless.
pub(crate) const LOSSLESS: &str = SECTION.key("lossless");

/// The key that has packets trimmed, or not.
pub(crate) const TRIM: &str = SECTION.key("trim");

/// The queues that a key names, of so many that a port has.
pub(crate) fn named_in(
    section: &Section<'_>,
    key: &'static str,
    queues: u16,
) -> Result<Option<Vec<usize>>, Mistake> {
    let Some(node) = section.node(key) else { return Ok(None) };
    let all = Numbered { one: "queue", owner: "a port", total: queues.into(), named: &|_| None };
    let numbers = all.read(section, key, &node)?;
    Ok(Some(numbers.into_iter().map(|number| number as usize).collect()))
}

/// The surroundings by which a port's scheme is read.
pub(crate) struct Context<'a> {
    pub origin: &'a Origin,
    pub root: &'a Table,
    pub switch: &'a Switch,
    pub ports: &'a [u32],
    pub packet: Option<Bytes>,
}

impl Context<'_> {
    /// `[scheme]` and what the entries of `[switch]` put in its place.
    pub(crate) fn schemes(
        &self,
        section: &Section<'_>,
        scheme: SchemeChoice,
    ) -> Result<SchemeChoice, Mistake> {
        let entries = entries(section, self.switch.queues)?;
        if !entries.is_empty() && scheme.scheme.scope() == Scope::Whole {
            return Err(section.refuse("queue", has_its_own(&scheme)));
        }
        let mut each: Vec<SchemeChoice> =
            (0..usize::from(self.switch.queues)).map(|queue| scheme.at(queue).clone()).collect();
        let scheme = SchemeChoice { queues: Vec::new(), ..scheme };
        for Entry { queues, section } in &entries {
            let Some(node) = section.given(key!(scheme)) else { continue };
            let path = section.key(key!(scheme));
            let keys = crate::scheme::ALONE;
            let table = self.over_default(named(node));
            let inner = Section::open(self.origin, &path, keys, Some(&table), self.packet)?;
            let limit: Option<Bytes> = section.maybe(key!(limit))?;
            // Thresholds are checked against what the queue can hold.
            let buffer = limit.map_or(self.switch.buffer, |limit| limit.min(self.switch.buffer));
            let here = Switch { buffer, ..self.switch.clone() };
            let choice = resolve(inner, &here, self.ports, self.packet, &[])?;
            queues.iter().for_each(|&queue| each[queue] = choice.clone());
        }
        let names: Vec<&str> = each.iter().map(SchemeChoice::name).collect();
        SchemeChoice::by_queue(&scheme, each).map_err(|(queue, why)| {
            let given = |entry: &&Entry<'_>| {
                entry.queues.contains(&queue) && entry.section.given(key!(scheme)).is_some()
            };
            let at = self.root.get("scheme").map_or(At::Unwritten, |node| node.at);
            match entries.iter().find(given) {
                Some(entry) => self.at_name(&entry.section, names[queue], why),
                None => {
                    let message = format!("is \"{}\": {why}", names[queue]);
                    self.origin.mistake(at, "scheme.name", message)
                }
            }
        })
    }

    /// The mistake that an entry's scheme is.
    fn at_name(&self, entry: &Section<'_>, scheme: &str, why: String) -> Mistake {
        let at = entry.given(key!(scheme)).map_or(entry.at, |node| node.at);
        let key = format!("{}.name", entry.key(key!(scheme)));
        self.origin.mistake(at, &key, format!("is \"{scheme}\": {why}"))
    }

    /// A scheme's table; one without a name changes parameters of `[scheme]`.
    fn over_default(&self, node: Node) -> Node {
        let default = self.root.get("scheme").and_then(Node::as_table);
        let (Data::Table(table), Some(default)) = (&node.data, default) else { return node };
        let Some(name) = default.get("name").filter(|_| table.get("name").is_none()) else {
            return node;
        };
        let mut table = table.clone();
        table.insert("name", name.clone());
        let mut params = default.get("params").and_then(Node::as_table).cloned();
        if let Some(own) = table.get("params").and_then(Node::as_table) {
            let params = params.get_or_insert_default();
            own.entries.iter().for_each(|entry| params.insert(&entry.key, entry.value.clone()));
        }
        if let Some(params) = params {
            let at = table.get("params").map_or(node.at, |params| params.at);
            table.insert("params", Node { at, data: Data::Table(params) });
        }
        Node { at: node.at, data: Data::Table(table) }
    }
}

/// The refusal of a scheme that has its own queues, beside `[[switch.queue]]`.
pub(crate) fn has_its_own(scheme: &SchemeChoice) -> String {
    let name = scheme.name();
    format!("{name} has a port's queues and scheduler of its own: leave [[switch.queue]] away")
}
