//! Flow lists are read through before anything runs, so that a bad row is refused like a
//! bad key, with the list's own line.

use crate::expand::Plan;
use crate::mistake::Mistake;
use std::path::Path;
use switchbed_sim::traffic::list::List;
use switchbed_sim::traffic::{FlowStart, Hosts};
use switchbed_spec::{Classify, Traffic};

/// What the flow lists of a plan hold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Listed {
    /// Flows in all.
    pub flows: u64,
    /// When the last one starts, in seconds.
    pub last_s: f64,
}

impl Listed {
    fn add(&mut self, other: Listed) {
        self.flows += other.flows;
        self.last_s = self.last_s.max(other.last_s);
    }
}

/// Refuses the first mistake in the flow lists of the plans, and notes what they hold; each is
/// read once for each number of hosts and of queues.
pub(crate) fn check(plans: &mut [Plan]) -> Result<(), Mistake> {
    let mut read = Vec::new();
    for Plan { scenario, listed, .. } in plans {
        let classes = match scenario.switch.classify {
            Classify::Class => scenario.switch.queues,
            _ => u16::MAX,
        };
        let hosts = Hosts::of(scenario);
        for traffic in &scenario.traffic {
            let Traffic::List { path, connections } = traffic else { continue };
            let key = (path.clone(), hosts.count, classes);
            if let Some((_, known)) = read.iter().find(|(other, _)| *other == key) {
                listed.add(*known);
                continue;
            }
            let list = List::open(Path::new(path), hosts, (*connections).into());
            let list = list.map_err(|error| Mistake {
                file: error.file,
                line: error.line.and_then(|line| line.try_into().ok()),
                key: error.column.map_or(String::new(), |column| format!("column {column}:")),
                message: error.what,
            })?;
            let mut held = Listed { flows: list.flows(), last_s: 0.0 };
            let note = |flow: &FlowStart| held.last_s = flow.start.as_secs_f64();
            if let Some(flow) = list.inspect(note).find(|flow| u16::from(flow.class) >= classes) {
                let row = flow.list_row.map_or(String::new(), |row| format!("flow {row} "));
                let message = format!(
                    "{row}has class {}, and switch.queues is {classes}: classes are 0 to {} \
                     (or write switch.classify = \"single\")",
                    flow.class,
                    classes - 1
                );
                return Err(Mistake {
                    file: path.clone(),
                    line: None,
                    key: String::new(),
                    message,
                });
            }
            listed.add(held);
            read.push((key, held));
        }
    }
    Ok(())
}
