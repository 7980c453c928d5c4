//! Names of schemes besides the registry's: classes that scenario files name as they name a scheme, ours under other
//! names, and the field's that are not among ours.

use super::find;
use std::sync::RwLock;

static NAMED: RwLock<Vec<Named>> = RwLock::new(Vec::new());

/// Class that scenario files name as they name a scheme: an installed package's.
#[derive(Clone, Debug, PartialEq)]
struct Named {
    name: String,
    file: String,
    class: String,
}

/// Adds a name for a class in a Python file, which scenario files may then name as a scheme.
///
/// # Errors
/// There is a scheme of this name.
pub fn name_class(name: &str, file: &str, class: &str) -> Result<(), String> {
    // A poisoned lock is as good: the list only grows.
    let mut named = NAMED.write().unwrap_or_else(|poisoned| poisoned.into_inner());
    let own = Named { name: name.into(), file: file.into(), class: class.into() };
    if named.contains(&own) {
        return Ok(());
    }
    if find(name).is_some() || named.iter().any(|other| other.name == name) {
        return Err(format!("there is a scheme {name} already"));
    }
    named.push(own);
    Ok(())
}

/// Returns the names that classes have, in the order in which they were added.
pub fn named() -> Vec<String> {
    let named = NAMED.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    named.iter().map(|own| own.name.clone()).collect()
}

/// Returns the file and the class that a name stands for.
pub(super) fn of_name(name: &str) -> Option<(String, String)> {
    let named = NAMED.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    let own = named.iter().find(|own| own.name == name)?;
    Some((own.file.clone(), own.class.clone()))
}

/// Ours that others call so.
const OURS: &[(&str, &str)] = &[
    ("dcqcn", "red"),
    ("dctcp", "per-queue"),
    ("drop-tail", "none"),
    ("droptail", "none"),
    ("ecn", "per-queue"),
    ("fifo", "none"),
    ("pfifo", "none"),
    ("step", "per-queue"),
    ("tail-drop", "none"),
    ("threshold", "per-queue"),
    ("wred", "red"),
];

/// Known schemes that are not implemented, with their publications.
const ABSENT: &[(&str, &str)] = &[
    ("aifo", "AIFO (SIGCOMM 2021)"),
    ("avq", "AVQ (SIGCOMM 2001)"),
    ("bfc", "BFC (NSDI 2022)"),
    ("blue", "BLUE (2002)"),
    ("cake", "CAKE (2018)"),
    ("choke", "CHOKe (INFOCOM 2000)"),
    ("hull", "HULL's phantom queues (NSDI 2012)"),
    ("pfabric", "pFabric (SIGCOMM 2013)"),
    ("pi2", "PI2 (CoNEXT 2016)"),
    ("pias", "PIAS (NSDI 2015)"),
    ("rem", "REM (2001)"),
    ("sfb", "SFB (INFOCOM 2001)"),
    ("sfq", "SFQ (INFOCOM 1990)"),
    ("sp-pifo", "SP-PIFO (NSDI 2020)"),
];

/// Returns the name of the implemented scheme that a name means.
pub(super) fn ours(name: &str) -> Option<&'static str> {
    entry(OURS, name)
}

/// Returns the publication of a scheme that is not implemented.
pub(super) fn absent(name: &str) -> Option<&'static str> {
    entry(ABSENT, name)
}

fn entry(names: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    // Names as people type them: case and underscores do not count.
    let name = name.to_ascii_lowercase().replace('_', "-");
    names.iter().find(|(other, _)| *other == name).map(|&(_, found)| found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::schemes;

    #[test]
    fn ours_are_there_and_the_absent_are_not() {
        let there = |name: &str| schemes().any(|scheme| scheme.name == name);
        for (other, name) in OURS {
            assert!(there(name) && !there(other), "{other}: {name}");
        }
        for (name, _) in ABSENT {
            assert!(!there(name), "{name} is no longer absent");
        }
    }
}
