//! BBR over a bottleneck: rate, queue, cycle and states, worked out by hand from its gains.

use std::path::Path;
use switchbed_scenario::plans_of;
use switchbed_sim::table::{Table, Values};
use switchbed_sim::{Progress, Results, run};

/// Payload of a packet of 1500 bytes with timestamps, and its BDP at 100 Mbps and 20 ms.
const MSS: f64 = 1448.0;
const BDP: f64 = 250e3;
const RTT: f64 = 0.02;

/// Two pairs of hosts over 100 Mbps, 20 ms there and back.
fn text(transport: &str, traffic: &str, more: &str) -> String {
    format!(
        "[topology]\nkind = \"dumbbell\"\nleft = 2\nright = 2\nrate = \"1Gbps\"\ndelay = \"100us\"\n\
         bottleneck_rate = \"100Mbps\"\nbottleneck_delay = \"9.8ms\"\n[switch]\nbuffer = \"4MB\"\n\
         [scheme]\nname = \"none\"\n[host]\nprofile = \"linux-6.x\"\n[transport]\necn = false\n{transport}\n\
         {traffic}\n[measure]\nqueues = [\"left:0\"]\nseries_every = \"1ms\"\n\
         flow_series = {{ every = \"1ms\" }}\n{more}"
    )
}

const LONE: &str = "[[traffic]]\nkind = \"long-lived\"\nfrom = 0\nto = 2\n";

fn results(text: &str) -> Results {
    let plans = plans_of("bbr.toml", text, Path::new(""), &[], None);
    let plans = plans.unwrap_or_else(|mistake| panic!("{mistake}"));
    run(&plans[0].scenario, &Progress::new()).expect("runs")
}

fn series(of: &Results) -> &Table {
    &of.monitors.iter().find(|(name, _)| *name == "flow_series").expect("a table").1
}

fn floats<'a>(of: &'a Table, column: &str) -> &'a [f64] {
    let found = of.columns.iter().find(|of| of.name == column).expect(column);
    let Values::F64(values) = &found.values else { panic!("{column}") };
    values
}

/// The longest queue from a time on, in bytes.
fn longest(of: &Results, from: f64) -> f64 {
    let column = |name| of.series.columns.iter().find(|of| of.name == name).expect("a column");
    let (Values::F64(times), Values::U64(bytes)) =
        (&column("time_s").values, &column("bytes").values)
    else {
        panic!("series")
    };
    let late = times.iter().zip(bytes).filter(|(at, _)| **at > from);
    late.map(|(_, &bytes)| bytes as f64).fold(0.0, f64::max)
}

fn modes(of: &Table) -> Vec<&str> {
    let found = of.columns.iter().find(|of| of.name == "mode").expect("mode");
    let Values::Names(names) = &found.values else { panic!("mode") };
    names.rows.iter().map(|&row| names.names[row as usize].as_str()).collect()
}

/// Spans of the table's rows with one mode: mode, start and end in seconds.
fn spans(of: &Table) -> Vec<(&str, f64, f64)> {
    let mut found: Vec<(&str, f64, f64)> = Vec::new();
    for (mode, &at) in modes(of).into_iter().zip(floats(of, "time_s")) {
        match found.last_mut().filter(|last| last.0 == mode) {
            Some(last) => last.2 = at,
            None => found.push((mode, at, at)),
        }
    }
    found
}

/// When the gain of the pacing rate becomes this, in seconds.
fn changes(of: &Table, gain: f64) -> Vec<f64> {
    let (gains, times) = (floats(of, "pacing_gain"), floats(of, "time_s"));
    (1..gains.len())
        .filter(|&n| gains[n] == gain && gains[n - 1] != gain)
        .map(|n| times[n])
        .collect()
}

#[test]
fn a_lone_flow_fills_the_line_drains_its_queue_and_probes_every_eighth_round_trip() {
    let text = text("kind = \"bbr\"", LONE, "warmup = \"1s\"\n[run]\nuntil = \"4s\"\n");
    let of = results(&text);
    let goodput = of.summary.goodput_bps;
    assert!(goodput > 0.95 * 100e6 * MSS / 1500.0, "{goodput}");
    assert_eq!((of.summary.drops, of.summary.timeouts), (0, 0));
    // STARTUP's window is 2/ln 2 of the BDP and three segments of 1/1024 s at 2.89 times the rate: 166
    // packets · 2.887 + 3 · 23. What is over the BDP is in the queue.
    let peak = longest(&of, 0.0);
    let by_hand = (166.0 * 2.887 + 69.0 - 166.0) * 1500.0;
    assert!((peak / by_hand - 1.0).abs() < 0.03, "{peak} {by_hand}");
    // In PROBE_BW it is no more than what the probe adds, a quarter, and its three segments' space.
    let steady = longest(&of, 1.0);
    assert!(steady > 0.2 * BDP && steady < 0.5 * BDP, "{steady}");
    let table = series(&of);
    let names: Vec<&str> = spans(table).iter().map(|span| span.0).collect();
    assert_eq!(names, ["startup", "drain", "probe-bw"]);
    // Seven phases of a round trip each and a packet's time, and one that takes until the BDP and its
    // space are out.
    let probes = changes(table, 1.25);
    assert!(probes.len() > 18, "{probes:?}");
    for pair in probes.windows(2) {
        let cycle = (pair[1] - pair[0]) / RTT;
        assert!((8.0..8.6).contains(&cycle), "{cycle}");
    }
    // The bandwidth is the line's, of payload, and the least round trip the path's.
    let last = floats(table, "bw_bps").len() - 1;
    assert!((floats(table, "bw_bps")[last] / (100e6 * MSS / 1500.0) - 1.0).abs() < 0.01);
    assert!((floats(table, "mrtt_s")[last] / RTT - 1.0).abs() < 0.01);
}

#[test]
fn after_ten_seconds_four_packets_are_in_flight_for_200_ms_and_a_round() {
    let text = text("kind = \"bbr\"", LONE, "[run]\nuntil = \"11s\"\n");
    let of = results(&text);
    let table = series(&of);
    let found = spans(table);
    let (_, start, end) =
        found.into_iter().find(|span| span.0 == "probe-rtt").expect("probes the round trip");
    // The least round trip is the handshake's, at 20 ms; the queue takes a round trip to go.
    assert!((start - 10.02).abs() < 0.03, "{start}");
    assert!((0.2..0.2 + 2.5 * RTT).contains(&(end - start)), "{}", end - start);
    let (cwnd, times) = (floats(table, "cwnd_packets"), floats(table, "time_s"));
    let within = (0..cwnd.len()).filter(|&n| times[n] >= start && times[n] <= end);
    assert!(within.map(|n| cwnd[n]).all(|cwnd| cwnd == 4.0));
    // The window comes back.
    assert!(cwnd[cwnd.len() - 1] > 300.0);
}

#[test]
fn shorter_windows_of_the_least_round_trip_probe_it_more_often() {
    let keys = "kind = \"bbr\"\nmin_rtt_window = \"500ms\"\nprobe_rtt_time = \"50ms\"";
    let of = results(&text(keys, LONE, "[run]\nuntil = \"3s\"\n"));
    let probes = spans(series(&of)).into_iter().filter(|span| span.0 == "probe-rtt");
    let lasts: Vec<f64> = probes.map(|span| span.2 - span.1).collect();
    assert!((3..=5).contains(&lasts.len()), "{lasts:?}");
    assert!(lasts.iter().all(|span| (0.05..0.11).contains(span)), "{lasts:?}");
}

#[test]
fn a_flow_that_its_application_limits_neither_fills_the_pipe_nor_raises_the_bandwidth() {
    // 10 packets every 11.6 ms on one connection, a tenth of the line.
    let traffic = "[[traffic]]\nkind = \"on-off\"\nfrom = 0\nto = 2\nburst = \"14480B\"\n\
                   rate = \"10Mbps\"\noff = \"constant\"\n";
    let of = results(&text("kind = \"bbr\"", traffic, "[run]\nuntil = \"3s\"\n"));
    let table = series(&of);
    assert!(modes(table).iter().all(|&mode| mode == "startup" || mode.is_empty()));
    // No round trip has more than the bursts that waited for the handshake: those of its 20 ms and of the
    // first window's, four. The line has 166 packets.
    let most = floats(table, "bw_bps").iter().copied().fold(0.0, f64::max);
    assert!(most <= 40.0 * MSS * 8.0 / RTT, "{most}");
}

#[test]
fn phases_follow_the_seed() {
    let first = |seed: u32| {
        let more = format!("[run]\nuntil = \"1s\"\nseed = {seed}\n");
        let of = results(&text("kind = \"bbr\"", LONE, &more));
        changes(series(&of), 1.25)[0]
    };
    let firsts: Vec<f64> = (1..=6).map(first).collect();
    assert_eq!(first(1), firsts[0]);
    assert!(firsts.iter().any(|at| (at - firsts[0]).abs() > RTT), "{firsts:?}");
}

#[test]
fn beside_cubic_a_shallow_buffer_is_bbrs_and_a_deep_one_is_shared() {
    // Hock, Bless and Zitterbart (ICNP 2017, section IV): at less than a BDP of buffer BBR leaves CUBIC
    // little; at 8 BDP CUBIC gets its share.
    let share = |buffer: f64| {
        let traffic = "[[traffic]]\nkind = \"long-lived\"\nfrom = 0\nto = 2\n\
                       [[traffic]]\nkind = \"long-lived\"\nfrom = 1\nto = 3\ntransport = \"bbr\"\n";
        let more = "warmup = \"10s\"\n[run]\nuntil = \"60s\"\n";
        let text = text("kind = \"cubic\"", traffic, more);
        let text = text.replace("4MB", &format!("{}B", (buffer * BDP) as u64));
        let text = text.replace("flow_series = { every = \"1ms\" }\n", "");
        let of = results(&text);
        of.summary.by_transport.iter().find(|of| of.transport == "bbr").expect("bbr").share
    };
    let (shallow, deep) = (share(0.5), share(8.0));
    assert!(shallow > 0.75, "{shallow}");
    assert!((0.2..0.65).contains(&deep), "{deep}");
}

#[test]
fn version_3_probes_and_cruises_and_keeps_a_smaller_queue() {
    let text = text("kind = \"bbr3\"", LONE, "warmup = \"1s\"\n[run]\nuntil = \"12s\"\n");
    let of = results(&text);
    assert!(of.summary.goodput_bps > 0.95 * 100e6 * MSS / 1500.0, "{}", of.summary.goodput_bps);
    assert_eq!(of.summary.drops, 0);
    let table = series(&of);
    let found = spans(table);
    let names: Vec<&str> = found.iter().map(|span| span.0).collect();
    assert_eq!(names[..2], ["startup", "drain"]);
    // The first DOWN is over at once, since DRAIN has ended with the BDP in flight.
    let cycle = ["probe-bw-cruise", "probe-bw-refill", "probe-bw-up", "probe-bw-down"];
    assert_eq!(names[2..6], cycle);
    assert_eq!(names[6..9], cycle[..3]);
    assert!(names.contains(&"probe-rtt"), "{names:?}");
    // A probe comes 62 or 63 round trips after the last, since the BDP has more packets: 1.3 s is before
    // the 2 to 3 s of the clock.
    let ups: Vec<f64> =
        found.iter().filter(|span| span.0 == "probe-bw-up").map(|span| span.1).collect();
    let gaps = ups.windows(2).map(|pair| (pair[1] - pair[0]) / RTT);
    let gaps: Vec<f64> = gaps.filter(|gap| *gap < 90.0).collect();
    assert!(gaps.len() >= 4 && gaps.iter().all(|gap| (62.0..78.0).contains(gap)), "{gaps:?}");
    // STARTUP's window is twice the BDP at most, and its space: the queue one BDP.
    let peak = longest(&of, 0.0);
    assert!(peak < 1.2 * BDP, "{peak}");
}
