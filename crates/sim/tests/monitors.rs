//! Monitors against answers worked out by hand, and their promise to change nothing.

use crate::common::*;
use std::io::Write;
use switchbed_scenario::measure::{
    Bursts, Changes, Convergence, FlowSeries, LinkSeries, Monitors, Waits,
};
use switchbed_scenario::*;
use switchbed_scenario::{PortNames, QueueProbe, Scenario};
use switchbed_sim::table::{Table, Values};
use switchbed_sim::{Division, PortReport, Simulation, Status};
use switchbed_units::{Bytes, Span, Time};

/// 10 Gbps and 1 us a link; hosts, then the switch: its port 2 is link 3 + 2.
const TO_HOST_2: &str = "switch:2";

/// What monitors saw, by name.
struct Seen(Vec<(&'static str, Table)>);

impl Seen {
    fn column(&self, table: &str, column: &str) -> &Values {
        let (_, table) = self.0.iter().find(|(name, _)| *name == table).expect("asked for");
        &table.columns.iter().find(|found| found.name == column).expect("a column").values
    }
    fn f64s(&self, table: &str, column: &str) -> &[f64] {
        let Values::F64(values) = self.column(table, column) else { panic!("{column}") };
        values
    }
    fn u64s(&self, table: &str, column: &str) -> &[u64] {
        let Values::U64(values) = self.column(table, column) else { panic!("{column}") };
        values
    }
}

/// Runs a scenario with the flows of a list, opened without handshakes: what its monitors saw
/// and its ports.
fn monitored(mut scenario: Scenario, flows: &str) -> (Seen, Vec<PortReport>) {
    let mut list = tempfile::NamedTempFile::new().expect("a temporary file");
    write!(list, "start_s,src,dst,size_bytes\n{flows}").expect("written");
    scenario.traffic = vec![
        listed(list.path().to_str().expect("UTF-8").into(), Connections::FreshNoHandshake).into(),
    ];
    scenario.scheme = scheme("none", Bytes::ZERO);
    let mut simulation = Simulation::new(&scenario).expect("builds");
    while simulation.advance(1_000) == Status::Running {}
    let reports = simulation.port_reports();
    (Seen(simulation.take_monitored()), reports)
}

fn at(ns: u64) -> f64 {
    (Time::ZERO + Span::from_ns(ns)).as_secs_f64()
}

/// Two packets each from two hosts at once, then one alone.
const BURSTS: &str = "0.001,0,2,2920\n0.001,1,2,2920\n0.002,0,2,1460\n";

#[test]
fn every_change_of_a_queue_is_seen_and_its_slope() {
    let mut scenario = star(3);
    scenario.measure.queues = QueueProbe::Off;
    scenario.measure.monitors.changes = Some(Changes {
        ports: vec![TO_HOST_2.into()],
        from: Span::from_ms(1),
        until: Span::from_us(1_500),
        slope_over: Some(Span::from_ns(1_200)),
    });
    let (seen, _) = monitored(scenario, BURSTS);
    let Values::Names(ports) = seen.column("changes", "port") else { panic!("names") };
    assert_eq!(ports.names, [TO_HOST_2]);
    // A packet takes 1.2 us on each line. Both first ones are at the switch after 2.2 us: one
    // goes at once, the other at 3.4 us, as the next two arrive.
    let expected = [
        (0, 0),
        (2_200, 1_500),
        (2_200, 0),
        (2_200, 1_500),
        (3_400, 0),
        (3_400, 1_500),
        (3_400, 3_000),
        (4_600, 1_500),
        (5_800, 0),
    ];
    let times = seen.f64s("changes", "time_s").iter().copied();
    let rows: Vec<_> = times.zip(seen.u64s("changes", "bytes").iter().copied()).collect();
    assert_eq!(rows, expected.map(|(ns, bytes)| (at(1_000_000 + ns), bytes)));
    let slopes = seen.f64s("changes", "slope_bps");
    // From 1500 B at 2.2 us to 3000 B at 3.4 us, to 1500 B, to 0: a packet in 1.2 us each.
    for (slope, expected) in slopes[6..].iter().zip([1e10, -1e10, -1e10]) {
        assert!((slope / expected - 1.0).abs() < 1e-12, "{slopes:?}");
    }
}

#[test]
fn the_longest_queue_after_each_burst_is_seen() {
    let mut scenario = star(3);
    scenario.measure.monitors.bursts =
        Some(Bursts { ports: vec![TO_HOST_2.into()], apart: Span::from_us(500) });
    // The warm-up ends as the first flows start, which count.
    scenario.measure.warmup = Span::from_ms(1);
    let (seen, _) = monitored(scenario, BURSTS);
    assert_eq!(seen.f64s("bursts", "start_s"), [at(1_000_000), at(2_000_000)]);
    assert_eq!(seen.u64s("bursts", "flows"), [2, 1]);
    // The second: stored and sent at once, long for no time.
    assert_eq!(seen.u64s("bursts", "max_bytes"), [3_000, 1_500]);
    assert_eq!(seen.f64s("bursts", "max_at_s"), [at(1_003_400), at(2_002_200)]);
}

/// A window of one packet: a packet an RTT, which is 2 × 1.2 us and 2 us there, 2 × 32 ns and
/// 2 us back.
fn stop_and_wait() -> Scenario {
    let mut scenario = star(3);
    scenario.transport.initial_window = 1;
    scenario.transport.receive_window = 1;
    scenario.measure.queues = QueueProbe::Off;
    scenario
}
const RTT_NS: u64 = 2_400 + 2_000 + 64 + 2_000;

#[test]
fn a_line_that_idles_while_windows_are_closed_underflows() {
    let mut scenario = stop_and_wait();
    scenario.measure.monitors.underflow =
        PortNames(vec![TO_HOST_2.into(), "switch:1".into(), "host0".into()]);
    let (_, reports) = monitored(scenario.clone(), "0.001,0,2,7300\n");
    let underflow = |name: &str| {
        let report = reports.iter().find(|report| report.info.name == name);
        report.expect("there").underflow
    };
    // Five packets; there is something to send until the fifth is, four RTTs after the first,
    // and four have been on the line since.
    assert_eq!(underflow(TO_HOST_2), Some(Span::from_ns(4 * RTT_NS - 4 * 1_200)));
    assert_eq!(underflow("host0"), Some(Span::from_ns(4 * RTT_NS - 4 * 1_200)));
    assert_eq!(underflow("switch:1"), Some(Span::ZERO));
    assert_eq!(underflow("switch:0"), None);

    // The warm-up ends with the second packet's first bit at the switch.
    scenario.measure.warmup = Span::from_ns(1_000_000 + RTT_NS + 2_200);
    let (_, reports) = monitored(scenario, "0.001,0,2,7300\n");
    let report = reports.iter().find(|report| report.info.name == TO_HOST_2).expect("there");
    assert_eq!(report.underflow, Some(Span::from_ns(3 * RTT_NS - 2_200 - 3 * 1_200)));
}

#[test]
fn a_full_line_does_not_underflow() {
    let mut scenario = long_lived(star(2), &[0, 0], Span::from_ms(20));
    scenario.scheme = scheme("per-queue", packets(65));
    scenario.measure.warmup = Span::from_ms(5);
    scenario.measure.monitors.underflow = PortNames(vec!["switch:2".into()]);
    let mut simulation = Simulation::new(&scenario).expect("builds");
    while simulation.advance(100_000) == Status::Running {}
    let reports = simulation.port_reports();
    let report = reports.iter().find(|report| report.info.name == "switch:2").expect("there");
    assert!(report.utilisation > 0.9999, "{}", report.utilisation);
    assert_eq!(report.underflow, Some(Span::ZERO));
}

#[test]
fn flows_with_a_packet_an_rtt_each_share_fairly_from_the_start() {
    let mut scenario = stop_and_wait();
    scenario.measure.monitors.convergence = Some(Convergence {
        port: TO_HOST_2.into(),
        window: Span::from_us(100),
        within: 0.1,
        windows: 2,
    });
    // 15 or 16 packets of each in 100 us. The second joins at 1.05 ms; the first window that
    // it is under way through ends at 1.2 ms. A third goes elsewhere.
    let (seen, _) =
        monitored(scenario, "0.001,0,2,146000\n0.00105,1,2,146000\n0.00105,2,0,14600\n");
    assert_eq!(seen.u64s("convergence", "row"), [0, 1]);
    let after = seen.f64s("convergence", "converged_after_s");
    assert_eq!(after, [at(200_000), at(150_000)]);
    assert!(seen.u64s("rates", "row").iter().all(|&row| row < 2));
    let rates = seen.f64s("rates", "time_s").iter().zip(seen.f64s("rates", "rate_bps"));
    let both: Vec<_> = rates.filter(|rate| *rate.0 == at(1_300_000)).collect();
    assert_eq!(both.len(), 2);
    for (_, rate_bps) in both {
        let packets = rate_bps * 1e-4 / (8.0 * 1460.0);
        assert!((packets - 15.0).abs() < 1.001, "{packets} packets");
    }
}

/// A host's own timers (here of its processing) are of no connection.
#[test]
fn monitors_follow_hosts_that_take_their_time() {
    let mut scenario = stop_and_wait();
    scenario.host.usual.jitter = Span::from_us(1);
    scenario.measure.monitors.convergence = Some(Convergence {
        port: TO_HOST_2.into(),
        window: Span::from_us(100),
        within: 0.5,
        windows: 1,
    });
    let (seen, _) = monitored(scenario, "0.001,0,2,146000\n0.00105,1,2,146000\n");
    assert_eq!(seen.u64s("convergence", "row").len(), 2);
}

#[test]
fn monitors_change_nothing_and_see_the_same_however_ports_are_settled() {
    let plain = fig9("mq-ecn", 0.8, 60);
    let mut scenario = plain.clone();
    let ports = || vec!["leaf3:5".to_string(), "spine7:3".into(), "host9".into()];
    scenario.measure.monitors = Monitors {
        changes: Some(Changes {
            ports: ports(),
            from: Span::ZERO,
            until: Span::from_ms(500),
            slope_over: None,
        }),
        bursts: Some(Bursts { ports: ports(), apart: Span::from_us(20) }),
        convergence: Some(Convergence {
            port: "spine7:3".into(),
            window: Span::from_us(50),
            within: 0.2,
            windows: 1,
        }),
        flow_series: Some(FlowSeries {
            every: Some(Span::from_us(200)),
            rows: None,
            traffic: None,
            classes: None,
        }),
        link_series: Some(LinkSeries { every: Span::from_us(100), ports: Some(ports()) }),
        underflow: PortNames(ports()),
        waits: Some(Waits { ports: Some(ports()), every: Span::from_us(10) }),
    };
    let run = |scenario: &Scenario, shards: usize| {
        let division = Division { threads: 1, shards, worthwhile: 0 };
        let simulation = Simulation::with(scenario, &build::Nothing, division);
        let mut simulation = simulation.expect("builds");
        while simulation.advance(if shards > 1 { 1 } else { 1 << 30 }) == Status::Running {}
        let mut reports = simulation.port_reports();
        let underflow: Vec<_> = reports.iter_mut().map(|report| report.underflow.take()).collect();
        let counts: Vec<_> = reports.iter().map(|report| report.counters).collect();
        let flows = simulation.take_finished();
        (flows, counts, underflow, format!("{:?}", simulation.take_monitored()))
    };
    let (without, with) = (run(&plain, 1), run(&scenario, 1));
    assert_eq!((&without.0, &without.1), (&with.0, &with.1));
    assert!(with.2.iter().flatten().any(|idle| *idle > Span::ZERO), "{:?}", with.2);
    assert!(with.3.len() > 10_000, "too little was seen");
    assert!(run(&scenario, 4) == with);
}
