//! Flow lists are read through before anything runs, so that a bad row is refused like a
//! bad key, with the list's own line.

use crate::Scenario;
use crate::protocols::Protocols;
use crate::resolve::fields::DSCPS;
use crate::traffic::{FlowStart, Hosts, ListError, Listed};
use crate::{Classify, Traffic};
use switchbed_config::mistake::Mistake;
use switchbed_units::Time;

/// Refuses the first mistake in the flow lists of the plans, and notes what they hold; each is
/// read once for all plans to which it says the same.
pub(crate) fn check<'a>(
    plans: impl Iterator<Item = (&'a Scenario, &'a mut Listed)>,
) -> Result<(), Mistake> {
    let mut read = Vec::new();
    for (scenario, listed) in plans {
        let classes = match scenario.switch.classify {
            Classify::Class => scenario.switch.queues,
            _ => u16::MAX,
        };
        // Captured packets carry the class as a DSCP, six bits of the IP header.
        let dscps = if scenario.measure.capture.is_empty() { u16::MAX } else { DSCPS };
        let (classes, queues) = (classes.min(dscps), classes);
        let protocols = Protocols::of(scenario);
        for (entry, traffic) in scenario.traffic.iter().enumerate() {
            let refused = |error: ListError| Mistake {
                file: error.file,
                line: error.line.and_then(|line| line.try_into().ok()),
                key: error.column.map_or(String::new(), |column| format!("column {column}:")),
                message: error.what,
            };
            if let Traffic::Goal(goal) = &traffic.source {
                let program = goal.read(scenario.run.seed, entry).map_err(refused)?;
                let sent = program.messages().filter(|message| !message.stays());
                let bytes = sent.map(|message| message.bytes.get()).sum();
                let held = Listed {
                    flows: program.flows(),
                    bytes,
                    messages: program.flows(),
                    operations: u64::from(program.operations()).saturating_sub(2 * program.flows()),
                    connections: program.connections().into(),
                    at_once: program.at_once(),
                    held: program.held(),
                    longest: program.longest().into(),
                    ..Listed::default()
                };
                add(listed, held);
                continue;
            }
            let Traffic::List(list) = &traffic.source else { continue };
            let hosts = Hosts::of(scenario, &protocols, entry as u32);
            // Sizes may be in packets, and a flow without an end needs an end of the run.
            let ends = scenario.run.until.is_some();
            let key = (list.clone(), hosts.numbers.clone(), hosts.count, hosts.mss, classes, ends);
            // Lists may be long and comparisons many: each is read once.
            if let Some((_, known)) = read.iter().find(|(other, _)| *other == key) {
                add(listed, *known);
                continue;
            }
            list.schedule(&hosts).map_err(refused)?;
            let rows = list.open(hosts).map_err(refused)?;
            let mut held = Listed { flows: rows.flows(), ..Listed::default() };
            let mut endless = None;
            let mut at_once = (Time::ZERO, 0);
            let note = |flow: &FlowStart| {
                // Rows are sorted by start: those that begin together stand together.
                let before = if flow.start == at_once.0 { at_once.1 } else { 0 };
                at_once = (flow.start, before + 1);
                held.together = held.together.max(at_once.1);
                held.bytes = held.bytes.saturating_add(flow.size.map_or(0, |size| size.get()));
                held.last_s = flow.start.as_secs_f64();
                endless = endless.or(flow.list_row.filter(|_| flow.size.is_none()));
            };
            if let Some(flow) = rows.inspect(note).find(|flow| u16::from(flow.class) >= classes) {
                let row = flow.list_row.map_or(String::new(), |row| format!("flow {row} "));
                if classes < queues {
                    let message = format!(
                        "{row}has class {}, and captured packets (measure.capture) have their class as \
                         DSCP, which has six bits: classes are 0 to {}",
                        flow.class,
                        classes - 1
                    );
                    let (file, line, key) = (list.file.clone(), None, String::new());
                    return Err(Mistake { file, line, key, message });
                }
                let message = format!(
                    "{row}has class {}, and switch.queues is {classes}: classes are 0 to {} \
                     (or write switch.classify = \"single\")",
                    flow.class,
                    classes - 1
                );
                return Err(Mistake {
                    file: list.file.clone(),
                    line: None,
                    key: String::new(),
                    message,
                });
            }
            if let (Some(row), None) = (endless, scenario.run.until) {
                let message = format!("flow {row} has size 0 and never ends: give until in [run]");
                let (file, line, key) = (list.file.clone(), None, String::new());
                return Err(Mistake { file, line, key, message });
            }
            add(listed, held);
            read.push((key, held));
        }
    }
    Ok(())
}

fn add(listed: &mut Listed, held: Listed) {
    listed.flows += held.flows;
    listed.bytes = listed.bytes.saturating_add(held.bytes);
    listed.together += held.together;
    listed.messages += held.messages;
    listed.operations += held.operations;
    listed.connections += held.connections;
    listed.at_once += held.at_once;
    listed.held += held.held;
    listed.longest = listed.longest.max(held.longest);
    listed.last_s = listed.last_s.max(held.last_s);
}
