//! E-ECN in a steady state of many DCTCP flows: the queue stays below its threshold, whatever
//! the number of flows, where step marking lets it grow past (Wang et al., Early Marking for
//! Controllable Maximum Queue Length in Data Center Networks, figures 5 to 7).

use crate::common::*;
use switchbed_scenario::scheme::Value;
use switchbed_scenario::*;
use switchbed_scenario::{QueueProbe, Scenario};
use switchbed_units::{Bytes, Span};

/// The threshold: 60 packets of 1000 bytes.
const K: u64 = 60_000;

/// `flows` long-lived DCTCP flows to one host over 10 us links; a base RTT of 42 us.
fn many_to_one(flows: usize, scheme: SchemeChoice) -> Scenario {
    let mut scenario = long_lived(star(2), &vec![0; flows], Span::from_ms(40));
    let Topology::Star(Star { delay, .. }) = &mut scenario.topology else { unreachable!() };
    *delay = Span::from_us(10);
    scenario.scheme = scheme;
    scenario.switch.buffer = Bytes::new(1_000_000);
    scenario.host.usual.mtu = Bytes::new(1_000);
    scenario.transport = Transport {
        control: CongestionControl::Dctcp(DctcpParams {
            g: 1.0 / 16.0,
            alpha_start: 1.0,
            arithmetic: Arithmetic::Exact,
        }),
        mss: Bytes::new(960),
        initial_window: 2,
        restart: Restart::Keep,
        grow_on_repeated_ece: false,
        cut: WindowCut::Exact,
        ..scenario.transport
    };
    scenario.measure.warmup = Span::from_ms(20);
    scenario.measure.series_every = Some(Span::from_us(3));
    scenario.measure.queues = QueueProbe::Ports(vec![format!("switch:{flows}")]);
    scenario
}

fn step() -> SchemeChoice {
    scheme("per-queue", Bytes::new(K))
}

/// A window of 10 us, as in the paper's figure 11, and three base RTTs ahead.
fn e_ecn() -> SchemeChoice {
    let params = [
        ("threshold", Value::Bytes(Bytes::new(K))),
        ("t_i", Value::Span(Span::from_us(10))),
        ("t_a", Value::Span(Span::from_us(3 * 42))),
    ];
    named("e-ecn", &params)
}

/// Share of the samples below the threshold, longest queue in packets, use of the link.
fn measure(flows: usize, scheme: SchemeChoice) -> (f64, f64, f64) {
    let (mut simulation, _) = run(&many_to_one(flows, scheme));
    let warmed_at = simulation.warmed_at();
    let series = simulation.take_series();
    let warm: Vec<_> = series.iter().filter(|s| s.at >= warmed_at).collect();
    let below = warm.iter().filter(|s| s.bytes < Bytes::new(K)).count();
    let reports = simulation.port_reports();
    let measured = reports.iter().find_map(|r| r.lengths.as_ref().map(|l| (l.1, r.utilisation)));
    let (lengths, utilisation) = measured.expect("one port is measured");
    (below as f64 / warm.len() as f64, lengths.max_bytes as f64 / 1e3, utilisation)
}

#[test]
fn e_ecn_keeps_the_queue_below_its_threshold_and_the_link_full() {
    let mut longest = Vec::new();
    for flows in [5, 10, 20] {
        let (below, max, utilisation) = measure(flows, step());
        let (early_below, early_max, early_utilisation) = measure(flows, e_ecn());
        assert!(utilisation > 0.999 && early_utilisation > 0.999, "{early_utilisation}");
        assert!((0.4..0.8).contains(&below), "{flows} flows, step: {below} below K");
        assert!(early_below > 0.97, "{flows} flows, E-ECN: {early_below} below K");
        assert!(early_max < 70.0, "{flows} flows, E-ECN: {early_max} packets");
        longest.push((flows as f64, max));
    }
    // Step marking: a packet a flow beyond K, for each of the round trip's growth.
    for (flows, max) in longest {
        assert!((max - 60.0 - flows).abs() <= 3.0, "{flows} flows: {max} packets");
    }
}
