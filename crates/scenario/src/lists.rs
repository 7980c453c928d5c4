//! Flow lists are read through before anything runs, so that a bad row is refused like a
//! bad key, with the list's own line.

use crate::expand::Plan;
use crate::mistake::Mistake;
use std::path::Path;
use switchbed_sim::traffic::Hosts;
use switchbed_sim::traffic::list::List;
use switchbed_spec::{Classify, Traffic};

/// Refuses the first mistake in the flow lists of the plans; each is read once for each
/// number of hosts and of queues.
pub(crate) fn check(plans: &[Plan]) -> Result<(), Mistake> {
    let mut read = Vec::new();
    for Plan { scenario, .. } in plans {
        let classes = match scenario.switch.classify {
            Classify::Class => scenario.switch.queues,
            _ => u16::MAX,
        };
        let hosts = Hosts::of(scenario);
        for traffic in &scenario.traffic {
            let Traffic::List { path, connections } = traffic else { continue };
            let key = (path, hosts.count, classes);
            if read.contains(&key) {
                continue;
            }
            let list = List::open(Path::new(path), hosts, (*connections).into());
            let mut list = list.map_err(|error| Mistake {
                file: error.file,
                line: error.line.and_then(|line| line.try_into().ok()),
                key: error.column.map_or(String::new(), |column| format!("column {column}:")),
                message: error.what,
            })?;
            if let Some(flow) = list.find(|flow| u16::from(flow.class) >= classes) {
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
            read.push(key);
        }
    }
    Ok(())
}
