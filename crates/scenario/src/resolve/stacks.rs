//! Reading of `[[host]]`: the entries of a file, apart by what they are for, and the hosts of each.

use crate::host::{self, Host, NicQueue};
use crate::profiles::{HostsOf, Profile};
use crate::protocol::Under;
use crate::stack::{SECTION, Stack, Stacks, is_own, names_hosts};
use crate::topology::graph::Graph;
use crate::transport::{self, CongestionControl, Transport};
use switchbed_config::key;
use switchbed_config::mistake::{Mistake, Origin};
use switchbed_config::param::Params;
use switchbed_config::section::Section;
use switchbed_config::tree::{Data, Entry, Node, Table};
use switchbed_units::Bytes;
use switchbed_units::random::Stream;

/// Most entries; each pair of them may be a transport of its own.
const MOST: usize = 12;

/// The entries of a file, apart by what they are for.
pub(crate) struct Written<'a> {
    /// `[host]`, or the entry for all other hosts.
    pub usual: Option<Node>,
    /// Label of these hosts.
    label: Option<String>,
    /// Path and place of entries that name hosts.
    others: Vec<(String, usize, &'a Node)>,
}

/// Takes the hosts of a file apart.
pub(crate) fn written<'a>(origin: &Origin, root: &'a Table) -> Result<Written<'a>, Mistake> {
    let Some(node) = root.get(SECTION.name) else {
        return Ok(Written { usual: None, label: None, others: Vec::new() });
    };
    // `[host]` alone is the settings of all hosts.
    let Some(items) = node.as_list() else {
        return Ok(Written { usual: Some(node.clone()), label: None, others: Vec::new() });
    };
    let mut found = Written { usual: None, label: None, others: Vec::new() };
    let path = |nth: usize| match items.len() {
        // A lone entry has the path that `--set host.KEY` names.
        1 => SECTION.name.to_owned(),
        _ => format!("{}.{nth}", SECTION.name),
    };
    for (nth, item) in items.iter().enumerate() {
        let section = Section::open(origin, &path(nth), SECTION.keys, Some(item), None)?;
        match item.as_table() {
            // An entry for all other hosts stands for `[host]`: its keys lie under those of the
            // others.
            Some(table) if !names_hosts(table) => {
                if found.usual.is_some() {
                    let message = "names no hosts: write hosts or share; one entry is for all others, and it \
                                   is there already";
                    return Err(origin.mistake(item.at, &path(nth), message));
                }
                if section.given(key!(transport)).is_some() {
                    let why = "the entry is for all other hosts, whose transport is [transport]'s: write \
                               hosts or share, or [transport]";
                    return Err(section.refuse(key!(transport), why));
                }
                found.label = section.maybe::<String>(key!(label))?;
                if found.label.as_deref().is_some_and(|label| label.trim().is_empty()) {
                    let why = "results name hosts by it: write a name";
                    return Err(section.refuse(key!(label), why));
                }
                found.usual = Some(only(item, |key| !is_own(key)));
            }
            _ => found.others.push((path(nth), nth, item)),
        }
    }
    if found.others.len() > MOST {
        let n = found.others.len();
        let message = format!("has {n} entries that name hosts: at most {MOST}");
        return Err(origin.mistake(node.at, SECTION.name, message));
    }
    Ok(found)
}

/// A table with some of its keys.
fn only(node: &Node, keep: impl Fn(&str) -> bool) -> Node {
    let mut node = node.clone();
    if let Data::Table(table) = &mut node.data {
        table.entries.retain(|entry| keep(&entry.key));
    }
    node
}

/// Parts of the scenario that entries are read by.
pub(crate) struct Context<'a> {
    pub origin: &'a Origin,
    pub root: &'a Table,
    pub graph: &'a Graph,
    pub profile: &'a Profile,
    /// Hosts that no entry names.
    pub usual: Host,
    pub transport: &'a Transport,
    pub seed: u64,
}

/// An entry, before its hosts are drawn.
struct Entered<'a> {
    stack: Stack,
    section: Section<'a>,
}

impl Context<'_> {
    /// The hosts of a file, and origins of the settings of those that differ.
    pub(crate) fn resolve(self, written: &Written<'_>) -> Result<(Stacks, Vec<HostsOf>), Mistake> {
        let mut entered = Vec::new();
        let mut origins = Vec::new();
        for (path, nth, node) in &written.others {
            let (entry, origin) = self.entry(path, *nth, node, written)?;
            entered.push(entry);
            origins.push(origin);
        }
        self.draw(&mut entered)?;
        let label = written.label.clone().unwrap_or_else(|| self.usual.profile.clone());
        let others = entered.into_iter().map(|entered| entered.stack).collect();
        let mut stacks = Stacks { usual: self.usual, label, others };
        tell_apart(&mut stacks);
        for (stack, origin) in stacks.others.iter().zip(&mut origins) {
            origin.label.clone_from(&stack.label);
            origin.hosts = stack.hosts.len();
        }
        Ok((stacks, origins))
    }

    fn entry<'n>(
        &'n self,
        path: &str,
        nth: usize,
        node: &'n Node,
        written: &'n Written<'_>,
    ) -> Result<(Entered<'n>, HostsOf), Mistake> {
        let mtu = self.usual.mtu;
        let section =
            Section::open(self.origin, path, SECTION.keys, Some(node), Some(mtu))?.on(self.graph);
        let named = match section.given(Host::KEY.profile) {
            Some(_) => Some(section.get::<String>(Host::KEY.profile)?),
            None => None,
        };
        // Without a profile of its own an entry has that of all other hosts.
        let of_file = named.as_deref().map(Profile::load).transpose()?;
        let profile = of_file.as_ref().unwrap_or(self.profile);
        // Switches count full packets by one MTU, so the whole network has it.
        if let Some(own) = section.maybe::<Bytes>(Host::KEY.mtu)?
            && own != mtu
        {
            let why = format!("all hosts have one mtu, {mtu}");
            return Err(section.refuse(Host::KEY.mtu, why));
        }
        let mut under = Under::table(
            written.usual.as_ref(),
            profile.table(host::SECTION.name),
            &[Host::KEY.profile, Host::KEY.mtu],
        );
        under.insert(Host::KEY.mtu, Node::text(&mtu.to_string()));
        let name = named.clone().unwrap_or_else(|| self.usual.profile.clone());
        under.insert(Host::KEY.profile, Node::text(&name));
        let own = only(node, |key| !is_own(key));
        let keys = |under| {
            Ok(Section::open(self.origin, path, Host::TABLE, Some(&own), Some(mtu))?.over(under))
        };
        // Own keys first, then those for all other hosts, then the profile's.
        let host = host::resolve(keys(&under)?, mtu)?;
        // The path of a profile's file is found from the scenario's folder already.
        let host = Host { profile: name, ..host };
        let base = Under::table(
            self.root.get(transport::SECTION.name),
            profile.table(transport::SECTION.name),
            &[],
        );
        let (transport, changed) = self.transport(&section, &base, &host)?;
        let mut overrides = keys(&under)?.overrides(Host::KEY.profile)?;
        overrides.extend(changed);
        let label: Option<String> = section.maybe(key!(label))?;
        if label.as_deref().is_some_and(|label| label.trim().is_empty()) {
            return Err(section.refuse(key!(label), "results name hosts by it: write a name"));
        }
        let origin = HostsOf {
            label: String::new(),
            hosts: 0,
            profile: host.profile.clone(),
            named: named.is_some(),
            overrides,
        };
        let hosts: Option<Vec<u32>> = match section.node(key!(hosts)) {
            Some(node) if node.as_text() == Some("all") => None,
            Some(_) => Some(section.get(key!(hosts))?),
            None => None,
        };
        let share: Option<f64> = section.maybe(key!(share))?;
        let label = label.unwrap_or_else(|| {
            match transport.control.word() == self.transport.control.word() {
                // Named by what differs: the profile, and the control where that differs too.
                true => host.profile.clone(),
                false => format!("{} {}", host.profile, transport.control.word()),
            }
        });
        let stack =
            Stack { label, named: hosts, share, hosts: Vec::new(), host, transport, entry: nth };
        Ok((Entered { stack, section }, origin))
    }

    /// TCP of an entry's hosts, and the keys to which it gives other values.
    fn transport(
        &self,
        section: &Section<'_>,
        base: &Table,
        host: &Host,
    ) -> Result<(Transport, Vec<String>), Mistake> {
        let path = section.key(key!(transport));
        let written = section.given(key!(transport)).map(|node| {
            let mut table = node.clone();
            // A kind alone stands for a table with that kind.
            if let Data::Text(_) = node.data {
                let key = CongestionControl::KEY.to_owned();
                let entry = Entry { key, at: node.at, value: node.clone() };
                table.data = Data::Table(Table { entries: vec![entry] });
            }
            table
        });
        let keys = Transport::TABLE;
        let open = || {
            let node = written.as_ref();
            Ok(Section::open(self.origin, &path, keys, node, Some(host.mtu))?.over(base))
        };
        let (transport, _) = transport::resolve(open()?, host)?;
        let kind = transport.control.word();
        let (usual, is_tcp) =
            (self.transport.control.word(), |of: &Transport| of.control.about().tcp);
        if let Some(node) = section.given(key!(transport)) {
            if !is_tcp(&transport) {
                let why = format!(
                    "{kind} is no TCP, which belongs to traffic: write traffic.transport = \"{kind}\""
                );
                return Err(section.wrong(key!(transport), node, &why));
            }
            if !is_tcp(self.transport) {
                let why = format!("hosts differ in TCP, and transport.kind is \"{usual}\"");
                return Err(section.wrong(key!(transport), node, &why));
            }
        }
        Ok((transport, open()?.overrides("")?))
    }

    /// Gives each entry its hosts: those that are named, then the shares in the order of the file.
    fn draw(&self, entered: &mut [Entered<'_>]) -> Result<(), Mistake> {
        let total = self.graph.hosts();
        let mut taken: Vec<Option<String>> = vec![None; total];
        // Named hosts before drawn ones, so that no share takes a host that is named.
        for Entered { stack, section } in entered.iter_mut().filter(|e| e.stack.share.is_none()) {
            let hosts = stack.named.clone().unwrap_or_else(|| (0..total as u32).collect());
            for &host in &hosts {
                if let Some(other) = &taken[host as usize] {
                    let name = &self.graph.host_names[host as usize];
                    let why = format!("{name} is in {other} already: no host is in two entries");
                    return Err(section.refuse(key!(hosts), why));
                }
                taken[host as usize] = Some(section.path.clone());
            }
            stack.hosts = hosts;
        }
        // One order for all shares: a greater share has the hosts of a smaller one, and more.
        let order = Stream::new(self.seed, "host stacks", 0).permutation(total as u32);
        for Entered { stack, section } in entered.iter_mut() {
            let Some(share) = stack.share else { continue };
            let of = match &stack.named {
                Some(hosts) => hosts.clone(),
                None => (0..total as u32).collect(),
            };
            let count = (share * of.len() as f64).round() as usize;
            // Rounded to nothing, the entry would be there in name alone.
            if count == 0 && share > 0.0 {
                let why =
                    format!("of {} hosts it is none: write {} or more", of.len(), least(of.len()));
                return Err(section.refuse(key!(share), why));
            }
            let free = |host: &&u32| taken[**host as usize].is_none() && of.contains(host);
            let drawn: Vec<u32> = order.iter().filter(free).take(count).copied().collect();
            if drawn.len() < count {
                let why = format!(
                    "it is {count} of {} hosts, and other entries leave {}: shares add up to 1 at most",
                    of.len(),
                    drawn.len()
                );
                return Err(section.refuse(key!(share), why));
            }
            drawn.iter().for_each(|&host| taken[host as usize] = Some(section.path.clone()));
            stack.hosts = drawn;
        }
        entered.iter_mut().for_each(|of| of.stack.hosts.sort_unstable());
        Ok(())
    }
}

/// Gives every host the card that the scenario asks for; `card` refuses another that is written.
pub(crate) fn cards(
    origin: &Origin,
    written: &Written<'_>,
    stacks: &mut Stacks,
    card: impl Fn(&Section<'_>, NicQueue) -> Result<NicQueue, Mistake>,
) -> Result<(), Mistake> {
    for ((path, _, node), stack) in written.others.iter().zip(&mut stacks.others) {
        let section = Section::open(origin, path, SECTION.keys, Some(node), None)?;
        stack.host.nic = card(&section, stack.host.nic)?;
    }
    Ok(())
}

/// The least share of so many hosts that is one of them, in thousandths.
fn least(hosts: usize) -> f64 {
    (500.0 / hosts as f64).ceil() / 1000.0
}

/// Numbers labels that several entries have.
fn tell_apart(stacks: &mut Stacks) {
    let mut seen = vec![stacks.label.clone()];
    for stack in &mut stacks.others {
        let label = stack.label.clone();
        let mut nth = 1;
        while seen.contains(&stack.label) {
            nth += 1;
            stack.label = format!("{label} ({nth})");
        }
        seen.push(stack.label.clone());
    }
}
