//! The memory that a run will take beside the program, as far as its scenario tells before it
//! starts: what ports, flows, samples, captured packets, connections and the packets between them
//! come to. The bytes of each are measured by `make bench-memory`; how many there will be is worked
//! out here, rather too many than too few.

use crate::observe::monitors::{self, Ahead};
use crate::run::dead::{self, Dead};
use crate::transport::tcp::Config;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use switchbed_scenario::protocol::Protocol;
use switchbed_scenario::protocols::Protocols;
use switchbed_scenario::scheme::Value;
use switchbed_scenario::topology::graph::Graph;
use switchbed_scenario::topology::ports::is_host;
use switchbed_scenario::traffic::{Around, Entry, Expected, Frames, Links, Listed};
use switchbed_scenario::transport::{CongestionControl, Hystart, LossDetection, Pacing};
use switchbed_scenario::{Host, NicFifo, NicQueue, Transport};
use switchbed_scenario::{QueueProbe, Scenario, SchemeChoice};
use switchbed_units::{Bytes, Span};

/// Bytes that every run takes: pages of the program that it is the first to touch, its thread's memory, the ring of
/// events, tables without rows.
const RUN_BYTES: u64 = 3_300_000;
/// A flow's record, its row, and its part in the percentiles.
const FLOW_BYTES: u64 = 108;
const TCP_FLOW_BYTES: u64 = 112;
/// A flow that never ends, more than another.
const ENDLESS_BYTES: u64 = 180;
/// A flow that the network knows of before it starts.
const START_BYTES: u64 = 280;
/// How many there are of those at most.
const STARTS: f64 = 4_096.0;
/// A connection with both its halves, its flow under way, and word of it from host to host: TCP's (some controls
/// remember more), TCP's as RFC 5681 and 6675 have it, one without TCP, a queue pair's and what INT adds to that.
const TCP_BYTES: u64 = 2_190;
const PLAIN_TCP_BYTES: u64 = 1_510;
const DATAGRAM_BYTES: u64 = 1_470;
const PAIR_BYTES: u64 = 1_730;
const INT_PAIR_BYTES: u64 = 1_870;
/// Delivery rates and the model of a control that steers by one, more than another TCP connection.
const MODEL_BYTES: u64 = 1_520;
/// Part of the flows that come one after another which have their models at the fullest moment: others' handshakes are
/// under way.
const MODELLED: f64 = 0.78;
/// A connection whose host is paused, with its flow's packets in the card.
const PAUSED_BYTES: u64 = 2_340;
/// A queue pair whose packets may arrive in any order, more than another; and its packets' states, once it has sent some.
const SPRAY_BYTES: u64 = 420;
const SPRAYED_BYTES: u64 = 1_100;
/// A queue pair that waits for its turn in its card, more than another.
const TURN_BYTES: u64 = 200;
/// A segment that is out, where its sender keeps a log (`tcp/sent.rs`), and a model's record of it (`tcp/rate.rs`). Both
/// are in rings, which double, and of which a connection has these places anyway.
const SENT_BYTES: u64 = 32;
const DEPARTED_BYTES: u64 = 56;
const RING: f64 = 4.0;
/// State of losses in both halves of a TCP connection: the sender's repair (120 bytes), the receiver's data beyond a
/// hole (96), space for four ranges in each (64), and the allocator's share.
const LOSING_BYTES: u64 = 385;
/// Such a connection with its model and its records of what is missing; the part of flows with one, and the least
/// timeouts that it waits for. (Measured: up to a fifth at lines between switches, which fill.)
const STALLED_BYTES: u64 = 6_000;
const STALLED: f64 = 0.22;
const TIMEOUTS: f64 = 8.0;
/// A collective's message with its operations, and what its ideal time goes by; and programs as such.
const MESSAGE_BYTES: u64 = 520;
const PROGRAMS_BYTES: u64 = 400_000;
/// A message of a schedule beside the schedule's own tables: its flow's record, its part in the percentiles, and the
/// state of its two operations. The table of flows takes the memory that the schedule and these give back.
const SCHEDULED_BYTES: u64 = 112;
/// State of an operation of a schedule besides a message's two.
const OPERATION_BYTES: u64 = 16;
/// An operation of the rank that has most, while that is read; messages take this memory later.
const READ_BYTES: u64 = 80;
/// Such a message while it is under way, and a TCP connection of a schedule, more than another: flows that wait there.
const UNDER_WAY_BYTES: u64 = 510;
const QUEUED_BYTES: u64 = 1_300;
/// Bytes of schedules however small they are.
const SCHEDULES_BYTES: u64 = 800_000;
/// Packets that a card takes: Linux's `fq`, and others of what waits for a line that is down or paused.
const CARD_PACKETS: f64 = 10_000.0;
/// A sample of a queue and its row in `series`.
const SERIES_BYTES: u64 = 112;
/// An interval of a class and its row in `goodput`.
const GOODPUT_BYTES: u64 = 86;
/// A probe and its row, while tables are made.
const PROBE_BYTES: u64 = 126;
/// A host, a port with its link and its row, and a queue of a switch's port, before the first packet.
const HOST_BYTES: u64 = 840;
const PORT_BYTES: u64 = 2_030;
/// First connections of a host, more than others: its tables begin with places for several.
const FIRST_BYTES: u64 = 400;
const QUEUE_BYTES: u64 = 60;
/// A port whose queues are measured, each of these with its row, and one that has held packets: most are short.
const MEASURED_PORT_BYTES: u64 = 360;
const MEASURED_BYTES: u64 = 90;
const LENGTHS_BYTES: u64 = 1_200;
/// Packets after which a queue has had most of its lengths.
const LENGTHS: f64 = 18.0;
/// A place of a scheme that hashes flows to queues of its own, and a queue that a flow has made there.
const PLACE_BYTES: u64 = 8;
const FLOW_QUEUE_BYTES: u64 = 270;
/// A flow or class whose arrivals a scheme smooths, at a port.
const PARTY_BYTES: u64 = 60;
/// A packet in the network: what it is, what it carries, and its next event.
const PACKET_BYTES: u64 = 150;
/// A captured packet, as it is noted and as its file has it.
const CAPTURED_BYTES: u64 = 226;
/// The shortest packet that a line is full of: an ACK with its share of the data it is for.
const SHORT_BYTES: f64 = 500.0;

/// Steps of laying loads on links that a forecast takes: some milliseconds. In larger networks hosts' links are taken
/// for the busiest.
const MOST_STEPS: u64 = 10_000_000;

/// A part of a run's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Description of the part, in the plural.
    pub what: &'static str,
    /// How many there will be.
    pub count: u64,
    /// Bytes of one such item.
    pub each: u64,
}

/// Forecasts the memory of a run, part by part. `listed` is the size of its flow lists.
pub fn memory(scenario: &Scenario, listed: Listed) -> Vec<Part> {
    let Scenario { topology, switch, traffic, measure, run, .. } = scenario;
    let until = run.until.map_or(f64::INFINITY, |until| until.as_secs_f64());
    let rtt_s = 2.0 * (topology.one_way() + scenario.delays().most() * 2).as_secs_f64();
    let protocols = Protocols::of(scenario);
    let space = match switch.pfc.is_some() {
        true => f64::INFINITY,
        false => switch.pool.unwrap_or(switch.buffer).as_f64(),
    };
    // Links between switches may be busier than hosts' are.
    let groups = topology.switch_groups();
    let switches = groups.iter().map(|group| u64::from(group.count.unwrap_or(1))).sum::<u64>();
    let soon = switches.saturating_mul(topology.switch_ports()) <= MOST_STEPS;
    let graph = (groups.len() > 1 && soon).then(|| Graph::new(topology, Span::ZERO));
    let links = graph.as_ref().and_then(|graph| Links::new(graph, topology.host_rates()));
    let expected = |(entry, traffic): (usize, &Entry)| {
        let frames = Frames::of(protocols.get(entry as u32, 0));
        let factors = frames.factors(traffic.sizes(), traffic.persists());
        let fabric = links.as_ref().and_then(|links| links.crowded(&traffic.source, factors));
        traffic.expected(&Around { topology, until_s: until, rtt_s, frames, space, listed, fabric })
    };
    let mut sources: Vec<Expected> = traffic.iter().enumerate().map(expected).collect();
    let dead = dead::lines(scenario);
    let stuck = dead.as_ref().map(|dead| dead::stuck(scenario, &protocols, &sources, dead));
    let stuck = stuck.unwrap_or_default();
    sources.iter_mut().zip(&stuck).for_each(|(source, stuck)| source.connections += stuck.cut_off);
    let paused: f64 = stuck.iter().map(|stuck| stuck.paused).sum();
    // A run without an end of its own lasts about as long as its flows start.
    let lasts = match run.until {
        Some(_) => until,
        None => sources.iter().map(|source| source.lasts_s).fold(0.0, f64::max),
    };
    let (ports, queues) = (topology.switch_ports() as f64, f64::from(switch.queues));
    let often = |every: Option<Span>| every.map_or(0.0, |every| lasts / every.as_secs_f64());
    let rows = |rows: f64| rows.min(measure.samples as f64);
    let measured = match &measure.queues {
        QueueProbe::Off => 0.0,
        QueueProbe::All => ports,
        QueueProbe::Ports(ports) => ports.len() as f64,
    };
    // The fastest host bounds the packets a second that any port can see.
    let line = topology.host_rates().most().as_bps() as f64 / 8.0 / SHORT_BYTES;
    let open: f64 = sources.iter().map(|source| source.open).sum();
    let ahead = Ahead {
        lasts_s: lasts,
        packets_per_s: line,
        open,
        links: ports + topology.host_links() as f64,
    };
    // A host is two ways.
    let ways = measure.capture.iter().map(|name| 1 + u32::from(is_host(name)));
    let captured = (lasts * line).min(measure.capture_packets as f64);
    let sum = |f: fn(&Expected) -> f64| sources.iter().map(f).sum::<f64>();
    let flows = sum(|source| source.flows);
    let tcp = |entry: usize| protocols.of_entry(entry as u32).find_map(Protocol::tcp);
    let tcps: Vec<Option<&Transport>> = (0..sources.len()).map(tcp).collect();
    // Flows without TCP wait until their card asks.
    let others = Windows { data: f64::INFINITY, ..Windows::default() };
    // The stack whose hosts let windows open furthest.
    let windows = scenario.host.each().map(|host| {
        let each = traffic.iter().zip(&sources).zip(&tcps).map(|((entry, of), tcp)| {
            let network = in_network(scenario, &protocols, std::slice::from_ref(of));
            let of = (of, entry.persists(), lasts);
            tcp.map_or(others, |tcp| Flows::new(scenario, (host, tcp), of).windows(network))
        });
        let sum = each.fold(Windows::default(), |a, b| a.with(b, |a, b| a + b));
        let space = topology.host_links() as f64 * room_of(host);
        Windows { in_cards: sum.in_cards.min(space), ..sum }
    });
    let windows = windows.fold(Windows::default(), |a, b| a.with(b, f64::max));
    let network = in_network(scenario, &protocols, &sources);
    let packets = (network + windows.in_cards).min(windows.data.max(network))
        + held_up(&protocols, dead.as_ref());
    let each_flow = |tcp: &Option<&Transport>| match tcp {
        Some(_) => TCP_FLOW_BYTES,
        None => FLOW_BYTES,
    };
    // Messages of schedules have a line of their own.
    let own = |of: &Expected| (of.flows - of.scheduled.0).max(0.0);
    let flows_of = by_size(sources.iter().zip(&tcps).map(|(of, tcp)| (each_flow(tcp), own(of))));
    let each_connection = |entry: usize| {
        protocols.of_entry(entry as u32).map(|of| connection(scenario, of)).max().unwrap_or(0)
    };
    let connections = sources.iter().enumerate();
    let connections = by_size(connections.map(|(nth, of)| (each_connection(nth), of.connections)));
    let model = |tcp: &Option<&Transport>| tcp.is_some_and(|tcp| tcp.control.about().model);
    let models = traffic.iter().zip(&sources).zip(&tcps).filter(|(_, tcp)| model(tcp));
    // A flow's end gives its model back; a connection that is kept keeps it.
    let models = models.map(|((entry, of), _)| match entry.persists() {
        true => of.connections,
        false => {
            let later = (of.open.max(of.under_way) - of.together).max(0.0);
            of.connections.min(of.together + MODELLED * later)
        }
    });
    let models: f64 = models.sum();
    let losing = sources.iter().zip(&tcps).filter(|(_, tcp)| tcp.is_some());
    let losing = losing.map(|(source, _)| source.losing).sum();
    let pairs = |(entry, _): &(usize, &Expected)| {
        protocols.of_entry(*entry as u32).any(|of| of.queue_pairs().is_some())
    };
    let turns = sources.iter().enumerate().filter(pairs).map(|(_, of)| of.together).sum();
    // Queues of a port that hold packets, and the port as a whole.
    let classes = (0..switch.queues)
        .filter(|&class| class == 0 || traffic.iter().any(|entry| entry.has_class(class)));
    // Packets at a port on average: at least one of each flow there and one back.
    let packets_a_port = flows * 2.0 * hops(scenario) / ports;
    let lengths = (classes.count() as f64 + 1.0) * (packets_a_port / LENGTHS).min(1.0);
    let alone = sources.iter().filter(|of| of.messages == 0.0).map(own).sum::<f64>();
    let parts = [
        ("runs", 1.0, RUN_BYTES),
        // Flows that start together are under way at once, and wait for no start.
        // Programs start their own.
        ("starts", (alone - sum(|source| source.together)).clamp(0.0, STARTS), START_BYTES),
        ("hosts", topology.hosts().into(), HOST_BYTES),
        ("hosts with flows", flows.min(topology.hosts().into()), FIRST_BYTES),
        ("ports", topology.ports() as f64, PORT_BYTES),
        ("queues", ports * queues, QUEUE_BYTES),
        ("measured ports", measured, MEASURED_PORT_BYTES),
        ("measured queues", measured * (queues + 1.0), MEASURED_BYTES),
        ("queues with lengths", measured * lengths, LENGTHS_BYTES),
    ];
    let places = places(scenario);
    let parts = parts.into_iter().chain([
        ("places of flow queues", ports * places, PLACE_BYTES),
        // Data and ACKs of a flow, at each of the switches of its way.
        ("flow queues", (ports * places).min(flows * 2.0 * hops(scenario)), FLOW_QUEUE_BYTES),
        ("smoothed arrivals", parties(scenario, flows, lasts), PARTY_BYTES),
    ]);
    // A line for each size of flow: TCP's take more.
    let parts = parts.chain(flows_of.into_iter().map(|(each, count)| ("flows", count, each)));
    let parts = parts.chain([("endless flows", endless(&sources), ENDLESS_BYTES)]);
    let connections = connections.into_iter();
    let parts = parts.chain(connections.map(|(each, count)| ("connections", count, each)));
    let waits = |(source, tcp): &(&Expected, &Option<&Transport>)| {
        source.scheduled.0 > 0.0 && tcp.is_some()
    };
    // Messages of a schedule wait in their connection where TCP carries them.
    let queued = sources.iter().zip(&tcps).filter(waits).map(|(of, _)| of.connections).sum();
    let (messages, scheduled) = (sum(|source| source.messages), sum(|source| source.scheduled.0));
    let longest = most(sources.iter().map(|of| of.tables.1));
    let later = scheduled * SCHEDULED_BYTES as f64 / READ_BYTES as f64;
    let parts = parts.chain([
        ("programs", f64::from(u8::from(messages > 0.0)), PROGRAMS_BYTES),
        ("messages of programs", messages, MESSAGE_BYTES),
        ("schedules", f64::from(u8::from(scheduled > 0.0)), SCHEDULES_BYTES),
        ("connections of schedules", queued, QUEUED_BYTES),
        ("models of connections", models, MODEL_BYTES),
        ("paused connections", paused, PAUSED_BYTES),
        ("messages under way", sum(|source| source.under_way), UNDER_WAY_BYTES),
        ("sprayed connections", sprayed(scenario, &protocols, &sources, until), SPRAYED_BYTES),
        ("messages of schedules", scheduled, SCHEDULED_BYTES),
        ("operations of schedules", sum(|source| source.scheduled.1), OPERATION_BYTES),
        ("bytes of schedules' tables", sum(|source| source.tables.0), 1),
        ("operations of a rank that is read", (longest - later).max(0.0), READ_BYTES),
        ("segments in logs", windows.logged, SENT_BYTES),
        ("segments in models", windows.modelled, DEPARTED_BYTES),
        ("queue pairs in cards", turns, TURN_BYTES),
        ("connections that lose packets", losing, LOSING_BYTES),
        ("connections that wait for timeouts", stalled(&sources, &tcps), STALLED_BYTES),
        ("packets", packets, PACKET_BYTES),
        ("rows of series", rows(often(measure.series_every) * measured * queues), SERIES_BYTES),
        ("rows of goodput", rows(often(measure.goodput_every) * queues), GOODPUT_BYTES),
        ("probes", rows(sum(|source| source.probes)), PROBE_BYTES),
    ]);
    let monitored = monitors::rows(&measure.monitors, &ahead)
        .map(|(what, count, each)| (what, rows(count), each));
    let captured = captured * f64::from(ways.sum::<u32>());
    let captured = ("captured packets", captured, CAPTURED_BYTES);
    let parts = parts.chain(monitored).chain([captured]);
    let part = |(what, count, each): (_, f64, _)| Part { what, count: count.ceil() as u64, each };
    parts.map(part).filter(|part| part.count > 0).collect()
}

/// Counts of what takes as many bytes each, together; rising by bytes.
fn by_size(each: impl Iterator<Item = (u64, f64)>) -> BTreeMap<u64, f64> {
    let mut found = BTreeMap::new();
    each.for_each(|(bytes, count)| *found.entry(bytes).or_insert(0.0) += count);
    found
}

/// Queues of flows that a scheme may have at a port, if it has any.
fn places(scenario: &Scenario) -> f64 {
    let deployed = scenario.deploy.iter().flat_map(|deploy| &deploy.scheme);
    let schemes = std::iter::once(&scenario.scheme).chain(deployed);
    let flows = |scheme: &SchemeChoice| match scheme.params().get("flows") {
        Some(Value::Count(flows)) => *flows as f64,
        _ => 0.0,
    };
    most(schemes.map(flows))
}

/// Flows whose arrivals a scheme still remembers, at each port of their ways.
fn parties(scenario: &Scenario, flows: f64, lasts_s: f64) -> f64 {
    let deployed = scenario.deploy.iter().flat_map(|deploy| &deploy.scheme);
    let remembered_s = |scheme: &SchemeChoice| {
        let params = scheme.params();
        match (params.get("t_s"), params.get("beta")) {
            (Some(Value::Span(interval)), Some(Value::Number(beta))) => {
                // Until what is left of a first window is less than a byte.
                let intervals = if *beta < 1.0 { -WINDOW_LN / libm::log(1.0 - beta) } else { 1.0 };
                intervals * interval.as_secs_f64()
            }
            _ => 0.0,
        }
    };
    let remembered_s = most(std::iter::once(&scenario.scheme).chain(deployed).map(remembered_s));
    let at_a_time = flows * (remembered_s / lasts_s.max(f64::MIN_POSITIVE)).min(1.0);
    // Data at one port of each switch and ACKs at another.
    at_a_time * 2.0 * hops(scenario)
}

/// Logarithm of the bytes of a first window.
const WINDOW_LN: f64 = 9.6;

/// Switches on the longest way.
fn hops(scenario: &Scenario) -> f64 {
    let groups = scenario.topology.switch_groups();
    // Up and down through each tier but the last.
    (2 * groups.len()).saturating_sub(1) as f64
}

/// Bytes of memory for one connection.
fn connection(scenario: &Scenario, protocol: &Protocol) -> u64 {
    let plain = |tcp: &Transport| {
        let extends = |host: &Host| {
            let config = Config::new(tcp).ok().and_then(|config| config.on(host).ok());
            config.is_none_or(|config| config.balancing(scenario.routing.plb()).extends())
        };
        !scenario.host.each().any(extends)
    };
    match (protocol.queue_pairs(), protocol.tcp()) {
        (Some(roce), _) if roce.control.about().int => INT_PAIR_BYTES,
        (Some(roce), _) if roce.control.about().unordered() => PAIR_BYTES + SPRAY_BYTES,
        (Some(_), _) => PAIR_BYTES,
        (_, Some(tcp)) if plain(tcp) => PLAIN_TCP_BYTES,
        (_, Some(_)) => TCP_BYTES,
        _ => DATAGRAM_BYTES,
    }
}

/// Packets of queue pairs that wait in hosts' cards and in front of a line since an event took the line down or pauses it.
fn held_up(protocols: &Protocols, dead: Option<&(Graph, Vec<Dead>)>) -> f64 {
    match (protocols.queue_pairs().next(), dead) {
        (Some(_), Some((_, lines))) => {
            lines.iter().map(|line| line.event).collect::<BTreeSet<_>>().len() as f64 * CARD_PACKETS
        }
        _ => 0.0,
    }
}

/// Connections whose packets may arrive in any order that have sent one: no more than their receivers' lines bring.
fn sprayed(scenario: &Scenario, protocols: &Protocols, sources: &[Expected], until_s: f64) -> f64 {
    let line = scenario.topology.host_rates().most().as_bps() as f64 / 8.0;
    // A connection that no packet has reached by the end keeps no state.
    let packets = until_s * line / scenario.host.mtu().as_f64();
    let unordered = |protocol: &Protocol| {
        protocol.queue_pairs().is_some_and(|roce| roce.control.about().unordered())
    };
    let sprays = |entry: usize| protocols.of_entry(entry as u32).any(unordered);
    let all = sources.iter().enumerate().filter(|(entry, _)| sprays(*entry));
    // Rounds that pile up have all sent some.
    let sent =
        |of: &Expected| if of.together > 0.0 { of.connections.max(of.together) } else { 0.0 };
    all.map(|(_, source)| sent(source).min(packets * source.receivers.max(1.0))).sum()
}

/// Flows that start together and never end.
fn endless(sources: &[Expected]) -> f64 {
    sources.iter().filter(|source| source.mean_bytes.is_none()).map(|source| source.together).sum()
}

/// The greatest of several, or 0.
fn most(of: impl Iterator<Item = f64>) -> f64 {
    of.fold(0.0, f64::max)
}

/// Places of a table that doubles, where it holds so many.
fn ring(held: f64) -> f64 {
    (held.max(RING).ceil() as u64).next_power_of_two() as f64
}

/// Packets that a host's card takes.
fn room_of(host: &Host) -> f64 {
    match host.nic {
        NicQueue::Fq => CARD_PACKETS,
        NicQueue::Fifo(NicFifo { buffer }) => buffer.as_f64() / host.mtu.as_f64(),
        NicQueue::Switch | NicQueue::Unlimited | NicQueue::Classes => f64::INFINITY,
    }
}

/// The rate that small queues go by in slow start, in units of the window over the RTT (`tcp_update_pacing_rate`), and
/// such a window in units of the data that is out (`tcp_is_cwnd_limited`).
const PACED: f64 = 2.0;
const OPENED: f64 = 2.0;
/// Part of a second whose data a small queue holds (`sk_pacing_shift`).
const SMALL_S: f64 = 1.0 / 1024.0;
/// Segments of a model's window (`bbr_quantization_budget`), and its gain in slow start over the way there and back.
const QUANTA: f64 = 3.0;
const STARTUP: f64 = 2.89;
/// Places of a ring that grows by a quarter for each packet that it holds, with what smaller rings have left; and where
/// windows fall and rise again.
const HELD: f64 = 1.5;
const HELD_LATER: f64 = 2.0;

/// Packets in cards for each that flows one after another have under way on average, at a line of its own. (Measured:
/// 0.9 to 2.4 without a model, and 2.4 to 5.2 with one.)
const UNMARKED_LATER: f64 = 2.4;
const MODELLED_LATER: f64 = 5.2;

/// A source's TCP flows, in packets of host.mtu.
struct Flows<'a> {
    host: &'a Host,
    tcp: &'a Transport,
    of: &'a Expected,
    /// Whether flows share connections.
    keeps: bool,
    lasts_s: f64,
    /// Lines that flows share, at receivers, and packets a second of one.
    lines: f64,
    line: f64,
    /// Packets that the way there and back holds, and that a receiver's queue does.
    way: f64,
    queue: f64,
    /// Whether marks cut windows.
    marked: bool,
    /// Handshakes of those that start together which a full queue lets through.
    opens: f64,
    /// A flow, the first window, and the greatest.
    size: f64,
    first: f64,
    limit: f64,
}

impl<'a> Flows<'a> {
    fn new(
        scenario: &Scenario,
        (host, tcp): (&'a Host, &'a Transport),
        (of, keeps, lasts_s): (&'a Expected, bool, f64),
    ) -> Flows<'a> {
        let Scenario { topology, switch, .. } = scenario;
        let mtu = host.mtu.as_f64();
        let limit = f64::from(tcp.receive_window);
        let lines = of.receivers.min(topology.hosts().into()).max(1.0);
        // As many as the queue holds, and as the line carries while all hosts send theirs.
        let carried = of.together / f64::from(topology.hosts());
        let opens = lines * (switch.buffer.as_f64() / tcp.header.as_f64() + carried);
        Flows {
            host,
            tcp,
            of,
            keeps,
            lasts_s,
            lines,
            line: topology.host_rates().most().as_bps() as f64 / 8.0 / mtu,
            way: way_bytes(scenario) / mtu,
            queue: marked_bytes(scenario).unwrap_or(switch.buffer).as_f64() / mtu,
            marked: tcp.ecn && scenario.scheme.scheme.about().seats[2] != "none",
            opens: if of.losing > 0.0 { opens.min(of.together) } else { of.together },
            // A flow without an end never runs out of packets.
            size: (of.mean_bytes.unwrap_or(f64::INFINITY) / mtu).ceil(),
            first: f64::from(tcp.initial_window).min(limit),
            limit,
        }
    }

    /// Whether a control steers by a model.
    fn model(&self) -> bool {
        self.tcp.control.about().model
    }

    /// Whether slow start ends as its own card makes round trips longer.
    fn leaves_slow_start(&self) -> bool {
        match self.tcp.hystart {
            Hystart::Off => false,
            Hystart::Linux => matches!(self.tcp.control, CongestionControl::Cubic(_)),
            Hystart::PlusPlus => !self.model(),
        }
    }

    /// Packets of a segment that is handed to the card at most.
    fn segment(&self) -> f64 {
        let lso = &self.host.lso;
        if lso.on { lso.max.as_f64() / self.host.mtu.as_f64() } else { 1.0 }
    }

    /// The window of each of so many flows: slow start adds what has arrived, and a model takes little more than the
    /// way holds.
    fn grown(&self, flows: f64) -> f64 {
        let arrived = self.lasts_s * self.line * self.lines / flows;
        let window = (self.first + arrived).min(self.limit);
        match self.model() {
            true => window.min(QUANTA * self.segment() + STARTUP * self.way),
            false => window,
        }
    }

    /// Packets in its card of each of so many flows by TCP small queues: what the card sends in a moment, which flows
    /// share by their lines, and the segment that makes it enough.
    fn small(&self, flows: f64) -> f64 {
        let small = &self.host.small_queues;
        if !small.on {
            return f64::INFINITY;
        }
        let sent = PACED * OPENED * SMALL_S * self.line * self.lines / flows;
        let enough = sent + self.segment().min(sent);
        let unpaced = small.limit.as_f64() / self.host.mtu.as_f64() + self.segment();
        let paced = self.tcp.pacing != Pacing::Off;
        if paced { enough.max(self.first) } else { enough.min(unpaced).max(self.first) }
    }

    /// Of each of the flows that start together: packets in its card, the data that is under way, and what is out.
    fn together(&self) -> (f64, f64, f64) {
        let Flows { of, size, first, .. } = *self;
        let flows = of.together.max(1.0);
        // A connection that is used again begins with its window, while answers to the flow before still come. Else
        // half of a flow has arrived before slow start lets the other half out.
        let again = self.keeps && of.flows > of.connections;
        let half = (0.5 * (size + first)).min(size);
        let (data, out) = if again { (size, 2.0 * size) } else { (half, half) };
        // Answers wait behind the data of the other direction, while as much data is out again.
        let answers = 1.0 + 1.0 / f64::from(self.tcp.ack_every);
        let mixed = of.messages > 0.0 && !again && !self.model();
        let data = data.min(self.grown(flows)) * if mixed { 0.5 * answers } else { 1.0 };
        // A card that holds more has timeouts begin anew, at a window that they let double.
        let waits = OPENED * self.tcp.rto_min.as_secs_f64() * self.line * self.lines / flows;
        let in_card = data.min(self.small(flows) * answers).min(waits).max(data.min(first));
        let fabric = (self.way + self.queue) * self.lines / flows;
        let out = out.min(self.grown(flows)).min(2.0 * self.small(flows) + fabric);
        (in_card, data, out)
    }

    /// Packets in cards of flows that come one after another.
    fn later(&self) -> f64 {
        let mtu = self.host.mtu.as_f64();
        let held = self.of.in_cards / mtu;
        let met = match (self.model(), self.marked) {
            (true, _) => return MODELLED_LATER * held,
            // Cards hold what windows let out that no mark cuts.
            (false, false) => UNMARKED_LATER * held,
            // No switch marks a flow that meets none.
            (false, true) => {
                UNMARKED_LATER * held * self.of.flowing.map_or(0.0, |_| alone(self.of))
            }
        };
        if self.leaves_slow_start() { met } else { met.max(self.of.alone / mtu) }
    }

    /// How far windows open. Flows that come one after another differ much in size: most are over before their windows
    /// are large.
    ///
    /// The source has `network` packets in the network.
    fn windows(&self, network: f64) -> Windows {
        let Flows { of, size, first, .. } = *self;
        let (in_card, data, out) = self.together();
        let others = (of.open - of.together).max(0.0);
        // The first window is known; where a larger one ends up is not.
        let rings = (HELD * out).max(ring(out.min(first)));
        let later = self.later();
        // Segments are out until their ACKs have come back. Those of a small flow are in places that it has anyway.
        let long = if of.together > 0.0 { 0.0 } else { (1.0 - RING / size).max(0.0) };
        let kept = HELD_LATER * (later + network) * long;
        // A second try opens others, while the first ones repeat what they lost.
        let opened = of.together.min(of.connections).min(2.0 * self.opens);
        let tcp = self.tcp;
        let logs = tcp.loss_detection == LossDetection::Rack
            || tcp.tail_loss_probe
            || tcp.sacks_restart_timer;
        let if_so = |so: bool, places: f64| if so { places } else { 0.0 };
        Windows {
            // Of the others a SYN waits.
            in_cards: self.opens * in_card + (of.together - self.opens) + later,
            data: of.together * data + others * size.min(self.limit) + later,
            logged: if_so(logs, opened * (rings - RING) + kept),
            modelled: if_so(self.model(), opened * (rings - ring(first)).max(0.0) + kept),
        }
    }
}

/// Packets that the windows of TCP let out.
#[derive(Clone, Copy, Debug, Default)]
struct Windows {
    /// In cards, ACKs behind data among them.
    in_cards: f64,
    /// Data under way.
    data: f64,
    /// Places in senders' logs, and in those of models.
    logged: f64,
    modelled: f64,
}

impl Windows {
    /// Each of these by a function of it and of another's.
    fn with(self, other: Windows, of: fn(f64, f64) -> f64) -> Windows {
        Windows {
            in_cards: of(self.in_cards, other.in_cards),
            data: of(self.data, other.data),
            logged: of(self.logged, other.logged),
            modelled: of(self.modelled, other.modelled),
        }
    }
}

/// Bytes that the way there and back holds.
fn way_bytes(scenario: &Scenario) -> f64 {
    let Scenario { topology, .. } = scenario;
    let delay = topology.one_way() + scenario.delays().most() * 2;
    2.0 * delay.as_secs_f64() * topology.host_rates().most().as_bps() as f64 / 8.0
}

/// Bytes from which on the scheme marks, if it goes by bytes.
fn marked_bytes(scenario: &Scenario) -> Option<Bytes> {
    match scenario.scheme.params().get("threshold") {
        Some(Value::Bytes(threshold)) => Some(*threshold),
        _ => None,
    }
}

/// Deviations of a number of flows that come at random by which it is larger at its most.
const CHANCE: f64 = 4.0;
/// Queues in a network of several tiers for each at a receiver.
const WITHIN: f64 = 1.25;

/// Part of a queue that flows with models fill which come one after another. (Measured.)
const MODELLED_QUEUE: f64 = 0.67;

/// Flows at a port where some meet.
const MEETING: f64 = 3.0;

/// Flows of a source that meet none.
fn flowing_alone(source: &Expected) -> f64 {
    flowing(source) * alone(source)
}

/// Flows of a source that are under way at its fullest moment.
fn flowing(source: &Expected) -> f64 {
    source.flowing.map_or(source.open, |mean| (mean + CHANCE * mean.sqrt()).min(source.open))
}

/// Part of a source's flows that meet none at their receiver.
fn alone(source: &Expected) -> f64 {
    libm::exp(-flowing(source) / source.receivers.max(1.0))
}

/// Ports at which a source's flows meet, of receivers and `within` the network. One flow alone has its queue in its
/// sender's card.
fn meetings(source: &Expected, within: f64) -> f64 {
    if source.flowing.is_none() {
        return source.open.min(source.receivers);
    }
    let each = flowing(source) / source.receivers.max(1.0);
    within * source.receivers * (1.0 - alone(source) * (1.0 + each))
}

/// Connections of flows that come one after another whose model ignores losses, and of which a retransmission is lost:
/// without RACK it waits for a timeout, while later data piles up.
fn stalled(sources: &[Expected], tcps: &[Option<&Transport>]) -> f64 {
    let waits = |(source, tcp): (&Expected, &Option<&Transport>)| {
        let tcp = tcp
            .filter(|tcp| tcp.control.about().model && tcp.loss_detection != LossDetection::Rack)?;
        let large = source.flowing? > 0.0
            && source.mean_bytes? > tcp.mss.as_f64() * f64::from(tcp.initial_window);
        let a_second = source.flows / source.lasts_s.max(f64::MIN_POSITIVE);
        let timed = (a_second * TIMEOUTS * tcp.rto_min.as_secs_f64()).min(source.flows);
        large.then_some(STALLED * timed)
    };
    sources.iter().zip(tcps).filter_map(waits).sum()
}

/// Whether senders know a queue's length or delay, and keep it short: it holds a round trip of each flow's first data.
fn goes_by_delay(protocol: &Protocol) -> bool {
    let about = protocol.queue_pairs().map(|of| of.control.about());
    about.is_some_and(|about| about.int || about.stamps)
}

/// Whether marks are nothing to a protocol's senders: they fill a queue until packets are dropped.
fn ignores_marks(protocol: &Protocol) -> bool {
    match (protocol.queue_pairs(), protocol.tcp()) {
        (Some(_), _) => false,
        (None, Some(tcp)) => !tcp.ecn || tcp.control.about().model,
        (None, None) => true,
    }
}

/// Packets in the network: of each flow as many as the way there and back holds, and in front of each receiver a
/// queue; but of a flow not more than it has on average, and of no more flows than there are lines to hosts.
fn in_network(scenario: &Scenario, protocols: &Protocols, sources: &[Expected]) -> f64 {
    let Scenario { topology, switch, host, transport, .. } = scenario;
    let held = way_bytes(scenario);
    let marked = marked_bytes(scenario).filter(|_| !protocols.all().iter().any(ignores_marks));
    // Slow start passes a threshold by what a round trip brings.
    let marked = marked.map(|marked| marked.as_f64() + held);
    let queue = marked.map_or(switch.buffer.as_f64(), |marked| marked.min(switch.buffer.as_f64()));
    let open: f64 = sources.iter().map(flowing).sum();
    let receivers = sources.iter().map(|source| source.receivers).fold(0.0, f64::max);
    let sending = sources.iter().filter(|source| source.open > 0.0);
    let mean = |source: &Expected| source.mean_bytes.unwrap_or(f64::INFINITY);
    let bytes = sending.map(|source| flowing(source) * mean(source)).sum::<f64>() / open.max(1.0);
    let receive_window = |protocol: &Protocol| match protocol {
        Protocol::Transport(own) => own.receive_window,
        Protocol::QueuePairs(_) => transport.receive_window,
    };
    let most = protocols.all().iter().map(receive_window).max().unwrap_or(u32::MAX);
    let window = |held: f64| (held.min(bytes) / host.mtu().as_f64()).min(most.into());
    let lines = open.min(topology.hosts().into());
    let most = lines * window(held + queue);
    // A queue holds packets of all flows to its receiver.
    let within = if topology.switch_groups().len() > 1 { WITHIN } else { 1.0 };
    let queues = sources.iter().map(|source| meetings(source, within)).sum::<f64>();
    let queues = queues.min(within * receivers);
    // A model's flow fills its own way in slow start, and drains a queue before it is full.
    let models =
        protocols.all().iter().filter_map(Protocol::tcp).any(|of| of.control.about().model);
    let random: f64 = sources.iter().filter(|of| of.flowing.is_some()).map(flowing_alone).sum();
    let (full, started) = match models && random > 0.0 {
        true => (MODELLED_QUEUE, STARTUP * random * window(held)),
        false => (1.0, 0.0),
    };
    let queue = match random > 0.0 && protocols.all().iter().all(goes_by_delay) {
        true => queue.min(MEETING * held),
        false => queue * full,
    };
    let queued = started + queues * queue.min(bytes * open / queues.max(1.0)) / host.mtu().as_f64();
    (lines * window(held) + queued).min(most)
}
