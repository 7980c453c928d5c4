//! Traffic, seen from outside: rates, sizes, services, order, pairing.

use crate::common::{Arrivals, arrive, arrive_together, listed};
use proptest::prelude::*;
use std::collections::BTreeMap;
use switchbed_scenario::topology::HostRates;
use switchbed_scenario::traffic::program::Program;
use switchbed_scenario::traffic::{ConnectionUse, FlowStart, Flows, Hosts, list};
use switchbed_scenario::{Connections, LongLived, OneHost, Service, Sizes, Traffic, sizes};
use switchbed_sim::ids::HostId;
use switchbed_units::{Bytes, Rate, Span, Time};

fn hosts(count: u32) -> Hosts {
    Hosts {
        count,
        numbers: None,
        rates: HostRates::Same(Rate::from_gbps(10)),
        mss: Bytes::new(1460),
        header: Bytes::new(40),
    }
}

/// MQ-ECN's fig9: 144 hosts, 8 services, two to a workload.
fn fig9(load: f64, flows: u64) -> Traffic {
    let workloads = ["cache", "web-search", "hadoop", "data-mining"];
    arrive(Arrivals {
        load,
        flows,
        sizes: workloads.iter().map(|name| sizes::named(name).unwrap()).collect(),
        from: (0..144).collect(),
        to: (0..144).collect(),
        service: Service::pair(8),
        connections: Connections::Persistent,
    })
}

/// Every flow has one size, so that counts of flows are exact in the rates.
fn constant(name: &str, bytes: u64) -> Sizes {
    let points = vec![(Bytes::new(bytes), 1.0)];
    Sizes { name: name.into(), points, mean_bytes: bytes as f64, round_up_to: None }
}

fn flows(traffic: &[Traffic], hosts: Hosts, seed: u64) -> Flows {
    Flows::new(traffic.iter().map(|source| (source, hosts.clone())), seed).unwrap()
}

/// That a count of independent events is within `sigmas` standard deviations of `expected`.
#[track_caller]
fn assert_count(count: u64, expected: f64, sigmas: f64) {
    let off = (count as f64 - expected) / expected.sqrt();
    assert!(off.abs() < sigmas, "{count} instead of {expected}: {off} standard deviations");
}

#[test]
fn fig9_offers_its_load_in_the_published_proportions() {
    let n = 200_000;
    let flows = flows(&[fig9(0.5, n)], hosts(144), 1);
    assert_eq!(flows.total(), n);
    let offered = flows.offered()[0].clone();
    // Half of 144 links of 10 Gbps, by the published means.
    assert!((offered.nominal_bps / 720e9 - 1.0).abs() < 1e-12);
    // 18 senders a service, 2 services a workload; a sender's flows a second are
    // 5 Gbps / 8 / mean.
    let means = [913_703.0, 1_671_357.0, 4_149_016.0, 7_495_019.0];
    for (table, mean) in offered.tables.iter().zip(means) {
        let expected = 36.0 * 5e9 / 8.0 / mean;
        assert!((table.flows_per_s / expected - 1.0).abs() < 1e-12, "{}", table.name);
    }
    // The drawn sizes are 0.3 % smaller than the published means; headers add 40 B a packet.
    assert!((offered.payload_load() - 0.4985).abs() < 1e-4, "{}", offered.payload_load());
    let headers = offered.wire_bps / offered.payload_bps;
    assert!((headers - 1500.0 / 1460.0).abs() < 1e-12, "{headers}");

    let mut per_sender = vec![0_u64; 144];
    let mut per_table = [0_u64; 4];
    let mut last = Time::ZERO;
    for (row, flow) in (0..).zip(flows) {
        assert_eq!(flow.row, row);
        assert!(flow.start >= last && flow.src != flow.dst);
        let formula = ((flow.dst.0 + 1) * 144 + flow.src.0 + 1) % 8;
        assert_eq!(u32::from(flow.class), formula);
        assert_eq!(flow.connection, ConnectionUse::Persistent);
        per_sender[flow.src.index()] += 1;
        per_table[usize::from(flow.class) % 4] += 1;
        last = flow.start;
    }
    let seconds = last.as_secs_f64();
    assert_count(n, seconds * offered.flows_per_s, 4.0);
    for (table, count) in offered.tables.iter().zip(per_table) {
        assert_count(count, seconds * table.flows_per_s, 4.0);
    }
    for (host, &count) in per_sender.iter().enumerate() {
        let mean = means[(host + 1) % 8 % 4];
        assert_count(count, seconds * 5e9 / 8.0 / mean, 4.5);
    }
}

/// Claim mqecn.fig9.mice by sampling; `spec::sizes` has it exactly: 65.14 % of the flows
/// under 102,400 B are under 24 KB, by sizes as drawn.
#[test]
fn fig9s_small_flows_are_mostly_under_24_kb() {
    let drawn = flows(&[fig9(0.5, 400_000)], hosts(144), 2);
    let small: Vec<u64> =
        drawn.map(|flow| flow.size.unwrap().get()).filter(|&size| size < 102_400).collect();
    let tiny = small.iter().filter(|&&size| size < 24_000).count() as f64;
    let (n, share) = (small.len() as f64, 0.651_42);
    assert!((tiny / n - share).abs() < 4.0 * (share * (1.0 - share) / n).sqrt(), "{}", tiny / n);
}

#[test]
fn mean_sizes_as_drawn_are_the_exact_means() {
    for table in &sizes::BUILT_IN {
        let table = table.sizes();
        let entry = arrive(Arrivals {
            load: 0.3,
            flows: 200_000,
            sizes: vec![table.clone()],
            from: vec![0, 1, 2],
            to: vec![0, 1, 2],
            service: Service::ONE,
            connections: Connections::Fresh,
        });
        let drawn: Vec<f64> =
            flows(&[entry], hosts(3), 3).map(|flow| flow.size.unwrap().as_f64()).collect();
        let n = drawn.len() as f64;
        let mean = drawn.iter().sum::<f64>() / n;
        let variance = drawn.iter().map(|size| (size - mean) * (size - mean)).sum::<f64>() / n;
        let errors = (mean - table.exact_mean()) / (variance / n).sqrt();
        assert!(errors.abs() < 4.0, "{}: {errors} standard errors", table.name);
    }
}

/// All senders together: gaps of the load's mean, a normal logarithm, senders alike.
#[test]
fn log_normal_flows_come_over_all_senders_together() {
    let (n, sigma) = (100_000, 1.5);
    for load in [0.1, 0.4] {
        let arrivals = Arrivals {
            load,
            flows: n,
            sizes: vec![sizes::named("web-search").unwrap()],
            from: (0..10).collect(),
            to: (0..10).collect(),
            service: Service::ONE,
            connections: Connections::Fresh,
        };
        let entry = arrive_together(sigma, arrivals);
        let drawn: Vec<FlowStart> = flows(&[entry], hosts(10), 4).collect();
        let gap_s = 8.0 * 1_671_357.0 / (load * 10e9) / 10.0;
        let starts = drawn.windows(2).map(|pair| (pair[1].start - pair[0].start).as_secs_f64());
        let gaps: Vec<f64> = starts.map(|gap| gap / gap_s).collect();
        let count = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / count;
        // The variance of a gap is exp(σ²) − 1 of its mean's square.
        assert!((mean - 1.0).abs() < 4.0 * (libm::expm1(sigma * sigma) / count).sqrt(), "{mean}");
        let logs: Vec<f64> = gaps.iter().map(|&gap| libm::log(gap)).collect();
        let log_mean = logs.iter().sum::<f64>() / count;
        let variance = logs.iter().map(|log| (log - log_mean) * (log - log_mean)).sum::<f64>();
        assert!((variance / count / (sigma * sigma) - 1.0).abs() < 4.0 * (2.0 / count).sqrt());
        let mut by_sender = [0_i32; 10];
        drawn.iter().for_each(|flow| by_sender[flow.src.index()] += 1);
        assert!(by_sender.iter().all(|count| (count - 10_000).abs() < 400), "{by_sender:?}");
        assert!(drawn.iter().all(|flow| flow.src != flow.dst));
    }
}

#[test]
fn a_senders_gaps_are_exponential_and_independent() {
    let mut starts: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for flow in flows(&[fig9(0.5, 100_000)], hosts(144), 4) {
        starts.entry(flow.src.0).or_default().push(flow.start.as_secs_f64());
    }
    let means = [913_703.0, 1_671_357.0, 4_149_016.0, 7_495_019.0];
    let mut gaps = Vec::new();
    for (&host, starts) in &starts {
        let rate = 5e9 / 8.0 / means[(host as usize + 1) % 4];
        gaps.extend(starts.windows(2).map(|pair| (pair[1] - pair[0]) * rate));
    }
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    let variance = gaps.iter().map(|gap| (gap - 1.0) * (gap - 1.0)).sum::<f64>() / n;
    let lag = gaps.windows(2).map(|pair| (pair[0] - 1.0) * (pair[1] - 1.0)).sum::<f64>() / n;
    assert!((mean - 1.0).abs() < 4.0 / n.sqrt(), "{mean}");
    assert!((variance - 1.0).abs() < 4.0 * (8.0 / n).sqrt(), "{variance}");
    assert!(lag.abs() < 4.0 / n.sqrt(), "{lag}");
    // Kolmogorov and Smirnov, at 1 %.
    gaps.sort_by(f64::total_cmp);
    let distance = (0..gaps.len())
        .map(|i| (1.0 - libm::exp(-gaps[i]) - i as f64 / n).abs())
        .fold(0.0, f64::max);
    assert!(distance < 1.63 / n.sqrt(), "{distance}");
}

#[test]
fn every_pair_has_its_own_rate_where_services_depend_on_the_receiver() {
    // 10 hosts and 4 services: (j + 1)·10 + i + 1 mod 4 depends on both ends. Two sizes,
    // 1:3, so pairs of services 0 and 2 have three times the rate of 1 and 3. Senders and
    // receivers overlap in part.
    let (from, to) = ([0, 1, 2, 3, 7], [9, 3, 1, 4, 5, 6]);
    let n = 300_000;
    let entry = arrive(Arrivals {
        load: 0.8,
        flows: n,
        sizes: vec![constant("a", 1000), constant("b", 3000)],
        from: from.to_vec(),
        to: to.to_vec(),
        service: Service::pair(4),
        connections: Connections::Fresh,
    });
    let flows = flows(&[entry], hosts(10), 5);
    let offered = flows.offered()[0].clone();
    let mut count: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    let mut last = Time::ZERO;
    for flow in flows {
        let service = ((flow.dst.0 + 1) * 10 + flow.src.0 + 1) % 4;
        assert_eq!(u32::from(flow.class), service);
        assert_eq!(flow.size.unwrap().get(), if service % 2 == 0 { 1000 } else { 3000 });
        *count.entry((flow.src.0, flow.dst.0)).or_default() += 1;
        last = flow.start;
    }
    let seconds = last.as_secs_f64();
    let mut rates = 0.0;
    for src in from {
        let receivers: Vec<u32> = to.into_iter().filter(|&dst| dst != src).collect();
        for &dst in &receivers {
            let bytes = if (src + 1 + (dst + 1) * 10) % 2 == 0 { 1000.0 } else { 3000.0 };
            let rate = 0.8 * 10e9 / (bytes * 8.0) / receivers.len() as f64;
            rates += rate;
            assert_count(count.remove(&(src, dst)).unwrap(), rate * seconds, 4.5);
        }
    }
    assert!(count.is_empty(), "{count:?}");
    assert!((offered.flows_per_s / rates - 1.0).abs() < 1e-12);
    assert!((offered.nominal_bps / (5.0 * 8e9) - 1.0).abs() < 1e-12);
}

#[test]
fn random_services_are_drawn_by_their_shares_at_the_same_load() {
    let n = 100_000;
    let entry = arrive(Arrivals {
        load: 0.2,
        flows: n,
        sizes: vec![constant("a", 1000), constant("b", 3000)],
        from: vec![0, 1],
        to: vec![1, 2, 3],
        service: Service::random(vec![0.1, 0.2, 0.0, 0.7]),
        connections: Connections::FreshNoHandshake,
    });
    let flows = flows(&[entry], hosts(4), 6);
    let offered = flows.offered()[0].clone();
    assert!((offered.nominal_bps / 4e9 - 1.0).abs() < 1e-12);
    assert!((offered.tables[0].flows_per_s / offered.flows_per_s - 0.1).abs() < 1e-12);
    let (mut services, mut pairs, mut bits) = ([0_u64; 4], BTreeMap::new(), 0.0);
    let mut last = Time::ZERO;
    for flow in flows {
        services[usize::from(flow.class)] += 1;
        *pairs.entry((flow.src.0, flow.dst.0)).or_insert(0_u64) += 1;
        bits += flow.size.unwrap().as_f64() * 8.0;
        last = flow.start;
    }
    for (count, share) in services.into_iter().zip([0.1, 0.2, 0.0, 0.7]) {
        if share == 0.0 {
            assert_eq!(count, 0);
        } else {
            assert_count(count, share * n as f64, 4.0);
        }
    }
    for (pair, share) in [
        ((0, 1), 1.0 / 6.0),
        ((0, 2), 1.0 / 6.0),
        ((0, 3), 1.0 / 6.0),
        ((1, 2), 0.25),
        ((1, 3), 0.25),
    ] {
        assert_count(pairs.remove(&pair).unwrap(), share * n as f64, 4.0);
    }
    assert!(pairs.is_empty());
    assert!((bits / last.as_secs_f64() / 4e9 - 1.0).abs() < 0.02);
}

#[test]
fn a_seed_gives_the_same_flows_and_two_loads_share_them() {
    let take =
        |load, seed| -> Vec<FlowStart> { flows(&[fig9(load, 20_000)], hosts(144), seed).collect() };
    let slow = take(0.25, 7);
    assert_eq!(slow, take(0.25, 7));
    assert_ne!(slow, take(0.25, 8));
    // Twice the load: the same flows in the same rows at half the time.
    for (slow, fast) in slow.iter().zip(take(0.5, 7)) {
        let half = slow.start.as_ps().div_ceil(2);
        assert!(fast.start.as_ps().abs_diff(half) <= 1);
        assert_eq!(FlowStart { start: fast.start, ..*slow }, fast);
    }
}

#[test]
fn a_senders_flows_do_not_change_with_the_other_senders() {
    let of_host_5 = |from: Vec<u32>, flows_in_all| -> Vec<FlowStart> {
        let entry = arrive(Arrivals {
            load: 0.5,
            flows: flows_in_all,
            sizes: vec![sizes::named("web-search").unwrap()],
            from,
            to: (0..10).collect(),
            service: Service::ONE,
            connections: Connections::Fresh,
        });
        let drawn = flows(&[entry], hosts(10), 9).filter(|flow| flow.src == HostId(5));
        drawn.map(|flow| FlowStart { row: 0, ..flow }).take(300).collect()
    };
    let among_others = of_host_5((0..10).rev().collect(), 10_000);
    assert_eq!(among_others.len(), 300);
    assert_eq!(among_others, of_host_5(vec![5], 300));
}

#[test]
fn entries_that_make_no_process_are_refused() {
    let entry = |load, from: &[u32], to: &[u32], service, table: Option<Sizes>| {
        arrive(Arrivals {
            load,
            flows: 10,
            sizes: table.into_iter().collect(),
            from: from.to_vec(),
            to: to.to_vec(),
            service,
            connections: Connections::Fresh,
        })
    };
    let table = || Some(constant("a", 1000));
    let one = Service::ONE;
    for (entry, expected) in [
        (entry(0.0, &[0], &[1], one.clone(), table()), "the load 0 is no load"),
        (entry(f64::NAN, &[0], &[1], one.clone(), table()), "the load NaN is no load"),
        (entry(0.5, &[0], &[0], one.clone(), table()), "host 0 has no receiver but itself"),
        (
            entry(0.5, &[0, 4], &[1], one.clone(), table()),
            "`from` names host 4; the hosts are 0 to 3",
        ),
        (entry(0.5, &[0], &[1, 1], one.clone(), table()), "host 1 is in `to` twice"),
        (entry(0.5, &[0], &[], one.clone(), table()), "`to` names no host"),
        (entry(0.5, &[0], &[1], one.clone(), None), "no flow-size table"),
        (entry(0.5, &[0], &[1], one, Some(constant("z", 0))), "the mean of `z` is 0 bytes"),
        (entry(0.5, &[0], &[1], Service::pair(0), table()), "0 services"),
        (
            entry(0.5, &[0], &[1], Service::random(vec![0.5, 0.4]), table()),
            "the services' shares are",
        ),
        (
            entry(0.5, &[0], &[1], Service::random(vec![1.5, -0.5]), table()),
            "the services' shares are",
        ),
        (
            entry(0.5, &[0], &[1], Service::random(vec![f64::NAN]), table()),
            "the services' shares are",
        ),
    ] {
        let good = long_lived(vec![1, 2], 0, Span::ZERO);
        let error = Flows::new([good, entry].iter().map(|source| (source, hosts(4))), 1)
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(&format!("traffic entry 2: {expected}")), "{error}");
    }
}

#[test]
fn a_load_is_printed_with_what_it_means() {
    let flows = flows(&[fig9(0.5, 1)], hosts(144), 1);
    assert_eq!(
        flows.offered()[0].to_string(),
        "load 0.5 (payload over the senders' links, by the size tables' stated means) is 720Gbps \
         of payload from 144 senders in 46512.2 flows/s; 0.4985 by the sizes as drawn, 0.5121 on \
         the wire with headers; mean sizes: cache 913703 B (drawn 911164 B), web-search 1671357 B \
         (drawn 1666451 B), hadoop 4149016 B (drawn 4135954 B), data-mining 7495019 B (drawn \
         7470601 B)"
    );
}

fn long_lived(from: Vec<u32>, to: u32, stagger: Span) -> Traffic {
    let (start, stop) = (Span::from_us(3), None);
    Traffic::LongLived(LongLived {
        from: from.into(),
        to: OneHost(to),
        flows_each: 3,
        classes: vec![0, 1],
        start,
        stagger,
        stop,
    })
}

fn poisson(flows: u64, load: f64) -> Traffic {
    arrive(Arrivals {
        load,
        flows,
        sizes: vec![constant("a", 1460)],
        from: vec![0, 1, 2, 3],
        to: vec![0, 1, 2, 3],
        service: Service::ONE,
        connections: Connections::Fresh,
    })
}

#[test]
fn a_list_written_from_a_run_gives_the_same_flows() {
    let traffic =
        [poisson(500, 0.3), long_lived(vec![3, 1], 0, Span::from_us(1)), poisson(500, 0.1)];
    let finite = || flows(&traffic, hosts(4), 11).filter(|flow| flow.size.is_some());
    let file = tempfile::NamedTempFile::new().unwrap();
    assert_eq!(list::write(file.as_file(), &Program::Timed, finite()).unwrap(), 1000);
    let path = file.path().to_str().unwrap().to_string();
    let entry = listed(path, Connections::Fresh);
    let mut again = flows(&[entry], hosts(4), 0);
    assert_eq!(again.total(), 1000);
    for (row, (read, written)) in (0..).zip(again.by_ref().zip(finite())) {
        assert_eq!(read, FlowStart { row, traffic: 0, list_row: Some(row), ..written });
    }
    assert!(again.next().is_none() && again.failure().is_none());
}

#[test]
fn a_bad_list_is_refused_before_anything_runs() {
    let entry = listed("no/such.csv".into(), Connections::Fresh);
    let error = Flows::new([poisson(1, 0.1), entry].iter().map(|source| (source, hosts(4))), 1)
        .unwrap_err();
    assert!(error.to_string().starts_with("no/such.csv: cannot read the flow list"), "{error}");
}

fn any_traffic() -> impl Strategy<Value = Traffic> {
    prop_oneof![
        (0..40_u64, 0.001..0.9_f64).prop_map(|(flows, load)| poisson(flows, load)),
        (prop::sample::subsequence(vec![3_u32, 1, 2], 1..=3), 0..3_u64)
            .prop_map(|(from, us)| long_lived(from, 0, Span::from_us(us))),
    ]
}

proptest! {
    #[test]
    fn entries_are_merged_by_start_then_entry_then_sender(
        traffic in prop::collection::vec(any_traffic(), 1..6),
        seed in any::<u64>(),
    ) {
        // Each entry alone but in its place (the others silent), then sorted together.
        let mut expected = Vec::new();
        for entry in 0..traffic.len() {
            let mut alone = vec![poisson(0, 0.1); traffic.len()];
            alone[entry] = traffic[entry].clone();
            let flows = flows(&alone, hosts(4), seed);
            expected.extend(flows.map(|flow| (flow.start, entry, flow.src, flow)));
        }
        expected.sort_by_key(|&(start, entry, src, _)| (start, entry, src));
        let merged = flows(&traffic, hosts(4), seed);
        prop_assert_eq!(merged.total(), expected.len() as u64);
        let expected: Vec<_> = (0..)
            .zip(expected)
            .map(|(row, (.., flow))| FlowStart { row, ..flow })
            .collect();
        prop_assert_eq!(merged.collect::<Vec<_>>(), expected);
    }
}
