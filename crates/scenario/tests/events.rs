//! `[[event]]`, `[reaction]` and senders without TCP: what is read and what is refused.

use std::path::Path;
use switchbed_scenario::event::Change;
use switchbed_scenario::{FctEnd, Limiters};
use switchbed_scenario::{plans_of, to_toml};

const LOT: &str = r#"[topology]
kind = "parking-lot"
switches = 3
hosts_per_switch = 2
rate = "10Gbps"
delay = "5us"
[switch]
buffer = "150KB"
[scheme]
name = "af-qcn"
params = { weights = [4, 1], max = ["1Gbps"] }
[reaction]
limiters = "host"
[transport]
kind = "udp"
[[traffic]]
kind = "long-lived"
from = 0
to = 5
[[event]]
at = "2ms"
class = 0
max = "2Gbps"
[[event]]
at = "1ms"
port = "middle0:0"
rate = "1Gbps"
[run]
until = "5ms"
"#;

fn read(text: &str) -> Result<switchbed_scenario::Scenario, String> {
    let plans = plans_of("f.toml", text, Path::new(""), &[], None);
    plans.map(|plans| plans[0].scenario.clone()).map_err(|mistake| mistake.to_string())
}

#[test]
fn events_come_in_the_order_of_their_times_and_go_round() {
    let scenario = read(LOT).unwrap();
    assert!(matches!(&scenario.event[0].change, Change::Rate { port, .. } if port == "middle0:0"));
    assert!(matches!(scenario.event[1].change, Change::Share { class: 0, weight: None, .. }));
    assert_eq!(scenario.reaction.unwrap().card.limiters, Limiters::Host);
    // Without ACKs flows end where they arrive.
    assert_eq!(scenario.measure.fct_end, FctEnd::Received);
    assert_eq!(read(&to_toml(&scenario)).unwrap(), scenario);
}

#[test]
fn a_scheme_that_does_not_notify_leaves_the_reaction_out() {
    let text =
        LOT.replace("\"af-qcn\"\nparams = { weights = [4, 1], max = [\"1Gbps\"] }", "\"none\"");
    assert_eq!(read(&text).unwrap().reaction, None);
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (from, to, message) in [
        (
            "middle0:0",
            "middle1:0",
            "f.toml:26: event.1.port is \"middle1:0\": the topology has first:0 to first:2, middle0:0 to \
             middle0:3, last:0 to last:2, host0 to host5",
        ),
        ("at = \"1ms\"\n", "", "f.toml:24: event.1.at is missing: write at = \"10us\""),
        (
            "at = \"1ms\"",
            "at = \"1s\"",
            "f.toml:25: event.1.at is \"1s\": the run ends at 5ms (run.until)",
        ),
        (
            "rate = \"1Gbps\"\n[run]",
            "[run]",
            "f.toml:24: event.1.rate is missing: write rate = \"10Gbps\", or up = false",
        ),
        (
            "max = \"2Gbps\"\n",
            "",
            "f.toml:20: event.0.weight is missing: write weight = 2.0, or max = \"1Gbps\"",
        ),
        (
            "class = 0\nmax",
            "max",
            "f.toml:20: event.0.port is missing: write port = \"left:0\", or a link, or class = 0",
        ),
        (
            "class = 0\nmax",
            "class = 0\nrate = \"1Gbps\"\nmax",
            "f.toml:23: event.0.rate does not apply to a change of a class's share",
        ),
        (
            "\"host\"",
            "\"port\"",
            "f.toml:13: reaction.limiters is \"port\": it must be flow, class or host",
        ),
        (
            "limiters = \"host\"",
            "byte_cycle = \"0B\"",
            "f.toml:13: reaction.byte_cycle is \"0B\": a cycle is longer than 0",
        ),
        (
            "weights = [4, 1]",
            "weights = [4, 0]",
            "f.toml:11: scheme.params.weights.1 is 0: it must be at least 0.000001",
        ),
        (
            "max = [\"1Gbps\"]",
            "q_eq = \"0B\"",
            "f.toml:11: scheme.params.q_eq is \"0B\": it must be over 0, such as 26KB",
        ),
        (
            "kind = \"long-lived\"\nfrom = 0",
            "kind = \"request-response\"\nload = 0.1\nflows = 9\nsizes = \"1KB\"\nfrom = 0",
            "f.toml:16: traffic.0.kind asks for answers, which needs TCP hosts: transport.kind is \"udp\"",
        ),
    ] {
        assert!(LOT.contains(from), "{from}");
        let said = read(&LOT.replacen(from, to, 1)).expect_err(message);
        assert!(said.starts_with(message), "{said}\ninstead of\n{message}");
    }
}

#[test]
fn a_line_may_lose_packets_of_a_flow() {
    let with =
        |keys: &str| read(&LOT.replace("rate = \"1Gbps\"\n[run]", &format!("{keys}\n[run]")));
    let scenario = with("flow = 0\nlose = [3, 5]").unwrap();
    let Change::Lose { port, flow, lose } = &scenario.event[0].change else { panic!() };
    assert_eq!((port.as_str(), *flow, &lose[..]), ("middle0:0", Some(0), &[3, 5][..]));
    assert_eq!(read(&to_toml(&scenario)).unwrap(), scenario);
    let scenario = with("mark = [7]").unwrap();
    let Change::Mark { flow: None, mark, .. } = &scenario.event[0].change else { panic!() };
    assert_eq!(mark[..], [7]);
    assert_eq!(read(&to_toml(&scenario)).unwrap(), scenario);
    for (keys, why) in [
        ("lose = []", "event.1.lose is []: it lists no packet: [3] is the third"),
        ("mark = []", "event.1.mark is []: it lists no packet: [3] is the third"),
        ("mark = [3]\nlose = [4]", "event.1.mark does not apply to a line that loses packets"),
        ("lose = [0]", "event.1.lose.0 is 0: "),
        (
            "lose = [3]\nrate = \"1Gbps\"",
            "event.1.rate does not apply to a line that loses packets, which takes at, port, link, lose or flow",
        ),
        (
            "flow = 0",
            "event.1.rate is missing: write rate = \"10Gbps\", or up = false, or lose = [3]",
        ),
    ] {
        let refused = with(keys).unwrap_err();
        assert!(refused.contains(why), "{keys}: {refused}");
    }
}
