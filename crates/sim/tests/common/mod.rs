//! Scenarios that the tests share, built in code.
#![allow(dead_code)]

pub mod profile;

use switchbed_scenario::measure::Monitors;
use switchbed_scenario::scheme::Value;
use switchbed_scenario::traffic::List;
use switchbed_scenario::transport::LossHalves;
use switchbed_scenario::*;
use switchbed_scenario::{Measure, PortNames, QueueProbe, Scenario};
use switchbed_sim::{FlowRecord, Simulation, Status};
use switchbed_units::{Bytes, Rate, Span};

pub const MTU: u64 = 1500;

/// No segmentation and no merging, with the profile's settings for where it is switched on.
pub const LSO: Lso = Lso {
    on: false,
    max: Bytes::new(65_536),
    beta: 1.0 / 3.0,
    after_cut: false,
    recent: None,
    autosize: Autosize::Off,
};
pub const MERGE: Merge = Merge { packets: 1, time: Span::from_us(20), flush: MergeFlush::Time };

/// `count` packets of 1500 bytes.
pub fn packets(count: u64) -> Bytes {
    Bytes::new(count * MTU)
}

/// A scheme of the registry with these parameters, the others at their defaults.
pub fn named(name: &str, params: &[(&str, Value)]) -> SchemeChoice {
    SchemeChoice::named(name, params.iter().cloned()).unwrap_or_else(|unfit| panic!("{unfit:?}"))
}

/// The same scheme with one parameter changed.
pub fn but(choice: &SchemeChoice, key: &str, value: Value) -> SchemeChoice {
    let values = choice.scheme.values();
    let mut params: Vec<(&str, Value)> =
        values.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    params.retain(|(name, _)| *name != key);
    params.push((key, value));
    named(choice.name(), &params)
}

/// A scheme with its threshold, if it has any.
pub fn scheme(name: &str, threshold: Bytes) -> SchemeChoice {
    match name {
        "none" => named(name, &[]),
        _ => named(name, &[("threshold", Value::Bytes(threshold))]),
    }
}

/// MQ-ECN's transport: DCTCP with the settings of its simulations, without warm connections.
pub fn dctcp() -> Transport {
    Transport {
        control: CongestionControl::Dctcp(DctcpParams {
            g: 1.0 / 16.0,
            alpha_start: 1.0 / 16.0,
            arithmetic: Arithmetic::Exact,
        }),
        mss: Bytes::new(1460),
        header: Bytes::new(40),
        initial_window: 16,
        initial_ssthresh: 1256,
        receive_window: 1256,
        rto_initial: Span::from_ms(5),
        rto_min: Span::from_ms(5),
        rto_max: Span::from_ms(60_000),
        ack_every: 1,
        ack_delay: Span::from_ms(1),
        ack_delay_max: Span::from_ms(1),
        sack_blocks: 3,
        rtt_sampling: RttSampling::OneAtATime,
        restart: Restart::AfterUnclampedRto,
        pacing: Pacing::Off,
        grow_when_app_limited: true,
        cut: WindowCut::WholePackets,
        loss_halves: LossHalves::Window,
        ecn_acks: true,
        timeout_after_cut_keeps_ssthresh: true,
        grow_on_repeated_ece: true,
        ..profile::transport(packets(1))
    }
}

/// A star at 10 Gbps with 1 us links, one queue a port, flows to come.
pub fn star(hosts: u32) -> Scenario {
    Scenario {
        title: "test".into(),
        topology: Topology::Star(Star {
            hosts,
            rate: Rate::from_gbps(10),
            delay: Span::from_us(1),
        }),
        switch: Switch {
            queues: 1,
            classify: Classify::Single,
            discipline: Discipline::Fifo,
            strict: 0,
            strict_order: StrictOrder::Lowest,
            quantum: vec![packets(1)],
            buffer: Bytes::new(300_000),
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
        scheme: scheme("per-queue", packets(65)),
        deploy: Vec::new(),
        host: Host {
            profile: "of-tests".into(),
            mtu: packets(1),
            nic: NicQueue::Fifo(NicFifo { buffer: Bytes::new(10_000_000) }),
            delay: HostDelay::Fixed(Span::ZERO),
            jitter: Span::ZERO,
            lso: LSO,
            small_queues: SmallQueues { on: false, limit: Bytes::new(1 << 20) },
            coalesce: Coalesce { frames: 0, time: Span::ZERO },
            merge: MERGE,
        }
        .into(),
        transport: dctcp(),
        roce: None,
        reaction: None,
        routing: Routing::default(),
        traffic: Vec::new(),
        event: Vec::new(),
        measure: Measure {
            warmup: Span::ZERO,
            fct_end: FctEnd::Acked,
            small: Bytes::new(102_400),
            large: Bytes::new(10_485_760),
            queues: QueueProbe::All,
            series_every: None,
            giant: None,
            goodput_every: None,
            operations: None,
            monitors: Monitors::default(),
            capture: PortNames::default(),
            capture_packets: 1_000_000,
            samples: 10_000_000,
        },
        run: Run { seed: 1, until: None, ecmp_by_row: false },
    }
}

/// MQ-ECN's figure 9: 144 hosts, 8 DWRR queues, persistent warm connections.
pub fn fig9(name: &str, load: f64, flows: u64) -> Scenario {
    let base = star(2);
    let sizes = ["cache", "web-search", "hadoop", "data-mining"];
    Scenario {
        topology: Topology::LeafSpine(LeafSpine {
            leaves: 12,
            spines: 12,
            hosts_per_leaf: 12,
            host_rate: Rate::from_gbps(10),
            host_delay: Span::from_ns(20_200),
            fabric_rate: Rate::from_gbps(10),
            fabric_delay: Span::from_ns(200),
        }),
        switch: Switch {
            queues: 8,
            classify: Classify::Class,
            discipline: Discipline::Dwrr,
            quantum: vec![packets(1); 8],
            ..base.switch
        },
        scheme: scheme(name, packets(65)),
        host: Host { nic: NicQueue::Switch, ..base.host.usual }.into(),
        transport: Transport {
            warm: Some(Warm { cwnd: 21.0, srtt: Span::from_ns(86_528) }),
            ..dctcp()
        },
        traffic: vec![
            arrive(Arrivals {
                load,
                flows,
                sizes: sizes
                    .iter()
                    .map(|name| sizes::named(name).expect("a known table"))
                    .collect(),
                from: (0..144).collect(),
                to: (0..144).collect(),
                service: Service::pair(8),
                connections: Connections::Persistent,
            })
            .into(),
        ],
        measure: Measure { queues: QueueProbe::Off, ..base.measure },
        ..base
    }
}

/// Runs to the end; the records by row.
pub fn run(scenario: &Scenario) -> (Simulation, Vec<FlowRecord>) {
    let mut simulation = Simulation::new(scenario).expect("a scenario that builds");
    while simulation.advance(100_000) == Status::Running {}
    let mut records = simulation.take_finished();
    records.extend(simulation.unfinished());
    records.sort_by_key(|record| record.row);
    (simulation, records)
}

/// Long-lived flows into the last host of a star: one sender for each class given.
pub fn long_lived(mut scenario: Scenario, classes: &[u8], until: Span) -> Scenario {
    let senders = classes.len() as u32;
    scenario.topology = match scenario.topology {
        Topology::Star(Star { rate, delay, .. }) => {
            Topology::Star(Star { hosts: senders + 1, rate, delay })
        }
        other => other,
    };
    scenario.traffic = (0..senders)
        .map(|host| {
            Traffic::LongLived(LongLived {
                from: vec![host].into(),
                to: OneHost(senders),
                flows_each: 1,
                classes: vec![classes[host as usize]],
                start: Span::ZERO,
                stagger: Span::ZERO,
                stop: None,
            })
            .into()
        })
        .collect();
    scenario.run.until = Some(until);
    scenario
}

/// Bits a second of each record's flow since the warm-up.
pub fn goodputs(simulation: &Simulation, records: &[FlowRecord]) -> Vec<f64> {
    let elapsed = simulation.now().since(simulation.warmed_at()).as_secs_f64();
    records.iter().map(|record| record.received.as_f64() * 8.0 / elapsed).collect()
}

/// A flow list in a file that lasts as long as the handle: rows of start_s,src,dst,size_bytes.
pub fn list(
    rows: &[(f64, u32, u32, u64)],
    connections: Connections,
) -> (tempfile::NamedTempFile, Vec<Traffic>) {
    use std::io::Write;
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    writeln!(file, "start_s,src,dst,size_bytes").expect("written");
    for (start, src, dst, size) in rows {
        writeln!(file, "{start:.9},{src},{dst},{size}").expect("written");
    }
    let path = file.path().to_str().expect("UTF-8").into();
    (file, vec![listed(path, connections)])
}

/// What kinds of traffic that arrive at random have alike.
#[derive(Clone, Debug)]
pub struct Arrivals {
    pub load: f64,
    pub flows: u64,
    pub sizes: Vec<Sizes>,
    pub from: Vec<u32>,
    pub to: Vec<u32>,
    pub service: Service,
    pub connections: Connections,
}

impl Arrivals {
    fn load(&self) -> Load {
        let sizes = self.sizes.clone().into();
        Load { load: self.load, overload: None, flows: self.flows, sizes }
    }
}

/// At every sender.
pub fn arrive(arrivals: Arrivals) -> Traffic {
    let load = arrivals.load();
    let Arrivals { from, to, service, connections, .. } = arrivals;
    let (from, to, carried) = (from.into(), to.into(), Carried { connections });
    Traffic::Poisson(Poisson { load, from, to, service, carried })
}

/// Over all senders.
pub fn arrive_together(sigma: f64, arrivals: Arrivals) -> Traffic {
    let load = arrivals.load();
    let Arrivals { from, to, service, connections, .. } = arrivals;
    let (from, to, carried) = (from.into(), to.into(), Carried { connections });
    Traffic::LogNormal(LogNormal { sigma, load, from, to, service, carried })
}

/// Asked for.
pub fn ask(request: u64, arrivals: Arrivals) -> Traffic {
    let (load, request) = (arrivals.load(), Bytes::new(request));
    let Arrivals { from, to, service, connections, .. } = arrivals;
    let (from, to) = (from.into(), to.into());
    Traffic::RequestResponse(RequestResponse { request, load, from, to, service, connections })
}

/// From a file.
pub fn listed(file: String, connections: Connections) -> Traffic {
    let format = None;
    Traffic::List(List { file, format, carried: Carried { connections } })
}
