//! The file of a live switch: `[switch]` and `[scheme]` as a scenario has them, beside
//! `[live]` and `[[port]]`.

use crate::build;
use crate::live::LIVE as SECTION;
use crate::live::{Attach, Device, Faults, LIVE, Live, LivePort, PORT, Route, Settings};
use crate::place;
use crate::scheme::read as scheme;
use crate::scheme::{SchemeInfo, find};
use crate::sections::home;
use crate::{Classify, Switch};
use crate::{queue, reaction, switch};
use std::net::IpAddr;
use std::path::Path;
use switchbed_config::key;
use switchbed_config::mistake::{Mistake, Origin, list_of};
use switchbed_config::param::SectionSpec;
use switchbed_config::section::Section;
use switchbed_config::similar::similar;
use switchbed_config::text;
use switchbed_config::tree::{At, Data, Node, Table, parse, parse_value};
use switchbed_units::{Bytes, Rate, Span};

/// The tables of a live switch's file.
pub(crate) const SECTIONS: [SectionSpec; 5] =
    [LIVE, PORT, crate::switch::SECTION, crate::scheme::SECTION, crate::reaction::LIVE_SECTION];

/// Least and greatest line rate: below, a packet takes a second; above, no thread follows.
const RATES: (Rate, Rate) = (Rate::from_bps(10_000), Rate::from_gbps(100));

/// The live switch of the file at `path`, under the overrides `key=value`, and what must be said
/// of these.
///
/// # Errors
/// The first mistake found, in the file or in an override.
pub fn live(path: &Path, sets: &[String]) -> Result<(Live, Vec<String>), Mistake> {
    let file = path.display().to_string();
    let text = text::read(path).map_err(|error| {
        let message = format!("cannot read the live switch's file: {error}");
        Mistake { file: file.clone(), line: None, key: String::new(), message }
    })?;
    live_of(&file, &text, sets)
}

/// The same of a text; `file` names it in messages.
///
/// # Errors
/// As [`live`].
pub fn live_of(file: &str, text: &str, sets: &[String]) -> Result<(Live, Vec<String>), Mistake> {
    let overrides = sets.iter().map(|set| format!("set {set}")).collect();
    let origin = Origin { file: file.to_owned(), folder: Default::default(), overrides, home };
    let mut notes = Vec::new();
    let mut root = parse(text).map_err(|(line, message)| {
        origin.mistake(At::Line(line), "", format!("this is no TOML: {message}"))
    })?;
    for (i, text) in sets.iter().enumerate() {
        notes.extend(set(&origin, &mut root, text, At::Override(i))?);
    }
    Ok((resolve(&origin, &root)?, notes))
}

/// Applies an override; answers what must be said of it.
fn set(origin: &Origin, root: &mut Table, text: &str, at: At) -> Result<Option<String>, Mistake> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(origin.mistake(at, "", "an override is written key=value"));
    };
    let key = key.trim();
    let wrong = |message: String| origin.mistake(at, key, message);
    let value = parse_value(value, at).map_err(wrong)?;
    let mut steps: Vec<String> = key.split('.').map(|step| step.trim().to_owned()).collect();
    match steps[0].as_str() {
        "switch" | "scheme" => {
            let note = drop_params(root, key, &value);
            return place::set(root, key, &value).map(|()| note).map_err(wrong);
        }
        "live" | "reaction" if steps.len() == 2 => {}
        "port" if steps.len() == 3 => {
            let ports = root.get("port").and_then(Node::as_list).unwrap_or_default();
            let name = |port: &Node| port.as_table()?.get("name")?.as_text().map(str::to_owned);
            let names: Vec<String> = ports.iter().filter_map(name).collect();
            let Some(i) = names.iter().position(|name| *name == steps[1]) else {
                let names = list_of(names.iter().map(String::as_str));
                return Err(wrong(format!("names no port: there are {names}")));
            };
            steps[1] = i.to_string();
        }
        _ => {
            let form =
                "switch.KEY, scheme, scheme.params.KEY, live.KEY, reaction.KEY or port.NAME.KEY";
            return Err(wrong(format!("cannot be set: write {form}")));
        }
    }
    place::put(root, &steps, value).map(|()| None).map_err(wrong)
}

/// Another scheme takes the place of the one at work: the parameters that only the old one has
/// go with it. Says which.
fn drop_params(root: &mut Table, key: &str, value: &Node) -> Option<String> {
    let name = |scheme: &Table| scheme.get("name")?.as_text().map(str::to_owned);
    let new = match key {
        "scheme" => value.as_text().map(str::to_owned).or_else(|| name(value.as_table()?)),
        "scheme.name" => value.as_text().map(str::to_owned),
        _ => None,
    };
    // Parameters that the new scheme lacks would be refused, though the file was right for the old
    // one.
    let Data::Table(scheme) = &mut root.entry("scheme")?.data else { return None };
    let (old, new) = (find(&name(scheme)?)?, find(&new?)?);
    let Data::Table(params) = &mut scheme.entry("params")?.data else { return None };
    let knows = |scheme: &SchemeInfo, key: &str| scheme.params.iter().any(|p| p.name == key);
    let gone = |key: &str| knows(old, key) && !knows(new, key);
    let names: Vec<String> =
        params.entries.iter().map(|e| e.key.clone()).filter(|key| gone(key)).collect();
    names.iter().for_each(|name| params.remove(name));
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!("{} of scheme {} dropped: {} has no such parameters", names, old.name, new.name)
    })
}

fn resolve(origin: &Origin, root: &Table) -> Result<Live, Mistake> {
    check_names(origin, root)?;
    let title = match root.get("title") {
        None => String::new(),
        Some(node) => node.as_text().map(str::to_owned).ok_or_else(|| {
            origin.mistake(node.at, "title", format!("is {node}: it must be a text in quotes"))
        })?,
    };
    let open = |spec: SectionSpec, packet| {
        Section::open(origin, spec.name, spec.keys, root.get(spec.name), packet)
    };
    let section = open(LIVE, None)?;
    // Sizes may be written in packets, whose size is this key: it is read before all others.
    let mtu: Bytes = section.get(key!(mtu))?;
    if mtu.get() < 64 || mtu.get() > 9_216 {
        return Err(section.refuse(key!(mtu), "an interface takes from 64 to 9216 bytes"));
    }
    let packet = Some(mtu);
    let section = open(LIVE, packet)?;
    let port = ports(origin, root, &section)?;
    let all = [port.len() as u32];
    let switch = switch::resolve(open(crate::switch::SECTION, packet)?, &all, mtu)?;
    crate::resolve::trims::check_live(origin, root, &switch)?;
    let scheme_section = open(crate::scheme::SECTION, packet)?;
    let scheme = scheme::resolve(scheme_section, &switch, &all, packet, &[])?;
    let by_queue = queue::Context { origin, root, switch: &switch, ports: &all, packet };
    let scheme = by_queue.schemes(&open(crate::switch::SECTION, packet)?, scheme)?;
    crate::resolve::trims::check_scheme(origin, root, &switch, &[&scheme])?;
    if scheme.python.is_some() {
        let at = root.get("scheme").map_or(At::Unwritten, |node| node.at);
        let message = "is \"python\": it runs in the simulator alone; write it in Rust for this";
        return Err(origin.mistake(at, "scheme.name", message));
    }
    let reaction = reaction::live(open(crate::reaction::LIVE_SECTION, packet)?)?;
    let reaction = port.iter().any(|port| port.reaction).then_some(reaction);
    let live = settings(section, mtu, &port, &switch)?;
    let live = Live { title, switch, scheme, reaction, live, port };
    check_pfc(origin, root, &live)?;
    Ok(live)
}

/// Refuses lossless classes that no port has or that have no memory, and ports without such classes.
fn check_pfc(origin: &Origin, root: &Table, live: &Live) -> Result<(), Mistake> {
    let taking = live.port.iter().position(|port| port.pfc);
    let at = root.get("switch").map_or(At::Unwritten, |node| node.at);
    let Some(_) = &live.switch.pfc else {
        return match taking {
            None => Ok(()),
            Some(port) => {
                let why = "is true: write switch.pfc with the classes that are lossless";
                Err(origin.mistake(At::Unwritten, &format!("port.{port}.pfc"), why))
            }
        };
    };
    if taking.is_none() {
        let why = "needs a [[port]] with pfc = true, whose peer obeys: else leave it away";
        return Err(origin.mistake(at, "switch.pfc", why));
    }
    let (links, longest, shortest) = live.inputs();
    let inputs = build::Inputs { links: &links, longest, shortest };
    let memory = live.switch.lossless_memory(live.port.len() as u32, inputs);
    memory.map(drop).map_err(|found| {
        let why = format!(
            "headroom of {} leaves too little of the memory, {}: give switch.pool more, \
             switch.pfc.headroom or live.bucket less",
            found.headroom, found.memory
        );
        origin.mistake(at, "switch.pfc", why)
    })
}

fn check_names(origin: &Origin, root: &Table) -> Result<(), Mistake> {
    for entry in &root.entries {
        let name = entry.key.as_str();
        let names = || ["title"].into_iter().chain(SECTIONS.iter().map(|section| section.name));
        if names().all(|known| known != name) {
            let message = match similar(name, names()) {
                Some(guess) => format!("is unknown: did you mean {guess}?"),
                None => format!("is unknown: a live switch's file has {}", list_of(names())),
            };
            return Err(origin.mistake(entry.at, name, message));
        }
    }
    Ok(())
}

fn settings(
    section: Section<'_>,
    mtu: Bytes,
    ports: &[LivePort],
    switch: &Switch,
) -> Result<Settings, Mistake> {
    // Read above from another section: asked for here so that `close` knows it as used.
    section.given(key!(mtu));
    let bucket: Option<Bytes> = section.maybe(key!(bucket))?;
    if bucket.is_some_and(|bucket| bucket < mtu) {
        return Err(section.refuse(key!(bucket), format!("it must hold a packet, {mtu}")));
    }
    let series_every: Option<Span> = section.maybe(key!(series_every))?;
    if series_every.is_some_and(|every| every < Span::from_us(10)) {
        return Err(
            section.refuse(key!(series_every), "no thread wakes more often than every 10us")
        );
    }
    let settings = Settings {
        mtu,
        fraction: section.get(key!(fraction))?,
        bucket,
        classes: classes(&section, switch)?,
        routes: routes(&section, ports)?,
        learn: section.get(key!(learn))?,
        realtime: section.get(key!(realtime))?,
        socket: section.maybe(key!(socket))?,
        series_every,
        seed: section.get(key!(seed))?,
    };
    section.close("a live switch")?;
    Ok(settings)
}

/// The mistake that an item of a list is.
fn wrong_item(section: &Section<'_>, key: &str, i: usize, why: &str) -> Mistake {
    let items = section.given(key).and_then(Node::as_list).unwrap_or_default();
    match items.get(i) {
        Some(item) => section.wrong(&format!("{key}.{i}"), item, why),
        None => section.refuse(key, why),
    }
}

/// Each DSCP's class: itself where the file says nothing.
fn classes(section: &Section<'_>, switch: &Switch) -> Result<[u8; 64], Mistake> {
    let by_class = switch.classify == Classify::Class;
    let mut classes = std::array::from_fn(|dscp| dscp as u8);
    for (i, text) in section.list::<String>(key!(classes))?.unwrap_or_default().iter().enumerate() {
        let Some((range, class)) = class_of(text) else {
            let why = "it must be a DSCP or a range of them, and a class: \"46=7\", \"8-15=1\"";
            return Err(wrong_item(section, key!(classes), i, why));
        };
        if by_class && u16::from(class) >= switch.queues {
            let why = format!("class {class} has no queue: switch.queues is {}", switch.queues);
            return Err(wrong_item(section, key!(classes), i, &why));
        }
        classes[range].fill(class);
    }
    Ok(classes)
}

fn class_of(text: &str) -> Option<(std::ops::RangeInclusive<usize>, u8)> {
    let (range, class) = text.split_once('=')?;
    // IP's DSCP has six bits (RFC 2474).
    let number = |text: &str| text.trim().parse().ok().filter(|&n: &u8| n < 64);
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last) = (number(first)?, number(last)?);
    (first <= last).then_some((usize::from(first)..=usize::from(last), number(class)?))
}

/// Stations that are set.
fn routes(section: &Section<'_>, ports: &[LivePort]) -> Result<Vec<Route>, Mistake> {
    let mut routes = Vec::new();
    for (i, text) in section.list::<String>(key!(routes))?.unwrap_or_default().iter().enumerate() {
        let wrong = |why: &str| wrong_item(section, key!(routes), i, why);
        let station = text.split_once('=').and_then(|(mac, port)| Some((mac_of(mac)?, port)));
        let Some((station, name)) = station else {
            return Err(wrong("it must be a station and a port: \"02:00:00:00:00:01=left\""));
        };
        let name = name.trim();
        let port = ports.iter().position(|port| port.name == name);
        let port = port.ok_or_else(|| wrong("there is no such port"))?;
        routes.push(Route { station, port, name: name.to_owned() });
    }
    Ok(routes)
}

// Two digits each: `from_str_radix` alone would take `+f`.
fn mac_of(text: &str) -> Option<[u8; 6]> {
    let parts: Vec<&str> = text.trim().split(':').collect();
    let bytes: Option<Vec<u8>> = parts
        .iter()
        .map(|part| u8::from_str_radix(part, 16).ok().filter(|_| part.len() == 2))
        .collect();
    bytes?.try_into().ok()
}

fn ports(origin: &Origin, root: &Table, all: &Section<'_>) -> Result<Vec<LivePort>, Mistake> {
    let (rate, delay): (Rate, Span) = (all.get(key!(rate))?, all.get(key!(delay))?);
    check_rate(all, rate)?;
    let nodes = match root.get("port") {
        Some(Node { data: Data::List(nodes), .. }) => nodes.as_slice(),
        Some(node) => return Err(origin.mistake(node.at, "port", "must be written as [[port]]")),
        None => &[],
    };
    let mut ports: Vec<LivePort> = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        let section = Section::open(origin, &format!("port.{i}"), PORT.keys, Some(node), None)?;
        let port = port(section, rate, delay)?;
        if ports.iter().any(|other| other.name == port.name) {
            let message = format!("is \"{}\": two ports have this name", port.name);
            return Err(origin.mistake(node.at, &format!("port.{i}.name"), message));
        }
        ports.push(port);
    }
    match ports.len() {
        0 | 1 => {
            let message = "a switch joins at least two: write [[port]] for each interface";
            Err(origin.mistake(
                root.get("port").map_or(At::Unwritten, |node| node.at),
                "port",
                message,
            ))
        }
        n if n > usize::from(u16::MAX) => {
            Err(origin.mistake(At::Unwritten, "port", "a switch has at most 65535 ports"))
        }
        _ => Ok(ports),
    }
}

/// Refuses a rate, of a port or of all, that a live port does not have.
fn check_rate(section: &Section<'_>, rate: Rate) -> Result<(), Mistake> {
    const SECTION: SectionSpec = PORT;
    if (RATES.0..=RATES.1).contains(&rate) {
        return Ok(());
    }
    let why = format!("a live port's rate is from {} to {}", RATES.0, RATES.1);
    Err(section.refuse(key!(rate), why))
}

fn port(section: Section<'_>, rate: Rate, delay: Span) -> Result<LivePort, Mistake> {
    const SECTION: SectionSpec = PORT;
    let name: String = section.get(key!(name))?;
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    // IFNAMSIZ is 16 with the closing NUL; names go on the command line of `ip`, hence no hyphen
    // first.
    if name.is_empty() || name.len() > 15 || !name.chars().all(fits) || name.starts_with(['-', '.'])
    {
        let why = "an interface's name has 1 to 15 letters, digits, -, _ or .";
        return Err(section.refuse(key!(name), why));
    }
    let attach = match section.get(key!(device))? {
        Device::Interface => Attach::Interface,
        Device::Tap => {
            let netns: Option<String> = section.maybe(key!(netns))?;
            if netns.as_ref().is_some_and(|netns| netns.is_empty() || !netns.chars().all(fits)) {
                let why = "a namespace's name has letters, digits, -, _ or .";
                return Err(section.refuse(key!(netns), why));
            }
            let address: Option<String> = section.maybe(key!(address))?;
            if address.as_ref().is_some_and(|address| !is_address(address)) {
                let why = "it must be an address with a prefix length, such as \"10.0.0.1/24\"";
                return Err(section.refuse(key!(address), why));
            }
            Attach::Tap { netns, address }
        }
    };
    let rate = section.get_or(key!(rate), rate)?;
    check_rate(&section, rate)?;
    let port = LivePort {
        name,
        attach,
        rate,
        delay: section.get_or(key!(delay), delay)?,
        host_rate: section.maybe(key!(host_rate))?,
        offload: section.get(key!(offload))?,
        pfc: section.get(key!(pfc))?,
        reaction: section.get(key!(reaction))?,
        pcap: section.maybe(key!(pcap))?,
        faults: Faults {
            drop: section.get(key!(drop))?,
            corrupt: section.get(key!(corrupt))?,
            duplicate: section.get(key!(duplicate))?,
            lose: section.list(key!(lose))?.unwrap_or_default(),
            mark: section.list(key!(mark))?.unwrap_or_default(),
        },
    };
    section.close("device = \"interface\"")?;
    Ok(port)
}

fn is_address(text: &str) -> bool {
    text.split_once('/').is_some_and(|(address, length)| {
        let most = address.parse().map(|ip: IpAddr| if ip.is_ipv4() { 32 } else { 128 });
        matches!((most, length.parse::<u8>()), (Ok(most), Ok(length)) if length <= most)
    })
}
