//! Host profiles: what the keys of `[host]` and `[transport]` are where a scenario does not give
//! them. A profile is a file: those of `profiles/` are built in, by name.
//!
//! ```toml
//! about = "our servers"
//! based_on = "linux-6.x"     # a name, or another such file
//! [transport]
//! rto_min = "5ms"            # ip route … rto_min 5ms
//! ```
//!
//! Text behind `#` on a key's line is its source, which `switchbed host show` prints. A key
//! that is "follows" is not given, though the profile's base gives it: it follows others.

mod behaviours;
pub(crate) mod names;

use crate::sections::home;
use crate::{host, transport};
use behaviours::BEHAVIOURS;
use names::{BUILT_IN, PROFILE, found, unknown};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use switchbed_config::mistake::{Mistake, Origin, list_of};
use switchbed_config::param::SectionSpec;
use switchbed_config::section::Section;
use switchbed_config::similar::similar;
use switchbed_config::text;
use switchbed_config::tree::{At, Data, Entry, Node, Table, parse};
use switchbed_units::Bytes;

/// The sections whose keys it has.
const SECTIONS: [SectionSpec; 2] = [host::SECTION, transport::SECTION];

/// A profile with what it is based on.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    name: String,
    about: String,
    based_on: Option<String>,
    settings: Vec<Setting>,
    /// The settings as the tables `[host]` and `[transport]`, written nowhere.
    tables: [Table; 2],
}

/// A key's value in it.
#[derive(Clone, Debug)]
struct Setting {
    key: String,
    value: Node,
    /// Why it is so: the kernel's file, the simulator's default, the RFC.
    source: String,
    /// The profile that says so: this one, or one that it is based on.
    from: String,
}

/// Origin of a scenario's host settings.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Hosts {
    /// The profile.
    pub profile: String,
    /// The file names it; else it is the default.
    pub named: bool,
    /// The keys to which the file gives other values.
    pub overrides: Vec<String>,
    /// The hosts that differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<HostsOf>,
}

/// Origin of the settings of an entry of `[[host]]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct HostsOf {
    /// Label in results.
    pub label: String,
    /// How many hosts it is for.
    pub hosts: usize,
    /// The profile.
    pub profile: String,
    /// The entry names it.
    pub named: bool,
    /// The keys to which the entry gives other values than `[host]`, `[transport]` and the profile.
    pub overrides: Vec<String>,
}

/// The built-in profiles as JSON: name, what it is, the profile that it is based on, and whether
/// files that name none have it.
pub fn profiles() -> Json {
    let default = host::SECTION.keys.iter().find_map(|key| key.default);
    let row = |profile: &Profile| {
        json!({
            "name": profile.name,
            "about": profile.about,
            "based_on": profile.based_on,
            "default": default == Some(profile.name.as_str()),
        })
    };
    ALL.iter().map(row).collect()
}

/// A profile as JSON: name, what it is, each key's value with its source and the profile that
/// gives it, and what it models of the things that hosts do. `name` may be a file's path.
///
/// # Errors
/// There is no such profile, or what is wrong with its file.
pub fn profile(name: &str) -> Result<Json, Mistake> {
    let profile = match name.ends_with(".toml") {
        true => Profile::of_file(Path::new(name), &mut Vec::new())?,
        false => built_in(name).cloned().ok_or_else(|| {
            let (file, key) = (format!("host profile {name}"), String::new());
            Mistake { file, line: None, key, message: unknown(name) }
        })?,
    };
    let of_section = |section: &SectionSpec| {
        let name = section.name;
        section.keys.iter().map(move |key| format!("{name}.{}", key.name))
    };
    let mut keys: Vec<String> = SECTIONS.iter().flat_map(of_section).collect();
    // Sections share keys with themselves alone: neighbours are equal where a key has several
    // forms.
    keys.dedup();
    let setting = |key: &String| {
        let found = profile.settings.iter().find(|setting| setting.key == *key)?;
        let Setting { value, source, from, .. } = found;
        Some(json!({ "key": key, "value": value.to_json(), "source": source, "from": from }))
    };
    let behaviour = |(what, by, why): &(&str, &[&str], &str)| json!({ "behaviour": what, "modelled": !by.is_empty(), "keys": by, "note": why });
    Ok(json!({
        "name": profile.name,
        "about": profile.about,
        "based_on": profile.based_on,
        "settings": keys.iter().filter_map(setting).collect::<Json>(),
        "behaviours": BEHAVIOURS.iter().map(behaviour).collect::<Json>(),
    }))
}

/// Returns the value of a key in files that name no profile, as such a file would write it.
pub(crate) fn usual(section: &str, key: &str) -> Option<String> {
    let default = built_in(host::SECTION.keys.iter().find_map(|key| key.default)?)?;
    let place = SECTIONS.iter().position(|other| other.name == section)?;
    let value = default.tables[place].get(key)?;
    Some(value.as_text().map_or_else(|| value.to_string(), str::to_owned))
}

/// The built-in ones, read. A test reads them all: none is refused.
static ALL: LazyLock<Vec<Profile>> = LazyLock::new(|| {
    let read = |&(name, text): &(&str, &str)| read_built_in(name, text).ok();
    BUILT_IN.iter().filter_map(read).collect()
});

fn built_in(name: &str) -> Option<&'static Profile> {
    ALL.iter().find(|profile| profile.name == name)
}

fn read_built_in(name: &str, text: &str) -> Result<Profile, Mistake> {
    let file = format!("host profile {name}");
    let origin = Origin { file, folder: PathBuf::new(), overrides: Vec::new(), home };
    Profile::read(&origin, name, text, &mut Vec::new())
}

impl Profile {
    /// The profile that `host.profile` names.
    pub(crate) fn load(name: &str) -> Result<Profile, Mistake> {
        built_in(name).cloned().map_or_else(|| Profile::read_named(name, &mut Vec::new()), Ok)
    }

    /// The same from its text; `within` are the files that are being read.
    fn read_named(name: &str, within: &mut Vec<PathBuf>) -> Result<Profile, Mistake> {
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => read_built_in(name, text),
            None => Profile::of_file(Path::new(name), within),
        }
    }

    fn of_file(path: &Path, within: &mut Vec<PathBuf>) -> Result<Profile, Mistake> {
        let file = path.display().to_string();
        let wrong = |message: String| {
            let (file, key) = (file.clone(), String::new());
            Mistake { file, line: None, key, message }
        };
        let text = text::read(path)
            .map_err(|error| wrong(format!("cannot read the host profile: {error}")))?;
        // By its real path, as a link would hide a circle.
        let itself = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if within.contains(&itself) {
            return Err(wrong("the host profile is based on itself".to_owned()));
        }
        // Profiles under way: a base that is among them leads back to itself.
        within.push(itself);
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let origin = Origin { file: file.clone(), folder, overrides: Vec::new(), home };
        Profile::read(&origin, &file, &text, within)
    }

    fn read(
        origin: &Origin,
        name: &str,
        text: &str,
        within: &mut Vec<PathBuf>,
    ) -> Result<Profile, Mistake> {
        let root = parse(text).map_err(|(line, message)| {
            origin.mistake(At::Line(line), "", format!("this is no TOML: {message}"))
        })?;
        check_names(origin, &root)?;
        let head = Section::open(origin, "profile", HEAD, None, None)?;
        let written = |key: &str| match root.get(key) {
            None => Ok(None),
            Some(node) => node.as_text().map(Some).ok_or_else(|| {
                origin.mistake(node.at, key, format!("is {node}: it must be a text in quotes"))
            }),
        };
        let about = written("about")?.unwrap_or_default().to_owned();
        let base = match root.get("based_on").zip(written("based_on")?) {
            None => None,
            Some((node, _)) => {
                let base = found(&head, "based_on", node)
                    .map_err(|mistake| Mistake { key: "based_on".to_owned(), ..mistake })?;
                Some(Profile::read_named(&base, within)?)
            }
        };
        // A base's settings first, then what this one overrides.
        let mut profile = Profile {
            name: name.to_owned(),
            about,
            based_on: base.as_ref().map(|base| base.name.clone()),
            settings: base.as_ref().map_or_else(Vec::new, |base| base.settings.clone()),
            tables: base.map_or_else(Default::default, |base| base.tables),
        };
        let lines: Vec<&str> = text.lines().collect();
        for (place, section) in SECTIONS.iter().enumerate() {
            let table = root.get(section.name).and_then(Node::as_table);
            for entry in table.iter().flat_map(|table| &table.entries) {
                check_place(origin, section, entry)?;
                profile.note(section.name, entry, &lines);
                // `follows` takes a base's value away: the key depends on another again.
                match is_follows(entry) && may_follow(section, &entry.key) {
                    true => profile.tables[place].remove(&entry.key),
                    false => profile.tables[place].insert(&entry.key, entry.value.clone()),
                }
            }
        }
        profile.check(origin).map_err(|mut mistake| {
            // A profile of a few keys takes the others from another.
            if profile.based_on.is_none() && mistake.message.starts_with("is missing") {
                mistake.message =
                    "is missing: write based_on = \"linux-6.x\" first, or give every key"
                        .to_owned();
            }
            mistake
        })?;
        // Lines of the profile's file mean nothing in a scenario's mistakes.
        for entry in profile.tables.iter_mut().flat_map(|table| &mut table.entries) {
            entry.at = At::Unwritten;
            entry.value.move_to(At::Unwritten);
        }
        Ok(profile)
    }

    /// Refuses what is wrong with its own values, which know their lines, and with all together.
    fn check(&self, origin: &Origin) -> Result<(), Mistake> {
        let open = |place: usize, packet| {
            let section = SECTIONS[place];
            let section = Section::open(origin, section.name, section.keys, None, packet)?;
            Ok(section.over(&self.tables[place]))
        };
        let (host, ..) = hosts_of(|packet| open(0, packet), |packet| open(1, packet))?;
        // Keys that apply to other choices than the profile's own are checked as well.
        for (place, table) in self.tables.iter().enumerate() {
            let section = open(place, Some(host.mtu))?;
            for Entry { key, value, .. } in &table.entries {
                let kinds = section.keys().iter().filter(|param| param.name == key);
                let read =
                    |param: &switchbed_config::param::Param| section.value(&param.kind, value, key);
                // Several forms of a key: one that takes the value is enough.
                kinds.map(read).reduce(Result::or).transpose()?;
            }
        }
        Ok(())
    }

    /// Keeps a line of its text.
    fn note(&mut self, section: &str, entry: &Entry, lines: &[&str]) {
        let source = match entry.at {
            // The comment behind a value is its source.
            At::Line(line) => lines.get(line as usize - 1).and_then(|line| line.split_once(" # ")),
            _ => None,
        };
        let source = source.map_or(String::new(), |(_, source)| source.trim().to_owned());
        let (key, value) = (format!("{section}.{}", entry.key), entry.value.clone());
        // Last wins, as in the tables.
        self.settings.retain(|setting| setting.key != key);
        self.settings.push(Setting { key, value, source, from: self.name.clone() });
    }

    /// Returns the keys that it gives of the section.
    pub(crate) fn table(&self, section: &str) -> Option<&Table> {
        let place = SECTIONS.iter().position(|other| other.name == section)?;
        Some(&self.tables[place])
    }
}

/// The hosts and their transport, and where `warm` was written. Either section is opened where
/// packets are so long.
pub(crate) fn hosts_of<'a>(
    host_section: impl Fn(Option<Bytes>) -> Result<Section<'a>, Mistake>,
    transport_section: impl Fn(Option<Bytes>) -> Result<Section<'a>, Mistake>,
) -> Result<(host::Host, transport::Transport, At), Mistake> {
    // The unit pkt means the MTU, so that comes first.
    let mtu = host_section(None)?.get(host::Host::KEY.mtu)?;
    let (ours, tcp) = (host_section(Some(mtu))?, transport_section(Some(mtu))?);
    let host = host::resolve(ours, mtu)?;
    let (transport, warm_at) = transport::resolve(tcp, &host)?;
    Ok((host, transport, warm_at))
}

/// Keys of a profile's file besides its tables.
const HEAD: &[switchbed_config::param::Param] = &[switchbed_config::param::Param::optional(
    "based_on",
    PROFILE,
    "The profile that gives what this one does not.",
)];

/// Refuses a key that no profile has.
fn check_place(origin: &Origin, section: &SectionSpec, entry: &Entry) -> Result<(), Mistake> {
    let names = || section.keys.iter().map(|param| param.name);
    let message = match entry.key.as_str() {
        key if key == host::Host::KEY.profile => {
            "has no place in a profile: write based_on".to_owned()
        }
        _ if entry.value.as_table().is_some() => {
            "has no place in a profile: it is a scenario's".to_owned()
        }
        key if names().any(|name| name == key) => return Ok(()),
        key => match similar(key, names()) {
            Some(guess) => format!("is unknown: did you mean {guess}?"),
            None => format!("is unknown: it is no key of [{}]", section.name),
        },
    };
    Err(origin.mistake(entry.at, &format!("{}.{}", section.name, entry.key), message))
}

fn is_follows(entry: &Entry) -> bool {
    entry.value.as_text() == Some("follows")
}

/// Whether a file need not give the key, which then follows others.
fn may_follow(section: &SectionSpec, key: &str) -> bool {
    section.keys.iter().any(|param| param.name == key && !param.required && param.default.is_none())
}

fn check_names(origin: &Origin, root: &Table) -> Result<(), Mistake> {
    let names = || ["about", "based_on"].into_iter().chain(SECTIONS.iter().map(|s| s.name));
    for Entry { key, at, value } in &root.entries {
        if !names().any(|name| name == key) {
            let message = match similar(key, names()) {
                Some(guess) => format!("is unknown: did you mean {guess}?"),
                None => format!("is unknown: a host profile has {}", list_of(names())),
            };
            return Err(origin.mistake(*at, key, message));
        }
        let is_table = matches!(value.data, Data::Table(_));
        if SECTIONS.iter().any(|section| section.name == key) && !is_table {
            return Err(origin.mistake(*at, key, format!("must be written as [{key}]")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every profile is read, and together with those that it is based on it gives every key but
    /// those that follow others or are a scenario's own; code gives none.
    #[test]
    fn every_profile_gives_every_key() {
        for (name, text) in BUILT_IN {
            let profile = read_built_in(name, text).unwrap_or_else(|mistake| panic!("{mistake}"));
            assert!(!profile.about.is_empty(), "{name}");
            for (place, section) in SECTIONS.iter().enumerate() {
                for key in section.keys.iter().filter(|key| key.name != host::Host::KEY.profile) {
                    assert_eq!(
                        key.default, None,
                        "{}.{} has a default in code",
                        section.name, key.name
                    );
                    let given = profile.tables[place].get(key.name).is_some();
                    assert!(given || !key.required, "{name}: {}.{}", section.name, key.name);
                }
            }
            let silent = profile.settings.iter().find(|setting| setting.source.is_empty());
            assert!(silent.is_none(), "{name}: {silent:?} has no source");
        }
    }

    #[test]
    fn what_hosts_do_is_modelled_by_keys_that_there_are() {
        let has = |name: &str| {
            SECTIONS.iter().any(|section| {
                let key = name.strip_prefix(section.name).and_then(|key| key.strip_prefix('.'));
                section.keys.iter().any(|param| Some(param.name) == key)
            })
        };
        for (what, keys, why) in BEHAVIOURS {
            assert!(keys.iter().all(|key| has(key)), "{what}: {keys:?}");
            assert!(!keys.is_empty() || !why.is_empty(), "{what}: not modelled, and no word why");
        }
    }
}
