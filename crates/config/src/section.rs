//! A section of the file, read by its table of keys: unknown keys are refused when it
//! is opened, keys that do not apply to what was chosen when it is closed.

use crate::mistake::{Mistake, Origin, list_of};
use crate::param::{Entries, Field, Param, ParamKind, Unfit, Value, Values};
use crate::read::read;
use crate::schema::example;
use crate::similar::similar;
use crate::tree::{At, Data, Entry, Node, Table, parse_value};
use std::any::Any;
use std::cell::RefCell;
use switchbed_units::Bytes;

/// The name of a key of `SECTION`, where that is in scope; another does not compile.
#[macro_export]
macro_rules! key {
    ($name:ident) => {
        const { SECTION.key(stringify!($name)) }
    };
}

/// A section that is being read.
pub struct Section<'a> {
    /// The file that it is of.
    pub origin: &'a Origin,
    /// Name in messages: `topology`, `traffic.1`, `transport.warm`.
    pub path: String,
    /// Place where the section begins.
    pub at: At,
    keys: &'static [Param],
    table: Option<&'a Table>,
    /// Table of the keys that the file leaves out; it is asked before the defaults.
    under: Option<&'a Table>,
    /// Size that the unit `pkt` stands for, if it may be used.
    packet: Option<Bytes>,
    /// Values that readers of `Named` kinds look things up in: the topology whose hosts a key names.
    contexts: [Option<&'a dyn Any>; 2],
    /// The keys that were asked for.
    asked: RefCell<Vec<&'static str>>,
}

/// Most keys that a message names which have a word in common.
const LONGER: usize = 3;
/// The most keys of a section that a message lists besides keys of others.
const FEW: usize = 10;

/// Words that mean the same: one that is no key stands for a key of its section.
const SYNONYMS: &[&[&str]] = &[
    &["file", "path"],
    &["rate", "bandwidth", "speed", "capacity"],
    &["delay", "latency", "propagation"],
    &["kind", "type"],
    &["bytes", "size"],
    &["until", "duration"],
];

impl<'a> Section<'a> {
    /// Opens the section that `node` holds, an empty one if there is none. Refuses
    /// what is no table and keys that are not among `keys`.
    pub fn open(
        origin: &'a Origin,
        path: &str,
        keys: &'static [Param],
        node: Option<&'a Node>,
        packet: Option<Bytes>,
    ) -> Result<Self, Mistake> {
        let table = match node.map(|node| (node, node.as_table())) {
            Some((node, None)) => {
                let message = format!("is {node}: it must be a table, [{path}]");
                return Err(origin.mistake(node.at, path, message));
            }
            Some((_, table)) => table,
            None => None,
        };
        let at = node.map_or(At::Unwritten, |node| node.at);
        let (path, asked) = (path.to_owned(), RefCell::default());
        let (under, contexts) = (None, [None; 2]);
        let section = Section { origin, path, at, keys, table, under, packet, contexts, asked };
        for entry in table.iter().flat_map(|table| &table.entries) {
            // Misspelt keys are found at once; those that do not apply, by `close`.
            if keys.iter().all(|param| param.name != entry.key) {
                let key = section.key(&entry.key);
                return Err(origin.mistake(entry.at, &key, section.unknown(&entry.key)));
            }
        }
        Ok(section)
    }

    /// The same where keys of kinds that a crate above has look things up in this, too.
    pub fn on(self, context: &'a dyn Any) -> Self {
        let [first, _] = self.contexts;
        // Two contexts at most: the newest first.
        Section { contexts: [Some(context), first], ..self }
    }

    /// The value of this type that readers of `Named` kinds look things up in, if there is one.
    pub fn context<T: Any>(&self) -> Option<&'a T> {
        self.contexts.iter().flatten().find_map(|context| context.downcast_ref())
    }

    /// The same where the file does not give a key: what this table has instead.
    pub fn over(self, under: &'a Table) -> Self {
        Section { under: Some(under), ..self }
    }

    /// The keys to which the file gives another value than what stands under it, but for the key that
    /// chooses what stands there.
    pub fn overrides(&self, chooser: &str) -> Result<Vec<String>, Mistake> {
        let asked = RefCell::default();
        // The same section without what was written, to compare with.
        let under = Section { table: None, path: self.path.clone(), asked, ..*self }.values()?;
        let values = self.values()?;
        let given = self.table.iter().flat_map(|table| &table.entries);
        // Written and equal to what holds anyway is no override.
        let changed = |entry: &&Entry| under.get(&entry.key) != values.get(&entry.key);
        let chooses = |entry: &&Entry| entry.key == chooser;
        let given = given.filter(|entry| changed(entry) && !chooses(entry));
        Ok(given.map(|entry| self.key(&entry.key)).collect())
    }

    /// Whether the file has it.
    pub fn is_written(&self) -> bool {
        self.table.is_some()
    }

    /// The keys that it may have.
    pub fn keys(&self) -> &'static [Param] {
        self.keys
    }

    /// The full name of one of its keys.
    pub fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    fn unknown(&self, name: &str) -> String {
        // Of the kind that is written, where one is.
        let chosen = |key: &Param| {
            let written = key.only.is_some_and(|(chooser, _)| {
                self.table.is_some_and(|table| table.get(chooser).is_some())
            });
            !written || self.applies(key)
        };
        let own = || self.keys.iter().filter(|&key| chosen(key)).map(|key| key.name);
        let any = || similar(name, self.keys.iter().map(|param| param.name));
        // A key of this section goes before one of another that is called so.
        let alike = SYNONYMS.iter().find(|words| words.contains(&name));
        let alike = || own().find(|key| alike.is_some_and(|words| words.contains(key)));
        if let Some(guess) = similar(name, own()).or_else(alike).or_else(any) {
            return format!("is unknown: did you mean {guess}?");
        }
        // `every` for `series_every` or `goodput_every`.
        let mut longer: Vec<&str> = own().filter(|key| key.split('_').any(|w| w == name)).collect();
        longer.dedup();
        if let Some(last) = longer.pop().filter(|_| longer.len() < LONGER) {
            let guess = longer.iter().map(|key| format!("{key} or ")).collect::<String>() + last;
            return format!("is unknown: did you mean {guess}?");
        }
        let mut names: Vec<&str> = Vec::new();
        for key in own() {
            if !names.contains(&key) {
                names.push(key);
            }
        }
        let few = (1..=FEW).contains(&names.len());
        let takes = match names.is_empty() {
            true => format!("{} has no keys", self.path),
            false => format!("{} takes {}", self.path, list_of(names.into_iter())),
        };
        match (self.origin.home)(name) {
            // A section's own keys may say the same by another name: `mtbf` for `every`.
            Some(home) if few => format!("is unknown: did you mean {home}? {takes}"),
            Some(home) => format!("is unknown: did you mean {home}?"),
            None => format!("is unknown: {takes}"),
        }
    }

    fn param(&self, name: &str) -> &'static Param {
        let named = || self.keys.iter().filter(|param| param.name == name);
        // Kinds may share a key's name, with defaults of their own.
        // Several kinds may have a key of this name: the one that applies, else any.
        let param = named().find(|param| self.applies(param)).or_else(|| named().next());
        let param = param.unwrap_or_else(|| unreachable!("{} is no key of {}", name, self.path));
        // Asked for, and so in use: `close` goes by that.
        self.asked.borrow_mut().push(param.name);
        param
    }

    /// Returns the node that the file gives for the key, without its default.
    pub fn given(&self, name: &str) -> Option<&'a Node> {
        let param = self.param(name);
        self.table.and_then(|table| table.get(param.name))
    }

    /// The key's value as a node: what the file gives, or the default.
    pub fn node(&self, name: &str) -> Option<Node> {
        let default = || {
            let default = self.param(name).default?;
            Some(parse_value(default, At::Unwritten).unwrap_or_else(|_| Node::text(default)))
        };
        let under = || self.under?.get(name).cloned();
        // Written first, then the profile's, then the default.
        self.given(name).cloned().or_else(under).or_else(default)
    }

    /// The key's value, or its default, or `None`.
    pub fn maybe<T: Field>(&self, name: &str) -> Result<Option<T>, Mistake> {
        let kind = &self.param(name).kind;
        self.node(name).map(|node| self.read(kind, &node, name)).transpose()
    }

    /// The key's value, or its default. Without either it is missing.
    pub fn get<T: Field>(&self, name: &str) -> Result<T, Mistake> {
        self.maybe(name)?.ok_or_else(|| self.missing(name))
    }

    /// The key's value, or another key's.
    pub fn get_or<T: Field>(&self, name: &str, other: T) -> Result<T, Mistake> {
        Ok(self.maybe(name)?.unwrap_or(other))
    }

    /// The table that one of its keys holds, if it is given, as a section of its own.
    pub fn inner(&self, name: &str) -> Result<Option<Section<'a>>, Mistake> {
        let ParamKind::Table(keys) = self.param(name).kind else { return Ok(None) };
        let open = |node| {
            let path = self.key(name);
            let section = Section::open(self.origin, &path, keys, Some(node), self.packet)?;
            Ok(Section { contexts: self.contexts, ..section })
        };
        let under = || self.under?.get(name);
        self.given(name).or_else(under).map(open).transpose()
    }

    /// The tables that one of its keys holds, as sections of their own.
    pub fn tables(&self, name: &str) -> Result<Vec<Section<'a>>, Mistake> {
        let ParamKind::Tables(keys) = self.param(name).kind else { return Ok(Vec::new()) };
        let Some(node) = self.given(name) else { return Ok(Vec::new()) };
        let Some(items) = node.as_list() else {
            let path = self.key(name);
            let message = format!("is {node}: it must be written as [[{path}]]");
            return Err(self.origin.mistake(node.at, &path, message));
        };
        let open = |(i, item)| {
            let path = match items.len() {
                1 => self.key(name),
                _ => format!("{}.{i}", self.key(name)),
            };
            Section::open(self.origin, &path, keys, Some(item), self.packet)
        };
        items.iter().enumerate().map(open).collect()
    }

    /// Reads the items of a list.
    pub fn list<T: Field>(&self, name: &str) -> Result<Option<Vec<T>>, Mistake> {
        let items = self.items(name)?;
        Ok(items.map(|items| items.into_iter().map(|item| self.typed(item, name)).collect()))
    }

    fn items(&self, name: &str) -> Result<Option<Vec<Value>>, Mistake> {
        let kinds = match &self.param(name).kind {
            ParamKind::Either(kinds) => kinds,
            kind => std::slice::from_ref(kind),
        };
        let item_kind = kinds.iter().find_map(|kind| match kind {
            ParamKind::List(item) => Some(*item),
            _ => None,
        });
        let Some(Node { at, data }) = self.node(name) else { return Ok(None) };
        let (Data::List(items), Some(item_kind)) = (&data, item_kind) else {
            return Err(self.wrong(name, &Node { at, data }, "it must be a list, [ … ]"));
        };
        let item = |(i, node)| self.value(item_kind, node, &format!("{name}.{i}"));
        items.iter().enumerate().map(item).collect::<Result<_, _>>().map(Some)
    }

    /// The values of all its keys, defaults included; those left out are not among them.
    pub fn values(&self) -> Result<Values, Mistake> {
        let entries = self.entries()?.into_iter();
        Ok(entries.map(|(name, value)| (name.to_owned(), value)).collect())
    }

    fn entries(&self) -> Result<Entries, Mistake> {
        let mut entries = Entries::new();
        // Keys of other kinds are left out, or their defaults would be read.
        for &Param { name, kind, required, .. } in self.keys.iter().filter(|key| self.applies(key))
        {
            let value = match self.node(name) {
                Some(_) if matches!(kind, ParamKind::Table(_)) => {
                    let Some(inner) = self.inner(name)? else { continue };
                    Value::Table(inner.entries()?)
                }
                Some(_) if matches!(kind, ParamKind::Tables(_)) => {
                    let tables = self.tables(name)?;
                    let table = |table: &Section<'_>| table.entries().map(Value::Table);
                    Value::List(tables.iter().map(table).collect::<Result<_, _>>()?)
                }
                Some(Node { data: Data::List(_), .. }) if takes_list(&kind) => {
                    Value::List(self.items(name)?.unwrap_or_default())
                }
                Some(node) => self.value(&kind, &node, name)?,
                None if required => return Err(self.missing(name)),
                None => continue,
            };
            entries.push((name, value));
        }
        Ok(entries)
    }

    /// Whether a key applies to what the keys before it chose.
    fn applies(&self, key: &Param) -> bool {
        key.only.is_none_or(|(chooser, words)| {
            let chosen = self.node(chooser);
            // The chooser's own default counts too.
            chosen.is_some_and(|node| node.as_text().is_some_and(|word| words.contains(&word)))
        })
    }

    /// The mistake that a value is which does not fit the others; `a.b` is of the table `a`.
    pub fn unfit(&self, unfit: Unfit) -> Mistake {
        match unfit.param.split_once('.') {
            // A value that is missing has no line: the section's.
            None if self.node(unfit.param).is_none() && !unfit.why.is_empty() => {
                let message = format!("is missing: {}", unfit.why);
                self.origin.mistake(self.at, &self.key(unfit.param), message)
            }
            None => self.refuse(unfit.param, unfit.why),
            Some((table, param)) => match self.inner(table) {
                Ok(Some(inner)) => inner.refuse(param, unfit.why),
                Ok(None) => self.refuse(table, unfit.why),
                Err(mistake) => mistake,
            },
        }
    }

    /// Reads one value of the section, called `name` in messages.
    pub fn read<T: Field>(&self, kind: &ParamKind, node: &Node, name: &str) -> Result<T, Mistake> {
        Ok(self.typed(self.value(kind, node, name)?, name))
    }

    fn typed<T: Field>(&self, value: Value, name: &str) -> T {
        T::from_value(value).unwrap_or_else(|| unreachable!("{name} is read as another type"))
    }

    /// The same as a value of its kind.
    pub fn value(&self, kind: &ParamKind, node: &Node, name: &str) -> Result<Value, Mistake> {
        let value = match kind {
            ParamKind::Named(named) => (named.read)(self, name, node)?,
            _ => None,
        };
        let read = || read(kind, node, self.packet).map_err(|why| self.wrong(name, node, &why));
        value.map_or_else(read, Ok)
    }

    /// The mistake that the key's value, given or default, is.
    pub fn refuse(&self, name: &str, why: impl AsRef<str>) -> Mistake {
        match self.node(name) {
            Some(node) => self.wrong(name, &node, why.as_ref()),
            None => self.missing(name),
        }
    }

    /// The mistake that a value of the section is.
    pub fn wrong(&self, name: &str, node: &Node, why: &str) -> Mistake {
        // A default has no line either.
        let at = if node.at == At::Unwritten { self.at } else { node.at };
        self.origin.mistake(at, &self.key(name), format!("is {node}: {why}"))
    }

    /// The mistake that a key is not given.
    pub fn missing(&self, name: &str) -> Mistake {
        self.missing_like(name, &example(&self.param(name).kind))
    }

    /// The mistake that a key is not given, which could be `example`.
    pub fn missing_like(&self, name: &str, example: &str) -> Mistake {
        let message = format!("is missing: write {name} = {example}");
        self.origin.mistake(self.at, &self.key(name), message)
    }

    /// Closes the section: a key that was given and never asked for does not apply to
    /// `what` the scenario chose.
    pub fn close(&self, what: &str) -> Result<(), Mistake> {
        let asked = self.asked.borrow().clone();
        for entry in self.table.iter().flat_map(|table| &table.entries) {
            if !asked.contains(&entry.key.as_str()) {
                let applies = self.keys.iter();
                // Of those that were asked for: they are what this kind reads.
                let applies = applies.filter(|key| asked.contains(&key.name) && self.applies(key));
                let applies: Vec<&str> = applies.map(|param| param.name).collect();
                let message = match applies.len() {
                    0..=13 => {
                        let applies = list_of(applies.into_iter());
                        format!("does not apply to {what}, which takes {applies}")
                    }
                    _ => format!("does not apply to {what}"),
                };
                return Err(self.origin.mistake(entry.at, &self.key(&entry.key), message));
            }
        }
        Ok(())
    }
}

fn takes_list(kind: &ParamKind) -> bool {
    match kind {
        ParamKind::List(_) => true,
        ParamKind::Either(kinds) => kinds.iter().any(takes_list),
        _ => false,
    }
}
