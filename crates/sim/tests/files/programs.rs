//! Operations of hosts that wait for each other, from GOAL's text: random ones against a reference.

use proptest::prelude::*;
use std::io::Write;
use std::path::Path;
use switchbed_scenario::plans_of;
use switchbed_sim::{FlowRecord, Job, Simulation, Status};
use switchbed_units::{Bytes, Span, Time};

/// The jobs and flows of a schedule, or why it is refused.
fn run(goal: &str, hosts: u32, more: &str) -> Result<(Vec<Job>, Vec<FlowRecord>), String> {
    of_file("goal", goal, hosts, more)
}

/// The jobs and flows of traffic that a file of this kind describes, or why it is refused.
fn of_file(
    kind: &str,
    content: &str,
    hosts: u32,
    more: &str,
) -> Result<(Vec<Job>, Vec<FlowRecord>), String> {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(content.as_bytes()).expect("written");
    let name = file.path().to_str().expect("UTF-8").to_owned();
    let text = format!(
        r#"
        switch.buffer = "100MB"
        scheme.name = "none"
        [topology]
        kind = "star"
        hosts = {hosts}
        rate = "100Gbps"
        delay = "1us"
        [host]
        profile = "linux-6.x"
        delay = "0us"
        [transport]
        kind = "roce"
        [[traffic]]
        kind = "{kind}"
        file = "{name}"
        {more}
        "#
    );
    let plans = plans_of("test.toml", &text, Path::new("."), &[], None);
    let plans =
        plans.map_err(|mistake| mistake.to_string().replace(&name, &format!("x.{kind}")))?;
    let scenario = &plans[0].scenario;
    let mut simulation = Simulation::new(scenario).map_err(|error| error.to_string())?;
    while simulation.advance(1 << 40) == Status::Running {}
    let mut flows = simulation.take_finished();
    flows.sort_by_key(|flow| flow.row);
    Ok((simulation.jobs(scenario), flows))
}

fn took(job: &Job) -> Span {
    job.end.expect("done").since(job.start.expect("begun"))
}

#[test]
fn loggopsim_s_binary_tree_runs() {
    // Rank r sends to r + 2^i for all 2^i > r, once it has its own (binary_tree_32.goal).
    let ranks = 32u32;
    let mut text = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        text += &format!("rank {rank} {{\n");
        if rank > 0 {
            text += &format!("l1: recv 1b from {} tag 0\n", rank - (1 << rank.ilog2()));
        }
        let first = if rank == 0 { 0 } else { rank.ilog2() + 1 };
        for bit in first..5 {
            let label = bit + 2;
            text += &format!("l{label}: send 1b to {} tag 0\n", rank + (1 << bit));
            if rank > 0 {
                text += &format!("l{label} requires l1\n");
            }
        }
        text += "}\n";
    }
    let (jobs, flows) = run(&text, 40, "").unwrap();
    assert_eq!((flows.len(), jobs[0].ranks, jobs[0].done), (31, 32, true));
    assert!(flows.iter().all(|flow| flow.src.0 < 32 && flow.dst.0 < 32));
    assert_eq!((jobs[0].operation, jobs[0].bytes.get()), ("goal", 31));
    assert!(jobs[0].algorithm_bps().is_nan() && jobs[0].bus_bps().is_nan());
}

#[test]
fn an_overhead_is_a_calculation_before_each_send_and_after_each_receive() {
    let text = |cpu: u32, said: bool| {
        let calc = |name: &str, cpu: u32| match said {
            true => format!("{name}: calc 2000 cpu {cpu}\n"),
            false => String::new(),
        };
        let waits = |after: &str, before: &str| match said {
            true => format!("{after} requires {before}\n"),
            false => String::new(),
        };
        let sends =
            [calc("ca", 0), calc("cb", cpu), "a: send 100b to 1 tag 5\n".to_owned()].concat();
        let more = format!("b: send 30000b to 1 tag 6 cpu {cpu} nic 1\nc: calc 500\n");
        let from = [waits("a", "ca"), waits("b", "cb")].concat();
        let receives = format!(
            "r: recv 100b from 0 tag 5 cpu {cpu}\ns: recv 30000b from -1 tag 6 cpu {cpu}\n"
        );
        let then = [calc("dr", cpu), calc("ds", cpu), waits("dr", "r"), waits("ds", "s")].concat();
        // What waits for a message waits for its overhead.
        let last = format!("e: calc 300 cpu 7\ne requires {}\n", if said { "dr" } else { "r" });
        format!(
            "num_ranks 2\nrank 0 {{\n{sends}{more}{from}}}\nrank 1 {{\n{receives}{then}{last}}}\n"
        )
    };
    for cpu in [0, 3] {
        let (with, flows) = run(&text(cpu, false), 2, "overhead = \"2us\"").unwrap();
        let starts: Vec<_> = flows.iter().map(|flow| flow.start).collect();
        let second = if cpu == 0 { 4 } else { 2 };
        assert_eq!(starts, [2, second].map(|us| Time::ZERO + Span::from_us(us)));
        let (said, same) = run(&text(cpu, true), 2, "").unwrap();
        assert_eq!(same.iter().map(|flow| flow.start).collect::<Vec<_>>(), starts);
        assert_eq!(took(&with[0]), took(&said[0]));
        assert_eq!(with[0].ideal_s, said[0].ideal_s);
    }
}

#[test]
fn calculations_take_turns_on_a_processor_alone() {
    let text = |cpu| {
        format!(
            "num_ranks 2\nrank 0 {{\ncalc 300\ncalc 500 cpu {cpu}\na: calc 7\nb: calc 1\nb requires a\n}}\n"
        )
    };
    for (cpu, expected) in [(0, 808), (1, 500)] {
        let (jobs, _) = run(&text(cpu), 2, "start = \"4us\"").unwrap();
        assert_eq!(took(&jobs[0]), Span::from_ns(expected));
        assert_eq!(jobs[0].ideal_s, took(&jobs[0]).as_secs_f64());
        assert_eq!(jobs[0].start, Some(Time::ZERO + Span::from_us(4)));
    }
}

#[test]
fn what_cannot_be_done_is_refused_by_file_rank_and_label() {
    for (text, expected) in [
        (
            "num_ranks 2\nrank 0 {\nx1: recv 1b from 1 tag 3\ny: send 1b to 1 tag 3\ny requires x1\n}\nrank 1 {\n\
             r: recv 1b from 0 tag 3\ns: send 1b to 0 tag 3\ns requires r\n}\n",
            "x.goal: deadlock: rank 0 `x1` waits for rank 1 `s` waits for rank 1 `r` waits for rank 0 `y` waits \
             for rank 0 `x1`",
        ),
        (
            "num_ranks 2\nrank 0 {\nr17: recv 1b from 1 tag 5\n}\n",
            "x.goal: rank 0: `r17` has no send at rank 1 with tag 5: 0 sends, 1 receives",
        ),
        ("num_ranks 3\n", "x.goal: 3 ranks, and traffic.ranks are 2 hosts"),
        ("num_ranks 2\nrank 0 {\nclac 5\n}\n", "x.goal:3: "),
    ] {
        let message = run(text, 2, "").unwrap_err();
        assert!(message.starts_with(expected), "{message}");
    }
    let message = run("num_ranks 2\n", 3, "ranks = [1, 1]").unwrap_err();
    assert!(message.contains("traffic.ranks.1 is 1: host 1 is named twice"), "{message}");
}

/// An operation of a random program.
#[derive(Clone, Copy, Debug)]
enum Op {
    Send { to: usize, tag: u32 },
    Receive { from: usize, tag: u32 },
    Calculate(u64),
}

#[derive(Clone, Debug)]
struct Random {
    ranks: Vec<Vec<Op>>,
    /// By rank: what waits (the second), for what, and whether for its start.
    edges: Vec<Vec<(usize, usize, bool)>>,
}

impl Random {
    fn text(&self) -> String {
        let mut text = format!("num_ranks {}\n", self.ranks.len());
        for (rank, ops) in self.ranks.iter().enumerate() {
            text += &format!("rank {rank} {{\n");
            for (nth, op) in ops.iter().enumerate() {
                text += &match op {
                    Op::Send { to, tag } => format!("o{nth}: send 3000b to {to} tag {tag}\n"),
                    Op::Receive { from, tag } => {
                        format!("o{nth}: recv 3000b from {from} tag {tag}\n")
                    }
                    Op::Calculate(ns) => format!("o{nth}: calc {ns} cpu {nth}\n"),
                };
            }
            for (before, after, start) in &self.edges[rank] {
                let word = if *start { "irequires" } else { "requires" };
                text += &format!("o{after} {word} o{before}\n");
            }
            text += "}\n";
        }
        text
    }

    /// The receive of each send: the k-th with the k-th.
    fn partner(&self, rank: usize, nth: usize) -> Option<(usize, usize)> {
        let Op::Receive { from, tag } = self.ranks[rank][nth] else { return None };
        let like =
            |op: &Op| matches!(*op, Op::Receive { from: f, tag: t } if (f, t) == (from, tag));
        let k = self.ranks[rank][..nth].iter().filter(|op| like(op)).count();
        let sends = self.ranks[from].iter().enumerate();
        let of = |op: &Op| matches!(*op, Op::Send { to, tag: t } if (to, t) == (rank, tag));
        let (send, _) = sends.filter(|(_, op)| of(op)).nth(k)?;
        Some((from, send))
    }

    /// Whether everything can be done, by going round until nothing changes.
    fn can_be_done(&self) -> bool {
        let mut started: Vec<Vec<bool>> =
            self.ranks.iter().map(|ops| vec![false; ops.len()]).collect();
        let mut done = started.clone();
        loop {
            let mut changed = false;
            for rank in 0..self.ranks.len() {
                for nth in 0..self.ranks[rank].len() {
                    let waits = self.edges[rank].iter().filter(|edge| edge.1 == nth);
                    let mut met =
                        waits.map(
                            |&(before, _, start)| {
                                if start { started[rank][before] } else { done[rank][before] }
                            },
                        );
                    let starts = met.all(|met| met);
                    let came = self.partner(rank, nth).is_none_or(|(from, send)| done[from][send]);
                    changed |= starts != started[rank][nth] || (starts && came) != done[rank][nth];
                    started[rank][nth] = starts;
                    done[rank][nth] = starts && came;
                }
            }
            if !changed {
                return done.iter().flatten().all(|&done| done);
            }
        }
    }

    /// Bounds of the times when operations start and end, from what the flows did.
    fn check(&self, flows: &[FlowRecord]) {
        let mut rows = flows.iter();
        // A message that stays at its rank has no flow.
        let sent: Vec<Vec<Option<FlowRecord>>> = (0..)
            .zip(&self.ranks)
            .map(|(rank, ops)| {
                let goes = |op: &Op| matches!(*op, Op::Send { to, .. } if to != rank);
                let record = |op: &Op| goes(op).then(|| *rows.next().expect("a row"));
                ops.iter().map(record).collect()
            })
            .collect();
        type Bounds = (Time, Time);
        let mut ends: Vec<Vec<Option<Bounds>>> =
            self.ranks.iter().map(|ops| vec![None; ops.len()]).collect();
        let mut starts = ends.clone();
        for _ in 0..self.ranks.iter().map(Vec::len).sum() {
            for rank in 0..self.ranks.len() {
                for nth in 0..self.ranks[rank].len() {
                    let waits = self.edges[rank].iter().filter(|edge| edge.1 == nth);
                    let bounds: Option<Vec<Bounds>> = waits
                        .map(
                            |&(before, _, start)| {
                                if start { starts[rank][before] } else { ends[rank][before] }
                            },
                        )
                        .collect();
                    let Some(bounds) = bounds else { continue };
                    let low = bounds.iter().map(|of| of.0).max().unwrap_or(Time::ZERO);
                    let high = bounds.iter().map(|of| of.1).max().unwrap_or(Time::ZERO);
                    starts[rank][nth] = Some((low, high));
                    ends[rank][nth] = Some(match self.ranks[rank][nth] {
                        Op::Calculate(ns) => (low + Span::from_ns(ns), high + Span::from_ns(ns)),
                        Op::Send { to, .. } if to == rank => (low, high),
                        Op::Send { .. } => {
                            let flow = sent[rank][nth].expect("a send");
                            assert!(
                                low <= flow.start && flow.start <= high,
                                "{low} {flow:?} {high}"
                            );
                            let end = flow.end.expect("ended");
                            starts[rank][nth] = Some((flow.start, flow.start));
                            (end, end)
                        }
                        Op::Receive { .. } => {
                            let (from, send) = self.partner(rank, nth).expect("a send");
                            if from == rank {
                                let Some(came) = ends[rank][send] else { continue };
                                ends[rank][nth] = Some((low.max(came.0), high.max(came.1)));
                                continue;
                            }
                            let flow = sent[from][send].expect("a send");
                            // A message arrives after it was sent and before its ACK is back.
                            (low.max(flow.start), high.max(flow.end.expect("ended")))
                        }
                    });
                }
            }
        }
        assert!(ends.iter().flatten().all(Option::is_some), "all was done");
    }
}

/// Programs of two to four ranks: messages between them, and waits for what stands before or, now and then, behind.
fn random() -> impl Strategy<Value = Random> {
    let messages =
        prop::collection::vec((0usize..4, 0usize..5, 0u32..2, 0u32..99, 0u32..99), 1..12);
    let times = prop::collection::vec((0usize..4, 0u64..9_000, 0u32..99), 0..8);
    let waits = prop::collection::vec((0usize..4, 0usize..99, 0usize..99, 0u32..12), 0..30);
    (2usize..5, messages, times, waits).prop_map(|(n, messages, times, waits)| {
        let mut placed: Vec<Vec<(u32, Op)>> = vec![Vec::new(); n];
        for (from, apart, tag, at, there) in messages {
            let from = from % n;
            // One in five stays at its rank.
            let to = if apart == 0 { from } else { (from + 1 + apart % (n - 1)) % n };
            placed[from].push((at, Op::Send { to, tag }));
            placed[to].push((there, Op::Receive { from, tag }));
        }
        for (rank, ns, at) in times {
            placed[rank % n].push((at, Op::Calculate(ns)));
        }
        let ranks: Vec<Vec<Op>> = placed
            .into_iter()
            .map(|mut ops| {
                ops.sort_by_key(|of| of.0);
                ops.into_iter().map(|of| of.1).collect()
            })
            .collect();
        let mut edges = vec![Vec::new(); n];
        for (rank, one, other, kind) in waits {
            let (rank, count) = (rank % n, ranks[rank % n].len());
            if count > 1 && one % count != other % count {
                let (low, high) = (one % count, other % count);
                let forward = (low.min(high), low.max(high));
                let (before, after) = if kind == 0 { (forward.1, forward.0) } else { forward };
                edges[rank].push((before, after, kind % 3 == 1));
            }
        }
        Random { ranks, edges }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn random_programs_are_done_in_their_order_or_refused_as_deadlocks(program in random()) {
        let ranks = program.ranks.len() as u32;
        match run(&program.text(), ranks, "") {
            Ok((jobs, flows)) => {
                prop_assert!(program.can_be_done());
                prop_assert!(jobs[0].done);
                program.check(&flows);
            }
            Err(message) => {
                prop_assert!(message.starts_with("x.goal: deadlock: rank "), "{}", message);
                prop_assert!(!program.can_be_done(), "{}", message);
            }
        }
    }
}

#[test]
fn a_receive_of_any_source_takes_what_arrives_first() {
    // Rank 1 sends at 20 us, rank 2 at once with tag 6, rank 3 at 10 us with tag 5: the receive of tag 5 from any
    // comes first in the file, and takes rank 3's.
    let text = "num_ranks 4\nrank 0 {\nfive: recv 9b from -1 tag 5\nfirst: recv 9b from -1 tag -1\n\
                second: recv 9b from -1 tag -1\nc1: send 1b to 1\nc1 requires five\nc2: send 1b to 2\n\
                c2 requires first\nc3: send 1b to 3\nc3 requires second\n}\n\
                rank 1 {\na: calc 20000\nb: send 9b to 0 tag 5\nb requires a\nrecv 1b from 0\n}\n\
                rank 2 {\nsend 9b to 0 tag 6\nrecv 1b from 0\n}\n\
                rank 3 {\na: calc 10000\nb: send 9b to 0 tag 5\nb requires a\nrecv 1b from 0\n}\n";
    let (jobs, flows) = run(text, 4, "").unwrap();
    assert!(jobs[0].done);
    let starts =
        |dst: u32| flows.iter().find(|flow| flow.src.0 == 0 && flow.dst.0 == dst).unwrap().start;
    let us = |us| Time::ZERO + Span::from_us(us);
    // Tag 5's receive is done with rank 3's, at some 12 us; the first of any with rank 2's, the second with rank 1's.
    assert!(starts(2) < us(5), "{:?}", starts(2));
    assert!(us(10) < starts(1) && starts(1) < us(15), "{:?}", starts(1));
    assert!(us(20) < starts(3) && starts(3) < us(25), "{:?}", starts(3));
    // One that comes before its receive waits for it.
    let text = "num_ranks 2\nrank 0 {\na: calc 50000\nr: recv 9b from -1\nr requires a\n}\n\
                rank 1 {\nsend 9b to 0\n}\n";
    let (jobs, _) = run(text, 2, "").unwrap();
    assert_eq!((jobs[0].done, took(&jobs[0])), (true, Span::from_us(50)));
}

#[test]
fn a_rank_s_message_to_itself_takes_its_processor_alone() {
    // LogGOPSim's own run takes such a schedule, too: its message event goes to the same host.
    let text = |from: &str| {
        format!(
            "num_ranks 2\nrank 0 {{\na: calc 1000\ns: send 9000b to 0 tag 5\ns requires a\n\
             s irequires r\nr: recv 9000b from {from} tag 5\nt: send 9b to 1\nt requires r\n}}\n\
             rank 1 {{\nrecv 9b from 0\n}}\n"
        )
    };
    for from in ["0", "-1"] {
        for (more, us) in [("", 1), ("overhead = \"2us\"", 7)] {
            let (jobs, flows) = run(&text(from), 2, more).unwrap();
            let [flow] = flows[..] else { panic!("one flow, {flows:?}") };
            assert_eq!((jobs[0].done, jobs[0].bytes.get()), (true, 9009));
            assert_eq!((flow.src.0, flow.dst.0, flow.size), (0, 1, Some(Bytes::new(9))));
            // The calculation, the overheads of send and receive, and that of the other send.
            assert_eq!(flow.start, Time::ZERO + Span::from_us(us));
            assert_eq!(jobs[0].ideal_s, took(&jobs[0]).as_secs_f64());
        }
    }
    // A receive that waits for its own rank's later send is a deadlock.
    let text = "num_ranks 1\nrank 0 {\nr: recv 9b from 0\ns: send 9b to 0\ns requires r\n}\n";
    let message = run(text, 2, "").unwrap_err();
    assert_eq!(message, "x.goal: deadlock: rank 0 `r` waits for rank 0 `s` waits for rank 0 `r`");
}

#[test]
fn a_send_of_any_tag_fits_each_receive_of_its_source() {
    // LogGOPSim matches by either side's wildcard. The tag 5 is taken by the first that arrives.
    let text = "num_ranks 3\nrank 1 {\nfive: recv 9b from 0 tag 5\nsix: recv 9b from -1 tag 6\n\
                c: send 1b to 2\nc requires five\n}\n\
                rank 0 {\nsend 9b to 1 tag -1\nw: calc 20000\nb: send 9b to 1 tag 6\nb requires w\n}\n\
                rank 2 {\nrecv 1b from 1\n}\n";
    let (jobs, flows) = run(text, 3, "").unwrap();
    assert!(jobs[0].done);
    let freed = flows.iter().find(|flow| flow.dst.0 == 2).unwrap();
    assert!(freed.start < Time::ZERO + Span::from_us(5), "{freed:?}");
}

#[test]
fn a_flow_without_an_end_begins_at_its_start_beside_flows_that_wait() {
    let matrix = "Nodes 4\nConnections 3\nTriggers 1\n0->1 id 1 start 7000000 size 0\n\
                  2->3 id 2 start 0 size 9000 send_done_trigger 1\n3->2 id 3 trigger 1 size 500\n\
                  trigger id 1 oneshot\n";
    let (jobs, flows) = of_file("list", matrix, 6, "[run]\nuntil = \"1ms\"").unwrap();
    assert_eq!((jobs[0].done, jobs[0].ranks, jobs[0].bytes.get()), (true, 2, 9500));
    // Rows stay as in the file.
    let rows: Vec<_> = flows.iter().map(|flow| (flow.row, flow.src.0)).collect();
    assert_eq!(rows, [(1, 2), (2, 3)]);
}

/// The flows of a list, by row, or why it is refused.
fn listed(rows: &str, more: &str) -> Result<Vec<FlowRecord>, String> {
    let (jobs, flows) = of_file("list", rows, 6, more)?;
    assert!(jobs.iter().all(|job| job.done));
    Ok(flows)
}

#[test]
fn flows_of_a_list_wait_for_others_of_their_source() {
    let rows = "id,start_s,src,dst,size_bytes,after,delay_s,class\n\
                b,,2,3,5000,a,0.00002,0\n\
                a,0.0001,1,2,5000,,,0\n\
                ,0.0005,2,4,5000,a b,,0\n\
                d,,1,5,5000,a,0.000001,0\n";
    for connections in ["fresh", "single"] {
        let flows = listed(rows, &format!("connections = \"{connections}\"")).unwrap();
        let order: Vec<(u64, u32)> = flows.iter().map(|flow| (flow.row, flow.src.0)).collect();
        assert_eq!(order, [(0, 2), (1, 1), (2, 2), (3, 1)]);
        let [b, a, c, d] = flows[..] else { panic!("four flows") };
        let us = Span::from_us;
        assert_eq!(a.start, Time::ZERO + us(100));
        // At host 2 a has arrived before its ACK is back; host 1 goes by the ACK.
        let end = a.end.unwrap();
        assert!(a.start + us(20) < b.start && b.start < end + us(20), "{a:?} {b:?}");
        assert_eq!(d.start, end + us(1));
        assert_eq!(c.start, Time::ZERO + us(500));
    }
}

#[test]
fn waits_that_cannot_be_are_named_with_their_line() {
    let head = "id,start_s,src,dst,size_bytes,after,delay_s\n";
    for (rows, expected) in [
        (
            "a,0,1,2,5,,\nb,,3,1,5,a,\n",
            "x.list:3: column after: `a` goes from host 1 to host 2: a flow of host 3 waits",
        ),
        ("a,0,1,2,5,x,\n", "x.list:2: column after: no flow has the id `x`"),
        ("a,0,1,2,5,,\n\na,0,1,2,5,,\n", "x.list:4: column id: `a` is there twice"),
        ("a,0,1,2,5,,soon\n", "x.list:2: column delay_s: `soon` is not a time"),
        ("a,,1,2,5,,\n", "x.list:2: column start_s: `` is not a time"),
        ("a,0,1,2,5,b,\nb,0,2,1,5,a,\n", "x.list: column after: deadlock: host "),
    ] {
        let message = listed(&format!("{head}{rows}"), "").unwrap_err();
        assert!(message.starts_with(expected), "{message}");
    }
    let message = listed("start_s,src,dst,size_bytes,delay_s\n0,1,2,3,1\n", "").unwrap_err();
    assert!(message.starts_with("x.list:1: column delay_s: means nothing without"), "{message}");
}

/// The flows of a connection matrix, by row.
fn matrix(body: &str, connections: usize, more: &str) -> Result<Vec<FlowRecord>, String> {
    let text = format!("Nodes 6\nConnections {connections}\nTriggers 1\n{body}\n");
    listed(&text, more)
}

#[test]
fn a_trigger_starts_flows_at_hosts_that_know_of_its_firing() {
    let body = "0->1 id 1 start 1000000 size 5000 send_done_trigger 1\n0->2 id 2 trigger 1 size 4000\n\
                1->3 id 3 trigger 1 size 3000\n4->5 id 4 trigger 1 size 2000\ntrigger id 1 oneshot";
    for connections in ["fresh", "persistent"] {
        let flows = matrix(body, 4, &format!("connections = \"{connections}\"")).unwrap();
        // A byte for host 4, which has not seen the first flow, and nothing for the others.
        let sizes: Vec<u64> = flows.iter().map(|flow| flow.size.unwrap().get()).collect();
        assert_eq!(sizes, [5000, 4000, 3000, 2000, 1]);
        let [first, second, third, fourth, signal] = flows[..] else { panic!("five flows") };
        assert_eq!(first.start, Time::ZERO + Span::from_us(1));
        assert_eq!(second.start, first.end.unwrap());
        // The receiver does not wait for its own ACK to arrive.
        assert!(first.start < third.start && third.start < second.start, "{third:?}");
        assert_eq!((signal.src.0, signal.dst.0, signal.start), (0, 4, second.start));
        assert!(signal.start < fourth.start && fourth.start < signal.end.unwrap());
    }
}

#[test]
fn a_flow_of_size_0_sends_as_long_as_it_runs() {
    let text = "Nodes 6\nConnections 2\n0->1 start 0.000000 size 0\n2->3 start 0 size 1000\n";
    let why = listed(text, "").unwrap_err();
    assert_eq!(why, "x.list: flow 0 has size 0 and never ends: give until in [run]");
    let flows = listed(text, "[run]\nuntil = \"1ms\"").unwrap();
    // One ended, and the other has sent for most of a millisecond at 100 Gbps.
    assert_eq!(flows.len(), 1);
    assert_eq!(flows[0].src.0, 2);
}

#[test]
fn a_multishot_starts_a_flow_each_time_that_it_is_fired() {
    // The second is shorter and fires first.
    let body = "0->1 start 0 size 50000 send_done_trigger 1\n0->2 start 0 size 1000 send_done_trigger 1\n\
                0->3 trigger 1 size 7\n0->4 trigger 1 size 6\ntrigger id 1 multishot";
    let flows = matrix(body, 4, "").unwrap();
    let [long, short, third, fourth] = flows[..] else { panic!("four flows") };
    assert!(short.end < long.end);
    assert_eq!((Some(third.start), Some(fourth.start)), (short.end, long.end));
    let barrier = body.replace("multishot", "barrier count 2");
    let flows = matrix(&barrier, 4, "").unwrap();
    assert_eq!((Some(flows[2].start), Some(flows[3].start)), (long.end, long.end));
}

#[test]
fn a_failure_of_a_matrix_takes_a_link_away_from_the_start() {
    let topo = "Nodes 16\nTiers 3\nPodsize 8\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 2\n\
                Downlink_Latency_ns 500\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\n\
                Downlink_Latency_ns 500\nTier 2\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 500\n";
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("a.topo"), topo).expect("written");
    let scenario = |failure: &str| {
        let cm = format!(
            "Nodes 16\nConnections 1\nFailures 1\n0->15 start 0 size 1000\nfailure {failure}\n"
        );
        std::fs::write(at("a.cm"), cm).expect("written");
        let text = "topology = { kind = \"file\", path = \"a.topo\" }\nswitch.buffer = \"1MB\"\nscheme.name = \"none\"\n\
                    transport.kind = \"roce\"\ntraffic = [{ kind = \"list\", file = \"a.cm\" }]\n";
        let plans = plans_of("a.toml", text, folder.path(), &[], None);
        plans.map(|plans| plans[0].scenario.clone()).map_err(|why| why.to_string())
    };
    let event = |failure: &str| format!("{:?}", scenario(failure).unwrap().event);
    // Aggregations of even number are linked to cores 0 and 2.
    let drained = event("switch_type AGG switch_id 2 link_id 1");
    assert!(drained.contains("agg2-core2") && drained.contains("drain: true"), "{drained}");
    for (failure, expected) in [
        (
            "switch_type AGG switch_id 4 link_id 0",
            "a.cm:5: switch_id 4, and there are 4 aggregation",
        ),
        (
            "switch_type AGG switch_id 3 link_id 2",
            "a.cm:5: link_id 2, and the switch has links to 2",
        ),
    ] {
        let error = scenario(failure).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

/// Flows on connections that stay take paths by their pair, not by their number: fair shares are of these.
#[test]
fn fair_shares_are_of_the_paths_that_a_lists_connections_have() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = "Nodes 4\nConnections 2\n0->2 start 0 size 0\n1->3 start 0 size 0\n";
    std::fs::write(folder.path().join("ends.cm"), list).expect("written");
    let rates = |seed: u64, connections: &str| {
        let text = format!(
            r#"
            topology = {{ kind = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 2, host_rate = "10Gbps",
                          fabric_rate = "10Gbps", host_delay = "1us", fabric_delay = "1us" }}
            switch.buffer = "300KB"
            scheme = {{ name = "per-queue", params.threshold = "60KB" }}
            transport.kind = "dctcp"
            host.profile = "ideal"
            measure.goodput_every = "3ms"
            run = {{ until = "6ms", seed = {seed} }}
            traffic = [{{ kind = "list", file = "ends.cm", connections = "{connections}" }}]
            "#
        );
        let plans = plans_of("x.toml", &text, folder.path(), &[], None).expect("a good file");
        let mut run = Simulation::new(&plans[0].scenario).expect("builds");
        while run.advance(1 << 40) == Status::Running {}
        let last = run.goodputs().last().expect("two intervals").clone();
        let gbps = |bits: f64| bits / 3e-3 / 1e9;
        (gbps(last.taken(0) as f64 * 8.0), gbps(last.fair_bits(0)))
    };
    let mut shared = 0;
    for seed in 1..=8 {
        for connections in ["persistent", "fresh"] {
            let (got, fair) = rates(seed, connections);
            assert!((fair - got).abs() < 1.5, "seed {seed}, {connections}: {got} of {fair} Gbps");
            shared += u32::from(fair < 10.0);
        }
    }
    assert!((1..16).contains(&shared), "{shared} of 16 share a spine");
}
