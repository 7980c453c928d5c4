//! A value of the tree read as what its key takes.

use crate::mistake::list_of;
use crate::param::{ParamKind, Value};
use crate::schema::takes;
use crate::similar::similar;
use crate::tree::{Data, Node};
use switchbed_units::{Bytes, quantity};

/// The value, or what is wrong with it and what would be right, to be read after
/// `key is value: `. `packet` is what the unit `pkt` means.
pub fn read(kind: &ParamKind, node: &Node, packet: Option<Bytes>) -> Result<Value, String> {
    let value = read_any(kind, node, packet)?;
    kind.holds(&value).map(|()| value)
}

/// Reads a value from a node without checking its range.
fn read_any(kind: &ParamKind, node: &Node, packet: Option<Bytes>) -> Result<Value, String> {
    match *kind {
        ParamKind::Size | ParamKind::Threshold => {
            quantity::size(&quantity_text(node, "300KB")?, packet).map(Value::Bytes)
        }
        ParamKind::Time | ParamKind::Wait => {
            quantity::time(&quantity_text(node, "85.2us")?).map(Value::Span)
        }
        ParamKind::Rate => quantity::rate(&quantity_text(node, "10Gbps")?).map(Value::Rate),
        ParamKind::Number { .. } | ParamKind::Part => number(node).map(Value::Number),
        ParamKind::Count { min, max } => count(node, min, max).map(Value::Count),
        ParamKind::Packets => packets(node).map(Value::Count),
        ParamKind::Word(words) => word(node, words).map(|word| Value::Word(word.to_owned())),
        ParamKind::Flag => match node.data {
            Data::Flag(flag) => Ok(Value::Flag(flag)),
            _ => Err("it must be true or false".to_owned()),
        },
        ParamKind::Text => match &node.data {
            Data::Text(text) => Ok(Value::Word(text.clone())),
            _ => Err("it must be a text in quotes".to_owned()),
        },
        either @ ParamKind::Either(kinds) => {
            let fits = |kind: &&ParamKind| match kind {
                ParamKind::List(_) => node.as_list().is_some(),
                ParamKind::Table(_) => node.as_table().is_some(),
                _ => node.as_list().is_none() && node.as_table().is_none(),
            };
            let mut result = Err(format!("it must be {}", takes(&either)));
            for kind in kinds.iter().filter(fits) {
                result = result.or_else(|every| {
                    read(kind, node, packet).map_err(|why| match kind {
                        // One form's words alone would hide the others.
                        ParamKind::Word(_) if !why.contains("did you mean") => every,
                        _ => why,
                    })
                });
            }
            result
        }
        ParamKind::Named(named) => read(&named.form, node, packet),
        ParamKind::List(_) => Err("it must be a list, [ … ]".to_owned()),
        ParamKind::Tables(_) => Err("it must be a list of tables".to_owned()),
        ParamKind::Table(_) | ParamKind::SchemeParams => {
            Err("it must be a table, { … }".to_owned())
        }
    }
}

/// A quantity's text; a bare number's too, which is then refused for its missing unit.
fn quantity_text(node: &Node, example: &str) -> Result<String, String> {
    match &node.data {
        Data::Text(text) => Ok(text.clone()),
        Data::Whole(n) => Ok(n.to_string()),
        Data::Number(x) => Ok(x.to_string()),
        _ => Err(format!("it must be a number with a unit, such as \"{example}\"")),
    }
}

fn number(node: &Node) -> Result<f64, String> {
    match &node.data {
        Data::Whole(n) => Ok(*n as f64),
        Data::Number(x) => Ok(*x),
        Data::Text(text) => quantity::percent(text),
        _ => Err("a number is needed, such as 0.5 or \"50%\"".to_owned()),
    }
}

fn count(node: &Node, min: u64, max: u64) -> Result<u64, String> {
    match node.data {
        // TOML's integers are held as i128, so that a u64 has space and a negative one is seen.
        Data::Whole(n) if (0..=i128::from(u64::MAX)).contains(&n) => Ok(n as u64),
        _ => Err(format!("it must be a whole number from {min} to {max}")),
    }
}

fn packets(node: &Node) -> Result<u64, String> {
    let n = match &node.data {
        Data::Whole(n) => u64::try_from(*n).unwrap_or(0),
        Data::Text(text) => quantity::packets(text)?,
        _ => 0,
    };
    match n {
        1..=0xffff_ffff => Ok(n),
        _ => Err("it must be a whole number of packets, at least 1, such as \"16pkt\"".to_owned()),
    }
}

fn word(node: &Node, words: &[&'static str]) -> Result<&'static str, String> {
    let text = node.as_text().unwrap_or("");
    if let Some(word) = words.iter().find(|word| **word == text) {
        return Ok(word);
    }
    let guess = similar(text, words.iter().copied()).filter(|_| !text.is_empty());
    let guess = guess.map_or(String::new(), |word| format!("; did you mean \"{word}\"?"));
    Err(format!("it must be {}{guess}", list_of(words.iter().copied())))
}
