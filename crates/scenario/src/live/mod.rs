//! A live switch: its ports on Linux interfaces, and what holds for all of them. Its file
//! has `[live]` and `[[port]]` beside a scenario's `[switch]` and `[scheme]`.

pub(crate) mod read;

use crate::{CardReaction, SchemeChoice, Switch};
use serde::{Serialize, Serializer};
use switchbed_config::param::{Field, Param, ParamKind, SectionSpec};
use switchbed_config::words;
use switchbed_qdisc::memory::pfc::Input;
use switchbed_units::{Bytes, Rate, Span};

/// A live switch, whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Live {
    /// Purpose of the switch, in a line.
    pub title: String,
    /// Queues, scheduler and buffer of every port.
    pub switch: Switch,
    /// The queue-management scheme of every port.
    pub scheme: SchemeChoice,
    /// Reaction of hosts' cards to congestion notifications; `None` where no port has such a card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaction: Option<CardReaction>,
    /// Settings that hold for all ports.
    pub live: Settings,
    /// The ports, from 0.
    pub port: Vec<LivePort>,
}

/// Ethernet's header and two VLAN tags: bytes before the IP header.
pub const HEADERS: u64 = 14 + 2 * 4;
/// Bytes of the shortest frame without its check sequence.
const SHORTEST: u64 = 60;
/// The bucket of a file without one holds what a line sends in this time: the timers of a shared
/// machine are seldom later.
const BUCKET: Span = Span::from_us(1200);

impl Live {
    /// Returns the rate that a port sends at.
    pub fn sends(&self, port: &LivePort) -> Rate {
        Rate::from_bps((port.rate.as_bps() as f64 * self.live.fraction) as u64)
    }

    /// Returns how late a port may be and still make up for it.
    pub fn bucket(&self, port: &LivePort) -> Span {
        let rate = self.sends(port).as_bps() as f64;
        self.live.bucket.map_or(BUCKET, |bytes| Span::from_secs_f64(bytes.as_f64() * 8.0 / rate))
    }

    /// Returns the ports' links as headroom sees them, and the longest and the shortest frame.
    pub fn inputs(&self) -> (Vec<Input>, Bytes, Bytes) {
        // The switches at both ends of a link may wake up as late as their buckets make up for.
        let input = |port: &LivePort| Input {
            rate: port.rate,
            delay: port.delay + self.bucket(port),
            host: Span::ZERO,
        };
        let links = self.port.iter().map(input).collect();
        (links, self.live.mtu + Bytes::new(HEADERS), Bytes::new(SHORTEST))
    }
}

/// `[live]`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// The largest packet, IP header and what is behind it; `pkt` as a unit means this.
    pub mtu: Bytes,
    /// Part of its line rate that a port sends.
    pub fraction: f64,
    /// The token bucket: what a port may send late at once. `None`: 1.2 ms of its rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket: Option<Bytes>,
    /// Each DSCP's class.
    #[serde(serialize_with = "classes")]
    pub classes: [u8; 64],
    /// Stations that are not learnt.
    pub routes: Vec<Route>,
    /// Stations are learnt from what they send.
    pub learn: bool,
    /// The switch's thread has real-time priority (`SCHED_FIFO`).
    pub realtime: bool,
    /// The control socket; `None`: one named after the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<String>,
    /// Interval of the queue series; `None`: no series.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series_every: Option<Span>,
    /// Seed of random schemes and faults.
    pub seed: u64,
}

/// Classes as a file has them: `"8-15=1"`; what it need not say is left out.
fn classes<S: Serializer>(classes: &[u8; 64], to: S) -> Result<S::Ok, S::Error> {
    let mut written = Vec::new();
    let mut first = 0;
    // Runs of equal classes, which the reader takes back; a class that is its DSCP goes without
    // saying.
    for run in classes.chunk_by(|a, b| a == b) {
        let (last, class) = (first + run.len() - 1, run[0]);
        match run.len() {
            1 if usize::from(class) == first => {}
            1 => written.push(format!("{first}={class}")),
            _ => written.push(format!("{first}-{last}={class}")),
        }
        first = last + 1;
    }
    to.collect_seq(written)
}

/// A station whose port is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// MAC address of the host.
    pub station: [u8; 6],
    /// Number of its port.
    pub port: usize,
    /// Name of its port.
    pub name: String,
}

impl Serialize for Route {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let [a, b, c, d, e, f] = self.station;
        to.collect_str(&format_args!(
            "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}={}",
            self.name
        ))
    }
}

/// `[[port]]`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LivePort {
    /// Name in statistics, which is also the interface's.
    pub name: String,
    /// How it is attached.
    pub attach: Attach,
    /// Frames of several packets come and go (segmentation offload).
    pub offload: bool,
    /// The line rate.
    pub rate: Rate,
    /// Time from the end of a frame to its delivery: the link behind the port.
    pub delay: Span,
    /// The rate of its host's card; `None`: frames come in as fast as they come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_rate: Option<Rate>,
    /// Whether it sends and obeys frames of flow control.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pfc: bool,
    /// Whether its host's card obeys congestion notifications.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reaction: bool,
    /// Where to write what passes, as pcap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcap: Option<String>,
    /// Faults that are made on purpose.
    #[serde(skip_serializing_if = "Faults::none")]
    pub faults: Faults,
}

/// How a port is attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attach {
    /// A TAP interface of its name, made for it and gone with it.
    Tap {
        /// The network namespace that it is put in.
        #[serde(skip_serializing_if = "Option::is_none")]
        netns: Option<String>,
        /// Address on the host's side, with a prefix length.
        #[serde(skip_serializing_if = "Option::is_none")]
        address: Option<String>,
    },
    /// An interface that exists (`AF_PACKET`).
    Interface,
}

/// Faults that are made on purpose in frames that come in.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Faults {
    /// The part that is lost.
    pub drop: f64,
    /// The part that has a bit flipped.
    pub corrupt: f64,
    /// The part that comes twice.
    pub duplicate: f64,
    /// The numbers, from 1, of those that are lost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lose: Vec<u64>,
    /// Of those that are marked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mark: Vec<u64>,
}

impl Faults {
    /// Whether nothing goes wrong.
    pub fn none(&self) -> bool {
        *self == Faults::default()
    }
}

/// `[live]`'s keys.
pub const LIVE: SectionSpec = SectionSpec {
    name: "live",
    repeated: false,
    doc: "What holds for all ports of a live switch.",
    keys: &[
        Param::with_default(
            "mtu",
            ParamKind::Size,
            "1500B",
            "The largest packet, from its IP header on; the unit pkt means this. Longer \
             frames are dropped.",
        ),
        Param::with_default(
            "rate",
            ParamKind::Rate,
            "100Mbps",
            "The ports' line rate, where a port does not say otherwise. The Ethernet header \
             counts (14 bytes), preamble, check sequence and gap do not.",
        ),
        Param::with_default(
            "fraction",
            ParamKind::Number { min: 0.01, max: 1.0 },
            "99.5%",
            "What a port sends, as a part of its line rate, so that the queue is here and \
             not in a device below. The schemes see this rate.",
        ),
        Param::optional(
            "bucket",
            ParamKind::Size,
            "The token bucket: what a port that was woken late may send at once to make up \
             for it. An idle port saves nothing up. Default: 1.2 ms of its rate.",
        ),
        Param::with_default(
            "delay",
            ParamKind::Time,
            "0us",
            "Time from the end of a frame to its delivery, where a port does not say otherwise.",
        ),
        Param::optional(
            "classes",
            ParamKind::List(&ParamKind::Text),
            "Which class a DSCP is: \"46=7\" or \"8-15=1\". Default: the DSCP itself. What is \
             no IP has class 0.",
        ),
        Param::optional(
            "routes",
            ParamKind::List(&ParamKind::Text),
            "Where stations are that shall not be learnt: \"02:00:00:00:00:01=left\".",
        ),
        Param::with_default(
            "learn",
            ParamKind::Flag,
            "true",
            "Stations are learnt from what they send; frames to others go to all ports.",
        ),
        Param::with_default(
            "realtime",
            ParamKind::Flag,
            "false",
            "The switch's thread runs with real-time priority (SCHED_FIFO): waking is \
             more punctual.",
        ),
        Param::optional(
            "socket",
            ParamKind::Text,
            "The control socket's path. Default: /run/switchbed/ and the file's name, .sock.",
        ),
        Param::optional(
            "series_every",
            ParamKind::Time,
            "Interval of the queue lengths' time series. Default: no series.",
        ),
        Param::with_default(
            "seed",
            ParamKind::Count { min: 0, max: i64::MAX as u64 },
            "1",
            "What random schemes and faults draw from.",
        ),
    ],
};

words! {
    /// Device that a port is attached to.
    pub enum Device {
        /// An interface that is made for it.
        Tap = "tap",
        /// One that exists.
        Interface = "interface",
    }
}

/// `[[port]]`'s keys.
pub const PORT: SectionSpec = SectionSpec {
    name: "port",
    repeated: true,
    doc: "A port of a live switch and the Linux interface it is attached to.",
    keys: &[
        Param::required(
            "name",
            ParamKind::Text,
            "The interface, 1 to 15 characters; also the port's name in statistics.",
        ),
        Param::with_default(
            "device",
            Device::KIND,
            "tap",
            "tap: a TAP interface of this name, made for the port and gone with it. \
             interface: one that exists, a veth or a network card.",
        ),
        Param::optional("netns", ParamKind::Text, "tap: the network namespace to put it in."),
        Param::optional(
            "address",
            ParamKind::Text,
            "tap: its address there, with a prefix length: \"10.0.0.1/24\".",
        ),
        Param::with_default(
            "offload",
            ParamKind::Flag,
            "true",
            "Frames of several packets and without checksums come in, as hosts with segmentation offload \
             send them, and packets of a flow that leave in a row go out as one. The port queues, marks and \
             drops single packets all the same. They come in at once, or one behind the other by host_rate.",
        ),
        Param::optional("rate", ParamKind::Rate, "Its line rate. Default: live.rate."),
        Param::optional("delay", ParamKind::Time, "Its link's delay. Default: live.delay."),
        Param::optional(
            "host_rate",
            ParamKind::Rate,
            "The rate of its host's card, which holds 1000 frames: frames come in no faster, one \
             behind the other. Default: as fast as they come, which for tap is in bursts.",
        ),
        Param::with_default(
            "pfc",
            ParamKind::Flag,
            "false",
            "Frames of priority-based flow control (802.1Qbb) are sent here as the classes of \
             switch.pfc need it, and those of the peer pause these classes. The peer must be such a \
             switch: a kernel does not obey.",
        ),
        Param::with_default(
            "reaction",
            ParamKind::Flag,
            "false",
            "Its host's card obeys congestion notifications (qcn, af-qcn) as [reaction] says: the \
             messages end in it, and what they are about comes in at a limited rate.",
        ),
        Param::optional("pcap", ParamKind::Text, "A file for all that passes, as pcap."),
        Param::with_default(
            "drop",
            ParamKind::Number { min: 0.0, max: 1.0 },
            "0",
            "A fault: the part of arriving frames that is lost.",
        ),
        Param::with_default(
            "corrupt",
            ParamKind::Number { min: 0.0, max: 1.0 },
            "0",
            "A fault: the part of arriving frames that has a bit flipped.",
        ),
        Param::with_default(
            "duplicate",
            ParamKind::Number { min: 0.0, max: 1.0 },
            "0",
            "A fault: the part of arriving frames that comes twice.",
        ),
        Param::optional(
            "lose",
            ParamKind::List(&ParamKind::Count { min: 1, max: 1_000_000_000_000 }),
            "A fault: these of the arriving frames are lost, counted from 1.",
        ),
        Param::optional(
            "mark",
            ParamKind::List(&ParamKind::Count { min: 1, max: 1_000_000_000_000 }),
            "A fault: these are marked (CE), counted in the same way, where they are ECN-capable.",
        ),
    ],
};
