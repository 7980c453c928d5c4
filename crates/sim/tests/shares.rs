//! Who gets how much of a link: schedulers' shares, and what marking does to them.

use crate::common::*;
use switchbed_scenario::scheme::Value;
use switchbed_scenario::*;
use switchbed_scenario::{QueueProbe, Scenario};
use switchbed_units::{Bytes, Rate, Span};

/// Flows of these classes through a port with these quanta.
fn port(discipline: Discipline, quanta: &[u64], classes: &[u8]) -> Scenario {
    let mut scenario = long_lived(star(2), classes, Span::from_ms(60));
    scenario.switch = Switch {
        queues: quanta.len() as u16,
        classify: Classify::Class,
        discipline,
        quantum: quanta.iter().map(|&q| Bytes::new(q)).collect(),
        ..scenario.switch
    };
    scenario.measure.warmup = Span::from_ms(20);
    scenario
}

fn shares(scenario: &Scenario, queues: usize) -> Vec<f64> {
    let (simulation, records) = run(scenario);
    let mut by_class = vec![0.0; queues];
    for (record, rate) in records.iter().zip(goodputs(&simulation, &records)) {
        by_class[record.class as usize] += rate;
    }
    let sum: f64 = by_class.iter().sum();
    by_class.iter().map(|rate| rate / sum).collect()
}

#[test]
fn round_robin_by_bytes_shares_by_quantum_whatever_the_flows() {
    // Two flows in a queue, so that no queue runs dry; one has four.
    let classes = [0, 0, 1, 1, 2, 2, 2, 2];
    for discipline in [Discipline::Dwrr, Discipline::Wrr] {
        for quanta in [[1500, 1500, 1500], [1500, 3000, 6000], [4500, 1500, 3000]] {
            let shares = shares(&port(discipline, &quanta, &classes), 3);
            let sum: u64 = quanta.iter().sum();
            for (share, quantum) in shares.iter().zip(quanta) {
                let fair = quantum as f64 / sum as f64;
                assert!((share / fair - 1.0).abs() < 0.01, "{discipline:?} {quanta:?}: {shares:?}");
            }
        }
    }
}

#[test]
fn dwrr_is_exact_for_quanta_that_packets_do_not_fill() {
    let shares = shares(&port(Discipline::Dwrr, &[2000, 2500], &[0, 0, 1, 1]), 2);
    assert!((shares[0] / (2000.0 / 4500.0) - 1.0).abs() < 0.01, "{shares:?}");
}

#[test]
fn strict_priority_starves_the_rest() {
    let mut scenario = port(Discipline::Dwrr, &[1500; 3], &[0, 0, 1, 1, 2, 2]);
    scenario.switch.strict = 1;
    let shares = shares(&scenario, 3);
    assert!(shares[0] > 0.99, "{shares:?}");
}

#[test]
fn the_highest_of_several_strict_queues_goes_first_where_that_is_the_order() {
    for (order, first) in [(StrictOrder::Lowest, 0), (StrictOrder::Highest, 1)] {
        let mut scenario = port(Discipline::Dwrr, &[1500; 3], &[0, 0, 1, 1, 2, 2]);
        scenario.switch.strict = 2;
        scenario.switch.strict_order = order;
        let shares = shares(&scenario, 3);
        assert!(shares[first] > 0.99, "{order:?}: {shares:?}");
    }
}

#[test]
fn one_threshold_for_a_port_takes_from_the_few_what_mq_ecn_does_not() {
    // MQ-ECN, section 2.2.3: 1 flow against 8 in queues of equal quanta.
    let of = |name| {
        let mut scenario = port(Discipline::Dwrr, &[1500; 2], &[0, 1, 1, 1, 1, 1, 1, 1, 1]);
        scenario.scheme = scheme(name, packets(16));
        scenario.run.until = Some(Span::from_ms(200));
        shares(&scenario, 2)
    };
    let per_port = of("per-port");
    assert!(per_port[0] < 0.47, "{per_port:?}");
    for name in ["mq-ecn", "per-queue"] {
        let shares = of(name);
        assert!((shares[0] - 0.5).abs() < 0.03, "{name}: {shares:?}");
    }
}

/// MQ-ECN's mean round time in microseconds and threshold in packets at a port where so many
/// of eight equal queues are backlogged.
fn round_and_threshold(active: u8, discipline: Discipline, form: &[(&str, Value)]) -> (f64, f64) {
    let classes: Vec<u8> = (0..active).flat_map(|class| [class; 2]).collect();
    let mut scenario = port(discipline, &[1500; 8], &classes);
    scenario.scheme = scheme("mq-ecn", packets(65));
    for (name, value) in form {
        scenario.scheme = but(&scenario.scheme, name, value.clone());
    }
    let receiver = classes.len();
    scenario.measure.queues = QueueProbe::Ports(vec![format!("switch:{receiver}")]);
    scenario.measure.series_every = Some(Span::from_us(10));
    let mut simulation = switchbed_sim::Simulation::new(&scenario).expect("builds");
    while simulation.advance(100_000) == switchbed_sim::Status::Running {}
    let samples: Vec<_> = simulation
        .take_series()
        .into_iter()
        .filter(|s| s.queue == 0 && s.at >= simulation.warmed_at())
        .collect();
    assert!(samples.len() > 1000);
    let mean = |f: &dyn Fn(&switchbed_sim::QueueSample) -> f64| {
        samples.iter().map(f).sum::<f64>() / samples.len() as f64
    };
    (mean(&|s| s.round_time.as_us_f64()), mean(&|s| s.threshold_bytes) / MTU as f64)
}

#[test]
fn mq_ecns_round_time_and_thresholds_follow_the_active_queues() {
    for active in 1..=8 {
        // Each backlogged queue sends 1500 B a round, 1.2 us; K is divided among them.
        let (round_us, k) = round_and_threshold(active, Discipline::Dwrr, &[]);
        let n = active as f64;
        assert!((round_us / (1.2 * n) - 1.0).abs() < 0.1, "{active} queues: {round_us} us");
        assert!((k / (65.0 / n) - 1.0).abs() < 0.1, "{active} queues: K = {k} packets");
    }
}

#[test]
fn mq_ecns_other_forms_divide_the_threshold_alike() {
    let weights = || ("share", Value::Word("weights".into()));
    let clock = || ("clock", Value::Span(Span::from_ns(7_200)));
    let forms = [
        (Discipline::Dwrr, vec![clock()]),
        (
            Discipline::Dwrr,
            vec![("kmax", Value::Bytes(packets(130))), ("pmax", Value::Number(0.5))],
        ),
        (Discipline::Dwrr, vec![("weight", Value::Number(0.25))]),
        (Discipline::Wfq, vec![weights()]),
        (Discipline::Wfq, vec![weights(), clock()]),
    ];
    for (discipline, form) in &forms {
        for active in [1, 2, 8] {
            let (_, k) = round_and_threshold(active, *discipline, form);
            let fair = 65.0 / active as f64;
            assert!((k / fair - 1.0).abs() < 0.1, "{form:?}, {active} queues: K = {k} packets");
        }
    }
}

/// Jain's index of two DCTCP senders at 1 Gbps, the second 50 ms behind the first.
fn staggered(jitter: Span) -> f64 {
    let mut scenario = long_lived(star(2), &[0, 0], Span::from_ms(1_000));
    scenario.topology =
        Topology::Star(Star { hosts: 3, rate: Rate::from_gbps(1), delay: Span::from_us(25) });
    scenario.scheme = scheme("per-queue", packets(20));
    scenario.host.usual.jitter = jitter;
    scenario.transport.cut = WindowCut::Exact;
    scenario.transport.grow_on_repeated_ece = false;
    scenario.measure.warmup = Span::from_ms(250);
    if let Traffic::LongLived(LongLived { start, .. }) = &mut scenario.traffic[1].source {
        *start = Span::from_ms(50);
    }
    let (simulation, records) = run(&scenario);
    let rates = goodputs(&simulation, &records);
    let sum: f64 = rates.iter().sum();
    assert!(sum > 0.95e9, "the link is full: {sum}");
    sum * sum / (2.0 * rates.iter().map(|rate| rate * rate).sum::<f64>())
}

/// Equal hosts without noise lock in step at this rate and threshold (docs/hosts.md).
#[test]
fn a_little_jitter_lets_dctcp_flows_converge_to_equal_shares() {
    for jitter in [Span::from_ns(10), Span::from_us(1), Span::from_us(12)] {
        let jain = staggered(jitter);
        assert!(jain > 0.99, "Jain's index {jain} with {jitter:?}");
    }
}

#[test]
fn equal_senders_at_a_full_queue_take_turns_though_nothing_else_draws_lots() {
    // Eight senders without jitter, whose packets tie: who comes first when a place is free is
    // drawn at each instant, or one would have them all.
    let mut scenario = long_lived(star(2), &[0; 8], Span::from_ms(400));
    scenario.scheme = scheme("none", packets(0));
    scenario.transport.control = CongestionControl::Reno;
    scenario.transport.ecn = false;
    scenario.switch.buffer = packets(100);
    scenario.measure.warmup = Span::from_ms(100);
    let (simulation, records) = run(&scenario);
    let rates = goodputs(&simulation, &records);
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), rate| (s + rate, q + rate * rate));
    assert!(sum * sum / (8.0 * squares) > 0.8, "{rates:?}");
}
