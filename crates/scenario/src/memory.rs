//! The memory that a run will take beside the program, as far as its scenario tells before it
//! starts: what ports, flows, samples, captured packets, connections and the packets between them
//! come to. The bytes of each are measured by `make bench-memory`; how many there will be is worked
//! out here, rather too many than too few.

use crate::lists::Listed;
use serde::Serialize;
use switchbed_qdisc::units::Span;
use switchbed_spec::scheme::Value;
use switchbed_spec::{
    Arrivals, Connections, Incast, LongLived, OnOff, QueueProbe, Scenario, Service, Topology,
    Traffic,
};

/// A flow's record, its row, and its part in the percentiles.
const FLOW_BYTES: u64 = 200;
/// A connection and its entry among its pair's, open or kept.
const CONNECTION_BYTES: u64 = 1_300;
/// A sample of a queue and its row in `series`.
const SERIES_BYTES: u64 = 110;
/// An interval of a class and its row in `goodput`.
const GOODPUT_BYTES: u64 = 110;
/// A probe and its row.
const PROBE_BYTES: u64 = 60;
/// A change of a queue's length and its row in `changes`.
const CHANGE_BYTES: u64 = 80;
/// A flow's rate in a window and its row in `rates`.
const RATE_BYTES: u64 = 100;
/// A port with its link, and a queue of it, before the first packet.
const PORT_BYTES: u64 = 1_550;
const QUEUE_BYTES: u64 = 50;
/// A queue whose lengths are measured: most are short.
const MEASURED_BYTES: u64 = 500;
/// A packet in the network: what it is, what it carries, and its next event.
const PACKET_BYTES: u64 = 150;
/// A captured packet, as it is noted and as its file has it.
const CAPTURED_BYTES: u64 = 400;
/// The shortest packet that a line is full of: an ACK with its share of the data it is for.
const SHORT_BYTES: f64 = 500.0;

/// A part of a run's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// What takes it.
    pub what: &'static str,
    /// How many there will be.
    pub count: u64,
    /// Bytes of each.
    pub each: u64,
}

/// What a scenario's run will take, part by part; `listed`: what its flow lists hold.
pub(crate) fn memory(scenario: &Scenario, listed: Listed) -> Vec<Part> {
    let Scenario { topology, switch, traffic, measure, run, .. } = scenario;
    let until = run.until.map_or(f64::INFINITY, |until| until.as_secs_f64());
    let sources: Vec<Source> =
        traffic.iter().map(|traffic| Source::of(traffic, topology, until, listed)).collect();
    // A run without an end of its own lasts about as long as its flows start.
    let lasts = match run.until {
        Some(_) => until,
        None => sources.iter().map(|source| source.lasts).fold(0.0, f64::max),
    };
    let (ports, queues) = (topology.switch_ports() as f64, f64::from(switch.queues));
    let often = |every: Option<Span>| every.map_or(0.0, |every| lasts / every.as_secs_f64());
    let rows = |rows: f64| rows.min(measure.samples as f64);
    let measured = match &measure.queues {
        QueueProbe::Off => 0.0,
        QueueProbe::All => ports,
        QueueProbe::Ports(ports) => ports.len() as f64,
    };
    let line = topology.host_rate().as_bps() as f64 / 8.0 / SHORT_BYTES;
    let monitors = &measure.monitors;
    let changes = monitors.changes.as_ref().map_or(0.0, |changes| {
        let window = changes.until.as_secs_f64().min(lasts) - changes.from.as_secs_f64();
        2.0 * window.max(0.0) * line * changes.ports.len() as f64
    });
    let rates = monitors.convergence.as_ref().map_or(0.0, |convergence| {
        let open: f64 = sources.iter().map(|source| source.open).sum();
        often(Some(convergence.window)) * open
    });
    // A host is two ways.
    let ways = measure.capture.iter().map(|name| 1 + u32::from(name.starts_with("host")));
    let captured = (lasts * line).min(measure.capture_packets as f64);
    let sum = |f: fn(&Source) -> f64| sources.iter().map(f).sum::<f64>();
    let port = PORT_BYTES + QUEUE_BYTES * u64::from(switch.queues);
    let parts = [
        ("ports", topology.ports() as f64, port),
        ("measured queues", measured * (queues + 1.0), MEASURED_BYTES),
        ("flows", sum(|source| source.flows), FLOW_BYTES),
        ("connections", sum(|source| source.connections), CONNECTION_BYTES),
        ("packets", in_network(scenario, &sources), PACKET_BYTES),
        ("rows of series", rows(often(measure.series_every) * measured * queues), SERIES_BYTES),
        ("rows of goodput", rows(often(measure.goodput_every) * queues), GOODPUT_BYTES),
        ("probes", rows(sum(|source| source.probes)), PROBE_BYTES),
        ("rows of changes", rows(changes), CHANGE_BYTES),
        ("rows of rates", rows(rates), RATE_BYTES),
        ("captured packets", captured * f64::from(ways.sum::<u32>()), CAPTURED_BYTES),
    ];
    let part = |(what, count, each): (_, f64, _)| Part { what, count: count.ceil() as u64, each };
    parts.map(part).into_iter().filter(|part| part.count > 0).collect()
}

/// Packets in the network: of each flow as many as the way there and back and a queue hold, but not
/// more than it has on average, and of no more flows than there are lines to hosts.
fn in_network(scenario: &Scenario, sources: &[Source]) -> f64 {
    let Scenario { topology, switch, scheme, host, transport, .. } = scenario;
    let delay = topology.one_way() + host.delay * 2;
    let held = 2.0 * delay.as_secs_f64() * topology.host_rate().as_bps() as f64 / 8.0;
    let queue = match scheme.params().get("threshold") {
        Some(Value::Bytes(threshold)) => *threshold,
        _ => switch.buffer,
    };
    let open: f64 = sources.iter().map(|source| source.open).sum();
    let sending = sources.iter().filter(|source| source.open > 0.0);
    let bytes = sending.map(|source| source.open * source.mean_bytes).sum::<f64>() / open.max(1.0);
    let window = (held + queue.as_f64()).min(bytes) / host.mtu.as_f64();
    open.min(topology.hosts().into()) * window.min(transport.receive_window.into())
}

/// What one source of traffic comes to.
struct Source {
    flows: f64,
    /// Flows under way at a time, and what each has on average, if that is known and has an end.
    open: f64,
    mean_bytes: f64,
    connections: f64,
    probes: f64,
    /// Seconds until its last flow starts.
    lasts: f64,
}

impl Source {
    fn of(traffic: &Traffic, topology: &Topology, until: f64, listed: Listed) -> Source {
        let none = Source {
            flows: 0.0,
            open: 0.0,
            mean_bytes: f64::INFINITY,
            connections: 0.0,
            probes: 0.0,
            lasts: 0.0,
        };
        match traffic {
            Traffic::Poisson(arrivals) | Traffic::LogNormal { arrivals, .. } => {
                Self::arriving(arrivals, arrivals.from.len(), topology, until)
            }
            Traffic::RequestResponse { arrivals, .. } => {
                // Requests have connections of their own.
                let source = Self::arriving(arrivals, arrivals.to.len(), topology, until);
                Source { connections: 2.0 * source.connections, ..source }
            }
            Traffic::Incast(Incast {
                from,
                flows_each,
                rounds,
                every,
                start,
                connections,
                classes,
                ..
            }) => {
                let round = from.len() as f64 * f64::from(*flows_each);
                let every = every.as_secs_f64();
                let fit = if every > 0.0 { (until / every).ceil() } else { 1.0 };
                let rounds = (*rounds as f64).min(fit);
                let flows = round * rounds;
                // A round may meet the one before.
                let open = flows.min(2.0 * round);
                let pairs = (from.len() * classes.len()) as f64;
                let connections = kept(*connections, pairs, open, flows);
                let lasts = start.as_secs_f64() + every * rounds;
                Source { flows, open, connections, lasts, ..none }
            }
            Traffic::OnOff(OnOff { from, burst, rate, start, stop, .. }) => {
                let lasts = stop.as_secs_f64().min(until);
                let each = (lasts - start.as_secs_f64()) * rate.as_bps() as f64 / 8.0;
                let sources = from.len() as f64;
                let flows = sources * (each / burst.as_f64()).ceil();
                Source { flows, open: sources, connections: sources, lasts, ..none }
            }
            Traffic::LongLived(LongLived { from, flows_each, stop, .. }) => {
                let flows = from.len() as f64 * f64::from(*flows_each);
                let lasts = stop.map_or(until, |stop| stop.as_secs_f64().min(until));
                Source { flows, open: flows, connections: flows, lasts, ..none }
            }
            Traffic::Probe { from, every, classes, start, stop, .. } => {
                let lasts = stop.map_or(0.0, |stop| stop.as_secs_f64().min(until));
                let each = (lasts - start.as_secs_f64()).max(0.0) / every.as_secs_f64();
                let probes = each * (from.len() * classes.len()) as f64;
                Source { probes, lasts, ..none }
            }
            Traffic::List { connections, .. } => {
                let flows = listed.flows as f64;
                let hosts = f64::from(topology.hosts());
                let open = flows.min(OPEN_A_HOST * hosts);
                let connections = kept(*connections, hosts * hosts, open, flows);
                Source { flows, open, connections, lasts: listed.last_s.min(until), ..none }
            }
        }
    }

    /// Flows that arrive at random, at so many hosts.
    fn arriving(arrivals: &Arrivals, hosts: usize, topology: &Topology, until: f64) -> Source {
        let Arrivals { load, sizes, from, to, service, connections, .. } = arrivals;
        let mean_bytes =
            sizes.iter().map(|table| table.mean_bytes).sum::<f64>() / sizes.len() as f64;
        let per_byte = sizes.iter().map(|table| 1.0 / table.mean_bytes).sum::<f64>();
        let offered = load * topology.host_rate().as_bps() as f64 / 8.0 * hosts as f64;
        let per_s = offered * per_byte / sizes.len() as f64;
        let flows = (arrivals.flows as f64).min((per_s * until).ceil());
        // A line that is busy for a part ρ of its time, shared evenly, has ρ / (1 − ρ) flows.
        let busy = load * (hosts as f64 / from.len().min(to.len()) as f64).max(1.0);
        let queued = if busy < 1.0 { busy / (1.0 - busy) * hosts as f64 } else { f64::INFINITY };
        let open = flows.min(OPEN_A_HOST * hosts as f64 + 4.0 * queued);
        let classes = match service {
            Service::Random(shares) => shares.len(),
            Service::One | Service::Pair(_) => 1,
        };
        let pairs = (from.len() * to.len() * classes) as f64;
        let connections = kept(*connections, pairs, open, flows);
        Source { flows, open, mean_bytes, connections, probes: 0.0, lasts: flows / per_s }
    }
}

/// Flows that a host may have under way by chance.
const OPEN_A_HOST: f64 = 16.0;

/// Connections that there will be at a time.
fn kept(connections: Connections, pairs: f64, open: f64, flows: f64) -> f64 {
    match connections {
        Connections::Fresh | Connections::FreshNoHandshake => open,
        Connections::Persistent => flows.min(pairs + open),
        Connections::Single => flows.min(pairs),
    }
}
