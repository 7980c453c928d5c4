//! `[[host]]`: hosts that differ from the rest, by number or as a share of all that the seed draws.
//! An entry without `hosts` and `share` is for all others, as `[host]` is.
//!
//! A key of an entry lies over `[host]` and `[transport]`, and these over the entry's profile.

use crate::host::Host;
use crate::topology::hosts::HOSTS;
use crate::transport::{self, CongestionControl, Transport};
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use switchbed_config::key;
use switchbed_config::param::{Param, ParamKind, Params, SectionSpec, join, len};
use switchbed_config::tree::Table;
use switchbed_units::Bytes;
use switchbed_units::ids::HostId;

/// The hosts of a scenario: all alike, or some that differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Stacks {
    /// Hosts that no entry names.
    pub usual: Host,
    /// Label of these hosts.
    pub label: String,
    /// Entries that name hosts, or a share of them.
    pub others: Vec<Stack>,
}

/// Hosts that differ from the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// Label in results.
    pub label: String,
    /// Hosts that the entry names, from which a share is drawn; `None`: all.
    pub named: Option<Vec<u32>>,
    /// Part of these hosts that the seed draws; `None`: all of them.
    pub share: Option<f64>,
    /// The hosts, in rising order.
    pub hosts: Vec<u32>,
    /// Keys of `[host]`.
    pub host: Host,
    /// Keys of `[transport]`.
    pub transport: Transport,
    /// Place of the entry in the file.
    pub entry: usize,
}

impl From<Host> for Stacks {
    fn from(usual: Host) -> Stacks {
        Stacks { label: usual.profile.clone(), usual, others: Vec::new() }
    }
}

impl Stacks {
    /// The longest packet, which is one for all hosts.
    pub fn mtu(&self) -> Bytes {
        self.usual.mtu
    }

    /// Number of each host's stack: 0 of those that no entry names. Empty where no entry names any.
    pub fn numbers(&self, hosts: u32) -> Vec<u8> {
        if self.others.is_empty() {
            return Vec::new();
        }
        let mut numbers = vec![0; hosts as usize];
        for (nth, stack) in (1..).zip(&self.others) {
            stack.hosts.iter().for_each(|&host| numbers[host as usize] = nth);
        }
        numbers
    }

    /// Keys of `[host]` of a stack by number.
    pub fn host(&self, stack: u8) -> &Host {
        // Stack 0 is the usual one, so an entry's place is one less than its number.
        let nth = usize::from(stack).checked_sub(1);
        nth.and_then(|nth| self.others.get(nth)).map_or(&self.usual, |stack| &stack.host)
    }

    /// Keys of TCP of a stack by number; `None`: [transport]'s.
    pub fn transport(&self, stack: u8) -> Option<&Transport> {
        let nth = usize::from(stack).checked_sub(1);
        nth.and_then(|nth| self.others.get(nth)).map(|stack| &stack.transport)
    }

    /// Label of a stack by number.
    pub fn label(&self, stack: u8) -> &str {
        let nth = usize::from(stack).checked_sub(1);
        nth.and_then(|nth| self.others.get(nth)).map_or(&self.label, |stack| &stack.label)
    }

    /// Keys of `[host]` of every stack.
    pub fn each(&self) -> impl Iterator<Item = &Host> {
        std::iter::once(&self.usual).chain(self.others.iter().map(|stack| &stack.host))
    }
}

impl Serialize for Stacks {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.others.is_empty() {
            return self.usual.serialize(to);
        }
        struct Usual<'a>(&'a Stacks);
        impl Serialize for Usual<'_> {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                let mut map = to.serialize_map(None)?;
                map.serialize_entry(key!(label), &self.0.label)?;
                entries(&mut map, &self.0.usual)?;
                map.end()
            }
        }
        let mut list = to.serialize_seq(Some(1 + self.others.len()))?;
        list.serialize_element(&Usual(self))?;
        self.others.iter().try_for_each(|stack| list.serialize_element(stack))?;
        list.end()
    }
}

impl Serialize for Stack {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        if let Some(hosts) = &self.named {
            map.serialize_entry(key!(hosts), hosts)?;
        }
        if let Some(share) = self.share {
            map.serialize_entry(key!(share), &share)?;
        }
        map.serialize_entry(key!(label), &self.label)?;
        entries(&mut map, &self.host)?;
        map.serialize_entry(key!(transport), &self.transport)?;
        map.end()
    }
}

fn entries<M: SerializeMap>(map: &mut M, host: &Host) -> Result<(), M::Error> {
    host.entries().iter().try_for_each(|(name, value)| map.serialize_entry(name, value))
}

/// `[[host]]`.
pub(crate) const SECTION: SectionSpec = SectionSpec {
    name: "host",
    repeated: true,
    doc: "Hosts that differ from the rest, in the place of `[host]`: TOML allows one of both. An entry \
          without `hosts` and `share` is for all other hosts. Keys lie over those of that entry and of \
          `[transport]`, and these over the entry's profile.",
    keys: KEYS,
};
const OWN: &[Param] = &[
    Param::optional(
        "hosts",
        HOSTS,
        "Which: 3, \"0-7\", a host's name, or a list of these. No host is in two entries.",
    ),
    Param::optional(
        "share",
        ParamKind::Number { min: 0.0, max: 1.0 },
        "The part of these hosts, or of all without `hosts`, that run.seed draws, rounded; a greater share \
         draws the same hosts and more.",
    ),
    Param::optional(
        "label",
        ParamKind::Text,
        "Name of these hosts in results. Default: the profile, with the transport's kind where that differs.",
    ),
    Param::optional(
        "transport",
        ParamKind::Either(&[KINDS, ParamKind::Table(Transport::TABLE)]),
        "TCP of these hosts: a kind, \"cubic\", or a table of keys over [transport]'s. Flows of a traffic \
         entry with a transport have that one.",
    ),
];
/// The kinds of `[transport]`.
const KINDS: ParamKind = CongestionControl::TABLE[0].kind;
const OF_HOST: &[Param] = &optional::<{ Host::TABLE.len() }>(Host::TABLE);
const PARTS: &[&[Param]] = &[OWN, OF_HOST];
const KEYS: &[Param] = &join::<{ len(PARTS) }>(PARTS);

/// The same keys, which may be left out.
const fn optional<const N: usize>(keys: &[Param]) -> [Param; N] {
    let mut all = join::<N>(&[keys]);
    let mut i = 0;
    while i < N {
        all[i].required = false;
        all[i].default = None;
        i += 1;
    }
    all
}

/// Whether an entry names hosts.
pub(crate) fn names_hosts(table: &Table) -> bool {
    [key!(hosts), key!(share)].iter().any(|key| table.get(key).is_some())
}

/// The place of the entry for all other hosts, and the number of entries; `None`: no list is written.
pub(crate) fn places(root: &Table) -> Option<(Option<usize>, usize)> {
    let items = root.get(SECTION.name)?.as_list()?;
    let usual = items.iter().position(|item| item.as_table().is_some_and(|of| !names_hosts(of)));
    Some((usual, items.len()))
}

/// Whether a key is one that only entries which name hosts have.
pub(crate) fn is_own(key: &str) -> bool {
    OWN.iter().any(|param| param.name == key)
}

/// The stack of a host.
pub fn of(numbers: &[u8], host: HostId) -> u8 {
    numbers.get(host.index()).copied().unwrap_or(0)
}

impl Transport {
    /// Settings of a connection whose data a host with these settings sends to one with those: each end's
    /// own, and what both agree on as it opens.
    ///
    /// SACK and ECN need both ends (RFC 2018, section 2; RFC 3168, section 6.1.1), segments and headers are
    /// as the lesser allows. Accurate ECN needs a receiver that has it (RFC 9768, section 3.1): without
    /// one, a connection that marks ECT(1) has no ECN, since RFC 9331, section 4.3, forbids it there.
    pub fn toward(&self, peer: &Transport) -> Transport {
        let counts = |of: &Transport| of.control.about().scalable;
        let sack = self.sack_blocks > 0 && peer.sack_blocks > 0;
        let mut both = Transport {
            mss: self.mss.min(peer.mss),
            header: self.header.min(peer.header),
            // The receiver says how it acknowledges and how much it takes.
            receive_window: peer.receive_window,
            initial_receive_window: peer.initial_receive_window,
            ack_every: peer.ack_every,
            ack_delay: peer.ack_delay,
            ack_delay_max: peer.ack_delay_max,
            quick_acks: peer.quick_acks,
            ack_short: peer.ack_short,
            ack_pushed: peer.ack_pushed,
            sack_blocks: if sack { peer.sack_blocks } else { 0 },
            ecn: self.ecn && peer.ecn && (!counts(self) || counts(peer)),
            ecn_acks: peer.ecn_acks,
            dsack: self.dsack && peer.dsack && sack,
            accecn_option: self.accecn_option && peer.accecn_option,
            ack_class_follows: peer.ack_class_follows,
            ..self.clone()
        };
        if !sack {
            // RACK and tail loss probes work by SACK blocks.
            both.loss_detection = transport::LossDetection::Dupthresh;
            both.tail_loss_probe = false;
        }
        both
    }

    /// Whether its receivers echo each mark of a classic connection as it comes (RFC 8257, section 3.2).
    pub fn echoes_exactly(&self) -> bool {
        let about = self.control.about();
        about.exact_echo && !about.scalable
    }
}
