//! Keys that name things by their numbers, or by names if they have any: `"all"`, `3`, `"0-7"`,
//! `[0, 1, "4-6"]`.

use switchbed_config::mistake::Mistake;
use switchbed_config::section::Section;
use switchbed_config::tree::{Data, Node};

/// Things that are numbered from 0.
pub(crate) struct Numbered<'a> {
    /// One of them, as messages call it.
    pub one: &'static str,
    /// The owner, as messages call it.
    pub owner: &'static str,
    /// How many there are.
    pub total: u32,
    /// The number of the one that has this name.
    pub named: &'a dyn Fn(&str) -> Option<u32>,
}

impl Numbered<'_> {
    /// The numbers that a key of the section gives, in the order written, none twice.
    pub(crate) fn read(
        &self,
        section: &Section<'_>,
        name: &str,
        node: &Node,
    ) -> Result<Vec<u32>, Mistake> {
        let Numbered { one, owner, total, named } = *self;
        let mut numbers = Vec::new();
        let mut seen = vec![false; total as usize];
        let items = match &node.data {
            Data::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        for (i, item) in items.iter().enumerate() {
            let wrong = |why: &str| match &node.data {
                Data::List(_) => section.wrong(&format!("{name}.{i}"), item, why),
                _ => section.wrong(name, item, why),
            };
            let form = format!("{one}s are written as \"all\", 3, \"0-7\" or a list of these");
            // Names first: one may look like a range.
            let named = item.as_text().and_then(named).map(|number| (number, number));
            let range = named.or_else(|| range(item, total));
            let (first, last) = range.ok_or_else(|| wrong(&form))?;
            if first > last {
                return Err(wrong("a range runs from its lesser number to its greater"));
            }
            if last >= total {
                let why = format!("{owner} has {one}s 0 to {}", total - 1);
                return Err(wrong(&why));
            }
            for number in first..=last {
                if std::mem::replace(&mut seen[number as usize], true) {
                    return Err(wrong(&format!("{one} {number} is named twice")));
                }
                numbers.push(number);
            }
        }
        match numbers.is_empty() {
            true => Err(section.wrong(name, node, &format!("at least one {one} is needed"))),
            false => Ok(numbers),
        }
    }
}

fn range(item: &Node, total: u32) -> Option<(u32, u32)> {
    match &item.data {
        Data::Whole(n) => u32::try_from(*n).ok().map(|n| (n, n)),
        Data::Text(text) if text == "all" => Some((0, total - 1)),
        Data::Text(text) => {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
        }
        _ => None,
    }
}
