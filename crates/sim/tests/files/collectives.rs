//! Collectives against their closed forms, worked out by hand.
//!
//! On a star a message of k full packets is there after D = (k + 1)·tx + 2·delay, and its sender knows after
//! B = 2·ack + 2·delay more. A rank acknowledges before it sends on what it has received: that costs an ACK's time.

use super::division::divided;
use proptest::prelude::*;
use std::io::Write;
use std::path::Path;
use switchbed_scenario::Scenario;
use switchbed_scenario::build::Nothing;
use switchbed_scenario::plans_of;
use switchbed_scenario::protocols::Protocols;
use switchbed_sim::{Division, Job, Simulation, Status};
use switchbed_units::{Rate, Span};

const DELAY: Span = Span::from_us(1);
const RATE: Rate = Rate::from_gbps(100);

fn plan(ranks: u32, entry: &str) -> Scenario {
    plan_on(
        &format!("kind = \"star\"\nhosts = {ranks}\nrate = \"100Gbps\"\ndelay = \"1us\""),
        entry,
    )
}

/// Leaves of `share` hosts each, and one spine whose lines are as fast as a leaf's hosts together.
fn two_tiers(ranks: u32, share: u32, entry: &str) -> Scenario {
    let leaves = ranks.div_ceil(share).max(2);
    let topology = format!(
        "kind = \"leaf-spine\"\nleaves = {leaves}\nspines = 1\nhosts_per_leaf = {share}\nhost_rate = \"100Gbps\"\n\
         fabric_rate = \"{}Gbps\"\nhost_delay = \"1us\"\nfabric_delay = \"1us\"",
        100 * share
    );
    plan_on(&topology, &format!("ranks = \"0-{}\"\n{entry}", ranks - 1))
}

fn plan_on(topology: &str, entry: &str) -> Scenario {
    let text = format!(
        r#"
        [topology]
        {topology}
        [switch]
        buffer = "100MB"
        [scheme]
        name = "none"
        [host]
        profile = "linux-6.x"
        delay = "0us"
        [transport]
        kind = "roce"
        [measure]
        queues = "off"
        [[traffic]]
        kind = "collective"
        {entry}
        "#
    );
    let plans = plans_of("test.toml", &text, Path::new("."), &[], None);
    plans.unwrap_or_else(|mistake| panic!("{mistake}"))[0].scenario.clone()
}

fn refused(ranks: u32, entry: &str) -> String {
    let text = format!(
        "topology = {{ kind = \"star\", hosts = {ranks}, rate = \"10Gbps\", delay = \"1us\" }}\n\
         switch.buffer = \"1MB\"\nscheme.name = \"none\"\n[transport]\nkind = \"dctcp\"\n[[traffic]]\nkind = \"collective\"\n{entry}\n"
    );
    let plans = plans_of("test.toml", &text, Path::new("."), &[], None);
    plans.expect_err("refused").to_string()
}

fn job(scenario: &Scenario) -> (Job, Simulation) {
    let mut simulation = Simulation::new(scenario).expect("builds");
    while simulation.advance(1 << 40) == Status::Running {}
    let jobs = simulation.jobs(scenario);
    assert!(jobs[0].done, "{jobs:?}");
    (jobs[0].clone(), simulation)
}

/// A full packet's payload, its time on a line, and an ACK's.
fn packet(scenario: &Scenario) -> (u64, Span, Span) {
    let protocols = Protocols::of(scenario);
    let protocol = protocols.get(0, 0);
    let (mss, header) = protocol.framing();
    let wire = (mss + header).get() as u32;
    (mss.get(), RATE.tx_time(wire), RATE.tx_time(protocol.ack_bytes()))
}

/// `packets` full packets in each message, which is a `share`-th of the data.
fn of_packets(ranks: u32, entry: &str, packets: u64, share: u64) -> Scenario {
    let (mss, ..) = packet(&plan(ranks, &format!("{entry}\nbytes = \"1B\"")));
    plan(ranks, &format!("{entry}\nbytes = \"{}B\"", mss * packets * share))
}

fn took(job: &Job) -> Span {
    job.end.expect("done").since(job.start.expect("begun"))
}

const RANKS: [u32; 6] = [2, 3, 8, 13, 16, 64];

#[test]
fn a_ring_of_single_packets_takes_its_steps_with_an_ack_ahead_of_each() {
    for n in RANKS {
        for (operation, rounds) in [("all-reduce", 2), ("reduce-scatter", 1), ("all-gather", 1)] {
            let entry = format!("operation = \"{operation}\"");
            let scenario = of_packets(n, &entry, 1, n.into());
            let (_, tx, ack) = packet(&scenario);
            let (there, back) = (tx * 2 + DELAY * 2, ack * 2 + DELAY * 2);
            let steps = u64::from(rounds * (n - 1));
            let (job, _) = job(&scenario);
            assert_eq!(took(&job), there * steps + ack * (steps - 1) + back, "{operation} {n}");
            let ideal = (there * steps + back).as_secs_f64();
            assert!((job.ideal_s / ideal - 1.0).abs() < 1e-12, "{operation} {n}");
        }
    }
}

#[test]
fn a_ring_of_many_packets_loses_no_more_than_the_acks_share() {
    for (n, packets) in [(2, 100), (8, 50), (16, 20), (5, 33)] {
        let scenario = of_packets(n, "operation = \"all-reduce\"", packets, n.into());
        let (mss, tx, ack) = packet(&scenario);
        let steps = u64::from(2 * (n - 1));
        let least = (tx * (packets + 1) + DELAY * 2) * steps;
        let most = ((tx + ack) * (packets + 2) + DELAY * 2) * steps + ack * 2 + DELAY * 2;
        let (job, _) = job(&scenario);
        assert!((least..=most).contains(&took(&job)), "{n}: {least} {} {most}", took(&job));
        // Bus bandwidth: of S bytes a rank 2(n − 1)/n cross its line.
        let moved = (steps * packets * mss) as f64;
        assert!((job.bus_bps() / (8.0 * moved / job.time_s) - 1.0).abs() < 1e-9);
        assert!((job.algorithm_bps() * job.time_s / 8.0 / job.bytes.as_f64() - 1.0).abs() < 1e-9);
    }
}

#[test]
fn a_chain_passes_all_on_from_rank_to_rank() {
    for n in RANKS {
        for packets in [1, 7, 40] {
            for operation in ["broadcast", "reduce"] {
                let entry = format!("operation = \"{operation}\"\nalgorithm = \"chain\"");
                let scenario = of_packets(n, &entry, packets, 1);
                let (_, tx, ack) = packet(&scenario);
                let (there, back) = (tx * (packets + 1) + DELAY * 2, ack * 2 + DELAY * 2);
                let hops = u64::from(n - 1);
                let (job, _) = job(&scenario);
                assert_eq!(took(&job), there * hops + ack * (hops - 1) + back, "{operation} {n}");
            }
        }
    }
}

/// The time of `bytes` over `links` lines of the same rate, packet behind packet, and that of the last ACK back.
fn alone(scenario: &Scenario, bytes: u64, links: u64) -> (Span, Span) {
    let (mss, tx, ack) = packet(scenario);
    let protocols = Protocols::of(scenario);
    let (_, header) = protocols.get(0, 0).framing();
    // Full packets ahead of the last, which may be shorter, hold every line for their time.
    let (full, last) = ((bytes - 1) / mss, (bytes - 1) % mss + 1);
    let last = RATE.tx_time(last as u32 + header.get() as u32);
    let there = match full {
        0 => last * links,
        full => tx * (full + links - 1) + last,
    };
    (there + DELAY * links, ack * links + DELAY * links)
}

#[test]
fn a_chain_of_any_message_takes_the_time_of_its_lines() {
    for (n, bytes) in [
        (2, 1_000_000_000),
        (2, 1),
        (3, 1),
        (3, 30_000_001),
        (8, 1),
        (8, 65_600),
        (16, 1),
        (16, 1_000_000),
        (64, 1),
        (64, 12_345),
    ] {
        let entry =
            format!("operation = \"broadcast\"\nalgorithm = \"chain\"\nbytes = \"{bytes}B\"");
        let scenario = plan(n, &entry);
        let (_, _, ack) = packet(&scenario);
        let (there, back) = alone(&scenario, bytes, 2);
        let hops = u64::from(n - 1);
        let (one, _) = job(&scenario);
        assert_eq!(took(&one), there * hops + ack * (hops - 1) + back, "{n} {bytes}");
        // On two tiers of one rate, a rank's next is on its leaf, or behind the spine.
        let scenario = two_tiers(n, 1, &entry);
        let (there, back) = alone(&scenario, bytes, 4);
        // A message that is shorter than the ACK ahead of it waits for that once more, at the leaf.
        let (next, _) = alone(&scenario, bytes, 5);
        let shorter = ack.as_ps() + DELAY.as_ps() + there.as_ps();
        let waits = Span::from_ps(shorter.saturating_sub(next.as_ps()));
        let (one, _) = job(&scenario);
        assert_eq!(took(&one), there * hops + (ack + waits) * (hops - 1) + back, "{n} {bytes}");
    }
}

#[test]
fn every_algorithm_comes_near_its_bound_on_two_tiers_that_block_nothing() {
    for (operation, algorithm, most) in [
        ("all-reduce", "ring", 1.15),
        ("all-reduce", "halving-doubling", 1.15),
        ("all-reduce", "recursive-doubling", 1.15),
        ("all-reduce", "tree", 1.15),
        ("all-reduce", "chain", 1.15),
        ("all-reduce", "double-binary-tree", 1.5),
        ("all-reduce", "hierarchical", 1.15),
        ("broadcast", "tree", 1.15),
        ("reduce", "chain", 1.15),
        ("all-to-all", "pairwise", 1.15),
        ("all-to-all", "direct", 1.15),
    ] {
        for n in [2u32, 3, 8, 16, 64] {
            let power_of_two = matches!(algorithm, "halving-doubling" | "recursive-doubling");
            if power_of_two && !n.is_power_of_two() {
                continue;
            }
            let share = if n < 8 { 1 } else { 4 };
            for bytes in [1, 64 * u64::from(n)] {
                let group = if algorithm == "hierarchical" {
                    format!("\ngroup = {share}")
                } else {
                    String::new()
                };
                let entry = format!(
                    "operation = \"{operation}\"\nalgorithm = \"{algorithm}\"\nbytes = \"{bytes}B\"{group}"
                );
                let (job, _) = job(&two_tiers(n, share, &entry));
                let ratio = job.time_s / job.ideal_s;
                assert!((1.0 - 1e-9..most).contains(&ratio), "{n} {bytes} {job:?}");
            }
        }
    }
}

#[test]
fn a_reduction_takes_its_time_at_every_rank() {
    // 8 bits a picosecond and a half: far longer than the ACK takes back.
    let entry = "operation = \"reduce\"\nalgorithm = \"chain\"\nreduction = \"1Gbps\"";
    for n in RANKS {
        let scenario = of_packets(n, entry, 4, 1);
        let (mss, tx, _) = packet(&scenario);
        let there = tx * 5 + DELAY * 2 + Span::from_ns(8 * 4 * mss);
        assert_eq!(took(&job(&scenario).0), there * u64::from(n - 1), "{n}");
    }
}

#[test]
fn a_tree_takes_as_many_rounds_as_its_root_has_messages() {
    for n in RANKS {
        let entry = "operation = \"broadcast\"";
        let scenario = of_packets(n, entry, 6, 1);
        let (_, tx, ack) = packet(&scenario);
        let round = tx * 7 + DELAY * 4 + ack * 2;
        let rounds = u64::from(n.next_power_of_two().trailing_zeros());
        let (job, _) = job(&scenario);
        assert_eq!(took(&job), round * rounds, "{n}");
        assert!((job.ideal_s - (round * rounds).as_secs_f64()).abs() < 1e-12);
    }
}

#[test]
fn exchanges_of_single_packets_take_log_n_steps() {
    for n in [2, 8, 16, 64] {
        let entry = "operation = \"all-reduce\"\nalgorithm = \"recursive-doubling\"";
        let scenario = of_packets(n, entry, 1, 1);
        let (_, tx, ack) = packet(&scenario);
        let (there, back) = (tx * 2 + DELAY * 2, ack * 2 + DELAY * 2);
        let steps = u64::from(n.ilog2());
        assert_eq!(took(&job(&scenario).0), there * steps + ack * (steps - 1) + back, "{n}");
    }
}

#[test]
fn pairs_of_an_all_to_all_wait_for_both_ends_of_a_step() {
    for n in RANKS {
        let entry = "operation = \"all-to-all\"\nalgorithm = \"pairwise\"";
        let scenario = of_packets(n, entry, 1, n.into());
        let (_, tx, ack) = packet(&scenario);
        let step = tx * 2 + ack * 2 + DELAY * 4;
        assert_eq!(took(&job(&scenario).0), step * u64::from(n - 1), "{n}");
    }
}

#[test]
fn an_all_to_all_at_once_fills_every_line_both_ways() {
    // Every rank sends n − 1 messages back to back, and as many reach it one after the other.
    for (n, packets) in [(2, 1), (5, 1), (8, 20), (16, 3)] {
        let scenario = of_packets(n, "operation = \"all-to-all\"", packets, n.into());
        let (_, tx, ack) = packet(&scenario);
        let line = tx * (u64::from(n - 1) * packets + 1);
        let ideal = (line + DELAY * 4 + ack * 2).as_secs_f64();
        let (job, _) = job(&scenario);
        // A bound leaves the order on a line open, and is at most a packet below.
        assert!((0.0..=1.0).contains(&((ideal - job.ideal_s) / tx.as_secs_f64())), "{job:?}");
        // ACKs take part of the lines, 6 % of a packet each.
        assert!((1.0..1.15).contains(&(job.time_s / job.ideal_s)), "{n} {packets} {job:?}");
    }
}

#[test]
fn a_double_binary_tree_of_two_and_three_takes_its_steps() {
    // Two ranks swap halves up and down. Of three, each tree is a chain: 1 → 2 → 0 and, shifted, 2 → 0 → 1, up and
    // down again; no line carries two data packets at a time.
    for (n, steps) in [(2, 2), (3, 4)] {
        let entry = "operation = \"all-reduce\"\nalgorithm = \"double-binary-tree\"";
        let scenario = of_packets(n, entry, 1, 2);
        let (_, tx, ack) = packet(&scenario);
        let (there, back) = (tx * 2 + DELAY * 2, ack * 2 + DELAY * 2);
        let (job, mut simulation) = job(&scenario);
        assert_eq!(took(&job), there * steps + ack * (steps - 1) + back, "{n}");
        assert_eq!(simulation.take_finished().len(), 4 * (n as usize - 1));
    }
}

#[test]
fn a_hierarchy_is_a_ring_in_groups_and_one_across_them() {
    for (n, group, packets) in [(4, 2, 1), (12, 4, 3), (16, 2, 2), (8, 8, 4), (8, 1, 4)] {
        let groups = n / group;
        let entry =
            format!("operation = \"all-reduce\"\nalgorithm = \"hierarchical\"\ngroup = {group}");
        let scenario = of_packets(n, &entry, packets, n.into());
        let (_, tx, ack) = packet(&scenario);
        let there = |packets: u64| tx * (packets + 1) + DELAY * 2;
        let inside = u64::from(2 * (group - 1));
        let across = u64::from(2 * (groups - 1));
        // A share of a group's ring is what the ring across cuts up.
        let least = there(packets * u64::from(groups)) * inside + there(packets) * across;
        let (job, _) = job(&scenario);
        let ideal = (least + ack * 2 + DELAY * 2).as_secs_f64();
        assert!((job.ideal_s / ideal - 1.0).abs() < 1e-12, "{n} {group}");
        assert!(took(&job) >= least && took(&job).as_secs_f64() < 1.12 * ideal, "{n} {group}");
    }
}

/// A file with a matrix, named in an entry.
fn by_matrix(text: &str, more: &str) -> (tempfile::NamedTempFile, String) {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    let name = file.path().to_str().expect("UTF-8").to_owned();
    let entry = format!("operation = \"all-to-all-v\"\nmatrix = \"{name}\"{more}");
    (file, entry)
}

#[test]
fn a_matrix_says_who_sends_how_much() {
    let all = "operation = \"all-to-all\"\nalgorithm = \"pairwise\"";
    let even = of_packets(4, all, 1, 4);
    let (mss, tx, ack) = packet(&even);
    let line = format!("{mss},{mss},{mss},{mss}\n");
    let (_file, entry) = by_matrix(&line.repeat(4), "\nalgorithm = \"pairwise\"");
    let (alike, even) = (job(&plan(4, &entry)).0, job(&even).0);
    assert_eq!((took(&alike), alike.bytes), (took(&even), even.bytes));
    assert_eq!(alike.bus_factor, even.bus_factor);
    // One message alone, of six packets, and a byte for rank 0 itself.
    let (_file, entry) = by_matrix(&format!("1,0,{}\n0,0,0\n0,0,0\n", 6 * mss), "");
    let (job, mut simulation) = job(&plan(3, &entry));
    assert_eq!(took(&job), tx * 7 + DELAY * 4 + ack * 2);
    assert_eq!(simulation.take_finished().len(), 1);
    assert_eq!(
        (job.bytes.get(), job.bus_factor),
        (6 * mss + 1, (6 * mss) as f64 / (6 * mss + 1) as f64)
    );
}

#[test]
fn an_entry_begins_at_a_host_when_that_before_is_done_there() {
    let entry = "operation = \"broadcast\"\nranks = [0, 1]";
    let one = of_packets(3, entry, 2, 1);
    let bytes = one.traffic[0].source.clone();
    let switchbed_scenario::Traffic::Collective(of) = &bytes else { panic!("a collective") };
    let next = format!(
        "{entry}\nbytes = \"{0}B\"\n[[traffic]]\nkind = \"collective\"\n{entry}\nbytes = \"{0}B\"\nafter = 0\n\
         [[traffic]]\nkind = \"collective\"\noperation = \"reduce\"\nranks = [2, 0]\nbytes = \"1B\"\nafter = 1",
        of.data().get()
    );
    let scenario = plan(3, &next);
    let (_, tx, ack) = packet(&scenario);
    let round = tx * 3 + DELAY * 4 + ack * 2;
    let jobs = job(&scenario).1.jobs(&scenario);
    let at = |span: Span| Some(switchbed_units::Time::ZERO + span);
    // Rank 1 is done when the message is there, rank 0 when it knows of that.
    assert_eq!(
        (jobs[0].end, jobs[1].start, jobs[1].end),
        (at(round), at(tx * 3 + DELAY * 2), at(round * 2))
    );
    // Host 2 has no part in the second, host 0 sends when it is done with that.
    assert_eq!(jobs[2].start, at(Span::ZERO));
    assert!(jobs[2].end > at(round * 2 + DELAY * 2));
}

#[test]
fn operations_are_written_down_with_what_they_waited_for() {
    let scenario =
        of_packets(3, "operation = \"broadcast\"\nalgorithm = \"chain\"\nrepetitions = 2", 2, 1);
    let scenario = Scenario {
        measure: switchbed_scenario::Measure { operations: Some(true), ..scenario.measure.clone() },
        ..scenario
    };
    let results = switchbed_sim::run(&scenario, &switchbed_sim::Progress::default()).expect("runs");
    let (_, table) = results.monitors.iter().find(|of| of.0 == "operations").expect("the table");
    // 0 sends to 1, which receives and sends on to 2, twice.
    assert_eq!(table.rows(), 8);
    let text = format!("{table:?}");
    assert!(text.contains("receive") && text.contains("send"), "{text}");
    let (_, tx, ack) = packet(&scenario);
    let there = tx * 3 + DELAY * 2;
    let column = |name: &str| {
        let column = table.columns.iter().find(|of| of.name == name).expect("the column");
        match &column.values {
            switchbed_sim::table::Values::F64(values) => values.clone(),
            _ => panic!("{name} is no float"),
        }
    };
    let near = |one: f64, span: Span| (one - span.as_secs_f64()).abs() < 1e-15;
    let (start, end) = (column("start_s"), column("end_s"));
    // Rank 0's send, rank 1's receive and send, rank 2's receive.
    assert!(near(start[0], Span::ZERO) && near(end[0], there + DELAY * 2 + ack * 2));
    assert!(near(start[1], there) && near(end[1], there) && near(start[2], there));
    assert!(near(start[3], there * 2 + ack));
    assert_eq!(column("row")[..4], [0.0, 0.0, 1.0, 1.0]);
    // The second rank sends because of its receive, which came with its message.
    assert_eq!(column("after")[2], 0.0);
    assert!(column("after")[1].is_nan() && column("after")[0].is_nan());
}

/// Bytes that all ranks send together: all data cross the network once, whatever the order.
#[test]
fn every_algorithm_moves_as_much_as_it_must() {
    let bytes = 1_000_003;
    let n = 8;
    let ring = bytes * u64::from(n - 1);
    for (operation, algorithm, moved) in [
        ("all-reduce", "ring", 2 * ring),
        ("all-reduce", "halving-doubling", 2 * ring),
        ("all-reduce", "recursive-doubling", 3 * u64::from(n) * bytes),
        ("all-reduce", "tree", 2 * ring),
        ("all-reduce", "chain", 2 * ring),
        ("all-reduce", "double-binary-tree", 2 * ring),
        ("all-reduce", "hierarchical", 2 * ring),
        ("reduce-scatter", "hierarchical", ring),
        ("all-gather", "hierarchical", ring),
        ("reduce-scatter", "ring", ring),
        ("reduce-scatter", "halving-doubling", ring),
        ("reduce-scatter", "pairwise", ring),
        ("all-gather", "direct", ring),
        ("all-gather", "halving-doubling", ring),
        ("broadcast", "tree", ring),
        ("reduce", "tree", ring),
        ("all-to-all", "direct", ring),
    ] {
        for more in ["", "\nchunks = 3", "\nchannels = 2", "\nchunks = 2\nchannels = 3"] {
            let group = if algorithm == "hierarchical" { "\ngroup = 4" } else { "" };
            let entry = format!(
                "operation = \"{operation}\"\nalgorithm = \"{algorithm}\"\nbytes = \"{bytes}B\"{more}{group}"
            );
            let (job, mut simulation) = job(&plan(n, &entry));
            let flows = simulation.take_finished();
            let sum: u64 = flows.iter().filter_map(|flow| flow.size).map(|size| size.get()).sum();
            assert_eq!(sum, moved, "{entry}");
            assert!(job.time_s >= job.ideal_s && job.time_s < job.ideal_s * 4.0, "{job:?}");
        }
    }
}

#[test]
fn repetitions_follow_each_other_and_the_first_may_not_count() {
    let entry = "operation = \"all-reduce\"\nstart = \"5us\"";
    let scenario = |more: &str| of_packets(4, &format!("{entry}{more}"), 3, 4);
    let one = took(&job(&scenario("")).0);
    let (job, mut simulation) = job(&scenario("\nrepetitions = 3\nwarmup_repetitions = 2"));
    assert_eq!((job.repetitions, job.ranks), (3, 4));
    assert_eq!(simulation.take_finished().len(), 5 * 4 * 6);
    assert!(job.start.unwrap().since(switchbed_units::Time::ZERO) > one * 2);
    // A rank begins anew when its own part is done, so that repetitions overlap.
    assert!(took(&job) <= one * 3 && took(&job) > one * 2, "{one} {}", took(&job));
}

#[test]
fn repetitions_of_the_runs_warm_up_are_not_measured() {
    let entry = "operation = \"all-reduce\"\nstart = \"5us\"\nrepetitions = 3";
    let mut scenario = of_packets(4, entry, 3, 4);
    let whole = job(&scenario).0;
    assert_eq!((whole.repetitions, whole.early), (3, 0));
    scenario.measure.warmup = Span::from_us(6);
    let late = job(&scenario).0;
    assert_eq!((late.repetitions, late.early, late.end), (2, 1, whole.end));
    assert!(late.start.unwrap().since(switchbed_units::Time::ZERO) >= scenario.measure.warmup);
    scenario.measure.warmup = whole.end.unwrap().since(switchbed_units::Time::ZERO);
    let none = job(&scenario).0;
    assert_eq!((none.repetitions, none.early), (0, 3));
}

#[test]
fn messages_have_a_byte_at_least() {
    for algorithm in
        ["ring", "halving-doubling", "recursive-doubling", "tree", "chain", "double-binary-tree"]
    {
        for n in [2, 3, 7, 8] {
            let entry =
                format!("operation = \"all-reduce\"\nalgorithm = \"{algorithm}\"\nbytes = \"1B\"");
            let (_, mut simulation) = job(&plan(n, &entry));
            assert!(simulation.take_finished().iter().all(|flow| flow.size.unwrap().get() == 1));
        }
    }
}

#[test]
fn over_tcp_and_when_flows_end_with_their_arrival_jobs_are_done_too() {
    for (kind, more) in [("dctcp", ""), ("roce", ""), ("cubic", "fct_end = \"received\"")] {
        let text = format!(
            "topology = {{ kind = \"star\", hosts = 4, rate = \"10Gbps\", delay = \"1us\" }}\n\
             switch.buffer = \"1MB\"\nscheme.name = \"none\"\n[transport]\nkind = \"{kind}\"\n[measure]\n{more}\n[[traffic]]\n\
             kind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"100KB\"\n"
        );
        let plans = plans_of("test.toml", &text, Path::new("."), &[], None).expect("right");
        let (_, mut simulation) = job(&plans[0].scenario);
        let flows = simulation.take_finished();
        assert_eq!(flows.len(), 4 * 6, "{kind}");
        // One connection a pair, which the first of its flows opens.
        let opened = flows.iter().filter(|flow| flow.handshake).count();
        assert_eq!(opened, 4, "{kind}");
    }
}

#[test]
fn jobs_are_the_same_however_the_work_is_divided() {
    let entry = "operation = \"all-reduce\"\nbytes = \"300KB\"\nchannels = 2\nchunks = 2\nreduction = \"1Tbps\"\n\
                 placement = \"random\"\nrepetitions = 2\n[[traffic]]\nkind = \"collective\"\noperation = \"all-to-all\"\n\
                 ranks = \"2-6\"\nbytes = \"200KB\"\nstart = \"3us\"";
    let scenario = plan(9, entry);
    let (flows, ..) = divided(&scenario);
    assert_eq!(flows.len(), 9 * 16 * 4 * 2 + 5 * 4);
    let jobs = |threads, shards| {
        let division = Division { threads, shards, worthwhile: 0 };
        let mut simulation = Simulation::with(&scenario, &Nothing, division).expect("builds");
        while simulation.advance(1 << 40) == Status::Running {}
        simulation.jobs(&scenario)
    };
    let whole = jobs(1, 1);
    assert_eq!(whole.len(), 2);
    assert!(
        [(1, 2), (1, 5), (2, 3)]
            .into_iter()
            .all(|(threads, shards)| jobs(threads, shards) == whole)
    );
}

#[test]
fn what_is_no_collective_is_refused_by_key() {
    for (ranks, entry, expected) in [
        (
            4,
            "operation = \"broadcast\"\nalgorithm = \"ring\"\nbytes = \"1KB\"",
            "broadcast has tree, chain",
        ),
        (
            6,
            "operation = \"all-gather\"\nalgorithm = \"halving-doubling\"\nbytes = \"1KB\"",
            "has 2, 4, 8, … ranks, and there are 6",
        ),
        (4, "operation = \"reduce\"\nbytes = \"0B\"", "at least 1 byte"),
        (4, "operation = \"reduce\"", "traffic.bytes is missing: write bytes = \"8MB\""),
        (4, "operation = \"all-to-all-v\"", "traffic.matrix is missing"),
        (4, "operation = \"reduce\"\nbytes = \"1B\"\ngroup = 2", "traffic.group"),
        (
            6,
            "operation = \"all-reduce\"\nbytes = \"1KB\"\nalgorithm = \"hierarchical\"\ngroup = 4",
            "6 ranks are no whole number of groups",
        ),
        (4, "operation = \"reduce\"\nbytes = \"1KB\"\nafter = 0", "traffic.0 is no collective"),
        (4, "operation = \"reduce\"\nbytes = \"1KB\"\nranks = [2]", "at least 2 ranks"),
        (4, "operation = \"reduce\"\nbytes = \"1KB\"\nranks = [2, 1, 2]", "host 2"),
        (4, "operation = \"reduce\"\nbytes = \"1KB\"\nreduction = \"0Gbps\"", "traffic.reduction"),
        (
            512,
            "operation = \"all-to-all\"\nbytes = \"1KB\"\nchunks = 100",
            "26163200 messages a repetition; at most 16777216",
        ),
        (4, "operation = \"reduce\"\nbytes = \"1KB\"\ntransport = \"udp\"", "traffic.transport"),
    ] {
        let message = refused(ranks, entry);
        assert!(message.contains(expected), "{message}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_collective_is_done(
        ranks in 2u32..12, of in 0usize..6, nth in 0usize..6, bytes in 1u64..200_000, chunks in 1u32..4,
        channels in 1u32..3, repetitions in 1u32..3,
    ) {
        let (operation, algorithms): (&str, &[&str]) = [
            ("all-reduce", &["ring", "halving-doubling", "recursive-doubling", "tree", "chain", "double-binary-tree"][..]),
            ("reduce-scatter", &["ring", "pairwise", "direct"]),
            ("all-gather", &["ring", "pairwise", "direct"]),
            ("broadcast", &["tree", "chain"]),
            ("reduce", &["tree", "chain"]),
            ("all-to-all", &["pairwise", "direct"]),
        ][of];
        let algorithm = algorithms[nth % algorithms.len()];
        let entry = format!(
            "operation = \"{operation}\"\nalgorithm = \"{algorithm}\"\nbytes = \"{bytes}B\"\nchunks = {chunks}\n\
             channels = {channels}\nrepetitions = {repetitions}\nplacement = \"random\""
        );
        let (job, _) = job(&plan(ranks, &entry));
        prop_assert!(job.repetitions == repetitions && job.time_s > 0.0);
    }
}
