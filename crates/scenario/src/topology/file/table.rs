//! Our own form, as CSV: the nodes with their tiers, then the links.
//!
//! ```text
//! # Two racks under one spine.
//! node,tier
//! h0,host
//! h1,host
//! left,leaf
//! right,leaf
//! top,spine
//! from,to,rate,delay,count,mtu
//! h0,left,100Gbps,1us,,
//! h1,right,25Gbps,1us,,
//! left,top,100Gbps,500ns,2,9216B
//! right,top,100Gbps,500ns,,
//! ```
//!
//! `host` makes a node a host; any other tier makes it a switch. The columns `count` (parallel links, 1 where it is
//! empty) and `mtu` may be left out, and columns may come in any order.

use super::described::{Described, Link, Node, Wrong, is_name};
use std::collections::HashMap;
use switchbed_config::text::shown;
use switchbed_units::quantity;

/// More than the ports of a network may join.
const MOST_LINKS: usize = 1 << 20;

/// Lines that say something: number, fields.
fn lines(text: &str) -> impl Iterator<Item = (u32, Vec<&str>)> {
    let lines = (1..).zip(text.lines());
    let rows = lines.filter(|(_, line)| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    rows.map(|(number, line)| (number, line.split(',').map(str::trim).collect()))
}

/// Whether a text begins so.
pub(super) fn is_one(text: &str) -> bool {
    lines(text).next().is_some_and(|(_, fields)| fields.contains(&"node"))
}

/// The places of columns in a header.
fn columns<const N: usize>(
    (line, header): &(u32, Vec<&str>),
    names: [&str; N],
    required: usize,
) -> Result<[Option<usize>; N], Wrong> {
    for (column, name) in header.iter().enumerate() {
        if !names.contains(name) {
            let what = format!("there is no column \"{}\": write {}", shown(name), names.join(","));
            return Err(Wrong::field(*line, column, what));
        }
        if header[..column].contains(name) {
            return Err(Wrong::field(*line, column, format!("the column {name} is there twice")));
        }
    }
    let found = names.map(|name| header.iter().position(|other| *other == name));
    match names.iter().zip(&found).take(required).find(|(_, found)| found.is_none()) {
        Some((name, _)) => Err(Wrong::line(*line, format!("the column {name} is missing"))),
        None => Ok(found),
    }
}

pub(super) fn parse(text: &str) -> Result<Described, Wrong> {
    let mut lines = lines(text);
    let header = lines.next().ok_or_else(|| Wrong::file("is empty: it begins with node,tier"))?;
    let [name_at, tier_at] = columns(&header, ["node", "tier"], 2)?;
    let (name_at, tier_at) = (name_at.unwrap_or(0), tier_at.unwrap_or(1));
    let mut described = Described::default();
    let mut places: HashMap<&str, u32> = HashMap::new();
    let mut links = None;
    for (line, fields) in lines {
        // A second header begins the links.
        if links.is_none() && fields.contains(&"from") && fields.contains(&"to") {
            let names = ["from", "to", "rate", "delay", "count", "mtu"];
            links = Some((fields.len(), columns(&(line, fields), names, 4)?));
            continue;
        }
        let wanted = links.as_ref().map_or(header.1.len(), |(wanted, _)| *wanted);
        if fields.len() != wanted {
            let what = format!("has {} fields, and its header has {wanted}", fields.len());
            return Err(Wrong::line(line, what));
        }
        let Some((_, at)) = &links else {
            let (name, tier) = (fields[name_at], fields[tier_at]);
            if !is_name(name) {
                let what = format!(
                    "\"{}\" is no name: a letter, then letters, digits, \".\", \"_\" or \"-\" (but not \"all\")",
                    shown(name)
                );
                return Err(Wrong::field(line, name_at, what));
            }
            if !is_name(tier) {
                let what =
                    format!("\"{}\" is no tier: \"host\", or a name such as \"leaf\"", shown(tier));
                return Err(Wrong::field(line, tier_at, what));
            }
            // Names that come twice are refused later, with both lines.
            places.entry(name).or_insert(described.nodes.len() as u32);
            let tier = (tier != "host").then(|| tier.to_owned());
            described.nodes.push(Node { name: name.to_owned(), tier, line });
            continue;
        };
        let field = |nth: usize| at[nth].map(|column| (column, fields[column]));
        let end = |nth: usize| {
            let (column, name) = field(nth).unwrap_or_default();
            let place = places.get(name).copied();
            place.ok_or_else(|| {
                Wrong::field(line, column, format!("there is no node \"{}\"", shown(name)))
            })
        };
        let ends = [end(0)?, end(1)?];
        let cell = |nth: usize| {
            let (column, text) = field(nth).unwrap_or_default();
            (text, move |why| Wrong::field(line, column, format!("\"{}\": {why}", shown(text))))
        };
        let (text, wrong) = cell(2);
        let rate = quantity::rate(text).map_err(wrong)?;
        let (text, wrong) = cell(3);
        let delay = quantity::time(text).map_err(wrong)?;
        let (text, wrong) = cell(4);
        let count: u32 =
            match text {
                "" => 1,
                text => text.parse().ok().filter(|count| (1..=65_535).contains(count)).ok_or_else(
                    || wrong("parallel links are a whole number from 1 to 65535".to_owned()),
                )?,
            };
        let (text, wrong) = cell(5);
        let mtu = match text {
            "" => None,
            text => Some(quantity::size(text, None).map_err(wrong)?),
        };
        if described.links.len() + count as usize > MOST_LINKS {
            return Err(Wrong::line(line, format!("a file has at most {MOST_LINKS} links")));
        }
        let link = Link { ends, rate, delay, mtu, loss: 0.0, line };
        // Parallel links are links alike.
        described.links.extend(std::iter::repeat_n(link, count as usize));
    }
    match links {
        Some(_) => Ok(described),
        None => Err(Wrong::file("has no links: after the nodes comes a line from,to,rate,delay")),
    }
}
