//! A leaf-spine fabric with every scheme.

use std::path::Path;
use switchbed_scenario::{Plan, plans_of};

/// Its runs, with what is set.
pub fn plans_with(sets: &[&str]) -> Vec<Plan> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    plans_of("every_scheme.toml", include_str!("every_scheme.toml"), Path::new(""), &sets, None)
        .unwrap_or_else(|mistake| panic!("{mistake}"))
}
