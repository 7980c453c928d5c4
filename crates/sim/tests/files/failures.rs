//! Links that fail: what is lost by hand, who learns when, the same on any division.

use crate::division::divided;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use switchbed_scenario::event::{Change, LinkChange};
use switchbed_scenario::{Scenario, plans_of};
use switchbed_sim::table::Values;
use switchbed_sim::{FlowRecord, PortReport, Simulation, Status};
use switchbed_units::{Span, Time};

fn scenario(text: &str) -> Result<Scenario, String> {
    let plans = plans_of("f.toml", text, Path::new(""), &[], None);
    plans.map(|plans| plans[0].scenario.clone()).map_err(|why| why.to_string())
}

struct Ran {
    flows: Vec<FlowRecord>,
    ports: Vec<PortReport>,
    no_route: u64,
}

fn run(text: &str) -> Ran {
    let scenario = scenario(text).unwrap_or_else(|why| panic!("{why}"));
    let mut simulation = Simulation::new(&scenario).expect("builds");
    while simulation.advance(1 << 40) == Status::Running {}
    let no_route = simulation.no_route();
    let mut flows = simulation.take_finished();
    flows.extend(simulation.unfinished());
    flows.sort_by_key(|flow| flow.row);
    Ran { flows, ports: simulation.port_reports(), no_route }
}

impl Ran {
    fn port(&self, name: &str) -> &PortReport {
        self.ports.iter().find(|report| report.info.name == name).expect("a port")
    }
}

/// Two hosts on a dumbbell of 10 Gbps, 1 us a link; one datagram of 1,500 B a microsecond and a fifth.
fn line(events: &str, packets: u64) -> String {
    format!(
        "[topology]\nkind = \"dumbbell\"\nleft = 1\nright = 1\nrate = \"10Gbps\"\ndelay = \"1us\"\n\
         bottleneck_rate = \"10Gbps\"\nbottleneck_delay = \"1us\"\n[switch]\nbuffer = \"10MB\"\n\
         [scheme]\nname = \"none\"\n[host]\nprofile = \"switchbed-0.1\"\n[transport]\nkind = \"udp\"\n\
         [[traffic]]\nkind = \"poisson\"\nfrom = 0\nto = 1\nload = 0.5\nflows = 1\nsizes = \"{}B\"\n{events}",
        packets * 1_460
    )
}

/// When the only flow starts.
fn start(packets: u64) -> Span {
    run(&line("", packets)).flows[0].start.since(Time::ZERO)
}

fn at(span: Span) -> String {
    format!("{}ps", span.as_ps())
}

#[test]
fn what_is_on_the_wire_is_lost_to_the_picosecond() {
    // A packet is on the link between the switches from 1.2 + 1 us on: sent whole after 1.2 us more, there 1 us later.
    let start = start(1);
    let [sent, there] = [Span::from_ns(2_200), Span::from_ns(4_400)].map(|after| start + after);
    let ps = Span::from_ps(1);
    for (from, lost) in [
        (there + ps, 0),
        (there, 1),
        (Span::from_ps(there.as_ps() - 1), 1),
        (sent, 1),
        // The port sends on into the dead link until it knows.
        (Span::from_ps(sent.as_ps() - 1), 1),
    ] {
        let event = format!(
            "[[event]]\nat = \"{}\"\nlink = \"left-right\"\nup = false\ndetect = \"10us\"\nconverge = \"20us\"\n\
             [run]\nuntil = \"1ms\"\n",
            at(from)
        );
        let ran = run(&line(&event, 1));
        assert_eq!(
            (ran.port("left:0").lost, ran.flows[0].end.is_none()),
            (lost, lost == 1),
            "{from}"
        );
        assert_eq!(ran.no_route, 0);
    }
}

#[test]
fn losses_until_detection_are_counted_by_hand_and_later_packets_have_no_route() {
    // 1,000 packets back to back, one each 1.2 us. The link is down from just before the k-th is sent whole at
    // the left switch; 12 us later its port knows, and drops what waits and what comes.
    let start = start(1_000);
    let first = start + Span::from_ns(2_200);
    // Packet n leaves the switch from first + 1.2 us × n on, for 1.2 us, and is there 1 us later.
    let from = first + Span::from_ns(1_200) * 100 + Span::from_ps(1);
    let event = format!(
        "[[event]]\nat = \"{}\"\nlink = \"left-right\"\nup = false\ndetect = \"12us\"\nconverge = \"40us\"\n\
         [run]\nuntil = \"5ms\"\n",
        at(from)
    );
    let ran = run(&line(&event, 1_000));
    // On the wire: packets 99 and 100 (98 has been there for 200 ns); sent into the dead link: 101 to 110.
    assert_eq!(ran.port("left:0").lost, 2 + 10);
    assert_eq!(ran.no_route, 1_000 - 111);
    assert_eq!(ran.flows[0].received.get(), 99 * 1_460);
    assert_eq!(ran.port("left:0").counters.sent, 111);
}

#[test]
fn a_repaired_link_carries_again_from_its_detection_on() {
    let start = start(1_000);
    let first = start + Span::from_ns(2_200);
    let down = first + Span::from_ns(1_200) * 100 + Span::from_ps(1);
    let up = down + Span::from_ns(24_000);
    let events = format!(
        "[[event]]\nat = \"{}\"\nlink = \"right-left\"\nup = false\ndetect = \"12us\"\nconverge = \"12us\"\n\
         queue = \"wait\"\n\
         [[event]]\nat = \"{}\"\nlink = \"left-right\"\nup = true\ndetect = \"6us\"\nconverge = \"6us\"\n\
         [run]\nuntil = \"5ms\"\n",
        at(down),
        at(up)
    );
    let ran = run(&line(&events, 1_000));
    // Down to the ends from 12 to 30 us after: 15 packets find no route.
    assert_eq!((ran.port("left:0").lost, ran.no_route), (12, 15));
    assert_eq!(ran.flows[0].received.get(), (1_000 - 27) * 1_460);
}

#[test]
fn a_failure_that_is_noticed_after_the_repair_takes_no_port_down() {
    let start = start(1_000);
    let from = start + Span::from_ns(2_200) + Span::from_ns(1_200) * 100 + Span::from_ps(1);
    let events = format!(
        "[[event]]\nat = \"{}\"\nlink = \"left-right\"\nup = false\ndetect = \"50us\"\nconverge = \"60us\"\n\
         [[event]]\nat = \"{}\"\nlink = \"right-left\"\nup = true\ndetect = \"0us\"\nconverge = \"0us\"\n\
         [run]\nuntil = \"5ms\"\n",
        at(from),
        at(from + Span::from_ns(2_400))
    );
    let ran = run(&line(&events, 1_000));
    // On the wire: packets 99 and 100; 101 and 102 begin while the link is down.
    assert_eq!((ran.port("left:0").lost, ran.no_route), (4, 0));
    assert_eq!(ran.flows[0].received.get(), 996 * 1_460);
}

/// Four leaves under four spines.
const FABRIC: &str = "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts_per_leaf = 4\n\
    host_rate = \"10Gbps\"\nhost_delay = \"1us\"\nfabric_rate = \"10Gbps\"\nfabric_delay = \"1us\"\n\
    [switch]\nbuffer = \"300KB\"\n[scheme]\nname = \"per-queue\"\nparams = { threshold = \"65pkt\" }\n";
const FLOWS: &str = "[[traffic]]\nkind = \"poisson\"\nload = 0.4\nflows = 200\nsizes = \"60KB\"\n";

fn fabric(routing: &str, events: &str) -> String {
    format!("{FABRIC}{FLOWS}[routing]\nkind = \"{routing}\"\n{events}")
}

const FAILS: &str = "[[event]]\nat = \"300us\"\nlink = \"leaf0-spine1\"\nup = false\ndetect = \"50us\"\n\
    converge = \"400us\"\n[[event]]\nat = \"1500us\"\nlink = \"leaf0-spine1\"\nup = true\ndetect = \"50us\"\n\
    converge = \"400us\"\n";

#[test]
fn runs_with_failures_are_the_same_however_they_are_divided() {
    for routing in ["ecmp", "wcmp", "spray", "flowlet", "adaptive"] {
        let text = fabric(routing, FAILS)
            + "[[event]]\nat = \"200us\"\nlink = \"leaf2-spine0\"\nber = 1e-6\n\
               [[event]]\nat = \"250us\"\nlink = \"leaf1-spine0\"\ndelay = \"300ns\"\n\
               [[event]]\nat = \"250us\"\nlink = \"leaf1-spine2\"\nrate = \"5Gbps\"\n\
               [[event]]\nat = \"100us\"\nlink = \"leaf3-spine3\"\nloss = 0.01\nburst = 3\n\
               [[event]]\nat = \"300us\"\nlink = \"host1-leaf0\"\nup = false\ndetect = \"5us\"\nconverge = \"5us\"\n\
               [[event]]\nat = \"900us\"\nlink = \"host1-leaf0\"\nup = true\ndetect = \"5us\"\nconverge = \"5us\"\n\
               [measure]\nseries_every = \"100us\"\n";
        let (flows, ..) = divided(&scenario(&text).unwrap_or_else(|why| panic!("{why}")));
        assert_eq!(flows.len(), 200);
        assert!(flows.iter().all(|flow| flow.end.is_some()), "{routing}");
    }
}

#[test]
fn before_convergence_remote_switches_send_into_the_failed_spine_and_after_it_none_do() {
    let fails = |converge: &str| {
        let event =
            "[[event]]\nat = \"0us\"\nlink = \"leaf0-spine1\"\nup = false\ndetect = \"0us\"\n";
        run(&fabric("ecmp", &format!("{event}converge = \"{converge}\"\n")))
    };
    // From the start on all know: nothing is lost, and nothing goes between leaf 0 and spine 1.
    let at_once = fails("0us");
    assert_eq!(at_once.no_route, 0);
    let sent = |ran: &Ran, port: &str| ran.port(port).counters.sent;
    assert_eq!((sent(&at_once, "leaf0:5"), sent(&at_once, "spine1:0")), (0, 0));
    assert!(at_once.flows.iter().all(|flow| flow.end.is_some() && flow.timeouts == 0));
    // Others have no way to leaf 0 by spine 1, and send it there until they learn.
    let late = fails("2ms");
    assert!(late.no_route > 0);
    assert_eq!(sent(&late, "leaf0:5"), 0);
    assert!(late.flows.iter().all(|flow| flow.end.is_some()));
}

#[test]
fn a_drained_link_loses_nothing() {
    let drain =
        "[[event]]\nat = \"300us\"\nlink = \"leaf0-spine1\"\ndrain = true\nconverge = \"100us\"\n";
    let drained = run(&fabric("ecmp", drain));
    let lost: u64 = drained.ports.iter().map(|report| report.lost).sum();
    assert_eq!((lost, drained.no_route), (0, 0));
    let plain = run(&fabric("ecmp", ""));
    let sent = |ran: &Ran| ran.port("leaf0:5").counters.sent;
    assert!(sent(&drained) > 0 && sent(&drained) < sent(&plain));
}

#[test]
fn flows_that_no_failure_meets_are_as_without_it() {
    // The link of a pair that has no flows: leaf 3's hosts neither send nor receive.
    let text = |events: &str| {
        fabric("ecmp", events).replace("flows = 200", "flows = 200\nfrom = \"0-11\"\nto = \"0-11\"")
    };
    let plain = run(&text(""));
    let far = FAILS.replace("leaf0", "leaf3");
    let failed = run(&text(&far));
    assert_eq!(plain.flows, failed.flows);
}

#[test]
fn flows_of_a_pair_that_is_cut_off_fail_as_their_hosts_give_up() {
    let text = format!(
        "{}[transport]\nkind = \"dctcp\"\ndata_retries = 3\nsyn_retries = 2\n{}",
        FABRIC,
        "[[traffic]]\nkind = \"poisson\"\nload = 0.2\nflows = 20\nsizes = \"200KB\"\nfrom = 0\nto = 15\n\
         [[event]]\nat = \"300us\"\nlink = \"host15-leaf3\"\nup = false\ndetect = \"10us\"\nconverge = \"10us\"\n"
    );
    let ran = run(&text);
    let failed = ran.flows.iter().filter(|flow| flow.failed.is_some()).count();
    assert!(failed >= 15, "{failed} of {}", ran.flows.len());
    assert!(ran.flows.iter().all(|flow| flow.failed.is_some() || flow.end.is_some()));
    assert!(ran.no_route > 0);
}

#[test]
fn what_is_wrong_with_a_links_event_is_told() {
    let down = "[[event]]\nat = \"1us\"\nlink = \"leaf0-spine1\"\nup = false\n";
    for (routing, events, told) in [
        (
            "ecmp",
            "[[event]]\nat = \"1us\"\nlink = \"leaf0-leaf1\"\nup = false\n",
            "there is no such link: links are called by their ends, such as \"leaf0-spine0\" or \"host0-leaf0\"",
        ),
        ("ecmp", down, "event.detect"),
        (
            "ecmp",
            &format!("{down}detect = \"9us\"\nconverge = \"8us\"\n"),
            "event.converge is \"8us\": all switches know after the link's ends do: at least 9us",
        ),
        (
            "ecmp",
            &format!("{down}detect = \"1us\"\nconverge = \"1us\"\nqueue = \"move\"\n"),
            "event.queue",
        ),
        ("ecmp", &format!("{down}detect = \"1us\"\nconverge = \"1us\"\nber = 0.1\n"), "event.ber"),
        (
            "wcmp",
            "[[event]]\nat = \"1us\"\nlink = \"leaf0-spine1\"\nrate = \"5Gbps\"\n[measure]\ngoodput_every = \"1ms\"\n",
            "measure.goodput_every needs the path of each flow, and events of links that go down, are drained or have \
             another rate",
        ),
        (
            "ecmp",
            &format!(
                "{down}detect = \"1us\"\nconverge = \"1us\"\n[measure]\ngoodput_every = \"1ms\"\n"
            ),
            "measure.goodput_every needs the path of each flow, and links that go down",
        ),
        ("ecmp", "[[event]]\nat = \"1us\"\nlink = \"leaf0-spine1\"\n", "event.rate"),
        ("ecmp", "[[event]]\nat = \"1us\"\nlink = \"leaf0-spine1\"\nloss = 0.6\n", "event.loss"),
        (
            "ecmp",
            "[[event]]\nat = \"1us\"\nlink = \"leaf0-spine1\"\ndelay = \"9s\"\n",
            "event.delay is \"9s\": it must be at most 5s",
        ),
        (
            "ecmp",
            "[[event]]\nat = \"1us\"\nlink = \"leaf0-spine1\"\ndrain = true\n",
            "event.converge",
        ),
    ] {
        let why = scenario(&fabric(routing, events)).expect_err(told);
        assert!(why.contains(told), "{why} instead of {told}");
    }
}

#[test]
fn failures_are_drawn_by_the_seed() {
    let text = |seed: u32, more: &str| {
        let failures = format!(
            "[[failures]]\ntier = \"spine\"\ndetect = \"10us\"\nconverge = \"100us\"\n{more}\n[run]\nseed = {seed}\n"
        );
        scenario(&fabric("ecmp", &failures))
    };
    let links = |seed| {
        let scenario =
            text(seed, "at = \"100us\"\nlinks = 3\nlasts = \"200us\"").expect("a scenario");
        let named = scenario.event.iter().map(|event| match &event.change {
            Change::OfLink { link, .. } => (event.at, link.clone()),
            other => panic!("{other:?}"),
        });
        named.collect::<Vec<_>>()
    };
    let first = links(1);
    assert_eq!(first.len(), 6);
    assert_eq!(first, links(1));
    assert!((2..6).any(|seed| links(seed) != first));
    let down: BTreeSet<&String> =
        first.iter().filter(|(at, _)| *at == Span::from_us(100)).map(|(_, link)| link).collect();
    let up: BTreeSet<&String> =
        first.iter().filter(|(at, _)| *at == Span::from_us(300)).map(|(_, link)| link).collect();
    assert!(down == up && down.len() == 3 && down.iter().all(|link| link.starts_with("spine")));
    let again = "mtbf = \"1ms\"\nmttr = \"100us\"\nqueue = \"wait\"";
    assert!(text(1, again).expect_err("no end").contains("failures.mtbf"));
    for (more, told) in [
        ("at = \"1us\"\nlinks = 17", "failures.links is 17: the tier has 16 links"),
        ("", "failures.at is missing: write at = \"10ms\", or mtbf = \"1s\""),
        ("mtbf = \"1ms\"", "failures.mttr is missing"),
    ] {
        let why = text(1, more).expect_err(told);
        assert!(why.contains(told), "{why} instead of {told}");
    }
    let why = scenario(&fabric(
        "ecmp",
        "[[failures]]\ntier = \"core\"\nat = \"1us\"\ndetect = \"1us\"\nconverge = \"1us\"\n",
    ));
    assert!(why.expect_err("no tier").contains("there is no such tier: it is leaf, spine or host"));
}

#[test]
fn links_that_fail_again_and_again_are_down_for_their_part_of_the_time() {
    let scenario = scenario(&fabric(
        "ecmp",
        "[[failures]]\ntier = \"spine\"\nmtbf = \"3ms\"\nmttr = \"1ms\"\ndetect = \"1us\"\nconverge = \"1us\"\n\
         [run]\nuntil = \"400ms\"\n",
    ))
    .unwrap_or_else(|why| panic!("{why}"));
    let mut down = 0.0;
    let mut since: BTreeMap<&str, Span> = BTreeMap::new();
    for event in &scenario.event {
        let Change::OfLink { link, what: LinkChange::Up { up, .. } } = &event.change else {
            panic!()
        };
        match up {
            false => assert!(since.insert(link, event.at).is_none(), "{link} is down"),
            true => {
                let from = since.remove(link.as_str()).expect("was down");
                down += event.at.as_secs_f64() - from.as_secs_f64();
            }
        }
    }
    // A quarter of 400 ms of each of 16 links: 1.6 s, some 1,600 failures.
    assert!((down / 1.6 - 1.0).abs() < 0.1, "{down}");
}

/// Parts of what leaf 0 sent to each spine, and each spine to leaf 3, of 6,000 flows of a packet from leaf 0 to leaf 3.
fn parts(routing: &str, events: &str) -> [Vec<f64>; 2] {
    let flows = "[transport]\nkind = \"udp\"\n[[traffic]]\nkind = \"poisson\"\nload = 0.3\nflows = 6000\n\
                 sizes = \"1KB\"\nfrom = \"0-3\"\nto = \"12-15\"\n";
    let ran = run(&format!("{FABRIC}{flows}[routing]\nkind = \"{routing}\"\n{events}"));
    assert_eq!(ran.no_route, 0);
    let of = |names: Vec<String>| {
        let sent: Vec<u64> = names.iter().map(|name| ran.port(name).counters.sent).collect();
        let all: u64 = sent.iter().sum();
        sent.iter().map(|&sent| sent as f64 / all as f64).collect()
    };
    [
        of((4..8).map(|port| format!("leaf0:{port}")).collect()),
        of((0..4).map(|spine| format!("spine{spine}:3")).collect()),
    ]
}

/// A standard deviation is 0.006 at most.
fn near(found: &[f64], sevenths: &[f64]) {
    let whole: f64 = sevenths.iter().sum();
    let off = found.iter().zip(sevenths).map(|(found, of)| (found - of / whole).abs());
    assert!(off.fold(0.0, f64::max) < 0.025, "{found:?} {sevenths:?}");
}

/// A change of a link at the start of the run, with more keys.
fn of_link(link: &str, keys: &str) -> String {
    format!("[[event]]\nat = \"0us\"\nlink = \"{link}\"\n{keys}\n")
}

#[test]
fn weights_are_by_the_links_that_are_left() {
    let slow = of_link("leaf0-spine1", "rate = \"5Gbps\"");
    // The leaf's own link has half of the others' rate.
    let [up, _] = parts("wcmp", &slow);
    near(&up, &[2.0, 1.0, 2.0, 2.0]);
    // ECMP takes no notice.
    let [up, _] = parts("ecmp", &slow);
    near(&up, &[1.0; 4]);
    // The next link to leaf 3 has: the same parts, since no more gets there by spine 1.
    let [up, down] = parts("wcmp", &of_link("leaf3-spine1", "rate = \"5Gbps\""));
    near(&up, &[2.0, 1.0, 2.0, 2.0]);
    near(&down, &[2.0, 1.0, 2.0, 2.0]);
    // A link of the leaf that is down: before all know, the leaf alone does.
    let down = |converge: &str| {
        let keys = format!("up = false\ndetect = \"0us\"\nconverge = \"{converge}\"");
        slow.clone() + &of_link("leaf0-spine3", &keys)
    };
    for converge in ["0us", "1s"] {
        let [up, down] = parts("wcmp", &down(converge));
        near(&up, &[2.0, 1.0, 2.0, 0.0]);
        assert_eq!((up[3], down[3]), (0.0, 0.0));
    }
    // Down farther on, and all know: leaf 0 leads round it by weight.
    let keys = "up = false\ndetect = \"0us\"\nconverge = \"0us\"";
    let [up, _] = parts("wcmp", &(slow.clone() + &of_link("leaf3-spine0", keys)));
    near(&up, &[0.0, 1.0, 2.0, 2.0]);
    // Drained likewise.
    let keys = "drain = true\nconverge = \"0us\"";
    let [up, _] = parts("wcmp", &(slow.clone() + &of_link("leaf0-spine0", keys)));
    near(&up, &[0.0, 1.0, 2.0, 2.0]);
    // Once it is up again, the weights are those of before, by the rate that the link has now.
    let again =
        down("0us") + &of_link("leaf0-spine3", "up = true\ndetect = \"0us\"\nconverge = \"0us\"");
    let [up, _] = parts("wcmp", &again);
    near(&up, &[2.0, 1.0, 2.0, 2.0]);
}

#[test]
fn weights_change_when_all_switches_know_of_a_rate() {
    let slow = |converge: &str| {
        of_link("leaf0-spine1", &format!("rate = \"5Gbps\"\nconverge = \"{converge}\""))
    };
    let [up, _] = parts("wcmp", &slow("10s"));
    near(&up, &[1.0; 4]);
    let [up, _] = parts("wcmp", &slow("0us"));
    near(&up, &[2.0, 1.0, 2.0, 2.0]);
    // A rate that is known late is not that of the link any more.
    let back = of_link("leaf0-spine1", "rate = \"10Gbps\"");
    let [up, _] = parts("wcmp", &(slow("100us") + &back));
    near(&up, &[1.0; 4]);
    // A rate that goes back leaves the weights of the start.
    let [up, _] = parts("wcmp", &(slow("0us") + &of_link("leaf0-spine1", "rate = \"10Gbps\"")));
    near(&up, &[1.0; 4]);
}

#[test]
fn flows_that_no_failure_meets_are_as_without_it_by_weight_too() {
    let text = |events: &str| {
        fabric("wcmp", events).replace("flows = 200", "flows = 200\nfrom = \"0-11\"\nto = \"0-11\"")
    };
    assert_eq!(run(&text("")).flows, run(&text(&FAILS.replace("leaf0", "leaf3"))).flows);
}

#[test]
fn lossless_classes_lose_nothing_whoever_chooses_and_what_fails_alone_where_links_do() {
    let text = |routing: &str, events: &str| {
        format!(
            "{}[switch.pfc]\npriorities = [0]\nthreshold = \"10KB\"\n{FLOWS}[routing]\n{routing}\n{events}\
             [run]\nuntil = \"3s\"\n",
            FABRIC.replace("buffer = \"300KB\"", "pool = \"8MB\"\nunmarkable = \"pass\"")
        )
    };
    let incast = "[[traffic]]\nkind = \"incast\"\nfrom = \"4-15\"\nto = 0\nsizes = \"200KB\"\nflows_each = 2\n";
    for routing in [
        "kind = \"wcmp\"",
        "kind = \"spray\"",
        "kind = \"spray\"\norder = \"round-robin\"",
        "kind = \"flowlet\"\ngap = \"5us\"",
        "kind = \"adaptive\"",
        "kind = \"adaptive\"\neach = \"flowlet\"\ngap = \"5us\"",
        "kind = \"ecmp\"\nplb = true",
    ] {
        let plain = scenario(&text(routing, incast)).unwrap_or_else(|why| panic!("{why}"));
        let (flows, ..) = divided(&plain);
        let ended = flows.iter().filter(|flow| flow.end.is_some()).count();
        assert_eq!((flows.len(), ended), (224, 224), "{routing}");
        let mut run = Simulation::new(&plain).expect("builds");
        while run.advance(1 << 40) == Status::Running {}
        let (pauses, waited) = run.paused(&flows).expect("there is flow control");
        // WCMP alone leaves flows their paths.
        assert!(!pauses.is_empty(), "{routing}");
        assert_eq!(waited.is_some(), routing.contains("wcmp"), "{routing}");
        let dropped: u64 = run.port_reports().iter().map(|of| of.counters.dropped()).sum();
        assert_eq!(dropped, 0, "{routing}");
        let fails = scenario(&text(routing, &(incast.to_owned() + FAILS))).expect("a scenario");
        let (flows, ports, _) = divided(&fails);
        assert!(flows.iter().all(|flow| flow.end.is_some()), "{routing}");
        assert!(ports.contains("lost: "), "{routing}");
    }
}

/// The series of a port: interval's end in ns, rate in Gbps, part of the interval; and the names of its tiers.
fn link_series(text: &str, port: &str) -> (Vec<(f64, f64, f64)>, BTreeSet<String>) {
    let scenario = scenario(text).unwrap_or_else(|why| panic!("{why}"));
    let mut run = Simulation::new(&scenario).expect("builds");
    while run.advance(1 << 40) == Status::Running {}
    let tables = run.take_monitored();
    let (_, table) = tables.iter().find(|(name, _)| *name == "link_series").expect("asked for");
    let column =
        |name: &str| &table.columns.iter().find(|of| of.name == name).expect("a column").values;
    let (Values::Names(ports), Values::Names(tiers)) = (column("port"), column("tiers")) else {
        panic!()
    };
    let of = |name: &str| match column(name) {
        Values::F64(values) => values.clone(),
        _ => panic!("{name}"),
    };
    let (times, rates, used) = (of("time_s"), of("rate_bps"), of("utilisation"));
    let ports: Vec<&str> =
        ports.rows.iter().map(|&row| ports.names[row as usize].as_str()).collect();
    let own = (0..times.len()).filter(|&row| ports[row] == port);
    let rows = own.map(|row| (times[row] * 1e9, rates[row] / 1e9, used[row])).collect();
    (rows, tiers.names.iter().cloned().collect())
}

#[test]
fn a_links_use_over_time_is_the_part_in_which_it_sends() {
    let start = start(1_000);
    // The first packet leaves the left switch from here on; 1,000 take 1.2 ms. An interval is 100 us; half of the
    // rate from 400 us after that on takes twice as long; from 800 us on the port knows that the link is down.
    let first = start + Span::from_ns(2_200);
    let from = |us: u64| at(first + Span::from_us(us));
    let text = line(
        &format!(
            "[[event]]\nat = \"{}\"\nlink = \"left-right\"\nrate = \"5Gbps\"\n\
             [[event]]\nat = \"{}\"\nlink = \"left-right\"\nup = false\ndetect = \"0us\"\nconverge = \"0us\"\n\
             [measure]\nlink_series = {{ every = \"100us\" }}\n[run]\nuntil = \"5ms\"\n",
            from(400),
            from(800)
        ),
        1_000,
    );
    let (rows, tiers) = link_series(&text, "left:0");
    // A tier of a kind has the switch's name.
    assert_eq!(
        tiers,
        ["host-left", "host-right", "left-host", "left-right", "right-host", "right-left"]
            .map(str::to_owned)
            .into()
    );
    let first = first.as_ps() as f64 / 1e3;
    for &(end, rate, used) in &rows {
        let begin = end - 100_000.0;
        // It sends from `first` on and until the packet under way at 800 us is out: the one that began 796.8 us after.
        let until = first + 801_600.0;
        let busy = (end.min(until) - begin.max(first)).max(0.0) / 100_000.0;
        assert!((used - busy).abs() < 1e-6, "{end}: {used} {busy}");
        let expected = if end < first + 400_000.0 {
            10.0
        } else if end < first + 800_000.0 {
            5.0
        } else {
            0.0
        };
        assert_eq!(rate, expected, "{end}");
    }
    assert_eq!(rows.len(), 50);
    // Its own port's rows alone, and the same.
    let some = text.replace("every = \"100us\"", "every = \"100us\", ports = [\"left:0\"]");
    assert_eq!(link_series(&some, "left:0").0, rows);
    for (keys, told) in [
        ("every = \"0us\"", "an interval is longer than 0"),
        ("every = \"1us\", ports = []", "it lists nothing"),
        ("every = \"1us\", ports = [\"left:9\"]", "left:9"),
    ] {
        let why = scenario(&text.replace("every = \"100us\"", keys)).expect_err(told);
        assert!(why.contains(told) && why.contains("measure.link_series"), "{why}");
    }
}
