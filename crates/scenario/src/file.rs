//! Keys that name a file.

use std::path::PathBuf;
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Field, Named, ParamKind, Value};
use switchbed_config::section::Section;
use switchbed_config::tree::Node;

/// A file, found from the scenario's folder. The reader hands over its path, if it is there.
pub(crate) const FILE: ParamKind = ParamKind::Named(&Named {
    name: "file",
    form: ParamKind::Text,
    example: "\"flows.csv\"",
    read,
});

fn read(section: &Section<'_>, name: &str, node: &Node) -> Result<Option<Value>, Mistake> {
    Ok(found(section, name, node)?.display().to_string().to_value())
}

/// The file that the key names, found from the scenario's folder.
pub(crate) fn found(section: &Section<'_>, key: &str, node: &Node) -> Result<PathBuf, Mistake> {
    let Some(name) = node.as_text() else {
        return Err(section.wrong(key, node, "it must be a text in quotes"));
    };
    let path = section.origin.folder.join(name);
    let shown = path.display();
    let problem = match path.is_file() {
        // A resolved scenario holds the path as text.
        true if path.to_str().is_some() => return Ok(path),
        true => format!("the path {shown} is no UTF-8: rename it"),
        false => format!("there is no file {shown}"),
    };
    Err(section.wrong(key, node, &problem))
}
