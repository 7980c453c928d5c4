//! Hosts with LSO through one port, against the analysis of Shan and Ren (Improving ECN
//! Marking Scheme with Micro-burst Traffic in Data Center Networks, INFOCOM 2017, section
//! III): how long bursts are, how far the queue swings, what that costs and what CEDM saves.

use crate::common::*;
use switchbed_scenario::scheme::Value;
use switchbed_scenario::*;
use switchbed_scenario::{QueueProbe, Scenario};
use switchbed_units::{Bytes, Span};

/// C·RTT in packets: 10 Gbps and 100 us.
const CD: f64 = 1e10 * 100e-6 / (8.0 * MTU as f64);
const BETA: f64 = 1.0 / 3.0;
/// The warm-up, long enough for DCTCP's α.
const WARMUP: Span = Span::from_ms(60);

/// The paper's figure 4: two senders, one receiver, 10 Gbps, a base RTT of 100 us.
fn figure_4(control: CongestionControl, scheme: SchemeChoice, lso: Option<Lso>) -> Scenario {
    let mut scenario = long_lived(star(3), &[0, 0], Span::from_ms(160));
    let Topology::Star(Star { delay, .. }) = &mut scenario.topology else { unreachable!() };
    // Two data packets of 1.2 us and two ACKs of 32 ns on the way.
    *delay = Span::from_ps((100_000_000 - 2 * 1_200_000 - 2 * 32_000) / 4);
    scenario.scheme = scheme;
    scenario.switch.buffer = Bytes::new(1_000_000);
    scenario.host.usual.lso = lso.unwrap_or(scenario.host.usual.lso);
    scenario.transport = Transport {
        control,
        restart: Restart::Keep,
        grow_on_repeated_ece: false,
        cut: WindowCut::Exact,
        ecn_acks: false,
        ..scenario.transport
    };
    scenario.measure.warmup = WARMUP;
    scenario.measure.queues = QueueProbe::Ports(vec!["switch:2".into()]);
    scenario.measure.series_every = Some(Span::from_ns(1_200));
    scenario
}

fn step(k: f64) -> SchemeChoice {
    scheme("per-queue", Bytes::new((k * MTU as f64) as u64))
}

/// CEDM with the paper's settings: K2 = 5/4·K1 + 1/4·C·RTT and w_s for two senders.
fn cedm(k1: f64) -> SchemeChoice {
    let bytes = |packets: f64| Value::Bytes(Bytes::new((packets * MTU as f64) as u64));
    let params = [
        ("k1", bytes(k1)),
        ("k2", bytes(1.25 * k1 + 0.25 * CD)),
        ("w_s", Value::Number(0.129)),
        ("header", Value::Bytes(Bytes::new(66))),
    ];
    named("cedm", &params)
}

const DCTCP: CongestionControl = CongestionControl::Dctcp(DctcpParams {
    g: 1.0 / 16.0,
    alpha_start: 1.0,
    arithmetic: Arithmetic::Exact,
});

/// Table I's conditions, or bursts after cuts too, as the analysis has them.
fn lso(after_cut: bool) -> Option<Lso> {
    Some(Lso { on: true, max: Bytes::new(300_000), beta: BETA, after_cut, ..LSO })
}

/// Shortest and longest queue after the warm-up in packets, and the goodput lost in Gbps.
struct Found {
    low: f64,
    high: f64,
    loss_gbps: f64,
}

fn measure(scenario: &Scenario) -> Found {
    let (mut simulation, records) = run(scenario);
    let goodput: f64 = goodputs(&simulation, &records).iter().sum();
    let series = simulation.take_series();
    let warm = series.iter().filter(|s| s.at >= simulation.warmed_at());
    let lengths: Vec<f64> = warm.map(|s| s.bytes.as_f64() / MTU as f64).collect();
    assert!(lengths.len() > 50_000);
    Found {
        low: lengths.iter().copied().fold(f64::MAX, f64::min),
        high: lengths.iter().copied().fold(0.0, f64::max),
        loss_gbps: 10.0 * 1460.0 / 1500.0 - goodput / 1e9,
    }
}

#[test]
fn cards_send_bursts_of_the_lesser_of_l_and_beta_w() {
    // A fixed window, so that W is known; the longest queue of the card is a burst without
    // the packet on the wire.
    for (window, max, expected) in [(30, 65_536, 10), (31, 65_536, 11), (60, 12_000, 8)] {
        let lso = Lso { on: true, max: Bytes::new(max), beta: BETA, after_cut: false, ..LSO };
        let mut scenario = figure_4(CongestionControl::EcnStar, step(400.0), Some(lso));
        scenario.transport.receive_window = window;
        scenario.transport.initial_window = 4;
        scenario.measure.queues = QueueProbe::Ports(vec!["host0".into(), "host1".into()]);
        scenario.measure.series_every = None;
        let (mut simulation, _) = run(&scenario);
        for report in simulation.port_reports() {
            if let Some((_, lengths)) = report.lengths {
                let burst = lengths.max_bytes / MTU + 1;
                assert_eq!(burst, expected, "{}, window {window}", report.info.name);
            }
        }
    }
}

#[test]
fn ecn_stars_queue_swings_within_corollary_1() {
    // Equation 9 at N = 2: (1 + β − β)·(Cd + K)/(2 − β) to the same over 2(1 − β).
    for k in [125.0, 200.0] {
        let found = measure(&figure_4(CongestionControl::EcnStar, step(k), lso(true)));
        let amplitude = found.high - found.low;
        let (low, high) = ((CD + k) / (2.0 - BETA), (CD + k) / (2.0 * (1.0 - BETA)));
        assert!((low..high).contains(&amplitude), "{amplitude}, {low} to {high} at K = {k}");
        // Without LSO it swings less than that.
        let smooth = measure(&figure_4(CongestionControl::EcnStar, step(k), None));
        assert!(smooth.high - smooth.low < low, "{} to {}", smooth.low, smooth.high);
    }
}

#[test]
fn dctcps_queue_swings_within_corollary_3_as_corrected() {
    // Equation 17 at N = 2, its root corrected: √(N(1−β)(Cd + K)/2). Lengths are whole
    // packets and both flows' bursts may be a packet longer than βW.
    for k in [40.0, 60.0, 120.0] {
        let found = measure(&figure_4(DCTCP, step(k), lso(true)));
        let amplitude = found.high - found.low;
        let (low, steady) = (BETA / (2.0 - BETA) * (CD + k), BETA / (2.0 * (1.0 - BETA)));
        let high = steady * (CD + k) + libm::sqrt((1.0 - BETA) * (CD + k));
        assert!((low..high + 2.0).contains(&amplitude), "{amplitude}, {low} to {high} at K = {k}");
        // Without LSO: √(2N(Cd + K))/2, several times less.
        let smooth = measure(&figure_4(DCTCP, step(k), None));
        assert!(smooth.high - smooth.low < 0.5 * low + 3.0, "{} to {}", smooth.low, smooth.high);
    }
}

#[test]
fn thresholds_of_corollaries_2_and_4_are_where_the_loss_ends() {
    // 1.5·Cd for ECN*, 21.9 packets for DCTCP (the first case of equation 23, corrected).
    let dctcp = BETA * CD / (2.0 * (1.0 - BETA)) + (2.0 - BETA) * (2.0 - BETA) / (8.0 * BETA);
    for (control, k) in [(CongestionControl::EcnStar, 1.5 * CD), (DCTCP, dctcp)] {
        let loss = |k| measure(&figure_4(control, step(k), lso(true))).loss_gbps;
        let (enough, half) = (loss(k), loss(0.5 * k));
        assert!(enough < 0.01 && half > 0.2, "{enough} Gbps at {k} packets, {half} at half");
    }
}

#[test]
fn lso_costs_throughput_at_the_recommended_thresholds_and_cedm_saves_some() {
    // C·RTT for ECN*, 0.17·C·RTT for DCTCP: enough without LSO.
    for (control, k, after_cut, lost, saved) in [
        (DCTCP, 0.17 * CD, false, 1.0, 0.3),
        (DCTCP, 0.17 * CD, true, 0.2, 0.8),
        (CongestionControl::EcnStar, CD, false, 0.05, 0.2),
        (CongestionControl::EcnStar, CD, true, 0.05, 0.05),
    ] {
        let loss = |scheme, lso| measure(&figure_4(control, scheme, lso)).loss_gbps;
        assert!(loss(step(k), None) < 0.001);
        let (with_step, with_cedm) = (loss(step(k), lso(after_cut)), loss(cedm(k), lso(after_cut)));
        let said = format!("{control:?}, after cuts {after_cut}: {with_step}, CEDM {with_cedm}");
        assert!(with_step > lost && with_cedm < (1.0 - saved) * with_step, "{said}");
    }
}
