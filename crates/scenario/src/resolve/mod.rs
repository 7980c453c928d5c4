//! From the tree to a [`Scenario`]: every section read by its table of keys, then
//! checked against the others. Each section's file holds what is its own.

mod admits;
mod deploy;
mod elsewhere;
mod event;
pub(crate) mod fields;
pub(crate) mod hosts;
mod links;
pub(crate) mod measure;
mod offered;
pub(crate) mod protocol;
pub(crate) mod reaction;
mod roce;
pub(crate) mod scheme;
pub(crate) mod sizes;
pub(crate) mod switch;
mod topology;
mod traffic;
mod transport;

use self::protocol::Under;
use crate::mistake::{Mistake, Origin, home, list_of, near};
use crate::profile::{Hosts, Profile};
use crate::section::Section;
use crate::sections::SECTIONS;
use crate::tree::{At, Data, Node, Table};
use switchbed_sim::Scenario;
use switchbed_spec::param::Params;
use switchbed_spec::protocol::Protocol;
use switchbed_spec::scheme::SchemeInfo;
use switchbed_spec::traffic::{Entry, Site};
use switchbed_spec::{
    Coalesce, FctEnd, Host, Lso, Merge, MergeFlush, NicFifo, NicQueue, Roce, Transport,
};
use switchbed_units::{Bytes, Span};

/// The scenario that the tree describes. `compared` are the schemes that the file
/// compares: they share `[scheme.params]`.
pub(crate) fn resolve(
    origin: &Origin,
    root: &Table,
    compared: &[&'static SchemeInfo],
) -> Result<(Scenario, Hosts), Mistake> {
    check_names(origin, root)?;
    let plain = |spec: switchbed_spec::Section, packet| {
        Section::open(origin, spec.name, spec.keys, root.get(spec.name), packet)
    };
    let choice = plain(switchbed_spec::host::SECTION, None)?;
    let named = choice.given(Host::KEY.profile).is_some();
    let profile = Profile::load(&choice.get::<String>(Host::KEY.profile)?)?;
    let open = |spec: switchbed_spec::Section, packet| {
        let section = plain(spec, packet)?;
        Ok(match profile.table(spec.name) {
            Some(table) => section.over(table),
            None => section,
        })
    };
    let title = match root.get("title") {
        None => String::new(),
        Some(node) => node.as_text().map(str::to_owned).ok_or_else(|| {
            origin.mistake(node.at, "title", format!("is {node}: it must be a text in quotes"))
        })?,
    };

    let (host, transport, warm_at) = hosts_of(
        |packet| open(switchbed_spec::host::SECTION, packet),
        |packet| open(switchbed_spec::transport::SECTION, packet),
    )?;
    let (mtu, packet) = (host.mtu, Some(host.mtu));
    let topology = topology::resolve(open(switchbed_spec::topology::SECTION, packet)?, mtu)?;
    let ports: Vec<u32> = topology.switch_groups().iter().map(|group| group.ports).collect();
    let switch = switch::resolve(open(switchbed_spec::switch::SECTION, packet)?, &ports, mtu)?;
    let implied = roce::under(&transport);
    let section = plain(switchbed_spec::roce::SECTION, packet)?.over(&implied);
    let entries = root.get("traffic").and_then(Node::as_list).unwrap_or_default();
    let own =
        |entry: &Node| entry.as_table().is_some_and(|e| e.get(Entry::KEY.transport).is_some());
    let roce = roce::resolve(section, &transport, &switch, mtu, entries.iter().any(own))?;
    let section = open(switchbed_spec::scheme::SECTION, packet)?;
    let scheme = scheme::resolve(section, &switch, &ports, packet, compared)?;
    let context = deploy::Context { origin, topology: &topology, switch: &switch, mtu, compared };
    let deploy = context.resolve(root)?;
    let run_section = open(switchbed_spec::run::SECTION, packet)?;
    let run = measure::run(&run_section)?;
    let mut measure =
        measure::measure(open(switchbed_sim::measure::SECTION, packet)?, &run, &topology)?;
    let schemes: Vec<_> =
        [&scheme].into_iter().chain(deploy.iter().filter_map(|d| d.scheme.as_ref())).collect();
    let reaction =
        reaction::resolve(open(switchbed_spec::reaction::SECTION, packet)?, &schemes, mtu)?;
    let site = Site { topology: &topology, switch: &switch, run: &run, mtu };
    let classes = Roce::KEY.classes;
    let under = Under {
        transport: Under::table(root.get("transport"), profile.table("transport"), &[]),
        roce: Under::table(root.get("roce"), Some(&implied), &[classes]),
        kind: transport.control.word(),
        mtu,
        queues: switch.queues,
    };
    let traffic = traffic::resolve(origin, root, &site, &under)?;
    let of_entries = traffic.iter().filter_map(|entry| entry.transport.as_ref()?.queue_pairs());
    let pairs = roce.iter().chain(of_entries).next();
    let nic = match (&switch.pfc, pairs) {
        (Some(_), _) => pausable(&choice, host.nic)?,
        (None, Some(_)) => roce::card(&choice, host.nic)?,
        (None, None) => host.nic,
    };
    let host = Host { nic, ..host };
    if let (Some(roce), Some(_)) = (pairs, &reaction) {
        let message = format!(
            "notifies sources, whose rate limiters are TCP's and UDP's: queue pairs have {} instead",
            roce.control.word()
        );
        let at = root.get("scheme").map_or(At::Unwritten, |node| node.at);
        return Err(origin.mistake(at, "scheme.name", message));
    }
    let about = transport.control.about();
    if !about.tcp && !about.roce {
        let reliable = |entry: &Entry| entry.transport.as_ref().is_some_and(Protocol::is_reliable);
        if !traffic.iter().any(reliable) {
            // Without ACKs a flow ends where it arrives.
            measure.fct_end = FctEnd::Received;
        }
        let asks = |entry: &Entry| entry.asks() && !reliable(entry);
        if let Some(i) = traffic.iter().position(asks) {
            let entry = root.get("traffic").and_then(|node| node.as_list()).map(|list| list[i].at);
            let kind = transport.control.word();
            let message =
                format!("asks for answers, which needs TCP hosts: transport.kind is \"{kind}\"");
            let at = entry.unwrap_or(At::Unwritten);
            return Err(origin.mistake(at, &format!("traffic.{i}.kind"), message));
        }
    }
    if transport.warm.is_some() && !traffic.iter().any(|traffic| traffic.persists()) {
        let message =
            "warms persistent connections, and no traffic has connections = \"persistent\"";
        return Err(origin.mistake(warm_at, "transport.warm", message));
    }
    let event = event::resolve(origin, root, &topology, &run, (mtu, switch.pfc.as_ref()))?;
    let overrides = [switchbed_spec::host::SECTION, switchbed_spec::transport::SECTION]
        .map(|spec| open(spec, packet)?.overrides());
    let [of_host, of_transport] = overrides;
    let overrides = [of_host?, of_transport?].concat();
    let hosts = Hosts { profile: host.profile.clone(), named, overrides };
    let scenario = Scenario {
        title,
        topology,
        switch,
        scheme,
        deploy,
        host,
        transport,
        roce,
        reaction,
        traffic,
        event,
        measure,
        run,
    };
    fields::check(origin, root, &scenario)?;
    if let Some((key, message)) = admits::refused(&scenario) {
        let section = key.split('.').next().unwrap_or(key);
        let at = root.get(section).map_or(At::Unwritten, |node| node.at);
        return Err(origin.mistake(at, key, message));
    }
    Ok((scenario, hosts))
}

/// A card that can be paused, unless the file asks for another: the profile's cannot.
fn pausable(section: &Section<'_>, nic: NicQueue) -> Result<NicQueue, Mistake> {
    if section.given(NicQueue::KEY).is_some() && nic != NicQueue::Classes {
        let why =
            "switch.pfc pauses classes at hosts, too: it must be \"classes\", or be left away";
        return Err(section.refuse(NicQueue::KEY, why));
    }
    Ok(NicQueue::Classes)
}

/// The hosts and their transport, and where `warm` was written. Either section is opened where
/// packets are so long.
pub(crate) fn hosts_of<'a>(
    host_section: impl Fn(Option<Bytes>) -> Result<Section<'a>, Mistake>,
    transport_section: impl Fn(Option<Bytes>) -> Result<Section<'a>, Mistake>,
) -> Result<(Host, Transport, At), Mistake> {
    // The unit pkt means the MTU, so that comes first.
    let mtu = host_section(None)?.get(Host::KEY.mtu)?;
    let (ours, tcp) = (host_section(Some(mtu))?, transport_section(Some(mtu))?);
    let host = host(ours, mtu)?;
    let (transport, warm_at) = transport::resolve(tcp, &host)?;
    Ok((host, transport, warm_at))
}

/// Refuses what is no section, and a section that is not written as one.
pub(crate) fn check_names(origin: &Origin, root: &Table) -> Result<(), Mistake> {
    for entry in &root.entries {
        let name = entry.key.as_str();
        if name == "title" || name == "compare" {
            continue;
        }
        let Some(section) = SECTIONS.iter().find(|section| section.name == name) else {
            return Err(origin.mistake(entry.at, name, unknown_name(name, &[])));
        };
        let (fits, form) = match (&entry.value.data, section.repeated) {
            (Data::List(_), true) | (Data::Table(_), false) => (true, String::new()),
            (_, true) => (false, format!("[[{name}]], once for each source")),
            (_, false) => (false, format!("[{name}]")),
        };
        if !fits {
            let message = format!("must be written as {form}");
            return Err(origin.mistake(entry.at, name, message));
        }
    }
    Ok(())
}

/// What is wrong with a name that no section has; `aliases` would do too.
pub(crate) fn unknown_name(name: &str, aliases: &[&str]) -> String {
    let names = || ["title", "compare"].into_iter().chain(SECTIONS.iter().map(|s| s.name));
    let near = near(name, names().chain(aliases.iter().copied()));
    match near.map(str::to_owned).or_else(|| home(name)) {
        Some(guess) => format!("is unknown: did you mean {guess}?"),
        None => format!("is unknown: a scenario has {}", list_of(names())),
    }
}

fn host(section: Section<'_>, mtu: Bytes) -> Result<Host, Mistake> {
    if mtu.get() < 64 || mtu.get() > 65_535 {
        return Err(section.refuse(Host::KEY.mtu, "a packet has from 64 to 65535 bytes"));
    }
    let host = Host::from_values(&mut section.values()?);
    if let NicQueue::Fifo(NicFifo { buffer }) = host.nic
        && buffer < mtu
    {
        return Err(section.refuse(NicFifo::KEY.buffer, format!("it must hold a packet, {mtu}")));
    }
    links::delay(&section, Host::KEY.delay)?;
    if host.lso.max < mtu {
        return Err(section.refuse(Lso::KEY.max, format!("it must hold a packet, {mtu}")));
    }
    if host.lso.beta == 0.0 {
        return Err(section.refuse(Lso::KEY.beta, "a share is greater than 0"));
    }
    if host.coalesce.frames > 0 && host.coalesce.time == Span::ZERO {
        let why = "fewer frames would wait for ever: give coalesce_time, too";
        return Err(section.refuse(Coalesce::KEY.frames, why));
    }
    let waits = host.merge.packets > 1 && host.merge.flush == MergeFlush::Time;
    if waits && host.merge.time + host.coalesce.time == Span::ZERO {
        let why = "a packet would not wait for the next: it must be longer, or coalesce_time";
        return Err(section.refuse(Merge::KEY.time, why));
    }
    section.close("nic = \"switch\"")?;
    Ok(host)
}

/// Where a section's `what` was written, for mistakes that show only later.
fn written(section: &Section<'_>, what: &str) -> At {
    section.given(what).map_or(section.at, |node| node.at)
}
