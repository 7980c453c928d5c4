//! `[scheme]`, from the file; with `name = "python"` the classes, their file, the base scheme, and whatever else is
//! given for the classes.

use crate::SchemeChoice;
use crate::file::found;
use crate::scheme::named::{self, of_name};
use crate::scheme::python::{MEMORY, PYTHON, Python, PythonParams, is_open};
use crate::scheme::{SECTION, SchemeInfo, Value, Values, find, schemes};
use switchbed_config::key;
use switchbed_config::mistake::{Mistake, Origin, list_of};
use switchbed_config::param::{ParamKind, Params, Unfit};
use switchbed_config::section::Section;
use switchbed_config::similar::similar;
use switchbed_config::tree::{At, Data, Entry, Node, Table};
use switchbed_qdisc::memory::chip::Asic;
use switchbed_qdisc::switch::Switch;
use switchbed_units::{Bytes, quantity};

/// `ports` are those of every kind of switch.
pub(crate) fn resolve(
    section: Section<'_>,
    switch: &Switch,
    ports: &[u32],
    packet: Option<Bytes>,
    compared: &[&'static SchemeInfo],
) -> Result<SchemeChoice, Mistake> {
    let has_queues = section.keys().iter().any(|param| param.name == key!(queues));
    let inner = if has_queues { section.tables(key!(queues))? } else { Vec::new() };
    let choice = alone(&section, switch, ports, packet, compared)?;
    if inner.is_empty() {
        return Ok(choice);
    }
    if inner.len() != usize::from(switch.queues) {
        let (listed, queues) = (inner.len(), switch.queues);
        let message = format!("lists {listed} for {queues} queues: write one for each");
        return Err(section.origin.mistake(section.at, &section.key(key!(queues)), message));
    }
    let each = inner.iter().map(|queue| alone(queue, switch, ports, packet, compared));
    SchemeChoice::by_queue(&choice, each.collect::<Result<_, _>>()?).map_err(|(queue, why)| {
        let key = format!("{}.{queue}.name", section.key(key!(queues)));
        section.origin.mistake(inner[queue].at, &key, why)
    })
}

/// One scheme.
fn alone(
    section: &Section<'_>,
    switch: &Switch,
    ports: &[u32],
    packet: Option<Bytes>,
    compared: &[&'static SchemeInfo],
) -> Result<SchemeChoice, Mistake> {
    let name: Option<String> = section.maybe(key!(name))?;
    let name = name.ok_or_else(|| section.missing_like(key!(name), "\"mq-ecn\""))?;
    let class = of_name(&name);
    let scheme = class.as_ref().map(|_| &PYTHON).or_else(|| find(&name));
    let scheme = scheme.ok_or_else(|| section.refuse(key!(name), unknown(&name)))?;
    if scheme.needs_pool && switch.pool.is_none() {
        return Err(
            section.refuse(key!(name), "it reads the switch's shared memory: write switch.pool")
        );
    }
    // Classifier, buffer and scheduler of its own: PFC counts in those of the switch.
    if switch.pfc.is_some() && [0, 1, 3].into_iter().any(|seat| scheme.seats[seat] != "any") {
        let why = "it has queues, memory or a scheduler of its own, and switch.pfc pauses classes in the \
                   switch's: choose a scheme that marks, or leave switch.pfc away";
        return Err(section.refuse(key!(name), why));
    }
    // Thresholds over what a queue can ever hold would never mark.
    let limit = switch.pool.filter(|_| scheme.needs_pool).unwrap_or_else(|| held(switch));
    let label = section.maybe(key!(label))?;
    let given = section.given(key!(params));
    // The override or comparison that chose a scheme is at fault for the parameters that it lacks.
    let name_at = section.given(key!(name)).map(|node| node.at);
    let chosen = name_at.filter(|at| compared.len() > 1 || matches!(at, At::Override(_)));
    let at = chosen.unwrap_or(given.map_or(section.at, |node| node.at));
    section.close("a scheme")?;
    let node = given.map(|node| without_others(node, scheme, compared));
    let given =
        Given { origin: section.origin, path: section.key(key!(params)), at, packet, limit };
    if let Some(class) = class {
        let node = with_class(&given, node, class)?;
        return of_classes(&given, Some(&node), switch, label.or(Some(name)));
    }
    if is_open(scheme) {
        return of_classes(&given, node.as_ref(), switch, label);
    }
    // A value that schemes of a comparison share, written apart from them, may fit others of them.
    let of_one = |mut mistake: Mistake| {
        let apart = mistake.line.is_some_and(|line| name_at != Some(At::Line(line)));
        if compared.len() > 1 && apart && !mistake.message.contains(name.as_str()) {
            mistake.message.push_str(&format!(" (scheme {name})"));
        }
        mistake
    };
    let (values, params) = given.read(scheme, node.as_ref()).map_err(of_one)?;
    let unfit = |unfit: Unfit| match unfit.param {
        "" => section.refuse(key!(name), unfit.why),
        _ => params.unfit(unfit),
    };
    let choice = scheme.choose(values, limit).map_err(unfit)?;
    choice.stands_on(switch.discipline).map_err(unfit)?;
    // A switch with other ports may have less memory a port.
    let mut misfits = ports.iter().filter_map(|&ports| choice.misfit(switch, ports, packet?));
    if let Some(why) = misfits.next() {
        return Err(section.refuse(key!(name), why));
    }
    Ok(SchemeChoice { label: label.unwrap_or(name), ..choice.into() })
}

/// The most that a queue can hold. On a chip a lossless one holds what the inputs do before all of them
/// are paused, and after.
fn held(switch: &Switch) -> Bytes {
    let (Some(pfc), Some(Asic(chip))) = (&switch.pfc, switch.sharing.asic) else {
        return switch.buffer;
    };
    let cell = u64::from(chip.cell);
    let shared = switch.pool.map_or(chip.ingress_cells() * cell, Bytes::get);
    let headroom = pfc.headroom_pool.map_or(chip.ingress.xoff.unwrap_or(0), Bytes::get);
    switch.buffer.max(Bytes::new(shared + headroom))
}

/// A scheme's table, or the one that a name alone stands for.
pub(crate) fn named(node: &Node) -> Node {
    let Data::Text(_) = node.data else { return node.clone() };
    let name = Entry { key: "name".to_owned(), at: node.at, value: node.clone() };
    Node { at: node.at, data: Data::Table(Table { entries: vec![name] }) }
}

/// `[scheme.params]` as the file has them.
struct Given<'a> {
    origin: &'a Origin,
    path: String,
    at: At,
    packet: Option<Bytes>,
    /// The most that a threshold is compared with.
    limit: Bytes,
}

impl<'a> Given<'a> {
    /// A scheme's parameters out of a table, and their section for further refusals.
    fn read<'n>(
        &self,
        scheme: &'static SchemeInfo,
        node: Option<&'n Node>,
    ) -> Result<(Values, Section<'n>), Mistake>
    where
        'a: 'n,
    {
        for entry in node.and_then(Node::as_table).iter().flat_map(|table| &table.entries) {
            if !knows(scheme, &entry.key) {
                let message = no_parameter(&entry.key, scheme);
                return Err(self.mistake(entry, message));
            }
        }
        let mut params = Section::open(self.origin, &self.path, scheme.params, node, self.packet)?;
        params.at = self.at;
        let values = params.values()?;
        for param in scheme.params.iter().filter(|param| param.kind == ParamKind::Threshold) {
            if let Some(&Value::Bytes(bytes)) = values.get(param.name)
                && bytes > self.limit
            {
                let why = format!("it is over the buffer, {}, and so never reached", self.limit);
                return Err(params.refuse(param.name, why));
            }
        }
        Ok((values, params))
    }

    /// The mistake that an entry of the table is.
    fn mistake(&self, entry: &Entry, message: String) -> Mistake {
        self.origin.mistake(entry.at, &format!("{}.{}", self.path, entry.key), message)
    }
}

/// Message about a name that no scheme has.
fn unknown(name: &str) -> String {
    let own = named::named();
    let names = schemes().map(|scheme| scheme.name).chain(own.iter().map(String::as_str));
    if let Some(what) = named::absent(name) {
        return format!(
            "{what} is not among the schemes here yet, which are {}; your own is \"python\" \
             (docs/prototyping.md)",
            list_of(names)
        );
    }
    match named::ours(name).or_else(|| similar(name, names.clone())) {
        Some(guess) => format!("there is no such scheme; did you mean \"{guess}\"?"),
        None => format!(
            "there is no such scheme; there are {}; one of your own is among them once its package is installed \
             (docs/plug-in.md)",
            list_of(names)
        ),
    }
}

fn knows(scheme: &SchemeInfo, key: &str) -> bool {
    is_open(scheme) || scheme.params.iter().any(|param| param.name == key)
}

/// Message about a parameter that the scheme does not have.
fn no_parameter(key: &str, scheme: &SchemeInfo) -> String {
    let names = || scheme.params.iter().map(|param| param.name);
    let name = scheme.name;
    match similar(key, names()) {
        Some(guess) => format!("is no parameter of {name}: did you mean {guess}?"),
        None if scheme.params.is_empty() => format!("is no parameter of {name}, which has none"),
        None => format!("is no parameter of {name}, which takes {}", list_of(names())),
    }
}

/// `[scheme.params]` are shared by the schemes of a comparison: those that this scheme
/// does not know but another one does are not meant for it.
fn without_others(node: &Node, scheme: &SchemeInfo, compared: &[&SchemeInfo]) -> Node {
    let mut node = node.clone();
    if let Data::Table(table) = &mut node.data {
        table.entries.retain(|entry| {
            // Another scheme of the comparison has the parameter: none of them is mistaken.
            knows(scheme, &entry.key) || !compared.iter().any(|other| knows(other, &entry.key))
        });
    }
    node
}

/// Classes of the user's own, with the scheme beside them.
fn of_classes(
    given: &Given<'_>,
    node: Option<&Node>,
    switch: &Switch,
    label: Option<String>,
) -> Result<SchemeChoice, Mistake> {
    let scheme = &PYTHON;
    let named = |key: &str| scheme.params.iter().any(|param| param.name == key);
    // Parameters go three ways: the class's place, its base, and the class itself.
    let (ours, rest) = split(node, named);
    let (mut values, section) = given.read(scheme, ours.as_ref())?;
    let PythonParams { mut file, class: classes, base } = PythonParams::from_values(&mut values);
    if let Some(node) = section.given(PythonParams::KEY.file)
        // A class from memory has no file.
        && !file.starts_with(MEMORY)
    {
        file = found(&section, PythonParams::KEY.file, node)?.display().to_string();
    }
    let names = classes.names().join(" + ");
    if names.is_empty() {
        return Err(section.refuse(PythonParams::KEY.class, "at least one class is needed"));
    }
    let label = label.unwrap_or(names);

    let refuse = |why: &str| section.refuse(PythonParams::KEY.base, why);
    let base = find(&base).ok_or_else(|| refuse(&unknown(&base)))?;
    if is_open(base) || base.fills_the_seats() || base.notifies() {
        return Err(refuse("a base is a scheme that marks, and leaves the other seats free"));
    }
    if base.needs_pool && switch.pool.is_none() {
        return Err(refuse("it reads the switch's shared memory: write switch.pool"));
    }
    let (theirs, own) = split(rest.as_ref(), |key| knows(base, key));
    let limit = switch.pool.filter(|_| base.needs_pool).unwrap_or(switch.buffer);
    let (values, marks) =
        Given { limit, path: given.path.clone(), ..*given }.read(base, theirs.as_ref())?;
    let scheme =
        base.choose(values, limit).map_err(|unfit| marks.refuse(unfit.param, unfit.why))?;
    scheme.stands_on(switch.discipline).map_err(|unfit| refuse(&unfit.why))?;
    let python = Python { file, classes, own: own_values(given, own.as_ref())? };
    Ok(SchemeChoice { label, python: Some(python), ..scheme.into() })
}

/// The parameters with the file and the class that the scheme's name stands for.
fn with_class(
    given: &Given<'_>,
    node: Option<Node>,
    (file, class): (String, String),
) -> Result<Node, Mistake> {
    let empty = Node { at: given.at, data: Data::Table(Table { entries: Vec::new() }) };
    let mut node = node.unwrap_or(empty);
    let at = node.at;
    let Data::Table(table) = &mut node.data else { return Ok(node) };
    for (key, text) in [(PythonParams::KEY.file, file), (PythonParams::KEY.class, class)] {
        if let Some(entry) = table.entries.iter().find(|entry| entry.key == key) {
            let message = "is what the scheme's name says already: leave it out";
            return Err(given.mistake(entry, message.to_owned()));
        }
        let value = Node { at, data: Data::Text(text) };
        table.entries.push(Entry { key: key.to_owned(), at, value });
    }
    Ok(node)
}

/// A table's entries with such keys, and the others.
fn split(node: Option<&Node>, of: impl Fn(&str) -> bool) -> (Option<Node>, Option<Node>) {
    let part = |wanted: bool| {
        let node = node?;
        let Data::Table(table) = &node.data else { return wanted.then(|| node.clone()) };
        let entries = table.entries.iter().filter(|entry| of(&entry.key) == wanted);
        let table = Table { entries: entries.cloned().collect() };
        Some(Node { at: node.at, data: Data::Table(table) })
    };
    (part(true), part(false))
}

/// The classes' parameters. Nothing says what they take, so a text that is a quantity is one.
fn own_values(given: &Given<'_>, node: Option<&Node>) -> Result<Values, Mistake> {
    let entries = node.and_then(Node::as_table).map_or(&[][..], |table| &table.entries);
    let read = |entry: &Entry| {
        let value = value(given, &entry.value).map_err(|why| {
            let message = format!("is {}: {why}", entry.value);
            given.mistake(entry, message)
        })?;
        Ok((entry.key.clone(), value))
    };
    entries.iter().map(read).collect()
}

fn value(given: &Given<'_>, node: &Node) -> Result<Value, String> {
    Ok(match &node.data {
        Data::Flag(flag) => Value::Flag(*flag),
        Data::Whole(n) => match u64::try_from(*n) {
            Ok(n) => Value::Count(n),
            // No count is below 0.
            Err(_) => Value::Number(*n as f64),
        },
        Data::Number(x) => Value::Number(*x),
        Data::Text(text) => {
            let size = quantity::size(text, given.packet).map(Value::Bytes);
            let time = quantity::time(text).map(Value::Span);
            let rate = quantity::rate(text).map(Value::Rate);
            // A number with a unit that nearly is one is no word: `20kb`.
            let begins = text.trim_start().starts_with(|c: char| c.is_ascii_digit());
            let wrong = [&size, &time, &rate].into_iter().filter_map(|read| read.as_ref().err());
            let meant = wrong.map(ToString::to_string).find(|why| why.contains("did you mean"));
            // Sizes first: `10B` and `10Bps` do not read as each other.
            match (size.or(time).or(rate), meant.filter(|_| begins)) {
                (Ok(value), _) => value,
                (Err(_), Some(why)) => return Err(why),
                (Err(_), None) => Value::Word(text.clone()),
            }
        }
        Data::List(items) => {
            Value::List(items.iter().map(|item| value(given, item)).collect::<Result<_, _>>()?)
        }
        _ => return Err("a class takes texts, numbers, true or false, and lists of these".into()),
    })
}
