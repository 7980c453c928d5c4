//! Hosts by what they have, for `switchbed host show`.

use crate::{Host, Scenario, Transport};
use serde_json::{Value as Json, json};
use std::fmt::Write;
use switchbed_units::ids::HostId;

impl Scenario {
    /// Hosts that are alike, those first that no `[[host]]` entry names: label, numbers, profile,
    /// transport, ECN, and the least and the greatest delay.
    pub fn described_hosts(&self) -> Json {
        let total = self.topology.hosts();
        let mut others = vec![true; total as usize];
        for stack in &self.host.others {
            stack.hosts.iter().for_each(|&host| others[host as usize] = false);
        }
        let usual: Vec<u32> = (0..total).filter(|&host| others[host as usize]).collect();
        let described = |label: &str, hosts: &[u32], of: (&Host, &Transport)| {
            let (host, transport) = of;
            let delays = hosts.iter().map(|&nth| host.delay.of(self.run.seed, HostId(nth)));
            let (least, most) = (delays.clone().min(), delays.max());
            json!({
                "label": label,
                "count": hosts.len(),
                "hosts": ranges(hosts),
                "profile": host.profile,
                "transport": transport.control.word(),
                "ecn": transport.ecn,
                "least_delay": least,
                "most_delay": most,
            })
        };
        let first = described(&self.host.label, &usual, (&self.host.usual, &self.transport));
        let stacks = self.host.others.iter();
        let rest = stacks
            .map(|stack| described(&stack.label, &stack.hosts, (&stack.host, &stack.transport)));
        std::iter::once(first).chain(rest).collect()
    }
}

/// Rising numbers as a file writes them: `0-3, 7`.
fn ranges(numbers: &[u32]) -> String {
    let mut text = String::new();
    let mut rest = numbers;
    while let [first, ..] = *rest {
        let run = (first..).zip(rest).take_while(|(next, number)| next == *number).count();
        let separator = if text.is_empty() { "" } else { ", " };
        let last = first + run as u32 - 1;
        let _ = match run {
            1 => write!(text, "{separator}{first}"),
            _ => write!(text, "{separator}{first}-{last}"),
        };
        rest = &rest[run..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn numbers_that_follow_each_other_are_a_range() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[4]), "4");
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2, 5, 7-8");
    }
}
