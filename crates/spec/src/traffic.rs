//! What is sent: flows from generators or lists.

use crate::param::{FRACTION, Field, HOSTS, Param, ParamKind, Section};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use switchbed_qdisc::units::{Bytes, Rate, Span};
use switchbed_qdisc::words;

/// A source of flows. A scenario may have several; their flows are numbered in the
/// order of their starts, ties by the source's place in the file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Traffic {
    /// Flows that arrive at every sending host as a Poisson process.
    Poisson(Arrivals),
    /// Flows that arrive over all sending hosts together with log-normal gaps.
    LogNormal {
        /// Standard deviation of a gap's logarithm; the load decides the mean.
        sigma: f64,
        /// The flows; a flow's sender is drawn, each by its load.
        #[serde(flatten)]
        arrivals: Arrivals,
    },
    /// Hosts (`to`, the clients) that ask others (`from`, the servers) for data as a
    /// Poisson process: a flow begins with its request and ends with its answer.
    RequestResponse {
        /// Payload of a request.
        request: Bytes,
        /// The answers; their load is what each client asks for.
        #[serde(flatten)]
        arrivals: Arrivals,
    },
    /// All senders at once to one receiver, round after round.
    Incast(Incast),
    /// Sources that hand over a burst, are silent, and so on; a flow is a burst, and a
    /// source's follow each other on one connection.
    OnOff(OnOff),
    /// Flows that send as long as they run.
    LongLived(LongLived),
    /// Small packets at even intervals that come back at once, as `ping`'s; no flows.
    Probe {
        /// Hosts that send them.
        #[serde(serialize_with = "hosts")]
        from: Vec<u32>,
        /// The host that sends them back.
        to: u32,
        /// Length on the wire, there and back.
        size: Bytes,
        /// From one to the next.
        every: Span,
        /// Each sender probes each of these classes.
        classes: Vec<u8>,
        /// When the first is sent.
        start: Span,
        /// None is sent from then on; `None`: as long as there are flows.
        #[serde(skip_serializing_if = "Option::is_none")]
        stop: Option<Span>,
    },
    /// Flows from a CSV file.
    List {
        /// The file, as found from the scenario's folder.
        #[serde(rename = "file")]
        path: String,
        /// How flows use connections.
        connections: Connections,
    },
}

/// All senders at once to one receiver, round after round.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Incast {
    /// Sending hosts.
    #[serde(serialize_with = "hosts")]
    pub from: Vec<u32>,
    /// The receiving host.
    pub to: u32,
    /// Flow sizes.
    pub sizes: Sizes,
    /// Flows from each sender in a round.
    pub flows_each: u32,
    /// How often.
    pub rounds: u64,
    /// From the start of a round to that of the next; none where there is one round.
    #[serde(skip_serializing_if = "is_zero")]
    pub every: Span,
    /// Classes, dealt to the flows of a round in turn.
    pub classes: Vec<u8>,
    /// When the first round starts.
    pub start: Span,
    /// How flows use connections.
    pub connections: Connections,
}

/// Sources that hand over a burst, are silent, and so on; a flow is a burst, and a
/// source's follow each other on one connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OnOff {
    /// Sending hosts, a source each.
    #[serde(serialize_with = "hosts")]
    pub from: Vec<u32>,
    /// The receiving host.
    pub to: u32,
    /// Payload of a burst.
    pub burst: Bytes,
    /// Payload that a source offers, bursts and silences taken together.
    pub rate: Rate,
    /// How long a source is silent.
    pub off: Off,
    /// Classes, dealt to the sources in turn.
    pub classes: Vec<u8>,
    /// When the first source's first burst starts.
    pub start: Span,
    /// How much later each next source's does.
    pub stagger: Span,
    /// No burst starts from then on.
    pub stop: Span,
}

/// Flows that send as long as they run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LongLived {
    /// Sending hosts.
    #[serde(serialize_with = "hosts")]
    pub from: Vec<u32>,
    /// The receiving host.
    pub to: u32,
    /// Flows from each sender.
    pub flows_each: u32,
    /// Classes, dealt to the flows in turn.
    pub classes: Vec<u8>,
    /// When the first starts.
    pub start: Span,
    /// How much later each next one starts.
    pub stagger: Span,
    /// When they stop; `None`: at the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Span>,
}

/// Most connections open at a time.
pub const MAX_CONNECTIONS: usize = (1 << 24) - 1;

/// Flows that arrive at random at a load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Arrivals {
    /// Payload bits offered by each sender, as a fraction of its link's rate.
    #[serde(flatten, serialize_with = "load_and_overload")]
    pub load: f64,
    /// Flows in all: the first so many to start.
    pub flows: u64,
    /// Flow sizes, one table for each entry (a service takes entry `service mod n`).
    pub sizes: Vec<Sizes>,
    /// Sending hosts.
    #[serde(serialize_with = "hosts")]
    pub from: Vec<u32>,
    /// Receiving hosts, drawn uniformly (never the sender itself).
    #[serde(serialize_with = "hosts")]
    pub to: Vec<u32>,
    /// Which service, and so which class, a flow belongs to.
    #[serde(flatten)]
    pub service: Service,
    /// How flows use connections.
    pub connections: Connections,
}

/// `[[traffic]]`.
pub const SECTION: Section = Section {
    name: "traffic",
    repeated: true,
    doc: "A source of flows. A scenario may have several.",
    keys: &[
        Param::required(
            "kind",
            Kind::KIND,
            "poisson: flows that arrive at every sender at random. log-normal: flows that arrive \
             over all senders together, with log-normal gaps. request-response: clients ask servers for data at random; a flow begins with its request and ends with \
             its answer. incast: all senders at once to one receiver. on-off: bursts with \
             silences between. long-lived: flows that send as long as they run. probe: small \
             packets that come back at once and tell the round-trip time. list: flows from a \
             CSV file.",
        ),
        Param::optional(
            "load",
            ParamKind::Number { min: 0.0, max: f64::INFINITY },
            "poisson, log-normal: payload bits that each sender offers, as a fraction of its link's rate; \
             headers come on top. request-response: payload bits that each client asks for.",
        ),
        Param::with_default(
            "overload",
            ParamKind::Flag,
            "false",
            "poisson, log-normal, request-response: a load over 1, which never drains, is meant.",
        ),
        Param::optional(
            "sigma",
            ParamKind::Number { min: 0.0, max: 10.0 },
            "log-normal: standard deviation of a gap's logarithm; the load decides the mean gap. \
             0 is even gaps; the greater, the burstier.",
        ),
        Param::optional(
            "flows",
            ParamKind::Count { min: 1, max: 1_000_000_000 },
            "poisson, log-normal, request-response: flows in all, the first so many to start.",
        ),
        Param::optional(
            "sizes",
            ParamKind::Either(&[SIZES, ParamKind::List(&SIZES)]),
            "poisson, log-normal, request-response, incast: flow sizes. A built-in table's name, a size \
             that all flows have \
             (\"64KB\"), or a table of name, file, points, mean, round_up_to. In a list, \
             service s takes entry s modulo the list's length.",
        ),
        Param::with_default(
            "from",
            HOSTS,
            "all",
            "All but list: sending hosts (request-response: the servers).",
        ),
        Param::with_default(
            "to",
            HOSTS,
            "all",
            "poisson, log-normal: receiving hosts, drawn uniformly (never the sender itself). \
             request-response: the clients, who draw a server uniformly. incast, on-off, \
             long-lived: the one receiving host. probe: the host that sends back.",
        ),
        Param::with_default(
            "service",
            Deal::KIND,
            "one",
            "poisson, log-normal, request-response: which service, and so which class, a flow belongs to. \
             one: all to service 0. random: drawn by shares. pair (not request-response): \
             ((dst + 1)·hosts + (src + 1)) modulo services, as in MQ-ECN's simulations.",
        ),
        Param::optional(
            "services",
            ParamKind::Count { min: 1, max: 255 },
            "random, pair: number of services. Default: one for each of shares, or else one \
             for each queue.",
        ),
        Param::optional(
            "shares",
            ParamKind::List(&FRACTION),
            "random: each service's share of the flows; they sum to 1. Default: equal.",
        ),
        Param::optional(
            "connections",
            Connections::KIND,
            "poisson, log-normal, request-response, incast, list: how flows use connections. fresh: one \
             each, its handshake inside the flow's time. fresh-no-handshake: one each that \
             starts established. persistent: one for each ordered pair of hosts and class (of \
             client and server, whatever the class), carrying flow after flow; a flow that \
             finds all of them busy opens another, which stays. single: one for each ordered \
             pair and class, on which flows wait for each other. Default: fresh; \
             request-response: persistent.",
        ),
        Param::with_default(
            "request",
            ParamKind::Size,
            "100B",
            "request-response: payload of a request, which goes in the flow's class.",
        ),
        Param::with_default(
            "flows_each",
            ParamKind::Count { min: 1, max: 1_000_000 },
            "1",
            "long-lived: flows from each sender. incast: in each round.",
        ),
        Param::with_default(
            "rounds",
            ParamKind::Count { min: 1, max: 1_000_000_000 },
            "1",
            "incast: how often all senders send.",
        ),
        Param::optional(
            "every",
            ParamKind::Time,
            "incast: from the start of a round to that of the next, whether or not it has \
             ended; needed where rounds is over 1. probe: from one to the next.",
        ),
        Param::with_default(
            "size",
            ParamKind::Size,
            "84B",
            "probe: length on the wire, there and back (84 bytes: what ping sends).",
        ),
        Param::optional("burst", ParamKind::Size, "on-off: payload handed over at once."),
        Param::optional(
            "rate",
            ParamKind::Rate,
            "on-off: payload that a source offers, bursts and silences taken together.",
        ),
        Param::with_default(
            "off",
            Off::KIND,
            "exponential",
            "on-off: how long a source is silent after the time that its burst takes on its \
             link: always as long as rate asks for, or drawn with that mean.",
        ),
        Param::with_default(
            "classes",
            ParamKind::List(&ParamKind::Count { min: 0, max: 255 }),
            "[0]",
            "incast, on-off, long-lived: classes, dealt in turn to the flows of a round, the \
             sources, the flows. probe: each is probed, and so its queue.",
        ),
        Param::with_default(
            "start",
            ParamKind::Time,
            "0us",
            "incast, on-off, long-lived, probe: when the first starts.",
        ),
        Param::with_default(
            "stagger",
            ParamKind::Time,
            "0us",
            "on-off, long-lived: how much later each next one starts.",
        ),
        Param::optional(
            "stop",
            ParamKind::Time,
            "on-off, long-lived, probe: when they stop. Default: at the end of the run. (Probes \
             alone keep no run going, unless stop or until in [run] says how long.)",
        ),
        Param::optional(
            "file",
            ParamKind::Text,
            "list: the CSV file, found from the scenario's folder, with columns start_s, src, \
             dst, size_bytes (or packets), and, if wanted, class (default 0), connection (flows \
             from one host to another with the same number here share a connection and follow \
             each other on it; default: as connections says) and path (which of the equal paths \
             its data takes, by number; ACKs go as the hash has it, and so does data without).",
        ),
    ],
};

/// A flow-size distribution as an entry of `sizes`.
const SIZES: ParamKind = ParamKind::Either(&[ParamKind::Text, ParamKind::Table(SIZES_TABLE)]);

/// The keys of a flow-size distribution that is written as a table.
pub const SIZES_TABLE: &[Param] = &[
    Param::optional("name", ParamKind::Text, "A built-in table, or what to call these points."),
    Param::optional(
        "file",
        ParamKind::Text,
        "A table from a CSV file, found from the scenario's folder.",
    ),
    Param::optional(
        "points",
        ParamKind::List(&ParamKind::List(&ParamKind::Either(&[ParamKind::Size, FRACTION]))),
        "Points of size and cumulative probability, [[\"10KB\", 0.5], [\"1MB\", 1]]; linear \
         between them.",
    ),
    Param::optional(
        "mean",
        ParamKind::Size,
        "The mean that turns a load into an arrival rate. Default: the table's own.",
    ),
    Param::optional(
        "round_up_to",
        ParamKind::Size,
        "Sizes are rounded up to whole multiples of this. Default: the table's own, or whole \
         bytes.",
    ),
];

/// A flow-size distribution.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sizes {
    /// Its name: a built-in table's, or the file's.
    pub name: String,
    /// Points (bytes, cumulative probability), both rising, the last at 1; linear between.
    pub points: Vec<(Bytes, f64)>,
    /// The mean that turns a load into an arrival rate, in bytes.
    #[serde(rename = "mean", serialize_with = "bytes")]
    pub mean_bytes: f64,
    /// Sizes are rounded up to whole multiples of this payload; `None`: to whole bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_up_to: Option<Bytes>,
}

/// How flows are dealt to services.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// All flows in class 0.
    One,
    /// A service drawn for each flow with these probabilities (they sum to 1).
    Random(Vec<f64>),
    /// MQ-ECN's simulations: ((dst + 1)·hosts + (src + 1)) mod `n`.
    Pair(u8),
}

impl Serialize for Service {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Service::One => map.serialize_entry("service", &Deal::One)?,
            Service::Random(shares) => {
                map.serialize_entry("service", &Deal::Random)?;
                map.serialize_entry("shares", shares)?;
            }
            Service::Pair(n) => {
                map.serialize_entry("service", &Deal::Pair)?;
                map.serialize_entry("services", n)?;
            }
        }
        map.end()
    }
}

/// A load, and the word without which a load over 1 is refused.
fn load_and_overload<S: Serializer>(load: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("load", load)?;
    if *load > 1.0 {
        map.serialize_entry("overload", &true)?;
    }
    map.end()
}

/// Hosts in a row as a range, others as a list.
fn hosts<S: Serializer>(hosts: &[u32], serializer: S) -> Result<S::Ok, S::Error> {
    match hosts {
        [first, .., last]
            if hosts.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1])) =>
        {
            serializer.collect_str(&format_args!("{first}-{last}"))
        }
        _ => hosts.serialize(serializer),
    }
}

fn is_zero(span: &Span) -> bool {
    *span == Span::ZERO
}

fn bytes<S: Serializer>(bytes: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{bytes}B"))
}

words! {
    /// How flows use connections.
    pub enum Connections {
        /// A new connection for each flow, its handshake inside the FCT.
        Fresh = "fresh",
        /// A new connection for each flow that starts established, without a handshake.
        FreshNoHandshake = "fresh-no-handshake",
        /// One for each ordered pair (and class), carrying flow after flow; a flow that finds
        /// all of its pair's connections busy opens another, which stays.
        Persistent = "persistent",
        /// One for each ordered pair and class, on which flows wait for each other.
        Single = "single",
    }
}

words! {
    /// How long an on–off source is silent.
    pub enum Off {
        /// Always as long.
        Constant = "constant",
        /// Exponentially distributed.
        Exponential = "exponential",
    }
}

words! {
    /// The kinds of traffic.
    pub enum Kind {
        /// [`Traffic::Poisson`].
        Poisson = "poisson",
        /// [`Traffic::LogNormal`].
        LogNormal = "log-normal",
        /// [`Traffic::RequestResponse`].
        RequestResponse = "request-response",
        /// [`Traffic::Incast`].
        Incast = "incast",
        /// [`Traffic::OnOff`].
        OnOff = "on-off",
        /// [`Traffic::LongLived`].
        LongLived = "long-lived",
        /// [`Traffic::Probe`].
        Probe = "probe",
        /// [`Traffic::List`].
        List = "list",
    }
}

words! {
    /// By what flows are dealt to services: [`Service`].
    pub enum Deal {
        /// All flows to service 0.
        One = "one",
        /// A service drawn for each flow.
        Random = "random",
        /// By the pair of hosts.
        Pair = "pair",
    }
}
