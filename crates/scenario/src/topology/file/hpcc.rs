//! The form of HPCC's simulator (alibaba-edu/High-Precision-Congestion-Control, `simulation/scratch/third.cc`), which
//! ns3-datacenter, ConWeave and others share: `nodes switches links`, the switches' numbers, then for each link
//! `src dst rate delay error_rate`. Other numbers are hosts'. A rate may be a number alone, in bits a second, as
//! ns3-datacenter has it. Parallel links stay, of which that simulator keeps the last.
//!
//! Node 7 is called `host7` or `switch7`. A switch's tier is its distance from the nearest host: `tier1`, `tier2`, …

use super::{Described, Link, Node, Wrong};
use switchbed_config::text::shown;
use switchbed_units::{Rate, quantity};

/// More nodes than that are none.
const MOST: u32 = 1 << 20;

/// A field of a line.
#[derive(Clone, Copy)]
struct Word<'a> {
    line: u32,
    column: usize,
    text: &'a str,
}

impl Word<'_> {
    fn wrong(&self, what: &str) -> Wrong {
        Wrong::field(self.line, self.column, format!("\"{}\": {what}", shown(self.text)))
    }

    /// A whole number below an end.
    fn below(&self, end: u32, what: &str) -> Result<u32, Wrong> {
        let number = self.text.parse().ok().filter(|&number: &u32| number < end);
        number.ok_or_else(|| self.wrong(&format!("{what} is a whole number below {end}")))
    }
}

/// Whether a text begins so.
pub(super) fn is_one(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let numbers: Vec<_> = first.split_whitespace().map(str::parse::<u32>).collect();
    numbers.len() == 3 && numbers.iter().all(Result::is_ok)
}

pub(super) fn parse(text: &str) -> Result<Described, Wrong> {
    let mut lines = (1..).zip(text.lines()).filter_map(|(line, text)| {
        let word = |(column, text)| Word { line, column, text };
        let words: Vec<Word> = text.split_whitespace().enumerate().map(word).collect();
        (!words.is_empty()).then_some((line, words))
    });
    let wants = "begins with nodes switches links, three whole numbers";
    let (line, head) = lines.next().ok_or_else(|| Wrong::file(format!("is empty: it {wants}")))?;
    let [nodes, switches, links] = head[..] else { return Err(Wrong::line(line, wants)) };
    let nodes = nodes.below(MOST, "the number of nodes")?;
    let count = switches.below(nodes.max(1), "the number of switches")?;
    let links = links.below(MOST, "the number of links")?;
    let mut line_of: Vec<Option<u32>> = vec![None; nodes as usize];
    let mut left = count;
    // Numbers of switches may stand on several lines.
    while left > 0 {
        let ended = || Wrong::file(format!("ends with {left} of {count} switches to come"));
        let (_, words) = lines.next().ok_or_else(ended)?;
        for word in words {
            if left == 0 {
                return Err(word.wrong(&format!(
                    "the first line says {count} switches, and this is one more"
                )));
            }
            let node = word.below(nodes, "a switch")?;
            if line_of[node as usize].replace(word.line).is_some() {
                return Err(word.wrong("this switch is named already"));
            }
            left -= 1;
        }
    }
    let mut described = Described::default();
    for (nth, line) in line_of.into_iter().enumerate() {
        let (kind, tier) =
            if line.is_some() { ("switch", Some(String::new())) } else { ("host", None) };
        let node = Node { name: format!("{kind}{nth}"), tier, line: line.unwrap_or(1) };
        described.nodes.push(node);
    }
    for nth in 0..links {
        let ended = || Wrong::file(format!("ends after {nth} of {links} links"));
        let (line, words) = lines.next().ok_or_else(ended)?;
        let (ends, [rate, delay], error) = match words[..] {
            [src, dst, rate, delay] => ([src, dst], [rate, delay], None),
            [src, dst, rate, delay, error] => ([src, dst], [rate, delay], Some(error)),
            _ => {
                let what =
                    format!("has {} fields: a link is src dst rate delay error_rate", words.len());
                return Err(Wrong::line(line, what));
            }
        };
        let [src, dst] = ends.map(|end| end.below(nodes, "a node"));
        let ends = [src?, dst?];
        if let Some(error) = error
            && error.text.parse().ok() != Some(0.0)
        {
            return Err(error.wrong("only links without errors (0) are supported"));
        }
        let rate = match rate.text.parse::<f64>() {
            Ok(bps) if (1.0..=1e17).contains(&bps) => Rate::from_bps(bps.round() as u64),
            Ok(_) => return Err(rate.wrong("a rate is a number of bits a second of at least 1")),
            Err(_) => quantity::rate(rate.text).map_err(|why| rate.wrong(&why))?,
        };
        let delay = quantity::time(delay.text).map_err(|why| delay.wrong(&why))?;
        described.links.push(Link { ends, rate, delay, mtu: None, line });
    }
    if let Some((line, _)) = lines.next() {
        return Err(Wrong::line(
            line,
            format!("the first line says {links} links, and this is one more"),
        ));
    }
    described.name_tiers();
    Ok(described)
}

impl Described {
    /// Calls each switch's tier by its distance from the nearest host.
    fn name_tiers(&mut self) {
        let mut near: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        for Link { ends: [a, b], .. } in &self.links {
            near[*a as usize].push(*b);
            near[*b as usize].push(*a);
        }
        let hosts = (0..).zip(&self.nodes).filter(|(_, node)| node.tier.is_none());
        let mut next: Vec<u32> = hosts.map(|(nth, _)| nth).collect();
        let mut seen = vec![false; self.nodes.len()];
        next.iter().for_each(|&host| seen[host as usize] = true);
        for distance in 1.. {
            let mut reached = Vec::new();
            for &to in next.iter().flat_map(|&at| &near[at as usize]) {
                if !std::mem::replace(&mut seen[to as usize], true) {
                    self.nodes[to as usize].tier = Some(format!("tier{distance}"));
                    reached.push(to);
                }
            }
            if reached.is_empty() {
                return;
            }
            next = reached;
        }
    }
}
