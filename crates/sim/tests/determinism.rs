//! The same seed gives the same run, wherever it runs, and however its work is divided or interrupted.

use crate::common::*;
use switchbed_scenario::*;
use switchbed_sim::{Division, FlowRecord, PortReport, Simulation, Status};
use switchbed_units::{Bytes, Rate, Span};

fn outcome(scenario: &Scenario) -> (Vec<FlowRecord>, String, u64) {
    let (mut simulation, records) = run(scenario);
    let reports = format!("{:?}", simulation.port_reports());
    (records, reports, simulation.events())
}

#[test]
fn the_same_seed_gives_the_same_run_on_any_thread() {
    let scenario = fig9("mq-ecn", 0.7, 200);
    let once = outcome(&scenario);
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let scenario = scenario.clone();
            std::thread::spawn(move || outcome(&scenario))
        })
        .collect();
    for thread in threads {
        assert!(thread.join().expect("no panic") == once);
    }
}

#[test]
fn another_seed_gives_another_run() {
    let one = fig9("mq-ecn", 0.7, 50);
    let mut two = one.clone();
    two.run.seed = 2;
    assert!(outcome(&one).0 != outcome(&two).0);
}

#[test]
fn two_schemes_meet_the_same_flows() {
    let arrivals = |name| {
        let (_, records) = run(&fig9(name, 0.5, 300));
        let flow = |r: &FlowRecord| (r.row, r.start, r.src, r.dst, r.class, r.size);
        let fcts: Vec<_> = records.iter().map(|r| r.end).collect();
        (records.iter().map(flow).collect::<Vec<_>>(), fcts)
    };
    let (std, min) = (arrivals("per-queue"), arrivals("per-queue-min"));
    assert_eq!(std.0, min.0);
    assert!(std.1 != min.1, "the schemes made no difference at all");
}

/// Everything that a run leaves behind, as text.
fn divided(scenario: &Scenario, division: Division, batch: u64) -> (Vec<FlowRecord>, String, u64) {
    let simulation = Simulation::with(scenario, &build::Nothing, division);
    let mut simulation = simulation.expect("builds");
    while simulation.advance(batch) == Status::Running {}
    let mut records = simulation.take_finished();
    records.extend(simulation.unfinished());
    records.sort_by_key(|record| record.row);
    let reports: Vec<PortReport> = simulation.port_reports();
    let hops = simulation.packet_hops();
    (records, format!("{reports:?} {:?}", simulation.take_series()), hops)
}

/// The flows, if they are the same however the work is divided.
fn same(scenario: &Scenario) -> Vec<FlowRecord> {
    let whole = divided(scenario, Division::ALONE, 1_000_000);
    assert!(whole.2 > 1000, "too little happened: {} packet-hops", whole.2);
    for (threads, shards, batch) in [(1, 1, 1), (1, 3, 1_000_000), (2, 5, 10_000)] {
        let parts = divided(scenario, Division { threads, shards, worthwhile: 0 }, batch);
        assert_eq!(whole.2, parts.2);
        assert_eq!(whole.0, parts.0);
        assert!(whole.1 == parts.1, "queues or counters differ");
    }
    whole.0
}

#[test]
fn on_a_fat_tree_with_a_rate_a_tier() {
    let mut scenario = fig9("per-queue", 0.8, 40);
    let (host_delay, rate) = (Span::from_us(2), Rate::from_gbps);
    scenario.topology = Topology::FatTree(FatTree {
        k: 4,
        tiers: Tiers {
            host_rate: rate(1),
            host_delay,
            aggregation_rate: rate(2),
            aggregation_delay: host_delay,
            core_rate: rate(4),
            core_delay: host_delay,
        },
    });
    let Traffic::Poisson(poisson) = &mut scenario.traffic[0].source else { unreachable!() };
    (poisson.from, poisson.to) =
        (HostSet::Named((0..16).collect()), HostSet::Named((0..16).collect()));
    scenario.measure.queues = QueueProbe::All;
    same(&scenario);
}

#[test]
fn with_a_clock_at_every_port() {
    for share in ["rounds", "weights"] {
        let mut scenario = fig9("mq-ecn", 0.8, 25);
        let clock = scheme::Value::Span(Span::from_ns(1_700));
        let choice = but(&scenario.scheme, "share", scheme::Value::Word(share.into()));
        scenario.scheme = but(&choice, "clock", clock);
        scenario.measure.queues = QueueProbe::All;
        same(&scenario);
    }
}

#[test]
fn where_ports_share_memory_and_marking_reads_it() {
    for (name, mark_at) in [("per-pool", "enqueue"), ("per-pool", "dequeue"), ("mq-ecn", "enqueue")]
    {
        // Two receivers on one switch, so that two ports fill the pool at a time.
        let mut scenario = long_lived(star(2), &[0, 1, 0, 1, 0, 1], Span::from_ms(4));
        scenario.topology = match scenario.topology {
            Topology::Star(Star { rate, delay, .. }) => {
                Topology::Star(Star { hosts: 8, rate, delay })
            }
            other => other,
        };
        for (i, traffic) in scenario.traffic.iter_mut().enumerate() {
            let Traffic::LongLived(LongLived { to, .. }) = &mut traffic.source else {
                unreachable!()
            };
            *to = OneHost(6 + i as u32 % 2);
        }
        scenario.switch = Switch {
            queues: 2,
            classify: Classify::Class,
            discipline: Discipline::Dwrr,
            quantum: vec![packets(1), packets(2)],
            policy: BufferPolicy::Dynamic,
            pool: Some(packets(60)),
            alpha: Some(0.7),
            sharing: Sharing::default(),
            ..scenario.switch
        };
        let mark_at = scheme::Value::Word(mark_at.into());
        scenario.scheme = but(&scheme(name, packets(30)), "mark_at", mark_at);
        scenario.transport.rto_min = Span::from_us(500);
        same(&scenario);
        for policy in
            [BufferPolicy::Abm, BufferPolicy::Fab, BufferPolicy::Lqd, BufferPolicy::Occamy]
        {
            scenario.switch.policy = policy;
            scenario.scheme = scheme("none", Bytes::ZERO);
            same(&scenario);
        }
    }
}

#[test]
fn with_drops_timeouts_and_every_discipline() {
    for discipline in [Discipline::Fifo, Discipline::RoundRobin, Discipline::Wrr, Discipline::Dwrr]
    {
        for strict in [0, 1] {
            let mut scenario = long_lived(star(2), &[0, 1, 2, 0, 1, 2], Span::from_ms(3));
            scenario.switch = Switch {
                queues: 3,
                classify: Classify::Class,
                discipline,
                strict,
                quantum: vec![packets(1), packets(2), packets(3)],
                buffer: Bytes::new(30_000),
                ..scenario.switch
            };
            scenario.scheme = scheme("none", Bytes::ZERO);
            scenario.transport.ecn = false;
            scenario.transport.rto_initial = Span::from_us(500);
            scenario.transport.rto_min = Span::from_us(500);
            scenario.measure.series_every = Some(Span::from_us(70));
            let flows = same(&scenario);
            assert!(flows.iter().any(|flow| flow.timeouts > 0), "no timeouts");
        }
    }
}

#[test]
fn with_schemes_that_fill_the_seats() {
    for (name, ecn) in [("oq", true), ("cq", false), ("cqrd", false), ("cqrd", true), ("hcf", true)]
    {
        let mut scenario = long_lived(star(2), &[0; 9], Span::from_ms(4));
        scenario.switch.buffer = packets(40);
        let params = ecn.then_some(("ecn_threshold", scheme::Value::Number(0.4)));
        scenario.scheme = named(name, params.as_slice());
        scenario.transport.ecn = ecn;
        scenario.transport.rto_min = Span::from_us(500);
        same(&scenario);
    }
}

/// A measured port stores every packet and takes it out again; one that nobody looks at lets
/// packets pass straight through.
#[test]
fn measuring_queues_changes_no_packet() {
    for name in ["per-queue", "per-port", "mq-ecn"] {
        let mut scenario = fig9(name, 0.8, 60);
        scenario.measure.queues = QueueProbe::Off;
        let through = divided(&scenario, Division::ALONE, 1_000_000);
        scenario.measure.queues = QueueProbe::All;
        let measured = divided(&scenario, Division::ALONE, 1_000_000);
        assert_eq!(through.0, measured.0, "{name}");
        assert_eq!(through.2, measured.2, "{name}");
    }
}
