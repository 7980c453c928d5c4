//! Mistakes in kinds of traffic, as `mistakes.rs` has them.

use crate::mistakes::{STAR, refused};

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
