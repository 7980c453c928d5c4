//! A resolved scenario as a scenario file, for the manifest of a run: every default
//! written out, every compared value in its place.

use crate::Scenario;

/// The scenario as a TOML file that resolves to it again.
pub fn to_toml(scenario: &Scenario) -> String {
    // Only keys that are no strings and numbers that TOML lacks could fail: there are none.
    toml::to_string(scenario).unwrap_or_else(|error| format!("# {error}\n"))
}
