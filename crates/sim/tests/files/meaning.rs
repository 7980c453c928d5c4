//! Warnings on a run's figures: schemes that never acted, timers and pauses behind means and percentiles, and
//! counts of waits over the flows and the time of the timeouts.

use std::path::Path;
use switchbed_scenario::plans_of;
use switchbed_sim::table::Values;
use switchbed_sim::{Progress, Results, Summary, run};

fn results(text: &str, sets: &[&str]) -> Results {
    let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
    let plans = plans_of("f.toml", text, Path::new("."), &sets, None);
    let plans = plans.unwrap_or_else(|mistake| panic!("{mistake}"));
    run(&plans[0].scenario, &Progress::new()).unwrap_or_else(|error| panic!("{error}"))
}

/// The only warning with these words.
#[track_caller]
fn said<'a>(summary: &'a Summary, words: &str) -> &'a str {
    let all = &summary.warnings;
    let found: Vec<&String> = all.iter().filter(|line| line.contains(words)).collect();
    assert_eq!(found.len(), 1, "{words}: {all:?}");
    found[0]
}

#[track_caller]
fn unsaid(summary: &Summary, words: &str) {
    let all = &summary.warnings;
    assert!(!all.iter().any(|line| line.contains(words)), "{words}: {all:?}");
}

/// Two endless flows into one port, a step at 30 KB.
const STEP: &str = r#"
    topology = { kind = "star", hosts = 3, rate = "1Gbps", delay = "20us" }
    switch.buffer = "100KB"
    scheme = { name = "per-queue", params = { threshold = "30KB" } }
    transport.kind = "dctcp"
    traffic = [{ kind = "long-lived", from = "0-1", to = 2 }]
    run.until = "1500ms"
"#;
/// The first packet of each sender, its SYN, is lost.
const SYNS: &str = r#"
    event = [
        { at = "0s", port = "host0", lose = [1] },
        { at = "0s", port = "host1", lose = [1] },
    ]
"#;

#[test]
fn drops_for_want_of_ecn_are_acts_and_the_fallback_is_named() {
    for warmup in ["0s", "1100ms"] {
        let warmup = format!("measure.warmup={warmup}");
        let found = results(&[STEP, SYNS].concat(), &[&warmup]).summary;
        assert!(found.marks == 0 && found.drops_by_reason.not_ecn_capable > 0, "{found:?}");
        unsaid(&found, "marked nothing");
        let line = said(&found, "not ECN-capable were dropped");
        let named = "flows whose SYN was sent again, without ECN (RFC 3168, section 6.1.1.1): transport.ecn_fallback";
        assert!(
            line.contains("dropped where others would be marked: ") && line.contains(named),
            "{line}"
        );
    }
    // No SYN is lost: nothing is dropped, and there is no such line.
    let found = results(STEP, &[]).summary;
    assert!(found.marks > 0);
    unsaid(&found, "ECN");
    // The SYN asks for ECN again.
    let found = results(&[STEP, SYNS].concat(), &["transport.ecn_fallback=false"]).summary;
    assert!(found.marks > 0);
    unsaid(&found, "fallback");
    // Stored unmarked, they are no sign of a threshold that was never reached either.
    let found = results(&[STEP, SYNS].concat(), &["switch.unmarkable=pass"]).summary;
    assert_eq!((found.marks, found.drops_by_reason.not_ecn_capable), (0, 0));
    unsaid(&found, "never");
    let line = said(&found, "packets to be marked are not ECN-capable and went on");
    assert!(line.contains("transport.ecn_fallback"), "{line}");
}

#[test]
fn a_transport_without_ecn_is_the_reason_only_where_something_was_to_be_marked() {
    for scheme in [
        "{ name = \"per-queue\", params = { threshold = \"30KB\" } }",
        "{ name = \"codel\", params = { interval = \"1ms\" } }",
    ] {
        let scheme = format!("scheme={scheme}");
        let found = results(STEP, &["transport.ecn=false", "run.until=200ms", &scheme]).summary;
        let line = said(&found, "marked nothing");
        assert!(
            line.ends_with("transport.ecn is off, so packets to be marked are dropped"),
            "{line}"
        );
    }
    let sets = ["transport.ecn=false", "run.until=200ms", "switch.unmarkable=pass"];
    let line = said(&results(STEP, &sets).summary, "marked nothing").to_owned();
    assert!(
        line.ends_with("transport.ecn is off, so packets to be marked go on unmarked"),
        "{line}"
    );
    let sets = [
        "transport.ecn=false",
        "run.until=200ms",
        "transport.receive_window=20",
        "scheme.params.threshold=90KB",
    ];
    let found = results(STEP, &sets).summary;
    unsaid(&found, "transport.ecn");
    said(&found, "never above its threshold of 90000 bytes");
}

#[test]
fn a_queue_as_long_as_its_threshold_is_never_above_it() {
    // Two windows of ten packets at once, whose queue is as long as its memory is not.
    let text = r#"
        topology = { kind = "star", hosts = 3, rate = "1Gbps", delay = "20us" }
        switch.buffer = "300KB"
        scheme = { name = "per-queue", params = { threshold = "200KB" } }
        transport.kind = "dctcp"
        traffic = [{ kind = "incast", from = "0-1", to = 2, sizes = "14KB" }]
    "#;
    let max = results(text, &[]).summary.bottleneck.expect("a port").max_bytes.expect("measured");
    let at = |threshold: u64| {
        let set = format!("scheme.params.threshold={threshold}B");
        results(text, &[&set]).summary
    };
    let equal = at(max);
    assert_eq!(equal.marks, 0);
    let line = said(&equal, "marked nothing");
    let named = format!("with {max} bytes, never above its threshold of {max} bytes");
    assert!(line.ends_with(&named), "{line}");
    // A probability that rises over a target has no threshold in bytes.
    for scheme in ["pie", "dualpi2", "fq-pie"] {
        let scheme = format!("scheme={scheme}");
        let found = results(text, &[&scheme]).summary;
        let line = said(&found, "marked nothing");
        assert!(line.contains("; no packet waited over the target, 15ms: a shorter one"), "{line}");
        let found = results(text, &[&scheme, "scheme.params.target=100us"]).summary;
        let line = said(&found, "marked nothing");
        assert!(line.ends_with("waited over the target, 100us, but too briefly"), "{line}");
    }
    // Nor has a wait, or what a queue is steered to.
    let kind = |set: &str| results(text, &[set]).summary;
    for (scheme, why) in [
        ("{ name = \"tcn\", params = { threshold = \"1s\" } }", "; its threshold is 1s"),
        (
            "{ name = \"ecn-sharp\", params = { ins_target = \"2s\", pst_target = \"1s\", pst_interval = \"3s\" } }",
            "; its pst_target is 1s",
        ),
        ("{ name = \"afd\", params = { q_ref = \"200KB\" } }", ", never above its q_ref, 200KB"),
        ("{ name = \"qcn\", params = { q_eq = \"200KB\" } }", ", never above its q_eq, 200KB"),
        ("{ name = \"af-qcn\", params = { q_eq = \"200KB\" } }", ", never above its q_eq, 200KB"),
    ] {
        let found = kind(&format!("scheme={scheme}"));
        let did = if scheme.contains("qcn") { "notified nobody" } else { "marked nothing" };
        let line = said(&found, did);
        assert!(line.ends_with(why), "{line}");
    }
    let under = at(max - 1);
    assert!(under.marks > 0);
    unsaid(&under, "marked nothing");
}

/// Many quick flows of class 0, and an incast whose SYN is lost, of class 1.
const MIXED: &str = r#"
    topology = { kind = "star", hosts = 4, rate = "10Gbps", delay = "5us" }
    switch = { queues = 2, buffer = "400KB" }
    scheme.name = "none"
    transport.kind = "cubic"
    measure.queues = "off"
    [[traffic]]
    kind = "poisson"
    load = 0.1
    flows = 1600
    sizes = "2KB"
    from = "0"
    to = "1"
    connections = "persistent"
    [[traffic]]
    kind = "incast"
    from = "2"
    to = 3
    classes = [1]
    sizes = "2KB"
    [[event]]
    at = "0s"
    port = "host2"
    lose = [1]
"#;

#[test]
fn timers_are_named_by_class_traffic_and_query_and_for_means() {
    let found = results(MIXED, &[]).summary;
    assert_eq!((found.flows.count, found.waits.syn), (1601, 1));
    let line = said(&found, "FCTs are mostly idle waits");
    assert_eq!(
        line,
        "FCTs are mostly idle waits for a timer, which decides them: of all flows (mean), of class 1, traffic 1 (incast) and queries \
         of traffic 1 (mean and all percentiles), for a lost SYN, transport.rto_initial, 1s"
    );
    let p99 = found.fct.all.p99_us.expect("flows");
    assert!(p99 < 1000.0, "the tail of all flows is none of it: {p99}");
    // Nothing lost, nothing named.
    let unlost = MIXED.split("[[event]]").next().expect("text");
    unsaid(&results(unlost, &[]).summary, "figures");
}

#[test]
fn timers_are_named_by_transport() {
    let sets = ["traffic.1.transport=reno", "traffic.1.classes=[0]"];
    let found = results(MIXED, &sets).summary;
    let line = said(&found, "FCTs are mostly idle waits");
    assert!(
        line.contains("traffic 1 (incast), transport reno and queries of traffic 1 (mean and"),
        "{line}"
    );
    assert!(line.ends_with("for a lost SYN, traffic.1.transport.rto_initial, 1s"), "{line}");
    let waits: Vec<u64> = found.by_transport.iter().map(|of| of.waits.syn).collect();
    assert_eq!(waits, [0, 1]);
}

#[test]
fn timers_of_one_kind_take_one_line() {
    // Three incasts with timers of their own, each of which loses its SYN.
    let mut text = MIXED.to_owned();
    for (traffic, from) in [(2, 0), (3, 1)] {
        text += &format!(
            "[[traffic]]\nkind = \"incast\"\nfrom = \"{from}\"\nto = 3\nstart = \"2s\"\nsizes = \"2KB\"\n\
             transport = {{ rto_initial = \"{traffic}00ms\" }}\n\
             [[event]]\nat = \"2s\"\nport = \"host{from}\"\nlose = [1]\n"
        );
    }
    let found = results(&text, &[]).summary;
    assert_eq!(found.waits.syn, 3);
    let line = said(&found, "FCTs are mostly idle waits");
    for key in ["traffic.2.transport.rto_initial, 200ms", "traffic.3.transport.rto_initial, 300ms"]
    {
        assert!(line.contains(key), "{line}");
    }
}

#[test]
fn pauses_that_decide_figures_are_named() {
    let text = r#"
        topology = { kind = "star", hosts = 3, rate = "10Gbps", delay = "1us" }
        switch = { queues = 1, pool = "300KB", pfc = { priorities = [0] } }
        scheme.name = "none"
        transport.kind = "dctcp"
        traffic = [{ kind = "incast", from = "0", to = 2, sizes = "300KB" }]
        event = [{ at = "10us", port = "host2", storm = 0, lasts = "5ms" }]
    "#;
    let found = results(text, &[]);
    let line = said(&found.summary, "FCTs are mostly idle waits for pauses");
    assert!(
        line.contains("of all flows and queries of traffic 0 (mean and all percentiles)"),
        "{line}"
    );
    assert!(line.contains("switch.pfc"), "{line}");
    unsaid(&results(&text[..text.find("event").expect("there")], &[]).summary, "figures");
}

fn texts(results: &Results, name: &str) -> Vec<String> {
    let column = results.flows.columns.iter().find(|column| column.name == name);
    match &column.expect("a column").values {
        Values::Names(of) => of.rows.iter().map(|&row| of.names[row as usize].clone()).collect(),
        Values::F64(values) => values.iter().map(f64::to_string).collect(),
        Values::Bool(values) => values.iter().map(bool::to_string).collect(),
        Values::U32(values) => values.iter().map(u32::to_string).collect(),
        _ => panic!("{name} is of another type"),
    }
}

#[test]
fn waits_count_the_flows_and_the_time_of_the_timeouts() {
    let found = |warmup: &str, more: &[&str]| {
        let warmup = format!("measure.warmup={warmup}");
        results(&[STEP, SYNS].concat(), &[&[&warmup[..]], more].concat())
    };
    let sum = |results: &Results| {
        let waits = results.summary.waits;
        (waits.syn + waits.rto_initial + waits.rto, results.summary.timeouts)
    };
    let whole = found("0s", &[]);
    assert_eq!((whole.summary.waits.syn, texts(&whole, "waited_for")), (2, vec!["syn".into(); 2]));
    assert_eq!(texts(&whole, "waited_s"), ["1", "1"]);
    let (waits, timeouts) = sum(&whole);
    assert_eq!(waits, timeouts);
    // Both waits are over by then, and are nobody's.
    let late = found("1200ms", &["scheme.name=none", "scheme.params={}", "switch.buffer=9MB"]);
    assert_eq!((late.summary.waits.syn, sum(&late)), (0, (0, 0)));
    assert_eq!(texts(&late, "waited_for"), ["", ""]);
    assert_eq!(texts(&late, "waited_s"), ["0", "0"]);
    // Over after it: of a second's wait 100 ms are of the time that counts.
    let amid = found("900ms", &["scheme.name=none", "scheme.params={}", "switch.buffer=9MB"]);
    assert_eq!((amid.summary.waits.syn, sum(&amid)), (2, (2, 2)));
    let waited: Vec<f64> = texts(&amid, "waited_s").iter().map(|s| s.parse().unwrap()).collect();
    assert!(waited.iter().all(|&s| s <= 0.6), "{waited:?}");
    // Flows that do not count have timeouts that do, and waits as many.
    let finite = "traffic=[{ kind = \"incast\", from = \"0-1\", to = 2, sizes = \"20KB\" }]";
    let before = found("900ms", &[finite]);
    assert_eq!(texts(&before, "counted"), ["false", "false"]);
    assert_eq!(sum(&before), (2, 2));
}

#[test]
fn an_endless_flow_that_gave_up_in_the_warm_up_counts_for_nothing() {
    // Every packet of host 0 is lost: SYNs at 0 to 5, 7, 11, 19, 35 and 67 s, given up at 131 s.
    let text = r#"
        topology = { kind = "star", hosts = 3, rate = "10Mbps", delay = "20us" }
        host.profile = "linux-6.x"
        switch.buffer = "100KB"
        scheme.name = "none"
        transport.kind = "cubic"
        measure.queues = "off"
        traffic = [{ kind = "long-lived", from = "0-1", to = 2 }]
        event = [{ at = "0s", port = "host0", lose = [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15] }]
        run.until = "140s"
    "#;
    let found = |warmup: &str| results(text, &[&format!("measure.warmup={warmup}")]);
    let early = found("133s");
    let flows = early.summary.flows;
    assert_eq!((flows.count, flows.failed), (1, 0));
    assert_eq!(texts(&early, "counted"), ["false", "true"]);
    unsaid(&early.summary, "gave up");
    unsaid(&early.summary, "received nothing");
    let endless = early.summary.endless.expect("one goes on");
    assert_eq!((endless.n, endless.jain), (1, 1.0));
    // The flow gives up after this warm-up: it counts, and has failed.
    let late = found("120s");
    assert_eq!((late.summary.flows.count, late.summary.flows.failed), (2, 1));
    let line = said(&late.summary, "gave up");
    assert!(line.starts_with("1 of 2 flows failed") && line.contains("syn_retries"), "{line}");
    assert_eq!(late.summary.endless.expect("both").n, 2);
}

/// Two queues, each with a step of its own; two endless flows for each, by other hosts.
fn two(first: &str, second: &str) -> String {
    format!(
        r#"
        topology = {{ kind = "star", hosts = 6, rate = "1Gbps", delay = "20us" }}
        scheme.name = "none"
        transport.kind = "dctcp"
        traffic = [
            {{ kind = "long-lived", from = "0-1", to = 4, classes = [0] }},
            {{ kind = "long-lived", from = "2-3", to = 5, classes = [1] }},
        ]
        run.until = "100ms"
        measure.warmup = "10ms"
        [switch]
        queues = 2
        buffer = "300KB"
        [[switch.queue]]
        queue = 0
        scheme = {first}
        [[switch.queue]]
        queue = 1
        scheme = {second}
        "#
    )
}

fn named(label: &str, threshold: &str) -> String {
    format!(
        "{{ name = \"per-queue\", label = \"{label}\", params = {{ threshold = \"{threshold}\" }} }}"
    )
}

#[test]
fn a_scheme_that_never_acted_in_its_busy_queue_is_named_though_another_did() {
    // A window of 60 packets for each flow: 180 KB at most wait in a queue.
    let window = ["transport.receive_window=60"];
    let text = two(&named("low", "30KB"), &named("high", "250KB"));
    let found = results(&text, &window).summary;
    assert!(found.marks > 0);
    let line = said(&found, "high marked nothing in a busy queue: queue 1 of switch:5");
    assert!(line.contains("never above its threshold of 250000 bytes"), "{line}");
    unsaid(&found, "low marked");
    // The other way round the first queue is named.
    let found = results(&two(&named("high", "250KB"), &named("low", "30KB")), &window).summary;
    said(&found, "high marked nothing in a busy queue: queue 0 of switch:4");
    // Both act: nothing is to be said.
    let found = results(&two(&named("low", "30KB"), &named("high", "60KB")), &window).summary;
    assert_eq!(found.warnings, Vec::<String>::new());
    // A queue without a scheme is no scheme's fault.
    let found = results(&two(&named("low", "30KB"), "\"none\""), &window).summary;
    unsaid(&found, "marked nothing");
    // Neither acts: one line for the run, one for the other queue.
    let found = results(&two(&named("high", "250KB"), &named("higher", "260KB")), &window).summary;
    said(&found, "high marked nothing");
    said(&found, "higher marked nothing");
}

#[test]
fn a_queue_that_was_idle_or_not_busy_is_not_named() {
    let text = two(&named("low", "30KB"), &named("high", "250KB"));
    let idle = "traffic=[{ kind = \"long-lived\", from = \"0-1\", to = 4, classes = [0] }]";
    unsaid(&results(&text, &[idle]).summary, "marked nothing");
    let slow = "traffic=[{ kind = \"long-lived\", from = \"0-1\", to = 4, classes = [0] },
        { kind = \"poisson\", from = \"2-3\", to = \"5\", load = 0.1, flows = 200, sizes = \"3KB\", service = \"random\", services = 1 }]";
    unsaid(&results(&text, &[slow]).summary, "marked nothing");
}

#[test]
fn the_longest_queue_of_a_scheme_that_acts_is_compared() {
    // The queue of `none` is the longer one, and no threshold of it is spoken of.
    let text = two("\"none\"", &named("high", "250KB"));
    let found = results(&text, &["transport.receive_window=60"]).summary;
    let line = said(&found, "high marked nothing");
    assert!(line.contains("queue 1 of switch:5") && line.contains("of 250000 bytes"), "{line}");
}

#[test]
fn a_deployed_scheme_that_never_acted_is_named() {
    let text = r#"
        topology = { kind = "dumbbell", left = 3, right = 3, rate = "1Gbps", delay = "20us", bottleneck_rate = "1Gbps", bottleneck_delay = "20us" }
        switch.buffer = "300KB"
        scheme.name = "none"
        transport = { kind = "dctcp", receive_window = 60 }
        traffic = [{ kind = "long-lived", from = "0-2", to = 3 }]
        run.until = "100ms"
        measure.warmup = "10ms"
        [[deploy]]
        switches = "left"
        scheme = { name = "per-queue", label = "high", params = { threshold = "290KB" } }
    "#;
    let found = results(text, &[]).summary;
    let line = said(&found, "high marked nothing");
    assert!(line.contains("queue 0 of left:0") && line.contains("never above"), "{line}");
}

/// Hosts 0 to 2 send by DCTCP to one another and to host 3, which sends by CUBIC; hosts 0 and 1 by DCQCN, too.
const STACKS: &str = r#"
    topology = { kind = "star", hosts = 4, rate = "1Gbps", delay = "20us" }
    switch.buffer = "100KB"
    scheme.name = "none"
    transport.kind = "dctcp"
    run.until = "3s"
    [[host]]
    hosts = [3]
    label = "old"
    transport = { kind = "cubic", ecn = false }
    [[traffic]]
    kind = "incast"
    from = 0
    to = 3
    sizes = "3KB"
    [[traffic]]
    kind = "incast"
    from = 0
    to = 1
    sizes = "3KB"
    [[traffic]]
    kind = "incast"
    from = 3
    to = 2
    sizes = "3KB"
    [[traffic]]
    kind = "incast"
    from = 0
    to = 1
    sizes = "3KB"
    start = "1ms"
    transport = "dcqcn"
    [[event]]
    at = "0s"
    port = "host0"
    lose = [1, 2]
"#;

#[test]
fn a_transport_towards_other_stacks_is_one_row_and_is_named_once() {
    let found = results(STACKS, &[]).summary;
    let rows: Vec<(&str, u64)> =
        found.by_transport.iter().map(|row| (&*row.transport, row.flows)).collect();
    // Host 3 has no flow over DCQCN.
    assert_eq!(rows, [("dctcp", 2), ("cubic", 1), ("dcqcn (linux-6.x)", 1)]);
    let line = said(&found, "FCTs are mostly idle waits for a timer");
    assert_eq!(line.matches("transport dctcp").count(), 1, "{line}");
}

#[test]
fn a_line_that_is_down_is_named_where_it_leaves_no_room() {
    let down = "[[event]]\nat = \"1us\"\nport = \"switch:1\"\nup = false\n";
    let flows = "traffic.3.sizes=1MB";
    let found = results(&[STACKS, down].concat(), &[flows]).summary;
    let line = said(&found, "flows failed: their connections gave up");
    assert!(line.contains("of switch:1 has packets, and its line is down ([[event]])"), "{line}");
}

#[test]
fn waits_of_queue_pairs_are_as_long_as_their_timer() {
    let text = STACKS.split("[[host]]").next().expect("text");
    let flow = "[[traffic]]\nkind = \"incast\"\nfrom = 0\nto = 1\nsizes = \"3KB\"\n\
                [[event]]\nat = \"0s\"\nport = \"host0\"\nlose = [1, 2, 3]\n";
    let text = [text, flow].concat();
    let of = |sets: &[&str]| {
        let found = results(&text, sets).summary;
        (
            said(&found, "FCTs are mostly idle waits").to_owned(),
            found.fct.all.mean_us.expect("a flow"),
        )
    };
    let (line, _) = of(&["transport.kind=nscc"]);
    assert!(line.ends_with(
        "for roce.spray_rto, 15us and six times what the switch's memory takes to drain"
    ));
    let (line, _) = of(&["transport.kind=nscc", "roce.spray_rto=2ms"]);
    assert!(line.ends_with("for roce.spray_rto, 2ms"), "{line}");
    let (line, mean_us) = of(&["transport.kind=roce", "roce.rto=50ms", "roce.rto_low=2ms"]);
    assert!(
        line.contains("for roce.rto") && (2_000.0..3_000.0).contains(&mean_us),
        "{line} {mean_us}"
    );
    let flows = results(&text, &["transport.kind=roce", "roce.rto=50ms", "roce.rto_low=2ms"]);
    let waited_s: f64 = texts(&flows, "waited_s")[0].parse().expect("a number");
    assert!((0.002..0.003).contains(&waited_s), "{waited_s}");
}
