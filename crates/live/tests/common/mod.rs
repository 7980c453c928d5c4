//! A switch between devices in memory.

#![allow(dead_code, reason = "each test file uses what it needs")]

use switchbed_config::param::{Param, ParamKind};
use switchbed_live::device::{Memory, Port};
use switchbed_live::forward::AnyDevice;
use switchbed_live::{Clock, Fake, Forwarder, Switch};
use switchbed_qdisc::schemes::SCHEMES;
use switchbed_qdisc::schemes::definition::SchemeInfo;
use switchbed_qdisc::switch::POLICIES;
use switchbed_qdisc::trimming::{TrimMode, Trimming};
use switchbed_scenario::live::{Attach, Faults, LivePort, Route, Settings};
use switchbed_scenario::scheme::{Value, Values, find};
use switchbed_scenario::{
    BufferPolicy, Classify, Discipline, Live, SchemeChoice, Sharing, StrictOrder, Switch as Ports,
    Unmarkable,
};
use switchbed_units::{Bytes, Rate, Span, Time};
use switchbed_wire::offload::{Header, Joined, split};

pub const MBPS: u64 = 1_000_000;

/// A scheme by name with its parameters.
pub fn scheme(name: &str, params: &[(&str, Value)]) -> SchemeChoice {
    SchemeChoice::named(name, params.iter().cloned()).unwrap_or_else(|unfit| panic!("{unfit:?}"))
}

/// Step marking on each queue.
pub fn step(threshold: u64) -> SchemeChoice {
    let at = Value::Word("enqueue".to_owned());
    scheme("per-queue", &[("threshold", Value::Bytes(Bytes::new(threshold))), ("mark_at", at)])
}

/// A scheme with its defaults but for what is written here.
pub fn notifier(name: &str, but: &[(&str, &str)]) -> SchemeChoice {
    let known = find(name).expect("registered").params;
    let kind = |key| known.iter().find(|param| param.name == key).expect("a parameter").kind;
    let params = but.iter().map(|&(key, text)| (key, kind(key).parse(text).expect("a value")));
    scheme(name, &params.collect::<Vec<_>>())
}

/// So many ports of 100 Mbps, with DWRR over two queues.
pub fn live(ports: usize, scheme: SchemeChoice) -> Live {
    let port = |i: usize| LivePort {
        name: format!("p{i}"),
        attach: Attach::Interface,
        offload: true,
        rate: Rate::from_bps(100 * MBPS),
        delay: Span::ZERO,
        host_rate: None,
        pfc: false,
        reaction: false,
        pcap: None,
        faults: Faults::default(),
    };
    Live {
        title: String::new(),
        switch: Ports {
            queues: 2,
            classify: Classify::Class,
            discipline: Discipline::Dwrr,
            strict: 0,
            strict_order: StrictOrder::Lowest,
            quantum: vec![Bytes::new(1500); 2],
            buffer: Bytes::new(100_000),
            memory: None,
            policy: BufferPolicy::Shared,
            pool: None,
            alpha: None,
            sharing: Sharing::default(),
            unmarkable: Unmarkable::Drop,
            pfc: None,
            trimming: None,
            queue: Vec::new(),
        },
        scheme,
        reaction: None,
        live: Settings {
            mtu: Bytes::new(1500),
            fraction: 1.0,
            bucket: None,
            classes: std::array::from_fn(|dscp| dscp as u8),
            routes: (0..ports)
                .map(|i| Route { station: station(i), port: i, name: format!("p{i}") })
                .collect(),
            learn: true,
            realtime: false,
            socket: None,
            series_every: None,
            seed: 1,
        },
        port: (0..ports).map(port).collect(),
    }
}

/// Each scheme of the registry, and each policy by which ports share their memory, at lengths and times
/// that short sequences reach.
pub fn every(ports: usize) -> Vec<Live> {
    let schemes = SCHEMES.iter().map(|of| live(ports, within_reach(of)));
    let policies = POLICIES.iter().map(|of| {
        let mut live = live(ports, step(6_000));
        live.switch.policy = of.policy;
        live.switch.sharing.young = Some(Bytes::new(4_000));
        live.switch.sharing.saturation = Some(Bytes::new(3_000));
        live.switch.sharing.drain_interval = Some(Span::from_us(200));
        live
    });
    let trimmed = POLICIES.iter().map(|of| {
        let mut live = live(ports, step(6_000));
        live.switch.policy = of.policy;
        live.switch.trimming = Some(trimming());
        live
    });
    schemes.chain(policies).chain(trimmed).collect()
}

/// Frames of queue 0 are cut to 128 bytes and go on in queue 1 with DSCP 46.
pub fn trimming() -> Trimming {
    Trimming {
        size: Bytes::new(128),
        queues: Some(vec![0]),
        queue: Some(1),
        dscp: 46,
        host_dscp: None,
        mode: TrimMode::Switch,
    }
}

/// It with a memory of 20,000 bytes a port, 30,000 together, and a station that it has to learn of.
pub fn small(mut live: Live) -> Live {
    live.live.routes.truncate(2);
    live.switch.buffer = Bytes::new(20_000);
    let shared = live.switch.policy.shares_pool() || live.scheme.scheme.about().needs_pool;
    live.switch.pool = shared.then_some(Bytes::new(30_000));
    live
}

fn within_reach(scheme: &SchemeInfo) -> SchemeChoice {
    let short = |param: &Param| {
        let text = match (param.name, param.kind) {
            ("target" | "pst_target", ParamKind::Time | ParamKind::Wait) => "50us",
            ("kmax" | "k2", ParamKind::Threshold | ParamKind::Size) => "9000B",
            (_, ParamKind::Threshold | ParamKind::Size) => "6000B",
            (_, ParamKind::Time | ParamKind::Wait) => "200us",
            _ => return None,
        };
        Some((param.name.to_owned(), param.kind.parse(text).expect("a value")))
    };
    let asked = |param: &&Param| {
        let time =
            matches!(param.kind, ParamKind::Time | ParamKind::Wait) && param.default.is_some();
        param.required || time || param.name == "kmax"
    };
    let mut values: Values = scheme.params.iter().filter(asked).filter_map(short).collect();
    loop {
        // What must be given unless another is.
        let unfit = match scheme.with(values.clone()) {
            Ok(choice) => return choice.into(),
            Err(unfit) => unfit,
        };
        let param = scheme.params.iter().find(|param| param.name == unfit.param);
        let missing = param.filter(|param| !values.contains_key(param.name)).and_then(short);
        values.extend([missing.unwrap_or_else(|| panic!("{}: {unfit:?}", scheme.name))]);
    }
}

/// A forwarder over devices in memory, and their other sides.
pub fn forwarder<C: Clock>(live: Live, clock: C) -> (Forwarder<C>, Vec<Port>) {
    forwarder_of(live, clock, Memory::new)
}

/// The same of devices that are made so.
pub fn forwarder_of<C: Clock>(
    live: Live,
    clock: C,
    new: impl Fn() -> Memory,
) -> (Forwarder<C>, Vec<Port>) {
    let devices: Vec<Memory> = live.port.iter().map(|_| new()).collect();
    let sides = devices.iter().map(Memory::port).collect();
    let devices = devices.into_iter().map(|device| Box::new(device) as AnyDevice).collect();
    (Forwarder::new(Switch::new(live), devices, clock), sides)
}

/// The same with a clock that is always punctual.
pub fn punctual(live: Live) -> (Forwarder<Fake>, Vec<Port>) {
    forwarder(live, Fake::default())
}

/// The station behind a port.
pub fn station(port: usize) -> [u8; 6] {
    [2, 0, 0, 0, 0, port as u8 + 1]
}

/// A UDP frame of so many bytes, with a number in its payload.
pub fn frame(from: usize, to: usize, dscp: u8, ecn: u8, length: usize, number: u32) -> Vec<u8> {
    use etherparse::{IpDscp, IpEcn, IpHeaders, Ipv4Extensions, Ipv4Header, PacketBuilder};
    let mut ip = Ipv4Header::new(0, 64, etherparse::ip_number::UDP, [10, 0, 0, 1], [10, 0, 0, 2])
        .expect("a short payload");
    ip.dscp = IpDscp::try_new(dscp).expect("under 64");
    ip.ecn = IpEcn::try_new(ecn).expect("under 4");
    let headers = IpHeaders::Ipv4(ip, Ipv4Extensions::default());
    let mut payload = number.to_be_bytes().to_vec();
    payload.resize(length - 42, 0);
    let mut frame = Vec::new();
    let builder = PacketBuilder::ethernet2(station(from), station(to)).ip(headers);
    builder.udp(1000, 2000).write(&mut frame, &payload).expect("memory");
    frame
}

/// Frames to which packets are joined that arrive at one time, in their order.
pub fn joined(packets: &[(Time, Vec<u8>)]) -> Vec<(Time, Header, Vec<u8>)> {
    let (mut frames, mut frame) = (Vec::new(), Joined::default());
    for (nth, (at, packet)) in packets.iter().enumerate() {
        let last = nth.checked_sub(1).map(|last| packets[last].0);
        if last == Some(*at) && frame.append(packet) {
            continue;
        }
        if let Some(last) = last {
            frames.push((last, frame.finish(), frame.bytes().to_vec()));
        }
        frame.begin(packet);
    }
    if let Some((at, _)) = packets.last() {
        frames.push((*at, frame.finish(), frame.bytes().to_vec()));
    }
    frames
}

/// Packets of frames with offload headers.
pub fn parted(frames: &[(Time, Header, Vec<u8>)]) -> Vec<(Time, Vec<u8>)> {
    let mut found = Vec::new();
    for (at, header, frame) in frames {
        let mut packets = split(*header, frame).expect("a header that fits");
        let mut packet = Vec::new();
        while packets.next(frame, &mut packet) {
            found.push((*at, packet.clone()));
        }
    }
    found
}

/// It with another IPv4 identification.
pub fn identified(mut frame: Vec<u8>, id: u16) -> Vec<u8> {
    frame[18..20].copy_from_slice(&id.to_be_bytes());
    let header = etherparse::Ipv4Header::from_slice(&frame[14..]).expect("IPv4").0;
    frame[24..26].copy_from_slice(&header.calc_header_checksum().to_be_bytes());
    frame
}

/// The number in a frame's payload.
pub fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[42..46].try_into().expect("four bytes"))
}

/// A frame's ECN codepoint, its checksum checked.
pub fn ecn(frame: &[u8]) -> u8 {
    let header = etherparse::Ipv4Header::from_slice(&frame[14..]).expect("IPv4").0;
    assert_eq!(header.header_checksum, header.calc_header_checksum());
    header.ecn.value()
}

pub fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}
