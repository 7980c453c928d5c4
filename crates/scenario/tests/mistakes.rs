//! What is wrong with a scenario is said in one line: file, line, key, what is wrong,
//! what would be right.

use std::path::Path;
use switchbed_qdisc::MAX_QUEUES;
use switchbed_scenario::{Plan, plans_of, to_toml};

pub(crate) const STAR: &str = r#"title = "a star"
[topology]
kind = "star"
hosts = 9
rate = "10Gbps"
delay = "25us"
[switch]
queues = 2
buffer = "300KB"
[scheme]
name = "per-queue"
[scheme.params]
threshold = "65pkt"
[transport]
kind = "dctcp"
[[traffic]]
kind = "long-lived"
from = "0-7"
to = 8
[measure]
queues = ["switch:8"]
[run]
until = "100ms"
"#;

pub(crate) const FABRIC: &str = r#"[topology]
kind = "leaf-spine"
leaves = 4
spines = 2
hosts_per_leaf = 4
host_rate = "10Gbps"
host_delay = "1us"
[switch]
queues = 4
buffer = "300KB"
[scheme.params]
threshold = "65pkt"
[[traffic]]
kind = "poisson"
load = 0.5
flows = 100
service = "pair"
sizes = ["web-search", "cache"]
[compare]
scheme = ["per-queue", { name = "mq-ecn", params = { beta = 0.5 } }]
load = [0.1, 0.6]
"#;

pub(crate) fn read(text: &str, sets: &[&str]) -> Result<Vec<Plan>, String> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    plans_of("f.toml", text, Path::new("no-such-folder"), &sets, None)
        .map_err(|mistake| mistake.to_string())
}

/// `cases` are pairs of lines: a change of `text` (`from -> to`, \n for a new line), and
/// the message it must bring, which follows `f.toml:`.
pub(crate) fn refused(text: &str, cases: &str) {
    assert!(read(text, &[]).is_ok());
    let lines: Vec<&str> = cases.trim().lines().collect();
    for case in lines.chunks(2) {
        let (from, to) = case[0].split_once(" -> ").unwrap();
        let (from, to) = (from.replace("\\n", "\n"), to.replace("\\n", "\n"));
        assert!(text.contains(&from), "{from} is not in the text");
        let said = read(&text.replacen(&from, &to, 1), &[]).unwrap_err();
        let expected = case[1].trim().replace("MAX_QUEUES", &MAX_QUEUES.to_string());
        assert_eq!(said, format!("f.toml:{expected}"), "{}", case[0]);
    }
}

#[test]
fn what_is_no_toml() {
    refused(
        STAR,
        r#"
hosts = 9 -> hosts =
    4: this is no TOML: string values must be quoted, expected literal string
hosts = 9 -> hosts = 9\nhosts = 8
    5: this is no TOML: duplicate key
"#,
    );
}

#[test]
fn a_key_of_the_same_section_is_meant_before_one_of_another() {
    refused(
        STAR,
        r#"
kind = "star" -> type = "star"
    3: topology.type is unknown: did you mean kind?
hosts = 9 -> hosts = 9\nlatency = "1us"
    5: topology.latency is unknown: did you mean delay?
hosts = 9 -> hosts = 9\nbandwidth = "1Gbps"
    5: topology.bandwidth is unknown: did you mean rate?
until = "100ms" -> duration = "100ms"
    23: run.duration is unknown: did you mean until?
"#,
    );
    let said = |from: &str, to: &str| read(&STAR.replacen(from, to, 1), &[]).unwrap_err();
    let file = said("kind = \"star\"\nhosts = 9", "kind = \"file\"\nfile = \"a.topo\"");
    assert!(file.contains("topology.file is unknown: did you mean path?"), "{file}");
    let path = said("kind = \"long-lived\"", "kind = \"list\"\npath = \"flows.csv\"");
    assert!(path.contains("traffic.path is unknown: did you mean file?"), "{path}");
}

#[test]
fn unknown_and_misplaced_keys() {
    refused(
        STAR,
        r#"
hosts -> hots
    4: topology.hots is unknown: did you mean hosts?
[topology] -> [topolgy]
    2: topolgy is unknown: did you mean topology?
title -> buffer
    1: buffer is unknown: did you mean switch.buffer?
queues = 2 -> mtu = "9KB"
    8: switch.mtu is unknown: did you mean host.mtu or roce.mtu?
queues = 2 -> threshold = 3
    8: switch.threshold is unknown: did you mean scheme.params.threshold?
queues = 2 -> colour = 3
    8: switch.colour is unknown: switch takes queues, classify, discipline, strict, strict_order, quantum, buffer, memory, asic, policy, pool, egress_pool, alpha, young, alpha_young, saturation, drain_interval, expulsion, unmarkable, pfc, trimming or queue
[run] -> [[failures]]\ntier = "x"\nevery = "1ms"\n[run]
    24: failures.every is unknown: did you mean routing.every or traffic.every? failures takes tier, at, links, lasts, mtbf, mttr, detect, converge or queue
to = 8 -> to = 8\nload = 0.5
    20: traffic.load does not apply to kind = "long-lived", which takes kind, from, to, flows_each, classes, start, stagger, stop or transport
hosts = 9 -> hosts = 9\nleaves = 3
    5: topology.leaves does not apply to kind = "star", which takes kind, hosts, rate or delay
"dctcp" -> "ecn*"\ng = 0.5
    16: transport.g does not apply to kind = "ecn*"
"dctcp" -> "reno"\nc = 0.5
    16: transport.c does not apply to kind = "reno"
"dctcp" -> "cubic"\nalpha_start = 0.5
    16: transport.alpha_start does not apply to kind = "cubic"
[run] -> [host]\nnic = "switch"\nnic_buffer = "1MB"\n[run]
    24: host.nic_buffer does not apply to nic = "switch"
65pkt" -> 65pkt"\nbeta = 0.5
    14: scheme.params.beta is no parameter of per-queue, which takes threshold or mark_at
threshold -> treshold
    13: scheme.params.treshold is no parameter of per-queue: did you mean threshold?
"#,
    );
}

#[test]
fn missing_keys_and_sections() {
    refused(
        STAR,
        r#"
hosts = 9 -> 
    2: topology.hosts is missing: write hosts = 8
rate = "10Gbps" -> 
    2: topology.rate is missing: write rate = "10Gbps"
kind = "star" -> 
    2: topology.kind is missing: write kind = "star", "dumbbell", "parking-lot", "ring", "leaf-spine", "fat-tree", "clos" or "file"
buffer = "300KB" -> 
    7: switch.buffer is missing: write buffer = "300KB"
name = "per-queue" -> 
    10: scheme.name is missing: write name = "mq-ecn"
threshold = "65pkt" -> 
    12: scheme.params.threshold is missing: write threshold = "65pkt"
[scheme.params]\nthreshold = "65pkt" -> 
    10: scheme.params.threshold is missing: write threshold = "65pkt"
to = 8 -> 
    16: traffic.to is missing: write to = 8
[[traffic]] -> [traffic]
    16: traffic must be written as [[traffic]], once for each source
[switch] -> [[switch]]
    7: switch must be written as [switch]
until = "100ms" -> 
    16: traffic.stop is missing: long-lived flows never end; write stop = "1s", or until in [run]
"#,
    );
    let without = STAR.replace("[[traffic]]\nkind = \"long-lived\"\nfrom = \"0-7\"\nto = 8\n", "");
    assert_eq!(
        read(&without, &[]).unwrap_err(),
        "f.toml: traffic is missing: write [[traffic]] with its kind and what it needs"
    );
    assert_eq!(
        read("", &[]).unwrap_err(),
        "f.toml: topology.kind is missing: write kind = \"star\", \"dumbbell\", \"parking-lot\", \"ring\", \"leaf-spine\", \"fat-tree\", \"clos\" or \"file\""
    );
}

#[test]
fn values_of_the_wrong_type_or_unit() {
    refused(
        STAR,
        r#"
9 -> "9"
    4: topology.hosts is "9": it must be a whole number from 2 to 65535
9 -> 1
    4: topology.hosts is 1: it must be a whole number from 2 to 65535
9 -> 99999999999999999999999
    4: topology.hosts is 99999999999999999999999: it must be a whole number from 2 to 65535
"10Gbps" -> 10
    5: topology.rate is 10: it has no unit (bps, kbps, Mbps, Gbps, Tbps); a rate is needed, such as "10Gbps"
10Gbps -> 10us
    5: topology.rate is "10us": that is a time, a rate is needed, such as "10Gbps"
10Gbps -> -1Gbps
    5: topology.rate is "-1Gbps": it cannot be negative
10Gbps -> 0Gbps
    5: topology.rate is "0Gbps": a rate must be greater than 0
10Gbps -> 10gbps
    5: topology.rate is "10gbps": there is no unit "gbps", did you mean "Gbps"?
"25us" -> -0.5
    6: topology.delay is -0.5: it cannot be negative
"25us" -> true
    6: topology.delay is true: it must be a number with a unit, such as "85.2us"
"star" -> "Star"
    3: topology.kind is "Star": it must be star, dumbbell, parking-lot, ring, leaf-spine, fat-tree, clos or file; did you mean "star"?
"star" -> 2024-01-01
    3: topology.kind is "2024-01-01": it must be star, dumbbell, parking-lot, ring, leaf-spine, fat-tree, clos or file
"a star" -> 1
    1: title is 1: it must be a text in quotes
"dctcp" -> "dctcp"\ng = 1.5
    16: transport.g is 1.5: it must be from 0 to 1
"dctcp" -> "dctcp"\ng = 0
    16: transport.g is 0: a weight is greater than 0
[run] -> [host]\nlso_beta = 0\n[run]
    23: host.lso_beta is 0: a share is greater than 0
[run] -> [host]\nlso_max = "1KB"\n[run]
    23: host.lso_max is "1KB": it must hold a packet, 1.5KB
[run] -> [host]\ncoalesce_frames = 8\n[run]
    23: host.coalesce_frames is 8: fewer frames would wait for ever: give coalesce_time, too
[run] -> [host]\nmerge_packets = 5\nmerge_time = "0us"\nmerge_flush = "time"\n[run]
    24: host.merge_time is "0us": a packet would not wait for the next: it must be longer, or coalesce_time
"dctcp" -> "cubic"\nc = 0
    16: transport.c is 0: with a steepness of 0 the window would not grow
"dctcp" -> "cubic"\nbeta = "100%"
    16: transport.beta is "100%": a cut leaves more than 0 and less than 1 of the window
"dctcp" -> "dctcp"\nreceive_window = "3000000pkt"
    16: transport.receive_window is "3000000pkt": with an mss of 1.448KB it must be at most 1483068pkt
"dctcp" -> "dctcp"\ng = nan
    16: transport.g is NaN: it must be finite
"dctcp" -> "dctcp"\ninitial_window = "9KB"
    16: transport.initial_window is "9KB": a number of packets is needed, such as "16pkt"
"dctcp" -> "dctcp"\ninitial_window = 0
    16: transport.initial_window is 0: it must be a whole number of packets, at least 1, such as "16pkt"
"dctcp" -> "dctcp"\necn = "yes"
    16: transport.ecn is "yes": it must be true or false
"dctcp" -> "dctcp"\nwarm = 3
    16: transport.warm is 3: it must be a table, [transport.warm]
65pkt" -> 65pkt"\nmark_at = 3
    14: scheme.params.mark_at is 3: it must be enqueue or dequeue
[scheme.params]\nthreshold = "65pkt" -> params = 3
    12: scheme.params is 3: it must be a table, [scheme.params]
[run] -> [host]\nmtu = "1pkt"\n[run]
    23: host.mtu is "1pkt": a pkt is host.mtu, so it cannot be used here
"#,
    );
}

#[test]
fn values_that_cannot_be() {
    refused(
        STAR,
        r#"
per-queue -> per-qeue
    11: scheme.name is "per-qeue": there is no such scheme; did you mean "per-queue"?
65pkt -> 201pkt
    13: scheme.params.threshold is "201pkt": it is over the buffer, 300KB, and so never reached
buffer = "300KB" -> buffer = "1KB"
    9: switch.buffer is "1KB": it must hold a packet, 1.5KB
buffer = "300KB" -> policy = "static"\nbuffer = "2KB"
    10: switch.buffer is "2KB": each queue's part must hold a packet, 1.5KB
queues = 2 -> queues = 0
    8: switch.queues is 0: it must be a whole number from 1 to MAX_QUEUES
queues = 2 -> queues = 2\nstrict = 2
    9: switch.strict is 2: of 2 queues at least one must be below the strict ones
buffer = "300KB" -> buffer = "300KB"\nqueue = 1
    10: switch.queue is 1: it must be written as [[switch.queue]]
buffer = "300KB" -> buffer = "300KB"\n[[switch.queue]]\nqueue = 2
    11: switch.queue.queue is 2: a port has queues 0 to 1
buffer = "300KB" -> buffer = "300KB"\n[[switch.queue]]\nqueue = [0, "0-1"]
    11: switch.queue.queue.1 is "0-1": queue 0 is named twice
buffer = "300KB" -> buffer = "300KB"\n[[switch.queue]]\nqueue = "high"
    11: switch.queue.queue is "high": queues are written as "all", 3, "0-7" or a list of these
buffer = "300KB" -> buffer = "300KB"\n[[switch.queue]]\nquantum = "3KB"
    10: switch.queue.queue is missing: write queue = 0
buffer = "300KB" -> buffer = "300KB"\n[[switch.queue]]\nqueue = 0\n[[switch.queue]]\nqueue = "0-1"
    13: switch.queue.1.queue is "0-1": queue 0 has an entry already: no queue is in two entries
buffer = "300KB" -> buffer = "300KB"\n[[switch.queue]]\nqueue = 1\ncolour = 3
    12: switch.queue.colour is unknown: switch.queue takes queue, scheme, quantum, strict, alpha, reserve, limit, lossless, trim or unmarkable
buffer = "300KB" -> buffer = "300KB"\n[[switch.queue]]\nqueue = 1\nquantum = "0B"
    12: switch.queue.quantum is "0B": a quantum is at least 1 byte
buffer = "300KB" -> buffer = "300KB"\n[[switch.queue]]\nqueue = 1\nscheme = "redd"
    12: switch.queue.scheme.name is "redd": there is no such scheme; did you mean "red"?
buffer = "300KB" -> buffer = "300KB"\n[[switch.queue]]\nqueue = 1\nscheme = { params.kmin = "3KB" }
    12: switch.queue.scheme.params.kmin is no parameter of per-queue, which takes threshold or mark_at
buffer = "300KB" -> buffer = "300KB"\n[[switch.queue]]\nqueue = 1\nscheme = { name = "mq-ecn", params.threshold = "9pkt" }
    12: switch.queue.scheme.name is "mq-ecn": mq-ecn cannot be the scheme of some queues only: it looks at all queues of the port; give it to all queues, or choose a scheme that looks at one queue, such as red or per-queue
buffer = "300KB" -> buffer = "300KB"\n[[switch.queue]]\nqueue = 1\nscheme = "fq-codel"
    12: switch.queue.scheme.name is "fq-codel": fq-codel cannot be the scheme of some queues only: it has a port's queues and scheduler of its own; give it to all queues, or choose a scheme that looks at one queue, such as red or per-queue
buffer = "300KB" -> buffer = "300KB"\n[[switch.queue]]\nqueue = "all"\nstrict = true
    12: switch.queue.strict is true: of 2 queues at least one must be below the strict ones
buffer = "300KB" -> buffer = "300KB"\n[[switch.queue]]\nqueue = 1\nalpha = 2
    12: switch.queue.alpha is 2: switch.policy = "shared" has no alpha: dynamic, abm, fab, occamy and asic have
buffer = "300KB" -> buffer = "300KB"\n[[switch.queue]]\nqueue = 1\nreserve = "3KB"
    12: switch.queue.reserve is "3KB": switch.policy = "shared" reserves nothing: write switch.asic or switch.pfc
buffer = "300KB" -> buffer = "300KB"\n[[switch.queue]]\nqueue = 1\nlimit = "1KB"
    12: switch.queue.limit is "1KB": it must hold a packet, 1.5KB
buffer = "300KB" -> pool = "3MB"\npfc.alpha = 0.5\n[[switch.queue]]\nqueue = 1\nlossless = true\nreserve = "3KB"
    14: switch.queue.reserve is "3KB": queue 1 is lossless and counts at its inputs: write switch.pfc.alpha
buffer = "300KB" -> pool = "3MB"\npfc.priorities = [1]\n[[switch.queue]]\nqueue = 0\nreserve = "1MB"
    13: switch.queue.reserve is "1MB": 9 ports have 9MB for their queues alone: two packets must be left of 3MB
queues = 2 -> queues = 2\nquantum = ["2KB"]
    9: switch.quantum is ["2KB"]: it lists 1 for 2 queues: write one for each
queues = 2 -> queues = 2\nquantum = ["2KB", 3]
    9: switch.quantum.1 is 3: it has no unit (B, KB, kB, MB, GB, KiB, MiB, GiB, pkt); a size is needed, such as "300KB"
queues = 2 -> queues = 2\nquantum = "0KB"
    9: switch.quantum is "0KB": a quantum is at least 1 byte
queues = 2 -> queues = 2\ndiscipline = "wrr"\nquantum = "1KB"
    10: switch.quantum is "1KB": wrr needs at least a packet, 1.5KB, for each queue
name = "per-queue" -> name = "mq-ecn"\n[switch.x]
    12: switch.x is unknown: switch takes queues, classify, discipline, strict, strict_order, quantum, buffer, memory, asic, policy, pool, egress_pool, alpha, young, alpha_young, saturation, drain_interval, expulsion, unmarkable, pfc, trimming or queue
"dctcp" -> "dctcp"\nmss = "1500B"
    16: transport.mss is "1500B": with a header of 52B it must be at most 1.448KB (host.mtu)
"dctcp" -> "dctcp"\nheader = "0B"
    16: transport.header is "0B": it must be at least 1B: a packet without bytes would take no time
"dctcp" -> "dctcp"\nheader = "2KB"
    16: transport.header is "2KB": it must be less than host.mtu, 1.5KB
"dctcp" -> "dctcp"\nrto_min = "2min"
    16: transport.rto_min is "2min": there is no unit "min" (units are ps, ns, us, µs, ms, s); a time is needed, such as "85.2us"
"dctcp" -> "dctcp"\nrto_min = "130s"
    16: transport.rto_min is "130s": it must be at most rto_max, 120s
"dctcp" -> "dctcp"\nwarm = { cwnd = 9, srtt = "9us" }
    16: transport.warm warms persistent connections, and no traffic has connections = "persistent"
"dctcp" -> "dctcp"\nwarm = { cwnd = 0, srtt = "9us" }
    16: transport.warm.cwnd is 0: it must be from 1 to 1000000000
"0-7" -> "0-9"
    18: traffic.from is "0-9": the topology has hosts 0 to 8
"0-7" -> "0-4294967295"
    18: traffic.from is "0-4294967295": the topology has hosts 0 to 8
"0-7" -> "7-0"
    18: traffic.from is "7-0": a range runs from its lesser number to its greater
"0-7" -> [0,\n"0-2"]
    19: traffic.from.1 is "0-2": host 0 is named twice
"0-7" -> []
    18: traffic.from is []: at least one host is needed
"0-7" -> "a-b"
    18: traffic.from is "a-b": hosts are written as "all", 3, "0-7" or a list of these
"0-7" -> [7, 8]
    18: traffic.from is [7,8]: host 8 is the receiver (traffic.to) and cannot send to itself
to = 8 -> to = "all"
    19: traffic.to is "all": it must be one host, such as 8
to = 8 -> to = 8\nclasses = [1, 2]
    20: traffic.classes is [1,2]: classes 0 to 2 need as many queues, and switch.queues is 2 (or write switch.classify = "single")
to = 8 -> to = 8\nstagger = "20ms"
    20: traffic.stagger is "20ms": the last flow would start after the end, 100ms
to = 8 -> to = 8\nstart = "1s"
    20: traffic.start is "1s": the last flow would start after the end, 100ms
["switch:8"] -> ["switch:8"]\ncapture = ["host0", "switch:9"]
    22: measure.capture.1 is "switch:9": the topology has switch:0 to switch:8, host0 to host8
["switch:8"] -> ["switch:8"]\ncapture = "host0"
    22: measure.capture is "host0": it must be a list, [ … ]
["switch:8"] -> ["switch:8"]\ncapture_packets = 0
    22: measure.capture_packets is 0: it must be a whole number from 1 to 1000000000
["switch:8"] -> "exact"
    21: measure.queues is "exact": it must be off or all; or a list, each a text
["switch:8"] -> "al"
    21: measure.queues is "al": it must be off or all; did you mean "all"?
switch:8 -> switch:9
    21: measure.queues.0 is "switch:9": the topology has switch:0 to switch:8, host0 to host8
switch:8 -> switch0:8
    21: measure.queues.0 is "switch0:8": the topology has switch:0 to switch:8, host0 to host8
switch:8 -> host9
    21: measure.queues.0 is "host9": the topology has switch:0 to switch:8, host0 to host8
switch:8 -> leaf0:8
    21: measure.queues.0 is "leaf0:8": the topology has switch:0 to switch:8, host0 to host8
[run] -> warmup = "1s"\n[run]
    22: measure.warmup is "1s": it must be less than run.until, 100ms
[run] -> small = "11MB"\n[run]
    22: measure.small is "11MB": it must be at most measure.large, 10MB
queues = ["switch:8"] -> queues = "off"\nseries_every = "1us"
    22: measure.series_every is "1us": with queues = "off" there is no series
100ms -> 0ms
    23: run.until is "0ms": a run lasts longer than 0
[run] -> changes = { ports = ["switch:8"] }\n[run]
    22: measure.changes.until is missing: write until = "10us"
[run] -> changes = { until = "1ms" }\n[run]
    22: measure.changes.ports is missing: write ports = ["leaf0:3"]
[run] -> changes = { ports = ["switch:8", "switch:9"], until = "1ms" }\n[run]
    22: measure.changes.ports.1 is "switch:9": the topology has switch:0 to switch:8, host0 to host8
[run] -> changes = { ports = ["switch:8"], from = "2ms", until = "1ms" }\n[run]
    22: measure.changes.until is "1ms": the window must end after it begins, 2ms
[run] -> changes = { ports = ["switch:8"], from = "100ms", until = "1s" }\n[run]
    22: measure.changes.from is "100ms": it must be less than run.until, 100ms
[run] -> changes = { ports = ["switch:8"], until = "1ms", slope_over = "0us" }\n[run]
    22: measure.changes.slope_over is "0us": a time to grow in is longer than 0
[run] -> bursts = { port = "switch:8" }\n[run]
    22: measure.bursts.port is unknown: did you mean ports?
[run] -> bursts = true\n[run]
    22: measure.bursts is true: it must be a table, [measure.bursts]
[run] -> convergence = { port = "switch:9", window = "1ms" }\n[run]
    22: measure.convergence.port is "switch:9": the topology has switch:0 to switch:8, host0 to host8
[run] -> convergence = { port = "switch:8", window = "0ms" }\n[run]
    22: measure.convergence.window is "0ms": a window is longer than 0
[run] -> convergence = { port = "switch:8", window = "1ms", windows = 0 }\n[run]
    22: measure.convergence.windows is 0: it must be a whole number from 1 to 1000000
[run] -> underflow = ["host9"]\n[run]
    22: measure.underflow.0 is "host9": the topology has switch:0 to switch:8, host0 to host8
"#,
    );
    assert_eq!(
        read(&STAR.replace("per-queue", "mq-ecn"), &["switch.discipline=fifo"]).unwrap_err(),
        "f.toml:11: scheme.name is \"mq-ecn\": it reads rounds, which wrr and dwrr have: \
         write switch.discipline = \"dwrr\""
    );
}

#[test]
fn forms_of_mq_ecn() {
    let star = STAR.replace("per-queue", "mq-ecn");
    refused(
        &star,
        r#"
[scheme.params] -> [scheme.params]\nbeta = 1.0
    13: scheme.params.beta is 1.0: the round time would never change: it must be below 1
[scheme.params] -> [scheme.params]\nbeta = 1.1
    13: scheme.params.beta is 1.1: it must be from 0 to 1
[scheme.params] -> [scheme.params]\nt_idle = "0us"
    13: scheme.params.t_idle is "0us": it must be over 0
[scheme.params] -> [scheme.params]\nclock = "0us"
    13: scheme.params.clock is "0us": it must be over 0
[scheme.params] -> [scheme.params]\nclock = "1us"\nt_idle = "1us"
    14: scheme.params.t_idle is "1us": a clock sees by itself that the port is idle: leave it out
[scheme.params] -> [scheme.params]\npmax = 0.5
    13: scheme.params.pmax is 0.5: it is the probability at kmax: write kmax too
[scheme.params] -> [scheme.params]\nkmax = "64pkt"
    14: scheme.params.threshold is "65pkt": it must not be over kmax, 96KB
[scheme.params] -> [scheme.params]\nkmax = "301KB"
    13: scheme.params.kmax is "301KB": it is over the buffer, 300KB, and so never reached
[scheme.params] -> [scheme.params]\nshare = "weight"
    13: scheme.params.share is "weight": it must be rounds or weights; did you mean "weights"?
"#,
    );
    let with = |overrides: &[&str]| read(&star, overrides);
    assert_eq!(
        with(&["switch.discipline=wfq"]).unwrap_err(),
        "f.toml:11: scheme.name is \"mq-ecn\": it reads rounds, which wfq does not have: write \
         scheme.params.share = \"weights\", or switch.discipline = \"dwrr\""
    );
    assert_eq!(
        with(&["switch.discipline=round-robin", "scheme.params.share=weights"]).unwrap_err(),
        "--set scheme.params.share=weights: scheme.params.share is \"weights\": queues have weights \
         with wfq, wrr and dwrr: write switch.discipline = \"wfq\""
    );
    assert!(with(&["switch.discipline=wfq", "scheme.params.share=weights"]).is_ok());
    assert!(with(&["scheme.params.kmax=100pkt", "scheme.params.clock=7.2us"]).is_ok());
}

#[test]
fn fabrics_flows_and_sizes() {
    refused(
        FABRIC,
        r#"
hosts_per_leaf = 4 -> hosts_per_leaf = 65535
    5: topology.hosts_per_leaf is 65535: a switch would have 65537 ports; at most 65535
"leaf-spine"\nleaves = 4\nspines = 2\nhosts_per_leaf = 4 -> "fat-tree"\nk = 5
    3: topology.k is 5: a fat-tree's switches have an even number of ports
"leaf-spine"\nleaves = 4\nspines = 2\nhosts_per_leaf = 4 -> "fat-tree"\nk = 160
    3: topology.k is 160: it must be a whole number from 2 to 88
"leaf-spine"\nleaves = 4\nspines = 2\nhosts_per_leaf = 4 -> "fat-tree"
    1: topology.k is missing: write k = 8
kind = "leaf-spine" -> kind = "leaf-spine"\nk = 4
    3: topology.k does not apply to kind = "leaf-spine", which takes kind, leaves, spines, hosts_per_leaf, host_rate, host_delay, fabric_rate or fabric_delay
leaves = 4\nspines = 2\nhosts_per_leaf = 4 -> leaves = 1\nspines = 2\nhosts_per_leaf = 1
    5: topology.hosts_per_leaf is 1: a network needs at least 2 hosts
flows = 100 -> flows = 0
    16: traffic.flows is 0: it must be a whole number from 1 to 1000000000
"pair" -> "pair"\nservices = 5
    18: traffic.services is 5: classes 0 to 4 need as many queues, and switch.queues is 4 (or write switch.classify = "single")
"pair" -> "random"\nshares = [0.5, 0.6]
    18: traffic.shares is [0.5,0.6]: they sum to 1.1, not to 1
"pair" -> "random"\nservices = 3\nshares = [0.5, 0.5]
    19: traffic.shares is [0.5,0.5]: it lists 2 for 3 services: write one for each
service = "pair" -> 
    18: traffic.sizes is ["web-search","cache"]: it lists 2 for 1 services
web-search -> websearch
    18: traffic.sizes.0 is "websearch": there is no such table; did you mean "web-search"?
"web-search" -> "0KB"
    18: traffic.sizes.0 is "0KB": a flow has at least 1 byte
"web-search" -> "64Kb"
    18: traffic.sizes.0 is "64Kb": there is no unit "Kb", did you mean "KB"?
"web-search" -> { name = "cache", mean = "0B" }
    18: traffic.sizes.0.mean is "0B": a flow has at least 1 byte
"web-search" -> { points = [["2KB", 0.5], ["1KB", 1]] }
    18: traffic.sizes.0.points.1 is ["1KB",1]: sizes and probabilities must not fall from point to point
"web-search" -> { points = [["2KB", 0.5]] }
    18: traffic.sizes.0.points is [["2KB",0.5]]: the last point must have a probability of 1 and a size over 0
"web-search" -> { file = "x.csv" }
    18: traffic.sizes.0.file is "x.csv": there is no file no-such-folder/x.csv
flows = 100 -> flows = 100\nto = 3
    17: traffic.to is 3: host 3 sends too and would have nobody else to send to
kind = "poisson"\nload = 0.5\nflows = 100\nservice = "pair"\nsizes = ["web-search", "cache"]\n[compare]\nscheme = ["per-queue", { name = "mq-ecn", params = { beta = 0.5 } }]\nload = [0.1, 0.6] -> kind = "list"\nfile = "x.csv"\n[compare]\nscheme = ["none", "mq-ecn"]
    15: traffic.file is "x.csv": there is no file no-such-folder/x.csv
"#,
    );
    let alone = FABRIC.replace("load = [0.1, 0.6]\n", "");
    refused(
        &alone,
        r#"
load = 0.5 -> load = 1.2
    15: traffic.load is 1.2: a load over 1 never drains; write overload = true to mean it
load = 0.5 -> load = 0
    15: traffic.load is 0: a load is greater than 0
load = 0.5 -> load = 1e308
    15: traffic.load is 1e308: a load is at most 1e9
load = 0.5 -> load = -0.5
    15: traffic.load is -0.5: it must be at least 0
load = 0.5 -> load = inf
    15: traffic.load is inf: it must be finite
load = 0.5 -> load = "half"
    15: traffic.load is "half": a number is needed, such as 0.5 or "50%"
"#,
    );
    let bursty = alone.replace("kind = \"poisson\"", "kind = \"log-normal\"\nsigma = 2");
    refused(
        &bursty,
        r#"
sigma = 2 -> 
    13: traffic.sigma is missing: write sigma = 0.5
sigma = 2 -> sigma = -1
    15: traffic.sigma is -1: it must be from 0 to 10
log-normal -> poisson
    15: traffic.sigma does not apply to kind = "poisson", which takes kind, load, overload, flows, sizes, from, to, service, services, shares, connections or transport
"#,
    );
    let again = read(&bursty, &["load=0.2"]).unwrap().remove(0).scenario;
    assert_eq!(read(&to_toml(&again), &[]).unwrap()[0].scenario, again);
    assert!(read(&alone.replace("load = 0.5", "load = 1.2\noverload = true"), &[]).is_ok());
}

#[test]
fn comparisons() {
    refused(
        FABRIC,
        r#"
load = [0.1 -> load = [1.1
    21: traffic.load is 1.1: a load over 1 never drains; write overload = true to mean it
load = [0.1, 0.6] -> load = 0.1
    21: compare.load is 0.1: it must be a list of values: write load = [0.1]
load = [0.1, 0.6] -> load = []
    21: compare.load is []: it must list at least one value
load = [0.1, 0.6] -> load = [0.1,\n0.1]
    22: compare.load lists 0.1 twice
load = [0.1, 0.6] -> load = [0.1]\ntraffic.load = [0.2]
    22: compare.traffic.load sets what compare.load sets already
load = [0.1 -> laod = [0.1
    21: compare.laod is unknown: did you mean load?
load = [0.1 -> switch.qeues = [1
    21: switch.qeues is unknown: did you mean queues?
load = [0.1, 0.6] -> switch.buffer = ["90KB"]
    12: scheme.params.threshold is "65pkt": it is over the buffer, 90KB, and so never reached (scheme per-queue)
"per-queue" -> "per-qeue"
    20: scheme.name is "per-qeue": there is no such scheme; did you mean "per-queue"?
"per-queue" -> "mq-ecn"
    20: compare.scheme has two called "mq-ecn": give each a label
"per-queue" -> { label = "x" }
    20: scheme is a table: it must be a name or a table, { name = "mq-ecn", params = { beta = 0.5 } }
beta = 0.5 -> bata = 0.5
    20: scheme.params.bata is no parameter of mq-ecn: did you mean beta?
threshold = -> gamma = 1\nthreshold =
    12: scheme.params.gamma is no parameter of per-queue, which takes threshold or mark_at
load = [0.1, 0.6] -> seed = [1.5]
    21: run.seed is 1.5: it must be a whole number from 0 to 9223372036854775807
"#,
    );
}

#[test]
fn overrides() {
    for (set, message) in [
        (
            "load=1.2",
            "traffic.load is 1.2: a load over 1 never drains; write overload = true to mean it",
        ),
        ("load", "an override is written key=value"),
        ("laod=0.3", "laod is unknown: did you mean load?"),
        ("lode=0.3", "lode is unknown: did you mean load?"),
        ("treshold=30pkt", "treshold is unknown: did you mean scheme.params.threshold?"),
        ("untill=3s", "untill is unknown: did you mean run.until?"),
        ("polcy=dynamic", "polcy is unknown: did you mean switch.policy?"),
        (
            "switch.discipline=drr",
            "switch.discipline is \"drr\": it must be fifo, round-robin, wrr, dwrr or wfq; did you mean \
             \"dwrr\"?",
        ),
        (
            "compare.load=0.3",
            "compare.load is 0.3: it must be a list of values: write compare.load=[0.3]",
        ),
        ("compare=3", "compare names no key: write compare.load=[0.1, 0.5]"),
        (
            "compare={load=0.3}",
            "compare.load is 0.3: it must be a list of values: write compare.load=[0.3]",
        ),
        ("threshold=30pkt", "threshold is unknown: did you mean scheme.params.threshold?"),
        ("host.kind=x", "host.kind is unknown: host takes profile, "),
        ("kind=x", "kind is unknown: a scenario has "),
        ("switch.headroom=3KB", "switch.headroom is unknown: did you mean switch.pfc.headroom?"),
        ("host.queues=3", "host.queues is unknown: did you mean "),
        (
            "measure.every=1us",
            "measure.every is unknown: did you mean series_every or goodput_every?",
        ),
        (
            "scheme.params.threshold=400KB",
            "scheme.params.threshold is \"400KB\": it is over the buffer, 300KB, and so never reached",
        ),
        (
            "scheme=purple",
            "scheme.name is \"purple\": there is no such scheme; there are none, per-queue, ",
        ),
        (
            "scheme=SP_Pifo",
            "scheme.name is \"SP_Pifo\": SP-PIFO (NSDI 2020) is not among the schemes here yet, which \
             are none, per-queue, ",
        ),
        (
            "scheme=drop_tail",
            "scheme.name is \"drop_tail\": there is no such scheme; did you mean \"none\"?",
        ),
        ("traffic.1.load=0.3", "traffic.1.load cannot be set: traffic has 0 to 0"),
        ("switch.queues.x=3", "switch.queues.x cannot be set: queues is 4 and has no keys"),
        ("switch..x=3", "switch..x is no key: write its section and name, as in switch.queues"),
        ("topology=3", "topology must be written as [topology]"),
        ("run.seed=-1", "run.seed is -1: it must be a whole number from 0 to 9223372036854775807"),
        ("load={x", "load is no TOML value: "),
    ] {
        let said = read(FABRIC, &[set]).unwrap_err();
        let expected = format!("--set {set}: {message}");
        assert!(
            said == expected || message.ends_with(' ') && said.starts_with(&expected),
            "{said}"
        );
    }
    assert_eq!(
        plans_of("f.toml", STAR, Path::new(""), &[], Some(u64::MAX)).unwrap_err().to_string(),
        "--seed 18446744073709551615: run.seed is 18446744073709551615: it must be a whole number \
         from 0 to 9223372036854775807"
    );
    assert_eq!(
        read(STAR, &["load=0.5"]).unwrap_err(),
        "--set load=0.5: load stands for the load of traffic of kind poisson, log-normal, request-response or incast, and there is none"
    );
}

/// The star with its one source in this place, from its `[[traffic]]` (line 16) on.
fn with_source(source: &str) -> String {
    STAR.replace("kind = \"long-lived\"\nfrom = \"0-7\"\nto = 8\n", source)
}

#[test]
fn requests() {
    refused(
        &with_source(
            "kind = \"request-response\"\nload = 0.5\nflows = 10\nsizes = \"cache\"\n\
             from = \"0-7\"\nto = 8\nrequest = \"100B\"\n",
        ),
        r#"
to = 8 -> 
    16: traffic.to is missing: write to = 8
load = 0.5 -> load = 1.5
    18: traffic.load is 1.5: a load over 1 never drains; write overload = true to mean it
"0-7"\nto = 8 -> [8]\nto = "all"
    21: traffic.from is [8]: host 8 asks too (traffic.to) and could only ask itself
"100B" -> "0B"
    23: traffic.request is "0B": a request has at least 1 byte
"100B" -> "100B"\nservice = "pair"\nservices = 2
    24: traffic.service is "pair": services of requests are "one" or "random"
"100B" -> "100B"\nservice = "random"\nshares = [0.5, 0.25, 0.25]
    25: traffic.shares is [0.5,0.25,0.25]: classes 0 to 2 need as many queues, and switch.queues is 2 (or write switch.classify = "single")
"100B" -> "100B"\nconnections = "one"
    24: traffic.connections is "one": it must be fresh, fresh-no-handshake, persistent or single
"100B" -> "100B"\nstop = "1s"
    24: traffic.stop does not apply to kind = "request-response", which takes kind, request, load, overload, flows, sizes, from, to, service, services, shares, connections or transport
"request-response" -> "poisson"
    23: traffic.request does not apply to kind = "poisson", which takes kind, load, overload, flows, sizes, from, to, service, services, shares, connections or transport
"#,
    );
}

#[test]
fn incast() {
    refused(
        &with_source(
            "kind = \"incast\"\nsizes = \"64KB\"\nfrom = \"0-7\"\nto = 8\nrounds = 3\n\
             every = \"10ms\"\n",
        ),
        r#"
to = 8 -> to = "7-9"
    20: traffic.to is "7-9": the topology has hosts 0 to 8
to = 8 -> to = "7-8"\nfan_in = 8
    21: traffic.fan_in is 8: at most 7 hosts of traffic.from can send to host 7
to = 8 -> to = 8\nload = 0.1
    21: traffic.load is 0.1: rounds start at random at a load, or by every: leave one out
to = 8 -> to = 8\nstagger = "1ms"
    21: traffic.stagger does not apply to kind = "incast"
every = "10ms" -> 
    16: traffic.every is missing: write every = "10us"
"10ms" -> "0us"
    22: traffic.every is "0us": rounds are some time apart
"10ms" -> "50ms"
    21: traffic.rounds is 3: the last round would start after the end, 100ms
"10ms" -> "10ms"\nstart = "1s"
    23: traffic.start is "1s": the last round would start after the end, 100ms
sizes = "64KB" -> 
    16: traffic.sizes is missing: write sizes = "web-search"
"64KB" -> ["64KB", "1KB"]
    18: traffic.sizes is ["64KB","1KB"]: sizes are a name, a size or a table
"10ms" -> "10ms"\nclasses = [2]
    23: traffic.classes is [2]: classes 0 to 2 need as many queues, and switch.queues is 2 (or write switch.classify = "single")
"#,
    );
}

#[test]
fn on_off() {
    refused(
        &with_source(
            "kind = \"on-off\"\nburst = \"10KB\"\nrate = \"1Gbps\"\nfrom = \"0-7\"\nto = 8\n",
        ),
        r#"
burst = "10KB" -> 
    16: traffic.burst is missing: write burst = "300KB"
"10KB" -> "0B"
    18: traffic.burst is "0B": a burst has at least 1 byte
rate = "1Gbps" -> 
    16: traffic.rate is missing: write rate = "10Gbps"
"1Gbps" -> "11Gbps"
    19: traffic.rate is "11Gbps": it is an average, and a host's link carries 10Gbps
to = 8 -> to = 8\noff = "none"
    22: traffic.off is "none": it must be constant or exponential
to = 8 -> to = 7
    20: traffic.from is "0-7": host 7 is the receiver (traffic.to) and cannot send to itself
to = 8 -> to = 8\nstagger = "20ms"
    22: traffic.stagger is "20ms": the last flow would start after the end, 100ms
until = "100ms" -> 
    16: traffic.stop is missing: on-off sources never end; write stop = "1s", or until in [run]
"#,
    );
}

#[test]
fn probes() {
    refused(
        &with_source(
            "kind = \"probe\"\nfrom = [0, 1]\nto = 8\nevery = \"1ms\"\nclasses = [0, 1]\n",
        ),
        r#"
every = "1ms" -> 
    16: traffic.every is missing: write every = "10us"
"1ms" -> "0us"
    20: traffic.every is "0us": probes are some time apart
"1ms" -> "1ms"\nsize = "9KB"
    21: traffic.size is "9KB": a probe is one packet of at most host.mtu, 1.5KB
"1ms" -> "1ms"\nstart = "100ms"
    21: traffic.start is "100ms": the first probe would be sent after the end, 100ms
[0, 1]\nto = 8 -> [0, 8]\nto = 8
    18: traffic.from is [0,8]: host 8 is the receiver (traffic.to) and cannot send to itself
classes = [0, 1] -> classes = [2]
    21: traffic.classes is [2]: classes 0 to 2 need as many queues, and switch.queues is 2 (or write switch.classify = "single")
classes = [0, 1] -> load = 0.5
    21: traffic.load does not apply to kind = "probe", which takes kind, from, to, size, every, classes, start or stop
until = "100ms" -> 
    16: traffic has probes alone, which never end; write stop = "1s", or until in [run]
[run] -> goodput_every = "0ms"\n[run]
    24: measure.goodput_every is "0ms": an interval is longer than 0
"#,
    );
}
