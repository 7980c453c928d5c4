//! Warnings about a run that stopped: nothing was delivered any more, or flows gave up, and what refused; or lossless
//! classes were in a deadlock (docs/pfc.md).

use crate::deadlock::Deadlock;
use crate::deployed::Deployed;
use crate::ids::LinkId;
use crate::simulation::Simulation;
use crate::stall::Refusal;
use crate::topology::{Graph, Node};
use switchbed_qdisc::QueueId;
use switchbed_qdisc::port::view::DropReason;
use switchbed_scenario::protocols::Protocols;
use switchbed_scenario::{NicQueue, Scenario, Switch};

/// Explains a run that stopped with flows under way, if it did.
pub(crate) fn stopped(scenario: &Scenario, simulation: &Simulation) -> Option<String> {
    let stall = simulation.stalled()?;
    let pairs = Protocols::of(scenario).all().iter().all(|of| of.queue_pairs().is_some());
    let bound = match pairs {
        true => "a queue pair retries (roce.give_up)",
        false => {
            "a sender retransmits (data 15 times from transport.rto_min, a SYN 6 times from \
             transport.rto_initial, as Linux does)"
        }
    };
    let by = stall.by.map_or_else(
        || "no port refused a packet or held one since".to_owned(),
        |by| refusing(scenario, simulation, by),
    );
    Some(format!(
        "the run stopped: nothing was delivered for {}, as long as {bound}; {by}",
        stall.lasted
    ))
}

/// A queue that refuses, its port and the rule.
pub(crate) fn refusing(
    scenario: &Scenario,
    simulation: &Simulation,
    (link, queue, refusal): (LinkId, QueueId, Refusal),
) -> String {
    let port = &simulation.ports()[link.index()];
    let why = rule(scenario, simulation.graph(), (port.cable.from, queue), refusal);
    format!("queue {queue} of {} {why}", port.name)
}

/// The rule by which a port refuses.
fn rule(
    scenario: &Scenario,
    graph: &Graph,
    (sender, queue): (Node, QueueId),
    refusal: Refusal,
) -> String {
    let deployed = Deployed::new(scenario, graph);
    let (switch, scheme) = deployed.at(sender);
    let label = &scheme.at(queue.into()).label;
    match refusal {
        Refusal::Held => "is held by its peer's pause frames (switch.pfc)".to_owned(),
        Refusal::Down => "has packets, and its line is down ([[event]])".to_owned(),
        Refusal::Drops(DropReason::Full) => {
            let key = match sender {
                Node::Switch(_) => space(switch, queue.into()),
                Node::Host(host) => match scenario.host_of()(host).nic {
                    NicQueue::Fifo(fifo) => format!("host.nic_buffer = {}", fifo.buffer),
                    _ => "host.nic".to_owned(),
                },
            };
            format!("refuses packets for want of space ({key})")
        }
        Refusal::Drops(DropReason::NotEcnCapable) => format!(
            "drops packets that {label} would mark and that are not ECN-capable (switch.unmarkable)"
        ),
        Refusal::Drops(DropReason::Early) => format!("drops arrivals, as {label} has it"),
        Refusal::Drops(DropReason::PushedOut) => "pushes out what it has stored".to_owned(),
        Refusal::Drops(DropReason::AtDeparture) => {
            format!("drops packets as they leave, as {label} or the watchdog has it")
        }
    }
}

/// Names the keys that bound a switch's queue.
fn space(switch: &Switch, queue: usize) -> String {
    let rules = switch.rules(queue);
    let limit = rules.limit.map(|limit| format!("switch.queue's limit = {limit}"));
    let alpha = rules.alpha.map(|alpha| match rules.alpha == switch.alpha {
        true => format!("switch.alpha = {alpha}"),
        false => format!("switch.queue's alpha = {alpha}"),
    });
    let pool = switch.pool.map(|pool| format!("switch.pool = {pool}"));
    let buffer = alpha.is_none().then(|| format!("switch.buffer = {}", switch.buffer));
    limit.into_iter().chain(alpha).chain(pool).chain(buffer).collect::<Vec<_>>().join(", ")
}

/// One warning for each deadlock.
pub(crate) fn deadlocks(scenario: &Scenario, simulation: &Simulation) -> Vec<String> {
    let of = |found: &Deadlock| {
        let name = |link: usize| &simulation.ports()[link].name;
        let mut names: Vec<_> = found.cycle.iter().map(|queue| name(queue.0.index())).collect();
        names.extend(names.first().copied());
        let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
        let class = found.cycle.first().map_or(0, |queue| queue.1);
        let end = match (found.broken, scenario.run.until) {
            (Some(_), _) => "; it was broken",
            (None, Some(_)) => "; it stands",
            (None, None) => "; it stands, and the run ends with it",
        };
        format!(
            "class {class} deadlocked at {:.6} s: {} wait for each other{end}",
            found.formed.as_secs_f64(),
            names.join(" > "),
        )
    };
    simulation.deadlocks().iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{HostId, SwitchId};
    use crate::simulation::Status;
    use std::path::Path;
    use switchbed_scenario::plans_of;
    use switchbed_units::Span;

    /// A star of three hosts.
    fn text(rest: &str) -> String {
        format!(
            r#"
        [topology]
        kind = "star"
        hosts = 3
        rate = "10Gbps"
        delay = "1us"
        [switch]
        buffer = "300KB"
        [scheme]
        name = "none"
        {rest}
        "#
        )
    }

    /// Returns the message of a run that looks for a stall every 10 ms.
    fn message(rest: &str) -> Option<String> {
        let plans =
            plans_of("test.toml", &text(rest), Path::new("."), &[], None).expect("a good file");
        let scenario = &plans[0].scenario;
        let mut simulation = Simulation::new(scenario).expect("a network that can be built");
        simulation.look_after(Span::from_ms(10));
        while simulation.advance(1 << 20) == Status::Running {}
        stopped(scenario, &simulation)
    }

    const TCP: &str = r#"
    [transport]
    kind = "dctcp"
    [[traffic]]
    kind = "incast"
    from = "1-2"
    to = 0
    sizes = "1MB"
    rounds = 1
"#;

    #[test]
    fn a_run_that_waits_says_for_how_long_and_why() {
        let lost: Vec<String> = (1..=60).map(|nth| nth.to_string()).collect();
        let loses = format!(
            r#"
        [[event]]
        at = "0s"
        port = "switch:0"
        lose = [{}]
        "#,
            lost.join(", ")
        );
        let said = message(&format!("{TCP}{loses}")).expect("senders wait for 200 ms");
        let start =
            "the run stopped: nothing was delivered for 10ms, as long as a sender retransmits";
        assert!(said.starts_with(start), "{said}");
        assert!(said.ends_with("; no port refused a packet or held one since"), "{said}");
    }

    #[test]
    fn each_refusal_is_named_by_the_key_that_rules_it() {
        let plans =
            plans_of("test.toml", &text(TCP), Path::new("."), &[], None).expect("a good file");
        let scenario = &plans[0].scenario;
        let graph = scenario.graph();
        let said = |refusal| rule(scenario, &graph, (Node::Switch(SwitchId(0)), 0), refusal);
        let drops = |why| said(Refusal::Drops(why));
        assert!(said(Refusal::Held).contains("switch.pfc"));
        assert!(said(Refusal::Down).contains("[[event]]"));
        assert!(
            drops(DropReason::Full).contains("switch.buffer = 300KB"),
            "{}",
            drops(DropReason::Full)
        );
        assert!(drops(DropReason::NotEcnCapable).contains("switch.unmarkable"));
        assert!(drops(DropReason::Early).contains("none"));
        let full = Refusal::Drops(DropReason::Full);
        assert!(rule(scenario, &graph, (Node::Host(HostId(0)), 0), full).contains("host.nic"));
    }

    #[test]
    fn a_queue_with_rules_of_its_own_is_named_by_them() {
        let switch = r#"
        [switch]
        policy = "dynamic"
        pool = "300KB"
        queues = 2
        queue = [{ queue = 1, alpha = 0.5, limit = "30KB" }]
    "#;
        let text = text(TCP).replace("[switch]\n", switch);
        let plans = plans_of("test.toml", &text, Path::new("."), &[], None).expect("a good file");
        let (scenario, graph) = (&plans[0].scenario, plans[0].scenario.graph());
        let full = Refusal::Drops(DropReason::Full);
        let said = |queue| rule(scenario, &graph, (Node::Switch(SwitchId(0)), queue), full);
        assert!(said(0).ends_with("(switch.alpha = 1, switch.pool = 300KB)"), "{}", said(0));
        let own = "(switch.queue's limit = 30KB, switch.queue's alpha = 0.5, switch.pool = 300KB)";
        assert!(said(1).ends_with(own), "{}", said(1));
    }

    #[test]
    fn a_card_that_refuses_is_named_by_its_own_hosts_key() {
        let hosts = r#"
        [[host]]
        profile = "ideal"
        [[host]]
        hosts = 2
        nic = "fifo"
        nic_buffer = "30KB"
    "#;
        let text = text(&format!("{hosts}{TCP}"));
        let plans = plans_of("test.toml", &text, Path::new("."), &[], None).expect("a good file");
        let (scenario, graph) = (&plans[0].scenario, plans[0].scenario.graph());
        let full = Refusal::Drops(DropReason::Full);
        let said = |host| rule(scenario, &graph, (Node::Host(HostId(host)), 0), full);
        assert!(said(2).contains("host.nic_buffer = 30KB"), "{}", said(2));
        assert!(!said(1).contains("30KB"), "{}", said(1));
    }

    #[test]
    fn a_run_that_goes_on_says_nothing() {
        assert_eq!(message(TCP), None);
    }
}
