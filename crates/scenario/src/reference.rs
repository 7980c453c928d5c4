//! Every key of a scenario file and every scheme's parameters as Markdown: what
//! `switchbed scenario keys` and a page of the documentation site show.

use crate::live::{LIVE, PORT};
use crate::profiles::usual;
use crate::scheme::schemes;
use crate::sections::SECTIONS;
use std::fmt::Write;
use switchbed_config::reference::keys;

const HEAD: &str = "\
# Scenario files

A scenario is one TOML file. `switchbed scenario keys` prints this page, and
`switchbed scenario schema` the same as JSON Schema for editors. Values carry their units
(`\"10Gbps\"`, `\"85.2us\"`, `\"300KB\"`; KB is 1000 bytes, KiB 1024, and `pkt` is `host.mtu`).
A key that is unknown, or that does not apply to what the file chose, is refused with its
line.

A time is at most 100000s, a rate 100Tbps, a size 1000GB. A network has at most 1048575 ports,
hosts' own among them, and a switch 65535; a run has at most 16777215 connections open at a time. A
link's delay, host.delay, and what a packet of host.mtu takes at a link's rate are at most 5s each.

Defaults of `[host]` and `[transport]` are the host profile's ([hosts](hosts.md)); those here are of
the profile that `host.profile` has where a file does not give it.

`--set SECTION.KEY=VALUE` overrides a value; `load`, `flows`, `seed` and `scheme` stand for the
keys one means. `[compare]` lists values for such keys, and every combination is a run:

```toml
[compare]
scheme = [\"per-queue\", { name = \"mq-ecn\", label = \"MQ-ECN\", params = { beta = 0.5 } }]
load = [0.3, 0.5, 0.8]
seed = [1, 2, 3]
```
";

/// The reference of scenario files.
pub fn reference() -> String {
    let mut text = HEAD.to_owned();
    for section in SECTIONS {
        let brackets = if section.repeated { ("[[", "]]") } else { ("[", "]") };
        let _ = write!(
            text,
            "\n## `{}{}{}`\n\n{}\n\n",
            brackets.0, section.name, brackets.1, section.doc
        );
        keys(&mut text, "key", section.name, section.keys, usual);
    }
    text.push_str("\n## Schemes\n\nParameters go into `[scheme.params]`.\n");
    for scheme in schemes() {
        let _ = write!(text, "\n### `{}`\n\n{}", scheme.name, scheme.summary);
        let source: Vec<&str> =
            [scheme.paper, scheme.source].into_iter().filter(|part| !part.is_empty()).collect();
        if !source.is_empty() {
            let _ = write!(text, " ({})", source.join("; "));
        }
        text.push_str("\n\n");
        if !scheme.params.is_empty() {
            keys(&mut text, "parameter", "", scheme.params, usual);
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

const LIVE_HEAD: &str = "\
# Files of live switches

One TOML file says what a live switch joins and how. `[switch]` and `[scheme]` are those of
[scenario files](scenario.md); `pkt` is `live.mtu`. `switchbed live keys` prints this page.
";

/// The reference of live switches' files.
pub fn live_reference() -> String {
    let mut text = LIVE_HEAD.to_owned();
    for section in [LIVE, PORT, crate::reaction::LIVE_SECTION] {
        let (open, close) = if section.repeated { ("[[", "]]") } else { ("[", "]") };
        let _ = write!(text, "\n## `{open}{}{close}`\n\n{}\n\n", section.name, section.doc);
        keys(&mut text, "key", "", section.keys, usual);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{SECTIONS, live_reference, reference, schemes};

    #[test]
    fn every_section_and_scheme_has_its_heading_and_its_keys() {
        let page = reference();
        for section in SECTIONS {
            assert!(page.contains(&format!("[{}]", section.name)), "{}", section.name);
            for key in section.keys {
                assert!(page.contains(&format!("\n| `{}` |", key.name)), "{}", key.name);
            }
        }
        for scheme in schemes() {
            assert!(page.contains(&format!("\n### `{}`\n", scheme.name)), "{}", scheme.name);
        }
        assert!(live_reference().contains("\n## `[[port]]`\n"));
    }
}
