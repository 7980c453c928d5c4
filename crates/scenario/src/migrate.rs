//! A scenario file of before host profiles, with the profile that its hosts had, and the keys of today
//! in place of the one that is gone.

use crate::Host;
use crate::resolve::check_names;
use crate::sections::home;
use std::fmt::Display;
use std::path::PathBuf;
use switchbed_config::mistake::{Mistake, Origin};
use switchbed_config::tree::{At, parse};
use toml_edit::{DocumentMut, Item, Key, Table, Value, value};

/// The profile that stands for what hosts were before there were profiles.
const BEFORE: &str = "switchbed-0.1";

/// `[host]` is written behind the first of these that there is.
const BEFORE_IT: [&str; 3] = ["scheme", "switch", "topology"];

/// Key of `[transport]` with the keys that replace it; each of them has its value.
const RENAMED: (&str, [&str; 2]) = ("ecn_control", ["ecn_syn", "ecn_retransmits"]);

/// The text of the scenario file called `file` with its host profile named and a key of before under
/// today's names, all else as it is; `None` where there is nothing to do.
///
/// # Errors
/// The text is no scenario.
pub fn migrated(file: &str, text: &str) -> Result<Option<String>, Mistake> {
    let origin =
        Origin { file: file.to_owned(), folder: PathBuf::new(), overrides: Vec::new(), home };
    let wrong = |at, why: &dyn Display| origin.mistake(at, "", format!("this is no TOML: {why}"));
    check_names(&origin, &parse(text).map_err(|(line, why)| wrong(At::Line(line), &why))?)?;
    let mut document: DocumentMut = text.parse().map_err(|why| wrong(At::Unwritten, &why))?;
    let root = document.as_table_mut();
    let renamed = rename(root);
    let named = name_profile(root);
    Ok((renamed || named).then(|| document.to_string()))
}

/// Names the profile, unless there is one.
fn name_profile(root: &mut Table) -> bool {
    if !root.contains_key("host") {
        let mut host = Table::new();
        // Behind the last of these sections, where a reader looks for hosts.
        host.set_position(BEFORE_IT.iter().find_map(|section| last(root.get(section)?)));
        root.insert("host", Item::Table(host));
    }
    let later = |name: &str| name != Host::KEY.profile;
    match root.get_mut("host") {
        // The default profile has changed since: a file without one means the old.
        Some(Item::Table(host)) if !host.contains_key(Host::KEY.profile) => {
            host.insert(Host::KEY.profile, value(BEFORE));
            // `false` before `true`: the profile comes first, the rest as it was.
            host.sort_values_by(|a, _, b, _| later(a).cmp(&later(b)));
            true
        }
        Some(Item::Value(Value::InlineTable(host))) if !host.contains_key(Host::KEY.profile) => {
            host.insert(Host::KEY.profile, BEFORE.into());
            host.sort_values_by(|a, _, b, _| later(a).cmp(&later(b)));
            true
        }
        _ => false,
    }
}

/// Gives a key its names of today, at its place.
fn rename(root: &mut Table) -> bool {
    let (old, new) = RENAMED;
    let transport = root.get_mut("transport").and_then(Item::as_table_like_mut);
    let Some(transport) = transport.filter(|table| table.contains_key(old)) else { return false };
    // All keys are taken out and put back, as toml_edit appends: the order of the file stays.
    let keys: Vec<String> = transport.iter().map(|(key, _)| key.to_owned()).collect();
    for key in keys {
        let formatted = transport.key(&key).cloned();
        let (Some(formatted), Some(item)) = (formatted, transport.remove(&key)) else { continue };
        let decorated = |name: &str| Key::new(name).with_leaf_decor(formatted.leaf_decor().clone());
        let names = if key == old { new.map(decorated).to_vec() } else { vec![formatted.clone()] };
        for name in names {
            // A file may have one of the new keys already: that one is kept.
            transport.entry_format(&name).or_insert(item.clone());
        }
    }
    true
}

/// Where the last table of a section is.
fn last(section: &Item) -> Option<isize> {
    let table = section.as_table()?;
    // Tables inside count, too: positions are those of headers in the file.
    table.iter().filter_map(|(_, inner)| last(inner)).chain(table.position()).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_is_named_and_all_else_stays() {
        for (before, after) in [
            (
                "# a\ntitle = 'x' # b\n[host]\n# c\nnic = \"fifo\"\n\n[run]\nseed = 1\n",
                "# a\ntitle = 'x' # b\n[host]\nprofile = \"switchbed-0.1\"\n# c\nnic = \"fifo\"\n\n[run]\nseed = 1\n",
            ),
            ("[run]\nseed = 1\n", "[run]\nseed = 1\n\n[host]\nprofile = \"switchbed-0.1\"\n"),
            (
                "[switch]\n[scheme]\n[scheme.params]\na = 1\n\n[run]\nseed = 1\n",
                "[switch]\n[scheme]\n[scheme.params]\na = 1\n\n[host]\n\
                 profile = \"switchbed-0.1\"\n\n[run]\nseed = 1\n",
            ),
            ("host.nic = 'fifo'\n", "host.profile = \"switchbed-0.1\"\nhost.nic = 'fifo'\n"),
            (
                "[transport]\necn = true\n# As RFC 8257 has it.\necn_control = true # all\nrto_min = '5ms'\n\n[host]\n",
                "[transport]\necn = true\n# As RFC 8257 has it.\necn_syn = true # all\n\
                 # As RFC 8257 has it.\necn_retransmits = true # all\nrto_min = '5ms'\n\n[host]\n\
                 profile = \"switchbed-0.1\"\n",
            ),
            (
                "host.profile = 'ns-3'\ntransport = { ecn_control = false, ecn = true }\n",
                "host.profile = 'ns-3'\ntransport = { ecn_syn = false, ecn_retransmits = false, ecn = true }\n",
            ),
            ("host = { nic = 'fifo' }\n", "host = { profile = \"switchbed-0.1\", nic = 'fifo' }\n"),
        ] {
            assert_eq!(migrated("f.toml", before).unwrap().as_deref(), Some(after));
            assert_eq!(migrated("f.toml", after), Ok(None));
        }
    }

    #[test]
    fn what_is_no_scenario_is_refused_in_a_line() {
        let said = |text: &str| migrated("f.toml", text).unwrap_err().to_string();
        assert!(said("a = 1\nb").starts_with("f.toml:2: this is no TOML: "));
        assert_eq!(said("host = 3"), "f.toml:1: host must be written as [host]");
        assert!(said("[package]").starts_with("f.toml:1: package is unknown: "));
    }
}
