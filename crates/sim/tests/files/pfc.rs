//! Priority-based flow control: the edge of headroom, what a pause lasts, and that nothing lossless is lost.

use proptest::prelude::*;
use std::path::Path;
use switchbed_scenario::build::Nothing;
use switchbed_scenario::plans_of;
use switchbed_sim::ids::LinkId;
use switchbed_sim::table::Values;
use switchbed_sim::{Division, Pause, Simulation, Status};
use switchbed_units::{Bytes, Span, Time};

/// Senders at line rate to one receiver, whose line is down from a time on.
const STAR: &str = r#"[topology]
kind = "star"
hosts = 3
rate = "100Gbps"
delay = "1us"
[switch]
queues = 4
pool = "2MB"
[switch.pfc]
priorities = [3]
response = "0us"
[scheme]
name = "none"
[host]
profile = "ideal"
mtu = "1048B"
[transport]
kind = "udp"
header = "48B"
mss = "1000B"
[[traffic]]
kind = "long-lived"
from = 0
to = 2
classes = [3]
[[event]]
at = "20us"
port = "switch:2"
up = false
[run]
until = "300us"
"#;

fn run(sets: &[&str], division: Division) -> Simulation {
    run_of(STAR, sets, division)
}

fn run_of(text: &str, sets: &[&str], division: Division) -> Simulation {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    let plans = plans_of("star.toml", text, Path::new(""), &sets, None);
    let plans = plans.unwrap_or_else(|mistake| panic!("{mistake}"));
    let mut run = Simulation::with(&plans[0].scenario, &Nothing, division).expect("builds");
    while run.advance(1 << 20) == Status::Running {}
    run
}

fn dropped(run: &mut Simulation) -> u64 {
    run.port_reports().iter().map(|report| report.counters.dropped()).sum()
}

/// A column of the table of pauses, by port.
fn pauses(run: &Simulation, column: &str) -> Vec<f64> {
    let table = run.pauses().expect("there is flow control");
    let found = table.columns.iter().find(|found| found.name == column).expect("a column");
    match &found.values {
        Values::F64(values) => values.clone(),
        Values::U64(values) => values.iter().map(|&value| value as f64).collect(),
        _ => panic!("numbers"),
    }
}

#[test]
fn headroom_is_needed_to_the_byte() {
    // 2 us on the cable and 5.12 ns of the pause frame are 23.9 packets of 83.84 ns: 24 are sent in that
    // time and one has crossed the threshold, 25 in all.
    for (headroom, lost) in [("26200B", 0), ("26199B", 1)] {
        let mut run = run(&[&format!("switch.pfc.headroom={headroom}")], Division::ALONE);
        assert_eq!(dropped(&mut run), lost, "{headroom}");
    }
    // A host's delay is on its link both ways, so the pause frame waits for it, too: 4.00512 us are 47.8 packets.
    for (headroom, lost) in [("51352B", 0), ("51351B", 1)] {
        let sets = [&*format!("switch.pfc.headroom={headroom}"), "host.delay=1us"];
        assert_eq!(dropped(&mut run(&sets, Division::ALONE)), lost, "{headroom}");
    }
}

/// Groups that lost something or used headroom: port, class, headroom, lost, dropped.
fn groups(run: &Simulation) -> Vec<(String, u8, u64, u64, u64)> {
    let groups = run.groups().into_iter();
    let used = groups.filter(|(_, of)| of.headroom > Bytes::ZERO || of.lost + of.dropped > 0);
    let name = |link: LinkId| run.ports()[link.index()].name.clone();
    let each =
        used.map(|(link, of)| (name(link), of.class, of.headroom.get(), of.lost, of.dropped));
    each.collect()
}

#[test]
fn a_group_says_what_it_used_and_lost() {
    // One packet of the 25 does not fit; the 24 others are 25,152 bytes. The memory of cells is in bytes.
    let just = run(&["switch.pfc.headroom=26200B"], Division::ALONE);
    assert_eq!(groups(&just), [("switch:0".to_owned(), 3, 26_200, 0, 0)]);
    let short = run(&["switch.pfc.headroom=26199B"], Division::ALONE);
    assert_eq!(groups(&short), [("switch:0".to_owned(), 3, 25_152, 1, 0)]);
    // Counts begin again at the end of the warm-up; the group then still has what it held.
    let warm = ["switch.pfc.headroom=26199B", "measure.warmup=200us"];
    assert_eq!(groups(&run(&warm, Division::ALONE)), [("switch:0".to_owned(), 3, 25_152, 0, 0)]);
    let threads =
        run(&["switch.pfc.headroom=26199B"], Division { shards: 3, threads: 2, worthwhile: 0 });
    assert_eq!(groups(&threads), groups(&short));
}

#[test]
fn packets_that_a_scheme_drops_in_a_lossless_class_are_no_loss_of_headroom() {
    let sets = ["scheme.name=per-queue", "scheme.params.threshold=20KB", "transport.ecn=false"];
    let run = run(&sets, Division::ALONE);
    let found = groups(&run);
    let (lost, dropped) = found.iter().fold((0, 0), |sum, of| (sum.0 + of.3, sum.1 + of.4));
    assert!(lost == 0 && dropped > 0, "{found:?}");
}

#[test]
fn a_shared_pool_holds_as_many_groups_as_its_ratio_leaves() {
    // Two senders into a line that is down: both groups fill at once. A ratio of 1 loses nothing; one of 2 has
    // space for one group, and the other's packets are lost once the pool is full.
    let both = STAR.replace("from = 0\n", "from = \"0-1\"\n");
    let sets = |ratio: &str| {
        [format!("switch.pfc.over_subscription={ratio}"), "switch.pfc.headroom=26200B".into()]
    };
    for (ratio, most) in [("1", 3 * 26_200), ("1.5", 2 * 26_200), ("2", 39_300), ("3", 26_200)] {
        let run = run_of(&both, &sets(ratio).each_ref().map(String::as_str), Division::ALONE);
        let found = groups(&run);
        let (headroom, lost) = found.iter().fold((0, 0), |sum, of| (sum.0 + of.2, sum.1 + of.3));
        assert!(headroom <= most, "{ratio}: {found:?}");
        assert_eq!(lost > 0, most < 2 * 26_200, "{ratio}: {found:?}");
    }
    for bad in ["0.5", "0", "-1", "nan", "2000"] {
        let sets = [format!("switch.pfc.over_subscription={bad}")];
        assert!(plans_of("star.toml", STAR, Path::new(""), &sets, None).is_err(), "{bad}");
    }
    let sets = ["switch.pfc.over_subscription=2", "switch.pfc.headroom_pool=1MB"];
    let twice = plans_of("star.toml", STAR, Path::new(""), &sets.map(String::from), None);
    let Err(said) = twice.map_err(|mistake| mistake.to_string()) else { panic!("both") };
    assert!(said.contains("over_subscription") && said.contains("headroom_pool"), "{said}");
}

#[test]
fn what_is_computed_holds() {
    let mut run = run(&[], Division::ALONE);
    assert_eq!(dropped(&mut run), 0);
    // It is paused to the end, and told again after half of 335.5 us.
    assert_eq!(pauses(&run, "frames_sent")[3..], [2.0, 0.0, 0.0]);
    assert_eq!(pauses(&run, "frames_heard")[0], 2.0);
    assert!(pauses(&run, "paused_s")[0] > 200e-6);
}

#[test]
fn a_pause_lasts_what_its_quanta_say_unless_it_is_renewed() {
    // 2,000 quanta are 10.24 us at 100 Gbps; it is said again after half of that.
    let short = ["switch.pfc.quanta=2000", "switch.pfc.headroom=26200B", "run.until=200us"];
    let mut renewed = run(&short, Division::ALONE);
    assert_eq!(dropped(&mut renewed), 0);
    // From 100 us on no frame gets to the sender: what it heard last ends, and it sends on into a headroom
    // that is full.
    let cut = "[[event]]\nat = \"100us\"\nport = \"switch:0\"\nup = false\n[run]\n";
    let mut cut = run_of(&STAR.replace("[run]\n", cut), &short, Division::ALONE);
    assert!(dropped(&mut cut) > 0);
    let (heard, paused) = (pauses(&cut, "frames_heard")[0], pauses(&cut, "paused_s")[0]);
    assert!(heard > 1.0);
    assert!((paused - ((heard - 1.0) * 5.12e-6 + 10.24e-6)).abs() < 1e-12, "{heard}: {paused}");
}

#[test]
fn who_is_paused_sends_again_once_there_is_room() {
    // Two senders at line rate share the receiver's line without a loss, and it is never idle.
    let sets = ["traffic.0.from=0-1", "event.0.at=299us"];
    let mut run = run(&sets, Division::ALONE);
    assert_eq!(dropped(&mut run), 0);
    let report = run.port_reports().into_iter().nth(3 + 2).expect("the receiver's port");
    assert!(report.utilisation > 0.985, "{}", report.utilisation);
    let paused = pauses(&run, "paused_s");
    // Each sends half of the time, once the memory is full: 1 - share / line rate.
    for host in [0, 1] {
        assert!((0.3..0.5).contains(&(paused[host] / 300e-6)), "{paused:?}");
    }
    let now = run.now();
    assert!(now.since(Time::ZERO) >= Span::from_us(299));
}

#[test]
fn it_is_the_same_however_it_is_divided() {
    let sets = ["traffic.0.from=0-1", "event.0.at=299us", "host.jitter=100ns"];
    let state = |division| {
        let mut run = run(&sets, division);
        (format!("{:?}", run.port_reports()), pauses(&run, "paused_s"))
    };
    let whole = state(Division::ALONE);
    for (threads, shards) in [(1, 3), (2, 2)] {
        assert!(whole == state(Division { threads, shards, worthwhile: 0 }));
    }
}

#[test]
fn a_static_threshold_pauses_at_its_byte() {
    // The receiver is cut off from 20 us on; 20 packets of 1,048 bytes are one byte short of the second
    // threshold, and what comes after the pause is the same.
    let queue = |threshold: &str| {
        let sets = [&format!("switch.pfc.threshold={threshold}"), "measure.queues=[\"switch:2\"]"];
        let mut run = run(&sets, Division::ALONE);
        assert_eq!(dropped(&mut run), 0);
        let report = run.port_reports().into_iter().nth(3 + 2).expect("the receiver's port");
        report.lengths.expect("it is measured").1.max_bytes
    };
    let packets = |bytes: u64| bytes / 1_048;
    // The packet that crosses is the first that no longer fits; 25 come from that one on.
    assert_eq!(packets(queue("20960B")), 20 + 25);
    assert_eq!(packets(queue("20959B")), 19 + 25);
}

#[test]
fn marks_that_come_after_pauses_are_told_of() {
    let cautions = |sets: &[&str]| {
        let common = ["transport.kind=dctcp", "scheme.name=per-queue", "host.mtu=1500B"];
        let sets: Vec<String> = common.iter().chain(sets).map(ToString::to_string).collect();
        let plans = plans_of("star.toml", STAR, Path::new(""), &sets, None);
        plans.unwrap_or_else(|mistake| panic!("{mistake}"))[0].cautions().join("; ")
    };
    // 2 MB less headroom, α = 1/8: one group alone has a ninth, three have an eleventh each.
    let headroom = "switch.pfc.headroom=100KB";
    let at =
        |threshold: &str| cautions(&[headroom, &format!("scheme.params.threshold={threshold}")]);
    assert_eq!(at("154KB"), "");
    assert!(
        at("155KB").contains("155000 bytes on, and pauses inputs at 154545 bytes"),
        "{}",
        at("155KB")
    );
    assert!(at("189KB").contains("pauses an input that holds 188889 bytes"), "{}", at("189KB"));
    // Nobody answers marks. HPCC reads none of TCP's keys in the file.
    let blind = ["transport.kind=hpcc", "scheme.params.threshold=1MB", headroom];
    let unread = "transport.header, transport.mss do nothing under transport.kind = \"hpcc\", whose keys stand in [roce]";
    assert_eq!(cautions(&blind), unread);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The headroom that is computed never loses: whatever the cable, the rate, the packets, the response.
    #[test]
    fn nothing_lossless_is_lost(
        delay_ns in 1u64..20_000,
        gbps in prop::sample::select(vec![1u64, 10, 25, 40, 100, 400]),
        mtu in 128u64..9_000,
        response in prop::sample::select(vec!["", "switch.pfc.response=0us", "switch.pfc.response=7us"]),
        pipeline_ns in 0u64..2_000,
        from in prop::sample::select(vec!["0", "0-1", "0-3"]),
        asic in any::<bool>(),
    ) {
        let sets = [
            format!("topology.delay={delay_ns}ns"),
            format!("topology.rate={gbps}Gbps"),
            "topology.hosts=5".to_owned(),
            format!("host.mtu={mtu}B"),
            format!("transport.mss={}B", mtu - 48),
            format!("switch.pfc.pipeline={pipeline_ns}ns"),
            format!("traffic.0.from={from}"),
            "traffic.0.to=4".to_owned(),
            "event.0.port=switch:4".to_owned(),
            "event.0.at=150us".to_owned(),
            "switch.pool=32MB".to_owned(),
            // Groups pause from some 32 KB on.
            "switch.pfc.alpha=0.001".to_owned(),
            "run.until=600us".to_owned(),
            response.to_owned(),
        ];
        let mut sets: Vec<&str> = sets.iter().map(String::as_str).filter(|set| !set.is_empty()).collect();
        let mut text = STAR.to_owned();
        if asic {
            text = text.replace("pool = \"2MB\"", "asic = \"trident-3\"");
            sets.retain(|set| !set.starts_with("switch.pool"));
            // The chip's own is shared by more groups than it holds at once.
            sets.push("switch.pfc.headroom_pool=100MB");
        }
        let mut run = run_of(&text, &sets, Division::ALONE);
        prop_assert!(pauses(&run, "frames_sent").iter().sum::<f64>() > 0.0);
        prop_assert_eq!(dropped(&mut run), 0);
    }
}

#[test]
fn headroom_that_is_too_small_is_named_before_a_run() {
    let cautions = |headroom: &str| {
        let sets = [format!("switch.pfc.headroom={headroom}")];
        plans_of("star.toml", STAR, Path::new(""), &sets, None).expect("a scenario")[0].cautions()
    };
    // 25,000 on the cable, three packets of 1048 and a frame of 64.
    assert_eq!(cautions("28208B"), Vec::<String>::new());
    let [caution] = &cautions("28207B")[..] else { panic!("one") };
    assert!(caution.contains("3 of the 3 links") && caution.contains("up to 28208B"), "{caution}");
}

/// Lines that a reader must understand alone.
#[test]
fn what_cannot_be_paused_is_refused() {
    let refused = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
        let plans = plans_of("star.toml", STAR, Path::new(""), &sets, None);
        plans.err().map(|mistake| mistake.to_string()).unwrap_or_default()
    };
    let cases: [(&[&str], &str); 9] = [
        (&["switch.pfc.priorities=[3, 3]"], "class 3 is named twice"),
        (&["switch.pfc.headroom=30MB"], "of headroom for its groups, and a switch has"),
        (&["switch.queues=2"], "class 3 has no queue of its own: switch.queues is 2"),
        (&["switch.classify=hash"], "must be \"class\""),
        (&["scheme.name=hcf"], "queues, memory or a scheduler of its own"),
        (&["host.nic=fq"], "must be \"classes\""),
        (&["switch.pfc.deadlock_time=0us"], "it must be at least 1us"),
        (&["switch.pfc.detection_time=10ns"], "it must be at least 1us"),
        (&["switch.policy=lqd"], "brings its own"),
    ];
    for (sets, says) in cases {
        let said = refused(sets);
        assert!(said.contains(says), "{sets:?}: {said}");
    }
}

/// Four switches in a circle, each way two links long: every queue between them waits for the next.
const RING: &str = r#"[topology]
kind = "ring"
switches = 4
hosts_per_switch = 1
rate = "100Gbps"
delay = "1us"
[switch]
queues = 4
pool = "2MB"
[switch.pfc]
priorities = [3]
response = "0us"
[scheme]
name = "none"
[host]
profile = "ideal"
mtu = "1048B"
[transport]
kind = "udp"
header = "48B"
mss = "1000B"
[[traffic]]
kind = "incast"
from = 0
to = 2
sizes = "2MB"
classes = [3]
[[traffic]]
kind = "incast"
from = 1
to = 3
sizes = "2MB"
classes = [3]
[[traffic]]
kind = "incast"
from = 2
to = 0
sizes = "2MB"
classes = [3]
[[traffic]]
kind = "incast"
from = 3
to = 1
sizes = "2MB"
classes = [3]
[run]
"#;

fn names(run: &Simulation, links: impl Iterator<Item = LinkId>) -> Vec<String> {
    links.map(|link| run.ports()[link.index()].name.clone()).collect()
}

fn cautions(text: &str, sets: &[&str]) -> Vec<String> {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    plans_of("ring.toml", text, Path::new(""), &sets, None).expect("a scenario")[0].cautions()
}

#[test]
fn a_circle_of_buffers_deadlocks_and_is_named() {
    let run = run_of(RING, &[], Division::ALONE);
    let [found] = run.deadlocks() else { panic!("{:?}", run.deadlocks()) };
    let cycle = names(&run, found.cycle.iter().map(|queue| queue.0));
    assert_eq!(cycle, ["switch0:0", "switch1:0", "switch2:0", "switch3:0"]);
    assert!(
        found
            .cycle
            .iter()
            .all(|&(_, class, held, bytes)| { class == 3 && held <= found.formed && bytes > 0 })
    );
    // It is looked for each millisecond: found once it has stood for one, and the run is over.
    assert!(found.formed > Time::ZERO && found.formed + Span::from_ms(1) <= found.found);
    assert_eq!((found.found, run.now()), (Time::ZERO + Span::from_ms(2), found.found));
    assert_eq!((found.broken, run.unfinished().len()), (None, 4));
    let [caution] = &cautions(RING, &[])[..] else { panic!("one") };
    let circle = "switch0:0 > switch1:0 > switch2:0 > switch3:0 > switch0:0";
    assert!(caution.contains("class 3 may deadlock") && caution.contains(circle), "{caution}");
}

#[test]
fn a_deadlock_is_the_same_however_it_is_divided() {
    let state = |division| {
        let run = run_of(RING, &["run.until=4ms"], division);
        let paused = run.paused(&run.unfinished());
        (run.deadlocks().to_vec(), paused, format!("{:?}", run.pauses()))
    };
    let whole = state(Division::ALONE);
    // With an end of its own the run goes on to it.
    assert_eq!((whole.0.len(), whole.0[0].broken), (1, None));
    for (threads, shards) in [(1, 3), (2, 2), (1, 4)] {
        assert!(whole == state(Division { threads, shards, worthwhile: 0 }));
    }
}

#[test]
fn what_waits_in_no_circle_is_no_deadlock() {
    // In a ring of three the shorter way is one link: nothing waits behind another's queue.
    let three = ["topology.switches=3", "traffic.0.to=1", "traffic.1.to=2", "traffic.3.from=0"];
    assert_eq!(cautions(RING, &three), Vec::<String>::new());
    // Three of the four do not close the circle, even if the routes might.
    let open = ["traffic.3.to=0"];
    let mut run = run_of(RING, &open, Division::ALONE);
    assert_eq!((run.deadlocks().len(), run.unfinished().len(), dropped(&mut run)), (0, 0, 0));
    assert!(pauses(&run, "frames_sent").iter().sum::<f64>() > 0.0);
    // Clockwise, three make one as well.
    assert_eq!(
        cautions(
            RING,
            &[
                "topology.switches=3",
                "traffic.3.from=0",
                "traffic.3.to=1",
                "topology.way=clockwise",
                "traffic.1.to=2"
            ]
        )
        .len(),
        1
    );
}

#[test]
fn the_watchdog_breaks_a_deadlock() {
    for action in ["drop", "forward"] {
        let sets = [
            &format!("switch.pfc.watchdog={action}"),
            "switch.pfc.detection_time=3ms",
            "switch.pfc.restoration_time=1ms",
            "run.until=20ms",
        ];
        let mut run = run_of(RING, &sets, Division::ALONE);
        let [found] = run.deadlocks() else { panic!("{action}: {:?}", run.deadlocks()) };
        // Three milliseconds after the last of its queues was held, all are let go.
        assert_eq!(found.broken, Some(found.formed + Span::from_ms(3)), "{action}");
        let storms = run.port(LinkId::at(4)).storms(3, run.now());
        assert_eq!((storms.count, storms.first), (1, found.broken), "{action}");
        // What waited is lost, or goes on and finds space, for its neighbours send, too.
        let lost = dropped(&mut run);
        assert_eq!((lost > 0, storms.dropped > 0), (action == "drop", action == "drop"));
        let queued: u64 = run
            .port_reports()
            .iter()
            .map(|of| {
                let counters = &of.counters;
                counters.arrived - counters.sent - counters.dropped()
            })
            .sum();
        assert_eq!(queued, 0, "{action}");
    }
}

/// A host that pauses its switch from 20 us on, for 500 us; another flow shares the sender's link.
fn storm(sets: &[&str]) -> Simulation {
    let storm = "at = \"20us\"\nport = \"host2\"\nstorm = 3\nlasts = \"500us\"\n[run]";
    let text = STAR.replace("at = \"20us\"\nport = \"switch:2\"\nup = false\n[run]", storm);
    assert!(text.contains("storm"));
    let base = ["run.until=2ms", "switch.pfc.quanta=1000"];
    run_of(&text, &[&base[..], sets].concat(), Division::ALONE)
}

#[test]
fn a_storm_holds_a_port_until_its_last_frame_ends() {
    let mut run = storm(&[]);
    assert_eq!(dropped(&mut run), 0);
    let (all, _) = run.paused(&[]).expect("there is flow control");
    let held: Vec<Pause> = all
        .iter()
        .copied()
        .filter(|pause| run.ports()[pause.link.index()].name == "switch:2")
        .collect();
    // The host's line is free; a frame takes 5.12 ns and 1 us. A pause is 5.12 us, sent again after half of
    // it: 196 times in 500 us, the last at 20 + 195 * 2.56.
    let [held] = held[..] else { panic!("{held:?}") };
    assert_eq!(held.from, Time::from_ps(21_005_120));
    assert_eq!(held.until, Time::from_ps(21_005_120 + 195 * 2_560_000 + 5_120_000));
    assert_eq!((held.cause, held.root), (None, held.link));
    // The sender was held for it, and not otherwise congested: the storm's port is the root.
    let sender = all.iter().find(|pause| run.ports()[pause.link.index()].name == "host0");
    let sender = sender.expect("the sender is paused");
    assert_eq!(names(&run, [sender.root].into_iter()), ["switch:2"]);
    assert_eq!(all[sender.cause.expect("it follows from the storm")], held);
}

#[test]
fn the_watchdog_acts_at_its_times() {
    let guarded = |action: &str| {
        storm(&[
            &format!("switch.pfc.watchdog={action}"),
            "switch.pfc.detection_time=100us",
            "switch.pfc.restoration_time=50us",
        ])
    };
    for (action, lost) in [("drop", true), ("forward", false)] {
        let mut run = guarded(action);
        assert_eq!(dropped(&mut run) > 0, lost, "{action}");
        let (all, _) = run.paused(&[]).expect("there is flow control");
        let held = all.iter().find(|pause| run.ports()[pause.link.index()].name == "switch:2");
        let held = held.expect("it was held");
        let begins = Time::from_ps(21_005_120);
        assert_eq!((held.from, held.until), (begins, begins + Span::from_us(100)));
        let seen = run.port(LinkId::at(3 + 2)).storms(3, run.now());
        // From the detection until 50 us after the last frame.
        let lasts = Span::from_ps(195 * 2_560_000) + Span::from_us(50) - Span::from_us(100);
        assert_eq!((seen.count, seen.first, seen.total), (1, Some(held.until), lasts), "{action}");
        assert_eq!(seen.dropped, dropped(&mut run), "{action}");
    }
}

/// Storms of a host, each from a time on for so long in microseconds, under a watchdog of 1 ms and 2 ms.
fn storms(each: &[(u64, u64)], sets: &[&str], division: Division) -> (u64, Option<Time>, u64) {
    let event = |&(at, lasts): &(u64, u64)| {
        format!("[[event]]\nat = \"{at}us\"\nport = \"host2\"\nstorm = 3\nlasts = \"{lasts}us\"\n")
    };
    let events: String = each.iter().map(event).collect();
    let down = "[[event]]\nat = \"20us\"\nport = \"switch:2\"\nup = false\n";
    let base = [
        "run.until=12ms",
        "switch.pfc.watchdog=drop",
        "switch.pfc.detection_time=1ms",
        "switch.pfc.restoration_time=2ms",
    ];
    let run = run_of(&STAR.replace(down, &events), &[&base[..], sets].concat(), division);
    let seen = run.port(LinkId::at(3 + 2)).storms(3, run.now());
    (seen.count, seen.first, seen.dropped)
}

#[test]
fn a_storm_of_three_milliseconds_is_seen_and_five_short_ones_are_not() {
    let one = [(150, 3_000)];
    let five: Vec<(u64, u64)> = (0..5).map(|nth| (150 + 2_000 * nth, 800)).collect();
    let quanta = "switch.pfc.quanta=1000";
    let looks = [quanta, "switch.pfc.poll=200us"];
    let nvidia = [quanta, "switch.pfc.poll=200us", "switch.pfc.poll_rule=nvidia"];
    for polled in [&[quanta][..], &looks, &nvidia] {
        let (count, first, dropped) = storms(&one, polled, Division::ALONE);
        assert!(count == 1 && dropped > 0, "{polled:?}");
        // Exact: 1 ms after the first frame takes hold. Looks: held at that of 200 us, and the last packet sent
        // before it; five samples by 1.2 ms.
        let exact = Time::from_ps(151_005_120) + Span::from_ms(1);
        let looks = Time::ZERO + Span::from_us(1_200);
        assert_eq!(first, Some(if polled.len() == 1 { exact } else { looks }));
        assert_eq!(storms(&five, polled, Division::ALONE), (0, None, 0), "{polled:?}");
        let parts = Division { shards: 3, threads: 2, worthwhile: 0 };
        assert_eq!(storms(&one, polled, parts), (count, first, dropped));
    }
    // A pause of the most quanta is 335 us at 100 Gbps: each of the five then holds for 1.1 ms.
    let (count, ..) = storms(&five, &["switch.pfc.restoration_time=500us"], Division::ALONE);
    assert_eq!(count, 5);
}

#[test]
fn a_storm_that_goes_on_is_restored_and_detected_again_where_frames_are_rare() {
    // Frames every 167 us: a restoration time of 100 us ends the storm between them, and the next holds again.
    let long = [(150, 11_000)];
    let sets = |poll: &str| {
        let mut sets = vec!["switch.pfc.restoration_time=100us".to_owned()];
        sets.extend((!poll.is_empty()).then(|| format!("switch.pfc.poll={poll}")));
        sets
    };
    let run = |poll: &str| {
        let sets = sets(poll);
        storms(&long, &sets.iter().map(String::as_str).collect::<Vec<_>>(), Division::ALONE).0
    };
    let (exact, looks, slow) = (run(""), run("50us"), run("200us"));
    assert!(exact > 5, "{exact}: restore loops");
    // Looks of 50 us see frames in every third or fourth sample alone; those of 200 us in each.
    assert_eq!((looks, slow), (0, 1));
}

#[test]
fn a_watchdog_that_looks_too_seldom_is_refused() {
    let rule = ["switch.pfc.poll_rule=nvidia".to_owned()];
    let found = plans_of("star.toml", STAR, Path::new(""), &rule, None);
    assert!(found.expect_err("no poll").to_string().contains("poll_rule"));
    for (bad, why) in [("0us", "over 0"), ("300ms", "as long at least"), ("-1us", "")] {
        let sets = [format!("switch.pfc.poll={bad}")];
        let found = plans_of("star.toml", STAR, Path::new(""), &sets, None);
        let Err(said) = found.map_err(|mistake| mistake.to_string()) else { panic!("{bad}") };
        assert!(said.contains("poll") && said.contains(why) && !said.contains('\n'), "{said}");
    }
}

#[test]
fn who_waits_for_a_port_that_it_does_not_use_is_a_victim() {
    // Two hosts on the left send to one on the right, whose link is the bottleneck; a third flow shares the
    // link between the switches, and its own output is idle.
    let text = STAR
        .replace("kind = \"star\"\nhosts = 3\nrate = \"100Gbps\"\ndelay = \"1us\"", "kind = \"dumbbell\"\nleft = 3\nright = 2\nrate = \"100Gbps\"\ndelay = \"1us\"\nbottleneck_rate = \"400Gbps\"\nbottleneck_delay = \"1us\"")
        .replace("from = 0\nto = 2", "from = \"0-1\"\nto = 3")
        .replace("[[event]]\nat = \"20us\"\nport = \"switch:2\"\nup = false\n", "[[traffic]]\nkind = \"incast\"\nfrom = 2\nto = 4\nsizes = \"1MB\"\nstart = \"100us\"\nclasses = [3]\n");
    let mut run = run_of(&text, &["switch.pool=1MB", "run.until=2ms"], Division::ALONE);
    let mut flows = run.take_finished();
    flows.extend(run.unfinished());
    let (pauses, waited) = run.paused(&flows).expect("there is flow control");
    assert_eq!(dropped(&mut run), 0);
    let waited = waited.expect("flows keep their paths");
    for of in &waited {
        assert_eq!(of.victim > Span::ZERO, of.flow.dst.index() == 4, "{of:?}");
        assert!(of.victim <= of.held);
    }
    assert_eq!(waited.len(), 3);
    // All began at the port to host 3.
    let mut roots = names(&run, pauses.iter().map(|pause| pause.root));
    roots.dedup();
    assert_eq!(roots, ["right:1"]);
    // Hosts are held for what held the link between the switches.
    assert!(
        pauses.iter().any(|pause| pause.cause.is_some_and(|nth| pauses[nth].from < pause.from))
    );
}

#[test]
fn a_storm_of_a_class_that_is_never_paused_is_refused() {
    let storm = "port = \"host2\"\nstorm = 2\nlasts = \"500us\"\n[run]";
    let text = STAR.replace("port = \"switch:2\"\nup = false\n[run]", storm);
    let refused = plans_of("star.toml", &text, Path::new(""), &[], None).expect_err("refused");
    assert!(refused.to_string().contains("only a lossless class can be paused"), "{refused}");
}

/// A sender over two switches to a receiver whose port is down from 20 us on, with groups of 20 packets; and a link that
/// goes down at 100 us and comes up at 200 us, each known after 5 us.
fn flap(link: &str, queue: &str, sets: &[&str], division: Division) -> Simulation {
    let topology = "kind = \"dumbbell\"\nleft = 1\nright = 1\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
                    bottleneck_rate = \"100Gbps\"\nbottleneck_delay = \"1us\"";
    let events = format!(
        "[[event]]\nat = \"100us\"\nlink = \"{link}\"\nup = false\ndetect = \"5us\"\nconverge = \"5us\"\n\
         queue = \"{queue}\"\n\
         [[event]]\nat = \"200us\"\nlink = \"{link}\"\nup = true\ndetect = \"5us\"\nconverge = \"5us\"\n[run]\n"
    );
    let text = STAR
        .replace("kind = \"star\"\nhosts = 3\nrate = \"100Gbps\"\ndelay = \"1us\"", topology)
        .replace("to = 2", "to = 1")
        .replace("port = \"switch:2\"", "port = \"right:1\"")
        .replace("[run]\n", &events);
    let base = ["switch.pfc.threshold=20960B", "switch.pfc.headroom=28208B"];
    run_of(&text, &[&base[..], sets].concat(), division)
}

/// When a port was held, in picoseconds.
fn holds(run: &Simulation, port: &str) -> Vec<(u64, u64)> {
    let (all, waited) = run.paused(&[]).expect("there is flow control");
    assert!(waited.is_none(), "paths change");
    let of = all.iter().filter(|pause| run.ports()[pause.link.index()].name == port);
    of.map(|pause| (pause.from.as_ps(), pause.until.as_ps())).collect()
}

fn port(run: &mut Simulation, name: &str) -> switchbed_sim::PortReport {
    run.port_reports().into_iter().find(|of| of.info.name == name).expect("a port")
}

#[test]
fn a_link_that_goes_down_ends_pauses_and_empties_groups() {
    // A packet takes 83.84 ns, a pause frame 5.12 ns, each link 1 us. Packet n is at the right switch at 2 us +
    // 83.84 ns × (n + 2). Packets from 213 on wait there; 233 is the 21st, and pauses the left switch. Packets from
    // 258 on wait there, and 278 pauses the host, which has sent 303 by then.
    let until = ["event.2.at=107us", "run.until=107us"];
    let mut cut = flap("left-right", "drop", &until, Division::ALONE);
    assert_eq!(holds(&cut, "left:0"), [(22_707_520, 105_000_000)]);
    // The left switch has no packet any more: the host hears so 1,005.12 ns later.
    assert_eq!(holds(&cut, "host0"), [(25_396_480, 106_005_120)]);
    let left = port(&mut cut, "left:0");
    assert_eq!((left.counters.sent, left.counters.dropped(), left.lost), (258, 45, 0));
    assert_eq!(port(&mut cut, "host0").counters.sent, 303 + 12);
    // Both groups held 20 packets and, in their headroom, 25; the left one has nothing any more.
    let now = |run: &mut Simulation| {
        run.restart_groups();
        let held = run.groups().into_iter();
        let held = held.filter(|(_, of)| of.shared + of.headroom > Bytes::ZERO);
        let of = |(link, of): (LinkId, switchbed_qdisc::hooks::GroupUse)| {
            (run.ports()[link.index()].name.clone(), of.shared.get(), of.headroom.get())
        };
        held.map(of).collect::<Vec<_>>()
    };
    assert_eq!(now(&mut cut), [("right:0".to_owned(), 20 * 1_048, 25 * 1_048)]);
}

#[test]
fn a_link_that_comes_up_again_is_paused_anew() {
    let mut run = flap("left-right", "drop", &[], Division::ALONE);
    // The host sends again from 106.00512 us on; packets that come until 205 us have no way on.
    assert_eq!(run.no_route(), 1_168);
    // The next is at the left switch at 205.01408 us and goes on. The right switch still holds 45 packets, and says
    // so at 205 us: that is heard at 206.00512 us, and 12 packets are sent by then. One more fits into its headroom.
    let [_, second] = holds(&run, "left:0")[..] else { panic!("two holds") };
    assert_eq!(second, (206_005_120, 300_000_000));
    assert_eq!(port(&mut run, "left:0").counters.sent, 258 + 12);
    let lost: Vec<_> = groups(&run).into_iter().filter(|of| of.3 > 0).collect();
    assert_eq!(lost, [("right:0".to_owned(), 3, 26 * 1_048, 11, 0)]);
    // The left switch holds what comes from 206.02016 us on, and the 21st of these pauses the host.
    let [_, second] = holds(&run, "host0")[..] else { panic!("two holds") };
    assert_eq!(second, (208_702_080, 300_000_000));
}

#[test]
fn packets_that_wait_for_a_link_keep_their_room() {
    let mut run = flap("left-right", "wait", &[], Division::ALONE);
    assert_eq!(holds(&run, "left:0"), [(22_707_520, 105_000_000), (206_005_120, 300_000_000)]);
    // 45 packets wait, so the host is paused all the time, and nothing comes that has no route.
    assert_eq!(holds(&run, "host0"), [(25_396_480, 300_000_000)]);
    assert_eq!((run.no_route(), port(&mut run, "left:0").counters.sent), (0, 258 + 12));
    let lost: Vec<_> = groups(&run).into_iter().filter(|of| of.3 > 0).collect();
    assert_eq!(lost, [("right:0".to_owned(), 3, 26 * 1_048, 11, 0)]);
}

#[test]
fn a_host_whose_link_comes_up_again_is_paused_anew() {
    let mut run = flap("host0-left", "drop", &[], Division::ALONE);
    // The left switch keeps its 45 packets, of which the host heard before; it says so again at 205 us.
    assert_eq!(holds(&run, "host0"), [(25_396_480, 105_000_000), (206_005_120, 300_000_000)]);
    assert_eq!(holds(&run, "left:0"), [(22_707_520, 300_000_000)]);
    assert_eq!(port(&mut run, "host0").counters.sent, 303 + 12);
    let lost: Vec<_> = groups(&run).into_iter().filter(|of| of.3 > 0).collect();
    assert_eq!(lost, [("left:1".to_owned(), 3, 26 * 1_048, 11, 0)]);
}

#[test]
fn lossless_links_that_fail_are_the_same_however_they_are_divided() {
    for (link, queue) in [("left-right", "drop"), ("left-right", "wait"), ("host0-left", "drop")] {
        let state = |division| {
            let mut run = flap(link, queue, &[], division);
            let paused = run.paused(&[]);
            (format!("{:?}", run.port_reports()), paused, run.no_route(), groups(&run))
        };
        let whole = state(Division::ALONE);
        for (threads, shards) in [(1, 2), (2, 3), (1, 5)] {
            assert!(whole == state(Division { threads, shards, worthwhile: 0 }), "{link} {queue}");
        }
    }
}

#[test]
fn pause_frames_that_a_dead_link_loses_are_no_lost_packets() {
    // Frames are sent again each 5.12 us and until the right switch knows: those of 12 us are lost, and none counts.
    let mut run = flap("left-right", "drop", &["switch.pfc.quanta=2000"], Division::ALONE);
    assert_eq!((port(&mut run, "right:0").lost, port(&mut run, "right:0").counters.sent), (0, 0));
}

#[test]
fn routes_round_failed_links_that_may_deadlock_are_said() {
    // Leaf 0 has spine 1 left, and leaf 1 spine 0: packets between them go down and up again at the other leaves.
    let fabric = "kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 1\nhost_rate = \"100Gbps\"\n\
                  host_delay = \"1us\"";
    let down = |link: &str| {
        format!(
            "[[event]]\nat = \"20us\"\nlink = \"{link}\"\nup = false\ndetect = \"1us\"\nconverge = \"5us\"\n"
        )
    };
    let of = |links: &[&str]| {
        let events: String = links.iter().map(|link| down(link)).collect();
        STAR.replace("kind = \"star\"\nhosts = 3\nrate = \"100Gbps\"\ndelay = \"1us\"", fabric)
            .replace("[[event]]\nat = \"20us\"\nport = \"switch:2\"\nup = false\n", &events)
    };
    assert_eq!(cautions(&of(&["leaf0-spine0"]), &[]), Vec::<String>::new());
    let both = of(&["leaf0-spine0", "leaf1-spine1"]);
    let [caution] = &cautions(&both, &[])[..] else { panic!("one") };
    let told =
        "may deadlock: from 25us on, round links that are down or drained, routes make a circle";
    assert!(caution.contains(told) && caution.contains("leaf2:"), "{caution}");
}

#[test]
fn nvidias_rule_takes_a_class_that_others_starve_for_paused() {
    // Class 2 has all of the line to host 2, strictly first. Host 2 pauses class 3 for 5 us now and then: the packets of
    // class 3 wait for the line all the time, and a look cannot tell the one from the other.
    let text = STAR
        .replace(
            "[run]\n",
            "[[traffic]]\nkind = \"long-lived\"\nfrom = 1\nto = 2\nclasses = [2]\n[run]\n",
        )
        .replace(
            "[[event]]\nat = \"20us\"\nport = \"switch:2\"\nup = false\n",
            "[[event]]\nat = \"50us\"\nport = \"host2\"\nstorm = 3\nlasts = \"1500us\"\n",
        );
    let sets = [
        "run.until=2ms",
        "switch.discipline=dwrr",
        "switch.queue=[{queue = \"2\", strict = true}]",
        "switch.pfc.watchdog=drop",
        "switch.pfc.detection_time=400us",
        "switch.pfc.restoration_time=400us",
        "switch.pfc.poll=200us",
        // A pause lasts 5.12 us here, sent again after 2.56 us; so none is longer than a storm's last.
        "switch.pfc.quanta=1000",
    ];
    let first = |more: &[&str]| {
        let run = run_of(&text, &[&sets[..], more].concat(), Division::ALONE);
        run.port(LinkId::at(3 + 2)).storms(3, run.now()).first
    };
    // Held from 51 us on: class 3 sent nothing since before the look of 200 us. Samples of 400 and 600 us.
    let seen = Some(Time::ZERO + Span::from_us(600));
    assert_eq!(first(&["switch.pfc.poll_rule=nvidia"]), seen);
    assert_eq!(first(&[]), seen);
    // A single pause in each interval, which is over at once.
    let singles: String = (0..7)
        .map(|nth| {
            format!(
                "[[event]]\nat = \"{}us\"\nport = \"host2\"\nstorm = 3\nlasts = \"1us\"\n",
                250 + 200 * nth
            )
        })
        .collect();
    let text = text.replace(
        "[[event]]\nat = \"50us\"\nport = \"host2\"\nstorm = 3\nlasts = \"1500us\"\n",
        &singles,
    );
    let first = |more: &[&str]| {
        let run = run_of(&text, &[&sets[..], more].concat(), Division::ALONE);
        run.port(LinkId::at(3 + 2)).storms(3, run.now()).first
    };
    assert_eq!(first(&["switch.pfc.poll_rule=nvidia"]), Some(Time::ZERO + Span::from_us(600)));
    assert_eq!(first(&[]), None);
}
