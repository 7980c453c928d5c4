//! Transports by traffic entry: equal bytes where nothing differs, shares by hand where something does.

use std::path::Path;
use switchbed_scenario::build::Nothing;
use switchbed_scenario::plans_of;
use switchbed_sim::{Division, Progress, Results, run_with};

/// Two senders at 1 Gbps to host 2, with what the entries and sections are to have.
fn scenario(sections: &str, entries: [&str; 2]) -> String {
    let entry = |(nth, keys): (usize, &str)| {
        format!(
            "[[traffic]]\nkind = \"poisson\"\nload = 0.4\nflows = 60\nfrom = [{nth}]\nto = [2]\n\
             sizes = \"web-search\"\n{keys}\n"
        )
    };
    let entries: Vec<String> = entries.into_iter().enumerate().map(entry).collect();
    format!(
        "[topology]\nkind = \"star\"\nhosts = 3\nrate = \"1Gbps\"\ndelay = \"10us\"\n[switch]\nqueues = 2\n\
         buffer = \"200KB\"\n[scheme]\nname = \"per-queue\"\nparams = {{ threshold = \"30KB\" }}\n\
         {sections}\n{}",
        entries.concat()
    )
}

fn run(text: &str) -> Results {
    let plans = plans_of("mixed.toml", text, Path::new(""), &[], None);
    let plans = plans.unwrap_or_else(|mistake| panic!("{mistake}"));
    switchbed_sim::run(&plans[0].scenario, &Progress::new()).expect("runs")
}

fn refused(sections: &str, entry: &str) -> String {
    let text = scenario(sections, ["", entry]);
    match plans_of("mixed.toml", &text, Path::new(""), &[], None) {
        Ok(_) => panic!("{entry} is taken"),
        Err(mistake) => mistake.to_string(),
    }
}

#[test]
fn more_transports_than_a_run_may_have_are_refused() {
    let entry = |nth: usize| {
        format!(
            "[[traffic]]\nkind = \"poisson\"\nload = 0.001\nflows = 1\nsizes = \"1KB\"\ntransport = {{ rto_min = \"{}ms\" }}\n",
            10 + nth
        )
    };
    let text = |entries: usize| {
        let first = scenario(DCTCP, ["", ""]);
        format!("{first}{}", (1..entries).map(entry).collect::<String>())
    };
    let plans = |entries| plans_of("mixed.toml", &text(entries), Path::new(""), &[], None);
    assert!(plans(200).is_ok());
    let said = plans(201).expect_err("one too many").to_string();
    assert!(
        said.contains("traffic has 201 different transports: at most 200 in one run"),
        "{said}"
    );
}

/// All that is written of a run but for its warnings.
fn bytes(of: &Results) -> String {
    format!("{:?} {:?} {:?} {:?}", of.summary.fct, of.flows, of.queues, of.ports)
}

const DCTCP: &str = "[transport]\nkind = \"dctcp\"\nrto_min = \"10ms\"";

#[test]
fn an_entry_that_repeats_transport_changes_nothing() {
    let plain = run(&scenario(DCTCP, ["", ""]));
    for own in [
        "transport = \"dctcp\"",
        "transport = { rto_min = \"10ms\" }",
        "transport = { kind = \"dctcp\", ecn = true }",
    ] {
        for entries in [["", own], [own, own], [own, ""]] {
            let own = run(&scenario(DCTCP, entries));
            assert_eq!(bytes(&own), bytes(&plain), "{entries:?}");
            assert!(own.summary.by_transport.is_empty());
        }
    }
}

#[test]
fn the_only_transport_may_stand_at_entries_alone() {
    let plain = run(&scenario("[transport]\nkind = \"reno\"\necn = false", ["", ""]));
    let own = "transport = { kind = \"reno\", ecn = false }";
    assert_eq!(bytes(&run(&scenario("", [own, own]))), bytes(&plain));
    let pairs = run(&scenario("[transport]\nkind = \"dcqcn\"", ["", ""]));
    let own = "transport = \"dcqcn\"";
    assert_eq!(bytes(&run(&scenario("", [own, own]))), bytes(&pairs));
}

#[test]
fn queue_pairs_by_entry_are_those_by_class() {
    let classes = "service = \"random\"\nservices = 2\nshares = [0, 1]";
    let by_class =
        "[transport]\nkind = \"cubic\"\n[roce]\nkind = \"dcqcn\"\nclasses = [1]\nrto = \"2ms\"";
    let by_class = run(&scenario(by_class, ["", classes]));
    let entry = format!("{classes}\ntransport = \"dcqcn\"");
    let by_entry = "[transport]\nkind = \"cubic\"\n[roce]\nkind = \"dcqcn\"\nrto = \"2ms\"";
    let by_entry = run(&scenario(by_entry, ["", &entry]));
    assert_eq!(bytes(&by_entry), bytes(&by_class));
    let names = by_entry.summary.by_transport.iter().map(|of| of.transport.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["cubic", "dcqcn"]);
}

#[test]
fn each_transport_is_told_apart_and_counted() {
    let own = "transport = { ecn = false, mss = \"1000B\" }";
    let summary = run(&scenario(DCTCP, ["", own])).summary;
    let [first, second] = &summary.by_transport[..] else { panic!("two transports") };
    assert_eq!(first.transport, "dctcp");
    assert!(second.transport.starts_with("dctcp (") && second.transport.contains("ecn = false"));
    assert_eq!(first.flows + second.flows, summary.flows.count);
    assert_eq!(first.fct.n + second.fct.n, summary.fct.all.n);
    assert!((first.share + second.share - 1.0).abs() < 1e-12);
    assert!(first.ecn_cuts > 0 && second.ecn_cuts == 0);
    assert_eq!(first.retransmissions + second.retransmissions, summary.retransmissions);
}

/// CUBIC without ECN beside DCTCP, with losses and marks.
fn lossy() -> String {
    scenario(
        "[transport]\nkind = \"cubic\"\necn = false\n[measure]\nqueues = [\"switch:2\"]\nwarmup = \"20ms\"",
        ["", "transport = { kind = \"dctcp\", ecn = true }"],
    )
}

#[test]
fn marks_and_drops_of_all_transports_are_those_of_the_ports() {
    let results = run(&lossy());
    let summary = &results.summary;
    let [cubic, dctcp] = &summary.by_transport[..] else { panic!("two transports") };
    assert!(cubic.drops > 0 && cubic.marks == 0 && dctcp.marks > 0);
    assert_eq!(cubic.marks + dctcp.marks, summary.marks);
    assert_eq!(cubic.drops + dctcp.drops, summary.drops);
    let (_, table) =
        results.monitors.iter().find(|(name, _)| *name == "transports").expect("a table");
    assert!(format!("{table:?}").contains("wait_p99_us"));
}

#[test]
fn counts_of_transports_do_not_depend_on_how_a_run_is_divided() {
    let text = lossy();
    let plans = plans_of("mixed.toml", &text, Path::new(""), &[], None);
    let scenario = &plans.unwrap_or_else(|mistake| panic!("{mistake}"))[0].scenario;
    let divided = |threads, shards| {
        let division = Division { threads, shards, worthwhile: 0 };
        let results = run_with(scenario, &Progress::new(), &Nothing, division).expect("runs");
        format!("{:?}", results.summary.by_transport)
    };
    let whole = divided(1, 1);
    assert!(divided(1, 2) == whole && divided(2, 3) == whole);
}

#[test]
fn waits_are_those_that_littles_law_has_for_the_queue() {
    // Data of both transports is in packets of 1500 bytes and passes one switch: the queue's mean is the
    // packets' rate times their mean wait. An idle port's packets wait 0.
    let text = "[topology]\nkind = \"star\"\nhosts = 3\nrate = \"1Gbps\"\ndelay = \"100us\"\n\
         [switch]\nbuffer = \"1MB\"\n[scheme]\nname = \"per-queue\"\nparams = { threshold = \"30KB\" }\n\
         [transport]\nkind = \"dctcp\"\n[measure]\nqueues = [\"switch:2\"]\nwarmup = \"100ms\"\n\
         [run]\nuntil = \"400ms\"\n[[traffic]]\nkind = \"long-lived\"\nfrom = \"0\"\nto = 2\n\
         [[traffic]]\nkind = \"long-lived\"\nfrom = \"1\"\nto = 2\ntransport = \"reno\"\n";
    let summary = run(text).summary;
    let waited = |of: &[switchbed_sim::TransportTimes]| {
        of.iter().map(|of| of.wait.n as f64 * of.wait.mean_us.unwrap_or(0.0)).sum::<f64>()
    };
    let by_packets = waited(&summary.by_transport) / 1e6 * 1500.0 / 0.3;
    let port = summary.bottleneck.expect("a port");
    let by_time = port.mean_bytes.expect("measured");
    assert!((by_packets / by_time - 1.0).abs() < 0.01, "{by_packets} {by_time}");
    for of in &summary.by_transport {
        let wait = &of.wait;
        assert!(wait.p50_us <= wait.p99_us && wait.p99_us <= wait.max_us, "{wait:?}");
    }
}

#[test]
fn datagrams_beside_tcp_end_as_they_arrive() {
    let summary =
        run(&scenario("[transport]\nkind = \"cubic\"", ["", "transport = \"udp\""])).summary;
    let [cubic, udp] = &summary.by_transport[..] else { panic!("two transports") };
    assert_eq!((cubic.fct.n, cubic.flows), (60, 60));
    assert!(udp.fct.n > 0 && udp.retransmissions == 0);
    // Without handshake and window nothing keeps a flow from its ideal time but the queue.
    assert!(udp.slowdown.p50 < cubic.slowdown.p50);
}

#[test]
fn what_is_wrong_with_an_entrys_transport_is_told_with_line_and_key() {
    for (sections, entry, says) in [
        ("", "transport = \"cubix\"", "traffic.1.transport is \"cubix\": it must be"),
        ("", "transport = 3", "traffic.1.transport is 3: it must be a transport's kind"),
        ("", "transport = { kind = \"bic\" }", "traffic.1.transport.kind is \"bic\""),
        (
            "",
            "transport = { kind = \"cubic\", echn = true }",
            "traffic.1.transport.echn is unknown",
        ),
        ("", "transport = { mss = \"9KB\" }", "traffic.1.transport.mss is \"9KB\""),
        ("", "transport = { kind = \"reno\", g = 0.5 }", "traffic.1.transport.g does not apply"),
        ("", "transport = { kind = \"dcqcn\", classes = [1] }", "traffic.1.transport.classes"),
        ("", "transport = { kind = \"dcqcn\", ack_class = 5 }", "switch.queues is 2"),
        (
            "",
            "transport = { kind = \"dcqcn\", sack_blocks = 1 }",
            "transport.sack_blocks is unknown",
        ),
        (
            "",
            "transport = { warm = { cwnd = 10, srtt = \"1ms\" } }",
            "traffic.1.transport.warm warms persistent connections",
        ),
    ] {
        let said = refused(sections, entry);
        assert!(said.contains(says), "{entry}: {said}");
        assert!(said.contains("mixed.toml:"), "{said}");
    }
}

/// Wire rates of the two transports, by payload and headers of their packets.
fn wire_bps(of: &Results, packets: [(f64, f64); 2]) -> [f64; 2] {
    let [first, second] = &of.summary.by_transport[..] else { panic!("two transports") };
    let wire = |bps: f64, (payload, header): (f64, f64)| bps * (payload + header) / payload;
    [wire(first.goodput_bps, packets[0]), wire(second.goodput_bps, packets[1])]
}

#[test]
fn tcp_and_queue_pairs_share_by_the_weights_of_their_queues() {
    for (quanta, share) in
        [("1500B\", \"1500B", 0.5), ("4500B\", \"1500B", 0.25), ("1500B\", \"4500B", 0.75)]
    {
        let results = run(&format!(
            "[topology]\nkind = \"star\"\nhosts = 9\nrate = \"10Gbps\"\ndelay = \"2us\"\n[switch]\nqueues = 2\n\
             discipline = \"dwrr\"\nquantum = [\"{quanta}\"]\npool = \"32MB\"\n[switch.pfc]\npriorities = [1]\n\
             [scheme]\nname = \"per-queue\"\nparams = {{ threshold = \"300KB\" }}\n\
             [transport]\nkind = \"dctcp\"\n[measure]\nwarmup = \"20ms\"\n[run]\nuntil = \"60ms\"\n\
             [[traffic]]\nkind = \"long-lived\"\nfrom = \"0-3\"\nto = 8\n\
             [[traffic]]\nkind = \"long-lived\"\nfrom = \"4-7\"\nto = 8\nclasses = [1]\ntransport = \"roce\"\n"
        ));
        let [tcp, pairs] = wire_bps(&results, [(1448.0, 52.0), (1024.0, 62.0)]);
        assert!((pairs / (tcp + pairs) - share).abs() < 0.01 * share, "{quanta}: {tcp} {pairs}");
        assert_eq!(results.summary.drops, 0);
    }
}

#[test]
fn a_classic_flow_is_marked_with_the_square_of_half_of_pragues_probability() {
    // RFC 9332, section 2.1: p_C = (p_CL / k)², k = 2. The probability moves, so the mean of its square is
    // over the square of its mean.
    let results = run(
        "host.profile = \"ideal\"\n[topology]\nkind = \"star\"\nhosts = 9\nrate = \"200Mbps\"\ndelay = \"5ms\"\n\
         [switch]\nbuffer = \"5MB\"\n[scheme]\nname = \"dualpi2\"\n[transport]\nkind = \"cubic\"\n\
         [measure]\nwarmup = \"5s\"\n[run]\nuntil = \"60s\"\n\
         [[traffic]]\nkind = \"long-lived\"\nfrom = \"0-3\"\nto = 8\n\
         [[traffic]]\nkind = \"long-lived\"\nfrom = \"4-7\"\nto = 8\ntransport = \"prague\"\n",
    );
    let summary = &results.summary;
    let [cubic, prague] = &summary.by_transport[..] else { panic!("two transports") };
    let packets = |bps: f64| bps * 55.0 / 8.0 / 1448.0;
    let classic = cubic.ecn_cuts as f64 / packets(cubic.goodput_bps);
    let low_latency = (summary.marks - cubic.ecn_cuts) as f64 / packets(prague.goodput_bps);
    let half = low_latency / 2.0;
    let ratio = classic / (half * half);
    assert!((1.0..1.3).contains(&ratio), "{classic} {low_latency} {ratio}");
    assert!(cubic.share > 0.25 && prague.share > 0.25);
}

/// Queue pairs and datagrams are at hosts 2 and 3; TCP from host 0 to 1 is as it is without them.
#[test]
fn cards_ask_tcp_only_at_hosts_that_have_queue_pairs_or_datagrams() {
    let fct = |other: &str| {
        let text = format!(
            r#"
            topology = {{ kind = "star", hosts = 5, rate = "10Gbps", delay = "5us" }}
            switch.buffer = "1MB"
            scheme = {{ name = "none" }}
            transport.kind = "dctcp"
            [[traffic]]
            kind = "incast"
            from = [0]
            to = 1
            sizes = "100KB"
            {other}
            "#
        );
        let results = run(&text);
        let by_entry = results.summary.by_traffic.first().map(|of| of.fct.mean_us);
        by_entry.unwrap_or(results.summary.fct.all.mean_us)
    };
    let entry = |from: u32, to: u32, kind: &str| {
        format!(
            "[[traffic]]\nkind = \"incast\"\nfrom = [{from}]\nto = {to}\nsizes = \"100KB\"\ntransport = \"{kind}\"\n"
        )
    };
    let alone = fct("");
    for kind in ["udp", "dcqcn", "nscc"] {
        assert_eq!(fct(&entry(2, 3, kind)), alone, "{kind}");
    }
}
