//! The form of HPCC's simulator (alibaba-edu/High-Precision-Congestion-Control, `simulation/scratch/third.cc`), which
//! ns3-datacenter, ConWeave and others share: `nodes switches links`, the switches' numbers, then for each link
//! `src dst rate delay error_rate`. Other numbers are hosts'. A rate may be a number alone, in bits a second, as
//! ns3-datacenter has it; ns-3's units of rates and times are read (`12.5GB/s`, `1e-06s`). Parallel links stay, of which
//! that simulator keeps the last. As there, no more links are read than the first line says: the published
//! `mix/topology.txt` has others behind them, and a note. ns3-datacenter's first line is `nodes switches tors links`, and
//! may have the rates of hosts' and of fabric links behind it; each link's own rate is read.
//!
//! SimAI's form (aliyun/SimAI, `inputs/topo/gen_Topo_Template.py`) has another first line, `nodes gpus_per_server
//! nvswitches switches links gpu_type`, and lists the NVSwitches before the switches; the rest is the same.
//!
//! Node 7 is called `host7`, `switch7` or `nvswitch7`. A switch's tier is its distance from the nearest host: `tier1`,
//! `tier2`, …; NVSwitches are the tier `nvswitch`.

use super::described::{Described, Link, Node, Word, Wrong, lines};
use switchbed_units::{Rate, Span, quantity};

/// Nodes and links of a file are fewer.
const MOST: u32 = 1 << 20;
/// The greatest error rate, as `loss` of an event.
const MOST_LOST: f64 = 0.5;

/// The forms that differ in their first line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    /// `nodes switches links`, or ns3-datacenter's `nodes switches tors links`, with or without two rates.
    Hpcc,
    /// `nodes gpus_per_server nvswitches switches links gpu_type`.
    SimAi,
}

/// Counts in the first line of a file.
struct Counts {
    nodes: u32,
    nvswitches: u32,
    /// NVSwitches among them.
    switches: u32,
    links: u32,
}

impl Head {
    /// Whether a text begins so.
    pub(super) fn begins(self, text: &str) -> bool {
        let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let words: Vec<&str> = first.split_whitespace().collect();
        let numbers = words.iter().filter(|word| word.parse::<u32>().is_ok()).count();
        match self {
            Head::Hpcc => match words[..] {
                [_, _, _] | [_, _, _, _] => numbers == words.len(),
                // Rates are greater than other numbers may be.
                [_, _, _, _, ref rates @ ..] if rates.len() == 2 => {
                    numbers >= 4 && rates.iter().all(|rate| rate.parse::<f64>().is_ok())
                }
                _ => false,
            },
            Head::SimAi => words.len() == 6 && numbers == 5 && words[5].parse::<u32>().is_err(),
        }
    }

    fn counts(self, line: u32, head: &[Word]) -> Result<Counts, Wrong> {
        let (nodes, nvswitches, switches, links) = match (self, head) {
            (Head::Hpcc, &[nodes, switches, links]) => (nodes, None, switches, links),
            (Head::Hpcc, &[nodes, switches, tors, links, ref rates @ ..])
                if matches!(rates.len(), 0 | 2) =>
            {
                let all = switches.below(MOST, "the number of switches")?;
                tors.below(all + 1, "the number of ToRs")?;
                // Links have rates of their own.
                for rate in rates {
                    data_rate(rate.text).map_err(|why| rate.wrong(&why))?;
                }
                (nodes, None, switches, links)
            }
            (Head::SimAi, &[nodes, gpus, nvswitches, switches, links, _]) => {
                gpus.below(MOST, "the number of GPUs a server")?;
                (nodes, Some(nvswitches), switches, links)
            }
            _ => return Err(Wrong::line(line, self.wants())),
        };
        let nodes = nodes.below(MOST, "the number of nodes")?;
        let nvswitches = nvswitches.map(|count| count.below(nodes, "the number of NVSwitches"));
        let nvswitches = nvswitches.transpose()?.unwrap_or(0);
        // Nodes that are no NVSwitches; at least one, or the message's range would be empty.
        let others = (nodes - nvswitches).max(1);
        let switches = nvswitches + switches.below(others, "the number of switches")?;
        Ok(Counts { nodes, nvswitches, switches, links: links.below(MOST, "the number of links")? })
    }

    fn wants(self) -> &'static str {
        match self {
            Head::Hpcc => "begins with nodes switches links, or nodes switches tors links",
            Head::SimAi => {
                "begins with nodes gpus_per_server nvswitches switches links gpu_type, five whole numbers and a name"
            }
        }
    }
}

pub(super) fn parse(text: &str, form: Head) -> Result<Described, Wrong> {
    let mut lines = lines(text);
    let empty = || Wrong::file(format!("is empty: it {}", form.wants()));
    let (line, head) = lines.next().ok_or_else(empty)?;
    let Counts { nodes, nvswitches, switches: count, links } = form.counts(line, &head)?;
    let mut named: Vec<Option<(u32, bool)>> = vec![None; nodes as usize];
    // In the order of the numbers, though the file has any.
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
            // SimAI names the NVSwitches first.
            let nv = count - left < nvswitches;
            if named[node as usize].replace((word.line, nv)).is_some() {
                return Err(word.wrong("this switch is named already"));
            }
            left -= 1;
        }
    }
    let mut described = Described::default();
    for (nth, named) in named.into_iter().enumerate() {
        let (kind, tier) = match named {
            Some((_, true)) => ("nvswitch", Some("nvswitch".to_owned())),
            Some((_, false)) => ("switch", Some(String::new())),
            None => ("host", None),
        };
        let line = named.map_or(1, |(line, _)| line);
        described.nodes.push(Node { name: format!("{kind}{nth}"), tier, line });
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
        // ns-3's error model counts packets.
        let loss = match error.map(|word| (word, word.text.parse())) {
            None => 0.0,
            Some((_, Ok(loss))) if (0.0..=MOST_LOST).contains(&loss) => loss,
            Some((word, _)) => {
                return Err(word.wrong(&format!(
                    "an error rate is the fraction of packets that the link loses, from 0 to {MOST_LOST}"
                )));
            }
        };
        let rate = data_rate(rate.text).map_err(|why| rate.wrong(&why))?;
        let delay = ns3_time(delay.text).map_err(|why| delay.wrong(&why))?;
        described.links.push(Link { ends, rate, delay, mtu: None, loss, line });
    }
    let is_link = |words: &Vec<Word>| {
        words.len() >= 4 && words[..2].iter().all(|end| end.text.parse::<u32>().is_ok())
    };
    described.unread = lines.filter(|(_, words)| is_link(words)).count() as u32;
    described.numbered = true;
    described.name_tiers();
    Ok(described)
}

/// Splits a quantity behind its number.
fn split(text: &str, of_number: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && !of_number(c));
    text.split_at(end.unwrap_or(text.len()))
}

/// A rate in ns-3's units (`DataRate`): a number alone is bits a second.
fn data_rate(text: &str) -> Result<Rate, String> {
    if let Ok(bps) = text.parse::<f64>() {
        // No line has 1e17.
        return match (1.0..=1e17).contains(&bps) {
            true => Ok(Rate::from_bps(bps.round() as u64)),
            false => Err("a rate is a number of bits a second of at least 1".to_owned()),
        };
    }
    let (number, unit) = split(text, |_| false);
    let per_second = unit.strip_suffix("ps").or_else(|| unit.strip_suffix("/s"));
    let of_bits = |unit: &str| match unit.strip_suffix('B') {
        Some(prefix) => Some((prefix.to_owned(), 8)),
        None => unit.strip_suffix('b').map(|prefix| (prefix.to_owned(), 1)),
    };
    let Some((prefix, bits)) = per_second.and_then(of_bits) else { return quantity::rate(text) };
    let (unit, times) = match &*prefix {
        "" => ("bps", 1),
        "k" | "K" => ("kbps", 1),
        "M" => ("Mbps", 1),
        "G" => ("Gbps", 1),
        "Ki" => ("bps", 1 << 10),
        "Mi" => ("bps", 1 << 20),
        "Gi" => ("bps", 1 << 30),
        _ => return quantity::rate(text),
    };
    let rate = quantity::rate(&format!("{number}{unit}"))?.as_bps() * times * bits;
    match Rate::from_bps(rate) {
        rate if rate <= quantity::MAX_RATE => Ok(rate),
        _ => Err(format!("it must be at most {}", quantity::MAX_RATE)),
    }
}

/// A length of time in ns-3's units (`Time`): a number alone is seconds, and a number may have an exponent.
fn ns3_time(text: &str) -> Result<Span, String> {
    let (number, unit) = split(text, |c| "+-eE".contains(c));
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let power = match unit {
        "" | "s" => 0,
        "ms" => -3,
        "us" => -6,
        "ns" => -9,
        "ps" => -12,
        "fs" => -15,
        _ => return quantity::time(text),
    };
    let power = exponent.parse::<i32>().ok().map(|exponent| exponent.saturating_add(power));
    match power.and_then(|power| shifted(mantissa, power)) {
        Some(seconds) => quantity::time(&format!("{seconds}s")),
        None => quantity::time(text),
    }
}

/// A decimal number times ten to a power, in digits.
fn shifted(number: &str, power: i32) -> Option<String> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{part}");
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    // More zeros than a time has.
    let zeros = power.unsigned_abs() as usize;
    if !is_number || zeros > 30 {
        return None;
    }
    let (padded, point) = match power < 0 {
        true => (format!("{}{digits}", "0".repeat(zeros)), whole.len()),
        false => (format!("{digits}{}", "0".repeat(zeros)), whole.len() + zeros),
    };
    let (whole, part) = padded.split_at_checked(point)?;
    Some(match (whole, part.is_empty()) {
        ("", _) => format!("0.{part}"),
        (whole, true) => whole.to_owned(),
        (whole, false) => format!("{whole}.{part}"),
    })
}

impl Described {
    /// Calls each switch's tier by its distance from the nearest host, where it has no name.
    fn name_tiers(&mut self) {
        // Breadth first from all hosts at once: a switch's tier is its distance to the nearest
        // host.
        let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        for Link { ends: [a, b], .. } in &self.links {
            neighbours[*a as usize].push(*b);
            neighbours[*b as usize].push(*a);
        }
        let hosts = (0..).zip(&self.nodes).filter(|(_, node)| node.tier.is_none());
        let mut next: Vec<u32> = hosts.map(|(nth, _)| nth).collect();
        let mut seen = vec![false; self.nodes.len()];
        next.iter().for_each(|&host| seen[host as usize] = true);
        for distance in 1.. {
            let mut reached = Vec::new();
            for &to in next.iter().flat_map(|&at| &neighbours[at as usize]) {
                if !std::mem::replace(&mut seen[to as usize], true) {
                    let tier = &mut self.nodes[to as usize].tier;
                    // NVSwitches have their tier already.
                    if tier.as_ref().is_some_and(String::is_empty) {
                        *tier = Some(format!("tier{distance}"));
                    }
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
