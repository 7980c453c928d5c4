//! `[compare]` and `--set`: one file becomes one plan, or the cross product of what it
//! compares.
//!
//! Order: what the file says, then each compared value, then the overrides, so that
//! what was typed last counts. An override of a compared key takes the comparison's place.

use crate::Scenario;
use crate::cautions;
use crate::cautions::lossless::{self, Headroom};
use crate::cautions::offered::{self, OfferedLink, Repetition};
use crate::lists;
use crate::place::{places, set};
use crate::profiles::Hosts;
use crate::resolve::resolve;
use crate::scheme::{SchemeInfo, find};
use crate::sections::home;
use crate::traffic::Listed;
use crate::unread;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use switchbed_config::mistake::{Mistake, Origin};
use switchbed_config::text;
use switchbed_config::tree::{At, Data, Node, Table, parse, parse_value};

/// Most runs of one comparison.
const MAX_PLANS: usize = 100_000;

/// One run of a scenario file.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Settings that distinguish this run from the others of its comparison: key and value in the
    /// order of the file. A scheme's value is its label.
    pub settings: Vec<(String, Json)>,
    /// Scenario of this run.
    pub scenario: Scenario,
    /// Where its hosts are from.
    pub hosts: Hosts,
    /// Contents of its flow lists.
    pub listed: Listed,
    /// Remarks on what was written: overrides in the place of what the file compares, keys that are never read.
    pub remarks: Vec<String>,
}

impl Plan {
    /// Returns the remarks to print before the run.
    pub fn cautions(&self) -> Vec<String> {
        self.remarks.iter().cloned().chain(cautions::all(&self.scenario)).collect()
    }

    /// Describes the headroom of its lossless groups.
    pub fn headroom(&self) -> Headroom {
        lossless::described(&self.scenario)
    }

    /// The busiest links that its traffic offers a load to.
    pub fn offered(&self) -> Vec<OfferedLink> {
        offered::busiest(&self.scenario)
    }

    /// The busiest links of a repetition of each collective and schedule.
    ///
    /// # Errors
    /// A file that cannot be read, or that is no program.
    pub fn repetitions(&self) -> Result<Vec<Repetition>, String> {
        offered::repetitions(&self.scenario)
    }

    /// The settings in a line: `scheme=MQ-ECN load=0.5`.
    pub fn label(&self) -> String {
        let setting = |(key, value): &(String, Json)| match value {
            Json::String(text) => format!("{key}={text}"),
            value => format!("{key}={value}"),
        };
        self.settings.iter().map(setting).collect::<Vec<_>>().join(" ")
    }
}

/// Every run of the scenario file at `path`, under the overrides `key=value` (`--set`)
/// and the seed (`--seed`), which stands for `seed=…`.
///
/// # Errors
/// The first mistake found, in the file, in an override or in a file that it names.
pub fn plans(path: &Path, sets: &[String], seed: Option<u64>) -> Result<Vec<Plan>, Mistake> {
    Source::read(path, sets, seed)?.plans()
}

/// Every run of a scenario that is given as text: `file` names it in messages, the files
/// that it names are looked for in `folder`.
///
/// # Errors
/// As [`plans`].
pub fn plans_of(
    file: &str,
    text: &str,
    folder: &Path,
    sets: &[String],
    seed: Option<u64>,
) -> Result<Vec<Plan>, Mistake> {
    let overrides = overrides(sets, seed);
    Source { file: file.to_owned(), text: text.to_owned(), folder: folder.to_owned(), overrides }
        .plans()
}

/// `--set` and `--seed` as (`key=value`, what messages call it).
fn overrides(sets: &[String], seed: Option<u64>) -> Vec<(String, String)> {
    // Last of all, so that it wins over `--set seed`.
    let seed = seed.map(|seed| (format!("seed={seed}"), format!("--seed {seed}")));
    let sets = sets.iter().map(|set| (set.clone(), format!("--set {set}")));
    sets.chain(seed).collect()
}

/// Text that plans are made from.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name of the text in messages.
    pub file: String,
    /// A scenario.
    pub text: String,
    /// Where the files that it names are looked for.
    pub folder: PathBuf,
    /// `key=value`, and what messages call it.
    pub overrides: Vec<(String, String)>,
}

impl Source {
    /// The file at `path`, under the overrides `key=value` (`--set`) and the seed (`--seed`).
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(path: &Path, sets: &[String], seed: Option<u64>) -> Result<Source, Mistake> {
        let file = path.display().to_string();
        let text = text::read(path).map_err(|error| {
            let message = format!("cannot read the scenario: {error}");
            Mistake { file: file.clone(), line: None, key: String::new(), message }
        })?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Source { file, text, folder, overrides: overrides(sets, seed) })
    }

    /// Every run.
    ///
    /// # Errors
    /// As [`plans`].
    pub fn plans(&self) -> Result<Vec<Plan>, Mistake> {
        self.expand(|expansion| expansion.plans())
    }

    /// The run at this place among them.
    ///
    /// # Errors
    /// As [`plans`]; there are at most that many.
    pub fn plan(&self, index: usize) -> Result<Plan, Mistake> {
        let mut plans = self.expand(|expansion| Ok(vec![expansion.plan(index)?]))?;
        Ok(plans.swap_remove(0))
    }

    fn expand(
        &self,
        make: impl Fn(&Expansion) -> Result<Vec<Plan>, Mistake>,
    ) -> Result<Vec<Plan>, Mistake> {
        let Source { file, text, folder, overrides } = self;
        let (overrides, shown): (Vec<_>, Vec<_>) = overrides.iter().cloned().unzip();
        let origin = Origin { file: file.clone(), folder: folder.clone(), overrides: shown, home };
        let root = parse(text).map_err(|(line, message)| {
            let header = text.lines().nth(line as usize - 1).map(str::trim);
            let message = match header {
                Some("[host]" | "[[host]]") if message == "duplicate key" => {
                    "hosts are written as [host] and as [[host]]: write all as [[host]], of which one without \
                     hosts and share is for all other hosts"
                        .to_owned()
                }
                _ => format!("this is no TOML: {message}"),
            };
            origin.mistake(At::Line(line), "", message)
        })?;
        let mut plans = make(&Expansion::new(&origin, root, &overrides)?)?;
        lists::check(plans.iter_mut().map(|plan| (&plan.scenario, &mut plan.listed)))?;
        Ok(plans)
    }
}

/// A key and the values that it takes in turn.
struct Axis {
    key: String,
    at: At,
    values: Vec<Node>,
}

struct Expansion<'a> {
    origin: &'a Origin,
    root: Table,
    axes: Vec<Axis>,
    /// Key, value: what is set in every run.
    fixed: Vec<(String, Node)>,
    /// Every scheme that the file and the overrides name.
    schemes: Vec<&'static SchemeInfo>,
    /// Remarks on overrides that took the place of what is compared.
    replaced: Vec<String>,
}

impl<'a> Expansion<'a> {
    fn new(origin: &'a Origin, mut root: Table, overrides: &[String]) -> Result<Self, Mistake> {
        let mut axes = Vec::new();
        if let Some(compare) = root.get("compare") {
            flatten(origin, "compare", "", compare, &mut axes)?;
        }
        root.remove("compare");
        let (fixed, schemes, replaced) = (Vec::new(), Vec::new(), Vec::new());
        let mut expansion = Expansion { origin, root, axes, fixed, schemes, replaced };
        for (i, text) in overrides.iter().enumerate() {
            expansion.read_override(text, At::Override(i))?;
        }
        expansion.check_axes()?;
        expansion.schemes = expansion.named_schemes();
        Ok(expansion)
    }

    fn read_override(&mut self, text: &str, at: At) -> Result<(), Mistake> {
        let Some((key, value)) = text.split_once('=') else {
            return Err(self.origin.mistake(at, "", "an override is written key=value"));
        };
        let key = key.trim();
        let wrong = |message: String| self.origin.mistake(at, key, message);
        let value = parse_value(value, at).map_err(wrong)?;
        if let ("compare", Data::Table(table)) = (key, &value.data) {
            let keys = &table.entries;
            return keys.iter().try_for_each(|each| {
                self.put(&format!("compare.{}", each.key), each.value.clone(), at)
            });
        }
        self.put(key, value, at)
    }

    /// Sets a key in every run, or makes it what runs differ by (`compare.KEY`).
    fn put(&mut self, key: &str, value: Node, at: At) -> Result<(), Mistake> {
        let wrong = |message: String| self.origin.mistake(at, key, message);
        let compared = key.strip_prefix("compare.");
        // Compared by the places they stand for: `load` and `traffic.0.load` are one axis.
        let targets = places(&self.root, compared.unwrap_or(key)).map_err(wrong)?;
        let same = |axis: &Axis| places(&self.root, &axis.key).is_ok_and(|other| other == targets);
        let axis = self.axes.iter().position(same);
        if compared.is_none() && key == "scheme" && has_params(&value) {
            // The scheme's parameters are those of the file from here on, as if it had been edited:
            // comparisons and later overrides of a parameter are of it.
            self.fixed.retain(|(key, _)| !key.starts_with("scheme"));
            if let Data::Table(scheme) = &mut self.root.get_or_insert("scheme", at).data {
                scheme.remove("params");
            }
            set(&mut self.root, key, &value).map_err(wrong)?;
        }
        match (compared, axis, value) {
            (Some(name), axis, Node { data: Data::List(values), .. }) => {
                let typed = Axis { key: name.to_owned(), at, values };
                // The value typed last counts: an earlier one of the key gives way.
                let root = &self.root;
                let gives_way = |key: &str| places(root, key).is_ok_and(|other| other == targets);
                self.fixed.retain(|(key, _)| !gives_way(key));
                match axis {
                    Some(axis) => self.axes[axis] = typed,
                    None => self.axes.push(typed),
                }
            }
            (Some(name), _, value) => {
                let inner = value.as_text().map_or_else(|| value.to_string(), str::to_owned);
                return Err(wrong(format!(
                    "is {value}: it must be a list of values: write compare.{name}=[{inner}]"
                )));
            }
            (None, Some(axis), value) => {
                // A value of the comparison may be called by its name or label.
                let chosen = self.axes[axis].values.iter();
                let chosen: Vec<Node> = chosen.filter(|v| is_called(v, &value)).cloned().collect();
                // Known to the axis, it keeps its label and parameters.
                let values = if chosen.is_empty() { vec![value] } else { chosen };
                let axis = &mut self.axes[axis];
                if let (At::Override(i), 2..) = (at, axis.values.len()) {
                    let (name, n) = (&axis.key, axis.values.len());
                    self.replaced.push(format!(
                        "{}: is run in place of the {n} values of compare.{name}; \
                         --set 'compare.{name}=[…]' compares others",
                        self.origin.overrides[i]
                    ));
                }
                axis.values = values;
            }
            (None, None, value) if key == "scheme" && has_params(&value) => {}
            (None, None, value) => self.fixed.push((key.to_owned(), value)),
        }
        Ok(())
    }

    /// Refuses comparisons that name nothing, or the same thing twice.
    fn check_axes(&self) -> Result<(), Mistake> {
        let mut taken: Vec<(&str, Vec<Vec<String>>)> = Vec::new();
        for axis in &self.axes {
            let key = format!("compare.{}", axis.key);
            let wrong = |at, message: String| self.origin.mistake(at, &key, message);
            let targets = places(&self.root, &axis.key).map_err(|why| wrong(axis.at, why))?;
            let overlaps = |other: &Vec<Vec<String>>| other.iter().any(|t| targets.contains(t));
            if let Some((other, _)) = taken.iter().find(|(_, other)| overlaps(other)) {
                return Err(wrong(axis.at, format!("sets what compare.{other} sets already")));
            }
            taken.push((&axis.key, targets));
            if axis.values.is_empty() {
                return Err(wrong(axis.at, "is []: it must list at least one value".to_owned()));
            }
            let mut named = BTreeSet::new();
            for value in &axis.values {
                let setting = setting(axis, value).to_string();
                if !named.insert(setting.clone()) {
                    let message = match value.data {
                        Data::Table(_) => format!("has two called {setting}: give each a label"),
                        _ => format!("lists {value} twice"),
                    };
                    return Err(wrong(value.at, message));
                }
            }
        }
        // Counted with care: a product of many axes may pass any integer.
        let runs = self.axes.iter().try_fold(1_usize, |n, axis| n.checked_mul(axis.values.len()));
        match (runs, self.axes.first()) {
            (Some(runs), _) if runs <= MAX_PLANS => Ok(()),
            (_, axis) => {
                let message = format!("makes more than {MAX_PLANS} runs: compare less in one file");
                let at = axis.map_or(At::Unwritten, |axis| axis.at);
                Err(self.origin.mistake(at, "compare", message))
            }
        }
    }

    fn named_schemes(&self) -> Vec<&'static SchemeInfo> {
        let in_file = self.root.get("scheme").and_then(scheme_name);
        let compared = self.axes.iter().filter(|axis| is_scheme(&axis.key));
        let compared = compared.flat_map(|axis| &axis.values).filter_map(scheme_name);
        let fixed = self.fixed.iter().filter(|(key, _)| is_scheme(key));
        let fixed = fixed.filter_map(|(_, value)| scheme_name(value));
        in_file.into_iter().chain(compared).chain(fixed).filter_map(find).collect()
    }

    /// Whether a key has one inside that is compared, as `switch` has `switch.alpha`.
    fn is_around(&self, key: &str) -> bool {
        let Ok(outer) = places(&self.root, key) else { return false };
        let inner = self.axes.iter().filter_map(|axis| places(&self.root, &axis.key).ok());
        inner.flatten().any(|inner| {
            outer.iter().any(|outer| inner.len() > outer.len() && inner.starts_with(outer))
        })
    }

    /// The cross product, the first key slowest.
    fn plans(&self) -> Result<Vec<Plan>, Mistake> {
        let runs = self.axes.iter().map(|axis| axis.values.len()).product();
        (0..runs).map(|run| self.plan(run)).collect()
    }

    fn plan(&self, mut run: usize) -> Result<Plan, Mistake> {
        let mut chosen: Vec<(&Axis, &Node)> = Vec::new();
        // Mixed radix, the last axis fastest.
        for axis in self.axes.iter().rev() {
            chosen.push((axis, &axis.values[run % axis.values.len()]));
            run /= axis.values.len();
        }
        chosen.reverse();
        let wrong = |key: &str, value: &Node, why| self.origin.mistake(value.at, key, why);
        let mut root = self.root.clone();
        // A table or list that has what is compared comes first: else each run would have its value.
        let (around, last): (Vec<_>, Vec<_>) =
            self.fixed.iter().partition(|(key, _)| self.is_around(key));
        for (key, value) in around {
            set(&mut root, key, value).map_err(|why| wrong(key, value, why))?;
        }
        for (axis, value) in &chosen {
            set(&mut root, &axis.key, value).map_err(|why| wrong(&axis.key, value, why))?;
        }
        // Other overrides come last: they hold whatever is compared.
        for (key, value) in last {
            set(&mut root, key, value).map_err(|why| wrong(key, value, why))?;
        }
        let settings = chosen.iter().map(|(axis, value)| (axis.key.clone(), setting(axis, value)));
        let (scenario, hosts) = resolve(self.origin, &root, &self.schemes)?;
        let (settings, mut remarks) = (settings.collect(), self.replaced.clone());
        // The runs of a comparison share their keys: one run's unread key is another's.
        let shared =
            |axis: &Axis| axis.key.starts_with("transport") || axis.key.starts_with("roce");
        if !self.axes.iter().any(shared) {
            remarks.extend(unread::remarks(&root, &scenario));
        }
        Ok(Plan { settings, scenario, hosts, listed: Listed::default(), remarks })
    }
}

/// The lists of `[compare]`, whose keys may be written as dotted keys or in quotes.
fn flatten(
    origin: &Origin,
    path: &str,
    key: &str,
    node: &Node,
    axes: &mut Vec<Axis>,
) -> Result<(), Mistake> {
    match &node.data {
        Data::Table(table) => table.entries.iter().try_for_each(|entry| {
            let key = match key {
                "" => entry.key.clone(),
                key => format!("{key}.{}", entry.key),
            };
            flatten(origin, &format!("compare.{key}"), &key, &entry.value, axes)
        }),
        Data::List(values) if !key.is_empty() => {
            axes.push(Axis { key: key.to_owned(), at: node.at, values: values.clone() });
            Ok(())
        }
        _ => {
            let form = match key {
                "" => "a table, [compare]".to_owned(),
                key => format!("a list of values: write {key} = [{node}]"),
            };
            Err(origin.mistake(node.at, path, format!("is {node}: it must be {form}")))
        }
    }
}

fn has_params(value: &Node) -> bool {
    value
        .as_table()
        .is_some_and(|table| table.get("name").is_some() && table.get("params").is_some())
}

fn is_scheme(key: &str) -> bool {
    key == "scheme" || key == "scheme.name"
}

/// The scheme's name in `"name"` or `{ name = "…" }`.
fn scheme_name(node: &Node) -> Option<&str> {
    node.as_text().or_else(|| node.as_table()?.get("name")?.as_text())
}

/// Returns the name of a compared value in tables and plots.
fn setting(axis: &Axis, value: &Node) -> Json {
    let label = || value.as_table()?.get("label")?.as_text();
    // Schemes go by their labels; else two tables of one scheme would look the same.
    match label().or_else(|| scheme_name(value)) {
        Some(name) if is_scheme(&axis.key) => Json::from(name),
        _ => value.to_json(),
    }
}

/// Whether an override's word names this value of a comparison.
fn is_called(value: &Node, word: &Node) -> bool {
    let label = || value.as_table()?.get("label")?.as_text();
    value.as_table().is_some()
        && word
            .as_text()
            .is_some_and(|word| label() == Some(word) || scheme_name(value) == Some(word))
}
