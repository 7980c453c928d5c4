//! From the tree to a [`Scenario`]: every section read by its table of keys, then
//! checked against the others. Each section's file holds what is its own.

mod admits;
mod failed;
pub(crate) mod fields;
mod stacks;
pub(crate) mod trims;

use crate::Scenario;
use crate::profiles::{self, Hosts, Profile};
use crate::protocol::{Protocol, Under};
use crate::protocols::{self, Protocols};
use crate::scheme::SchemeInfo;
use crate::sections::SECTIONS;
use crate::sections::{home, similar_home};
use crate::topology::choice::Choice;
use crate::topology::graph::Graph;
use crate::traffic::{Entry, Site};
use crate::{FctEnd, Host, Roce, scenario};
use switchbed_config::mistake::{Mistake, Origin, list_of};
use switchbed_config::param::SectionSpec;
use switchbed_config::section::Section;
use switchbed_config::similar::similar;
use switchbed_config::tree::{At, Data, Node, Table};
use switchbed_units::Span;

/// The scenario that the tree describes. `compared` are the schemes that the file
/// compares: they share `[scheme.params]`.
pub(crate) fn resolve(
    origin: &Origin,
    root: &Table,
    compared: &[&'static SchemeInfo],
) -> Result<(Scenario, Hosts), Mistake> {
    check_names(origin, root)?;
    let plain = |spec: SectionSpec, packet| {
        Section::open(origin, spec.name, spec.keys, root.get(spec.name), packet)
    };
    let hosts = stacks::written(origin, root)?;
    let of_hosts = |packet| {
        let spec = crate::host::SECTION;
        Section::open(origin, spec.name, spec.keys, hosts.usual.as_ref(), packet)
    };
    let choice = of_hosts(None)?;
    let named = choice.given(Host::KEY.profile).is_some();
    let profile = Profile::load(&choice.get::<String>(Host::KEY.profile)?)?;
    let open = |spec: SectionSpec, packet| {
        let section =
            if spec == crate::host::SECTION { of_hosts(packet)? } else { plain(spec, packet)? };
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

    let (host, transport, warm_at) = profiles::hosts_of(
        |packet| open(crate::host::SECTION, packet),
        |packet| open(crate::transport::SECTION, packet),
    )?;
    let (mtu, packet) = (host.mtu, Some(host.mtu));
    let topology = crate::topology::resolve(open(crate::topology::SECTION, packet)?, mtu)?;
    let ports: Vec<u32> = topology.switch_groups().iter().map(|group| group.ports).collect();
    let routing = crate::routing::resolve(open(crate::routing::SECTION, packet)?)?;
    let run_section = open(crate::run::SECTION, packet)?;
    let run = crate::run::resolve(&run_section)?;
    let mut graph = Graph::new(&topology, Span::ZERO);
    let overrides = [crate::host::SECTION, crate::transport::SECTION]
        .map(|spec| open(spec, packet)?.overrides(Host::KEY.profile));
    let [of_host, of_transport] = overrides;
    let overrides = [of_host?, of_transport?].concat();
    let context = stacks::Context {
        origin,
        root,
        graph: &graph,
        profile: &profile,
        usual: host,
        transport: &transport,
        seed: run.seed,
    };
    let (mut host, others) = context.resolve(&hosts)?;
    graph.delay_hosts(&scenario::delays(&host, topology.hosts(), run.seed));
    let graph = routing.on(graph);
    let switch = crate::switch::resolve(open(crate::switch::SECTION, packet)?, &ports, mtu)?;
    let implied = crate::roce::under(&transport);
    let section = plain(crate::roce::SECTION, packet)?.over(&implied);
    let entries = root.get("traffic").and_then(Node::as_list).unwrap_or_default();
    let own =
        |entry: &Node| entry.as_table().is_some_and(|e| e.get(Entry::KEY.transport).is_some());
    let roce = crate::roce::resolve(section, &transport, &switch, mtu, entries.iter().any(own))?;
    let section = open(crate::scheme::SECTION, packet)?;
    let scheme = crate::scheme::read::resolve(section, &switch, &ports, packet, compared)?;
    let by_queue = crate::queue::Context { origin, root, switch: &switch, ports: &ports, packet };
    let switch_section = open(crate::switch::SECTION, packet)?;
    let scheme = by_queue.schemes(&switch_section, scheme)?;
    let context = crate::deploy::Context {
        origin,
        graph: &graph,
        switch: &switch,
        scheme: &scheme,
        by_queue: switch_section.given("queue").is_some(),
        mtu,
        compared,
    };
    let deploy = context.resolve(root)?;
    let mut measure = crate::measure::resolve(
        open(crate::measure::SECTION, packet)?,
        (&run, entries.len()),
        &graph,
    )?;
    crate::routing::check(origin, root, &routing, &measure)?;
    let schemes: Vec<_> =
        [&scheme].into_iter().chain(deploy.iter().filter_map(|d| d.scheme.as_ref())).collect();
    trims::check_scheme(origin, root, &switch, &schemes)?;
    let reaction =
        crate::reaction::resolve(open(crate::reaction::SECTION, packet)?, &schemes, mtu)?;
    let site = Site { topology: &topology, graph: &graph, switch: &switch, run: &run, mtu };
    let classes = Roce::KEY.classes;
    let under = Under {
        transport: Under::table(root.get("transport"), profile.table("transport"), &[]),
        roce: Under::table(root.get("roce"), Some(&implied), &[classes]),
        kind: transport.control.word(),
        mtu,
        queues: switch.queues,
    };
    let traffic = crate::traffic::read::resolve(origin, root, &site, &under)?;
    // Of several queue pairs the first: the card is the same for all.
    let of_entries = traffic.iter().filter_map(|entry| entry.transport.as_ref()?.queue_pairs());
    let pairs = roce.iter().chain(of_entries).next();
    let card = |section: &Section<'_>, nic| match (&switch.pfc, pairs) {
        (Some(_), _) => crate::host::pausable(section, nic),
        (None, Some(_)) => crate::roce::card(section, nic),
        (None, None) => Ok(nic),
    };
    host.usual.nic = card(&choice, host.usual.nic)?;
    stacks::cards(origin, &hosts, &mut host, card)?;
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
    let mut event = crate::event::resolve(origin, root, &graph, &run, (mtu, switch.pfc.as_ref()))?;
    failed::drain(&traffic, &graph, &mut event)?;
    failed::lose(&topology, &mut event);
    let hosts = Hosts { profile: host.usual.profile.clone(), named, overrides, others };
    let scenario = Scenario {
        title,
        topology,
        routing,
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
    fields::check(origin, root, &scenario, &graph)?;
    trims::check(origin, root, &scenario)?;
    check_sprays(origin, root, &scenario, &graph)?;
    check_limiters(origin, root, &scenario, &graph)?;
    if crate::event::reroute(&scenario.routing, &scenario.event) {
        crate::routing::check_events(origin, root, &scenario.routing, &scenario.measure)?;
    }
    let transports = Protocols::of(&scenario).all().len();
    if transports > protocols::MOST {
        let at = root.get("traffic").map_or(At::Unwritten, |node| node.at);
        let most = protocols::MOST;
        let message = format!("has {transports} different transports: at most {most} in one run");
        return Err(origin.mistake(at, "traffic", message));
    }
    if let Some((key, message)) = admits::refused(&scenario, &graph) {
        return Err(origin.mistake(written(root, key), key, message));
    }
    Ok((scenario, hosts))
}

/// Where a dotted key is written, or the innermost table around it that is.
fn written(root: &Table, key: &str) -> At {
    let (mut at, mut table) = (At::Unwritten, Some(root));
    for part in key.split('.') {
        let Some(node) = table.and_then(|table| table.get(part)) else { break };
        (at, table) = (node.at, node.as_table());
    }
    at
}

/// Refuses what must know the path of each flow, where senders spray their packets over several.
fn check_sprays(
    origin: &Origin,
    root: &Table,
    scenario: &Scenario,
    graph: &Graph,
) -> Result<(), Mistake> {
    let protocols = Protocols::of(scenario);
    let Some(sprays) = protocols.all().iter().find(|protocol| protocol.sprays()) else {
        return Ok(());
    };
    if graph.switches.len() < 2 && graph.homes.several().is_empty() {
        return Ok(());
    }
    let why = format!(
        "{} sprays packets over all paths: leave it out, or write roce.entropies = 1",
        sprays.kind()
    );
    // The table of flows that pauses held leaves these flows out, and parts are known for fair shares.
    crate::routing::check_paths(origin, root, Choice::ByPacket, &scenario.measure, &why)
}

/// Refuses messages to sources where hosts have several links: a rate limiter belongs to one.
fn check_limiters(
    origin: &Origin,
    root: &Table,
    scenario: &Scenario,
    graph: &Graph,
) -> Result<(), Mistake> {
    let (Some(&host), Some(_)) = (graph.homes.several().first(), &scenario.reaction) else {
        return Ok(());
    };
    let message = format!(
        "sends messages to sources, whose rate limiters have one link, and the host {} has {}: choose another scheme, \
         or put a switch before each such host (`switchbed topology convert --nics`)",
        graph.host_names[host.index()],
        graph.cables(host).len()
    );
    let at = root.get("scheme").map_or(At::Unwritten, |node| node.at);
    Err(origin.mistake(at, "scheme", message))
}

/// Refuses what is no section, and a section that is not written as one.
pub(crate) fn check_names(origin: &Origin, root: &Table) -> Result<(), Mistake> {
    for entry in &root.entries {
        let name = entry.key.as_str();
        if name == "title" || name == "compare" {
            continue;
        }
        let mut forms = SECTIONS.iter().filter(|section| section.name == name);
        let Some(section) = forms.next() else {
            return Err(origin.mistake(entry.at, name, unknown_name(name, &[])));
        };
        let in_both = forms.next().is_some();
        let (fits, form) = match (&entry.value.data, section.repeated) {
            (Data::List(_) | Data::Table(_), _) if in_both => (true, String::new()),
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

/// Message about a name that no section has; `aliases` would do too.
pub(crate) fn unknown_name(name: &str, aliases: &[&str]) -> String {
    let names = || ["title", "compare"].into_iter().chain(SECTIONS.iter().map(|s| s.name));
    let found = similar(name, names().chain(aliases.iter().copied()));
    match found.map(str::to_owned).or_else(|| home(name)).or_else(|| similar_home(name)) {
        Some(guess) => format!("is unknown: did you mean {guess}?"),
        None => {
            let mut names: Vec<&str> = names().collect();
            names.dedup();
            format!("is unknown: a scenario has {}", list_of(names.into_iter()))
        }
    }
}
