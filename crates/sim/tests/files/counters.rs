//! Counters follow time: whatever ends a run, what a port counted happened by then.

use proptest::prelude::*;
use std::path::Path;
use switchbed_scenario::plans_of;
use switchbed_sim::{PortReport, Simulation, Status};

/// A run to its end.
fn run(text: &str) -> Simulation {
    let plans = plans_of("test.toml", text, Path::new("."), &[], None);
    let plans = plans.unwrap_or_else(|mistake| panic!("{mistake}\n{text}"));
    let mut run = Simulation::new(&plans[0].scenario).expect("builds");
    while run.advance(100_000) == Status::Running {}
    run
}

/// What a port sent takes as long as it says, to a packet, and no longer than the run.
fn agrees(run: &mut Simulation, rates_change: bool) -> Vec<PortReport> {
    let whole = run.now().since(run.warmed_at()).as_secs_f64();
    let reports = run.port_reports();
    for report in &reports {
        let PortReport { info, counters, utilisation, .. } = report;
        assert!((0.0..=1.0).contains(utilisation), "{}: {utilisation}", info.name);
        let bps = info.cable.rate.as_bps() as f64;
        let sent = counters.sent_bytes as f64 * 8.0 / bps;
        let packet = 12_000.0 / bps;
        assert!(
            rates_change || sent <= utilisation * whole + packet + 1e-12,
            "{}: {sent} s sent, {utilisation} of {whole} s",
            info.name
        );
    }
    reports
}

#[test]
fn a_rate_that_falls_and_rises_under_a_packet_leaves_utilisation_a_share() {
    let mut run = run(r#"
        topology = { kind = "star", hosts = 4, rate = "10Gbps", delay = "1us" }
        switch.buffer = "300KB"
        scheme.name = "none"
        traffic = [{ kind = "incast", to = 3, sizes = "200KB" }]
        event = [{ at = "50us", port = "switch:3", rate = "100kbps" }, { at = "60us", port = "switch:3", rate = "10Gbps" }]
        run.until = "1ms"
        "#);
    let reports = agrees(&mut run, true);
    // The packet that began at 100 kbps takes 120 ms.
    let port = reports.iter().find(|report| report.info.name == "switch:3").expect("there");
    assert!(port.utilisation > 0.9, "{}", port.utilisation);
}

#[test]
fn a_run_ends_after_its_last_packet_also_where_that_is_lost() {
    for (topology, switch, lose) in [
        ("kind = \"star\", hosts = 5", "buffer = \"100KB\"", "5"),
        (
            "kind = \"ring\", switches = 5, hosts_per_switch = 1",
            "pool = \"100KB\", pfc = { priorities = [0] }",
            "5, 7",
        ),
    ] {
        let text = format!(
            r#"
            topology = {{ {topology}, rate = "40Gbps", delay = "1us" }}
            switch = {{ {switch} }}
            scheme.name = "none"
            host.jitter = "100us"
            traffic = [{{ kind = "probe", from = "0", to = 4, every = "100us", stop = "500us" }}]
            event = [{{ at = "0us", port = "host4", lose = [{lose}] }}]
            "#
        );
        let mut run = run(&text);
        let reports = agrees(&mut run, false);
        for (link, report) in reports.iter().enumerate() {
            let port = run.port(switchbed_sim::ids::LinkId(link as u32));
            assert!(port.busy_until() <= run.now(), "{}", report.info.name);
        }
        // Of several that are equally busy the first: an idle port is not the busiest.
        let busiest = reports.iter().map(|report| report.utilisation).fold(0.0, f64::max);
        assert!(busiest > 0.0);
    }
}

#[test]
fn a_line_that_goes_down_finishes_what_it_sends() {
    let mut run = run(r#"
        topology = { kind = "star", hosts = 3, rate = "1Mbps", delay = "1us" }
        switch.buffer = "300KB"
        scheme.name = "none"
        traffic = [{ kind = "long-lived", from = "0-1", to = 2 }]
        event = [{ at = "30ms", port = "switch:2", up = false }, { at = "31ms", port = "switch:2", up = true }, { at = "40ms", port = "host0", up = false }]
        run.until = "60ms"
        "#);
    let reports = agrees(&mut run, true);
    assert!(reports.iter().any(|report| report.utilisation > 0.5));
}

#[test]
fn pause_frames_that_wait_for_the_line_are_not_sent() {
    // Each takes half the time of its refresh, and each of two classes needs them.
    let mut run = run(r#"
        topology = { kind = "star", hosts = 4, rate = "100Gbps", delay = "1us" }
        switch = { queues = 2, pool = "300KB", pfc = { priorities = [0], quanta = 4 } }
        scheme.name = "none"
        traffic = [{ kind = "incast", to = 3, sizes = "200KB" }]
        run.until = "200us"
        "#);
    let whole = run.now().as_secs_f64();
    let reports = agrees(&mut run, false);
    for (link, report) in reports.iter().enumerate() {
        let port = run.port(switchbed_sim::ids::LinkId(link as u32));
        let frames = port.pause_frames(run.now()).sent as f64 * 64.0 * 8.0;
        let sent = (report.counters.sent_bytes as f64 * 8.0 + frames) / 100e9;
        let busy = report.utilisation * whole;
        assert!((sent - busy).abs() <= 1538.0 * 8.0 / 100e9, "{}: {sent} {busy}", report.info.name);
    }
}

/// Scenarios of one switch: a rate, whom hosts send to and how much, events, and an end or none.
fn stars() -> impl Strategy<Value = (String, bool)> {
    let rates = prop_oneof![Just("100Mbps"), Just("3Gbps"), Just("40Gbps")];
    let traffic = prop_oneof![
        (1u32..60).prop_map(|kb| format!("kind = \"incast\", to = 3, sizes = \"{kb}KB\"")),
        (1u32..9).prop_map(|n| format!(
            "kind = \"probe\", from = \"0-2\", to = 3, every = \"{n}us\", stop = \"{}us\"",
            20 * n
        )),
        (1u32..60)
            .prop_map(|n| format!("kind = \"poisson\", load = 0.5, flows = {n}, sizes = \"20KB\"")),
    ];
    let port = (0u32..8).prop_map(|n| match n.checked_sub(4) {
        Some(port) => format!("switch:{port}"),
        None => format!("host{n}"),
    });
    let change = prop_oneof![
        (1u32..2000).prop_map(|mbps| (format!("rate = \"{mbps}Mbps\""), true)),
        prop::collection::vec(1u32..30, 1..4).prop_map(|n| (format!("lose = {n:?}"), false)),
    ];
    let events = prop::collection::vec((0u32..900, port, change), 0..5);
    let pfc = prop_oneof![Just(""), Just(", pool = \"150KB\", pfc = { priorities = [0] }")];
    let until = prop::option::of(1u32..2000);
    let warmup = 0u32..3;
    (rates, traffic, events, pfc, until, warmup).prop_map(
        |(rate, traffic, mut events, pfc, until, warmup)| {
            events.retain(|event| until.is_none_or(|us| event.0 <= us));
            events.sort_by_key(|event| event.0);
            let buffer = if pfc.is_empty() { "buffer = \"60KB\"" } else { "queues = 1" };
            let changes = events.iter().any(|event| event.2.1);
            let events: Vec<_> = events
                .iter()
                .map(|(at, port, change)| {
                    format!("{{ at = \"{at}us\", port = \"{port}\", {} }}", change.0)
                })
                .collect();
            let until = until.map_or(String::new(), |us| {
                format!("measure.warmup = \"{}ns\"\nrun.until = \"{us}us\"", us * warmup * 300)
            });
            let text = format!(
                "topology = {{ kind = \"star\", hosts = 4, rate = \"{rate}\", delay = \"1us\" }}\n\
                 switch = {{ {buffer}{pfc} }}\nscheme.name = \"none\"\nhost.jitter = \"3us\"\n\
                 transport.kind = \"dctcp\"\ntraffic = [{{ {traffic} }}]\nevent = [{}]\n{until}\n",
                events.join(", ")
            );
            (text, changes)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Utilisation is a share of time, it agrees with what was sent, and no byte comes from nowhere.
    #[test]
    fn counters_agree_with_the_clock_and_with_each_other((text, changes) in stars()) {
        let mut run = run(&text);
        let reports = agrees(&mut run, changes);
        let warm = run.warmed_at() > switchbed_units::Time::ZERO;
        let (cards, ports): (Vec<_>, Vec<_>) = reports.iter().partition(|r| !r.info.is_switch());
        let sent: u64 = cards.iter().map(|r| r.counters.sent).sum();
        let lost: u64 = cards.iter().map(|r| r.lost).sum();
        let arrived: u64 = ports.iter().map(|r| r.counters.arrived).sum();
        // What is on its way as the run ends, or as the warm-up does.
        prop_assert!(warm || sent >= lost + arrived, "{sent} sent, {lost} lost, {arrived} arrived\n{text}");
        if !text.contains("until") {
            prop_assert!(sent - lost - arrived <= 4 * 8, "{sent} sent, {lost} lost, {arrived} arrived\n{text}");
        }
        for (link, report) in reports.iter().enumerate() {
            let (c, port) = (&report.counters, run.port(switchbed_sim::ids::LinkId(link as u32)));
            let queued = u64::from(port.packets());
            prop_assert!(warm || c.arrived == c.sent + c.dropped() + queued);
            prop_assert!(warm || c.arrived_bytes == c.sent_bytes + c.dropped_bytes + port.bytes().get());
        }
    }
}

/// Payload of one flow of 40 KB that its table has, in a run that ends and warms up at these times.
fn received(kind: &str, ends: &str, until_us: u32, warmup_us: u32) -> u64 {
    let text = format!(
        r#"
        topology = {{ kind = "star", hosts = 2, rate = "10Gbps", delay = "20us" }}
        switch.buffer = "300KB"
        scheme.name = "none"
        transport.kind = "{kind}"
        traffic = [{{ kind = "incast", from = 0, to = 1, sizes = "40KB", rounds = 1 }}]
        measure = {{ fct_end = "{ends}", warmup = "{warmup_us}us" }}
        run.until = "{until_us}us"
        "#
    );
    let mut run = run(&text);
    let mut flows = run.take_finished();
    flows.extend(run.unfinished());
    assert_eq!(flows.len(), 1, "{kind}");
    // Tables leave out flows that ended in the warm-up; a run without others ends there.
    let since = run.warmed_at();
    let over = warmup_us > 0 && (!run.is_warm() || flows[0].end.is_some_and(|end| end <= since));
    if over { 0 } else { flows[0].received.get() }
}

#[test]
fn what_came_counts_also_while_its_sender_has_not_heard_of_it() {
    for kind in ["dctcp", "bbr", "udp", "dcqcn", "nscc", "rccc"] {
        for ends in ["acked", "received"] {
            let times: Vec<u32> = (0..400).step_by(4).collect();
            let by: Vec<u64> = times.iter().map(|&t| received(kind, ends, t + 4, 0)).collect();
            assert!(by.is_sorted(), "{kind}, {ends}: {by:?}");
            assert_eq!(by.last(), Some(&40_000), "{kind}, {ends}");
            // What came in the warm-up is left out, and the two parts are the whole.
            let since: Vec<u64> =
                times.iter().map(|&t| received(kind, ends, 1000, t + 4)).collect();
            for ((&by, &since), t) in by.iter().zip(&since).zip(&times) {
                assert_eq!(by + since, 40_000, "{kind}, {ends}: until and since {} us", t + 4);
            }
        }
    }
}

#[test]
fn goodput_since_any_time_is_no_more_than_the_line_carries() {
    for (host, transport) in [
        ("switchbed-0.1", "kind = \"dctcp\"\nrto_min = \"10ms\"\nrto_initial = \"10ms\""),
        ("linux-6.x", "kind = \"cubic\"\necn = false"),
        ("ideal", "kind = \"dcqcn\""),
        ("ideal", "kind = \"nscc\""),
    ] {
        for warmup_ms in 8..=14 {
            let text = format!(
                r#"
                topology = {{ kind = "star", hosts = 9, rate = "10Gbps", delay = "25us" }}
                scheme = {{ name = "per-queue", params = {{ threshold = "65pkt" }} }}
                host.profile = "{host}"
                roce.recovery = "selective"
                measure.warmup = "{warmup_ms}ms"
                run.until = "{}ms"
                switch.buffer = "300KB"
                [transport]
                {transport}
                [[traffic]]
                kind = "long-lived"
                from = "0-7"
                to = 8
                stagger = "1ms"
                "#,
                warmup_ms + 10
            );
            let mut run = run(&text);
            let mut flows = run.take_finished();
            flows.extend(run.unfinished());
            let received: u64 = flows.iter().map(|flow| flow.received.get()).sum();
            let gbps = received as f64 * 8.0 / 10e-3 / 1e9;
            assert!(gbps <= 10.0, "{transport} since {warmup_ms} ms: {gbps} Gbps");
        }
    }
}
