//! The built-in profiles' texts, and keys that name a profile.

use crate::file;
use switchbed_config::mistake::{Mistake, list_of};
use switchbed_config::param::{Field, Named, ParamKind, Value};
use switchbed_config::section::Section;
use switchbed_config::similar::similar;
use switchbed_config::tree::Node;

macro_rules! built_in {
    ($($name:literal)+) => {
        /// The profiles that come with the program: name and text.
        pub(super) const BUILT_IN: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../profiles/", $name, ".toml")))),+];
    };
}
built_in! {
    "linux-6.x" "linux-3.18" "linux-2.6.38" "ns-3" "ns-3-dctcp" "ns-2-sack" "ns-2-fulltcp"
    "ideal" "switchbed-0.1"
}

/// A host profile: its name, or a file of one's own, found from the scenario's folder. The reader
/// hands over the name, or the file's path.
pub(crate) const PROFILE: ParamKind = ParamKind::Named(&Named {
    name: "profile",
    form: ParamKind::Text,
    example: "\"linux-6.x\"",
    read,
});

fn read(section: &Section<'_>, name: &str, node: &Node) -> Result<Option<Value>, Mistake> {
    Ok(found(section, name, node)?.to_value())
}

/// The name of a built-in profile, or the path of a file.
pub(super) fn found(section: &Section<'_>, key: &str, node: &Node) -> Result<String, Mistake> {
    match node.as_text() {
        Some(name) if name.ends_with(".toml") => {
            Ok(file::found(section, key, node)?.display().to_string())
        }
        Some(name) if BUILT_IN.iter().any(|(known, _)| *known == name) => Ok(name.to_owned()),
        Some(name) => Err(section.wrong(key, node, &unknown(name))),
        None => Err(section.wrong(key, node, "it must be a text in quotes")),
    }
}

/// The message for a name that no profile has.
pub(super) fn unknown(name: &str) -> String {
    let names = || BUILT_IN.iter().map(|(name, _)| *name);
    match similar(name, names()) {
        Some(guess) => format!("there is no such host profile; did you mean \"{guess}\"?"),
        None => format!(
            "there is no such host profile; there are {}; a file of your own ends in .toml",
            list_of(names())
        ),
    }
}
