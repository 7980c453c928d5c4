//! The reference of a section, from the table of keys that it is read by.

use crate::param::{Param, ParamKind};
pub use crate::shown::Chosen;
use crate::shown::{rows, takes};
use std::fmt::Write;

/// The default of a section's key whose table has none.
pub type Usual = fn(&str, &str) -> Option<String>;

/// A section's keys as a table in Markdown, headed so; of what is chosen, those that apply to it.
pub fn keys(
    text: &mut String,
    head: &str,
    section: &str,
    keys: &'static [Param],
    usual: Usual,
    chosen: Chosen<'_>,
) {
    let _ = writeln!(text, "| {head} | takes | default | meaning |\n| --- | --- | --- | --- |");
    write_rows(text, section, "", keys, usual, chosen);
}

fn write_rows(
    text: &mut String,
    section: &str,
    within: &str,
    keys: &'static [Param],
    usual: Usual,
    chosen: Chosen<'_>,
) {
    for row in rows(keys, chosen) {
        let Param { name, kind, default, required, .. } = row.key;
        let default = default.map(str::to_owned).or_else(|| usual(section, name));
        let default = match (default, required) {
            (Some(default), _) => format!("`{default}`"),
            (None, true) => "required".to_owned(),
            (None, false) => String::new(),
        };
        let name = format!("{within}{name}");
        // A bar would end the table's cell.
        let (takes, doc) = (takes(kind).replace('|', "\\|"), row.doc().replace('|', "\\|"));
        let _ = writeln!(text, "| `{name}` | {takes} | {default} | {doc} |");
        if let ParamKind::Table(inner) | ParamKind::Tables(inner) = kind {
            write_rows(text, "", &format!("{name}."), inner, usual, Chosen::ALL);
        }
    }
}
