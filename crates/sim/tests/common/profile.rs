//! The transport that a scenario has under the host profile `switchbed-0.1`.

use switchbed_config::param::{Params, Values};
use switchbed_scenario::Transport;
use switchbed_units::Bytes;

const PROFILE: &str = include_str!("../../../scenario/profiles/switchbed-0.1.toml");

/// The same over packets of `mtu`.
pub fn transport(mtu: Bytes) -> Transport {
    Transport::of(values(), mtu).unwrap()
}

/// What the profile gives of it.
pub fn values() -> Values {
    let (_, section) = PROFILE.split_once("[transport]\n").unwrap();
    let line = |line: &str| {
        let (key, value) = line.split_once(" # ").unwrap().0.split_once(" = ").unwrap();
        let param = Transport::TABLE.iter().find(|param| param.name == key).unwrap();
        (key.to_owned(), param.kind.parse(value.trim_matches('"')).unwrap())
    };
    section.lines().filter(|line| line.contains('=')).map(line).collect()
}
