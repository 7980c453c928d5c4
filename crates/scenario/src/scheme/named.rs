//! Classes that scenario files name as they name a scheme.

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
