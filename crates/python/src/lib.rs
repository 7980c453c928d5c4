//! The module `switchbed._native`: what Python sees of the crate `scenario`. Values that
//! are read by people or scripts cross as JSON text, tables as Arrow columns.

#![deny(unsafe_code)]
#![deny(unreachable_pub)]

mod conformance;
mod detached;
mod drill;
#[cfg(all(target_os = "linux", feature = "live"))]
mod live;
mod own;
#[cfg(target_os = "linux")]
mod pages;
mod run;
mod table;

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use run::{Plan, Progress, Results};
use std::path::PathBuf;
use switchbed_scenario as scenario;
use table::Table;

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: pages::Pages = pages::Pages;

create_exception!(
    _native,
    Mistake,
    PyValueError,
    "Bad input. Its text is one line: what is wrong, where, and what would be right."
);

/// List the runs of a scenario file: one, or with `[compare]` each combination, in order.
///
/// Args:
///     file: Path of the scenario file.
///     sets: Overrides `key=value`, as `--set` takes them.
///     seed: Seed in place of the file's.
///
/// Raises:
///     Mistake: The file cannot be read, or the scenario has a mistake.
///
/// Example:
///     >>> [plan.settings for plan in switchbed.plans("load.toml", ["load=0.5"])]
#[pyfunction]
#[pyo3(signature = (file, sets = Vec::new(), seed = None))]
fn plans(
    py: Python<'_>,
    file: PathBuf,
    sets: Vec<String>,
    seed: Option<u64>,
) -> PyResult<Vec<Plan>> {
    let source = scenario::Source::read(&file, &sets, seed);
    Plan::all(py, source.map_err(|m| Mistake::new_err(m.to_string()))?, true)
}

/// List the runs of a scenario given as text. Messages call it `name`, with line numbers if the
/// user wrote the text. An override is `key=value` with its name in messages.
#[pyfunction]
fn plans_of(
    py: Python<'_>,
    name: String,
    text: String,
    folder: PathBuf,
    overrides: Vec<(String, String)>,
    lines: bool,
) -> PyResult<Vec<Plan>> {
    Plan::all(py, scenario::Source { file: name, text, folder, overrides }, lines)
}

/// The JSON Schema of scenario files.
#[pyfunction]
fn schema() -> String {
    json(&scenario::schema())
}

/// Every key of scenario files and every scheme's parameters, as Markdown.
#[pyfunction]
fn reference() -> String {
    scenario::reference()
}

/// The keys of a section, of what applies where one of its keys has a word, or of a scheme, as Markdown.
#[pyfunction]
fn reference_of(of: &str) -> PyResult<String> {
    scenario::reference_of(of).map_err(Mistake::new_err)
}

/// Every scheme as JSON: name, paper, seats, parameters.
#[pyfunction]
fn schemes() -> String {
    json(&scenario::schemes())
}

/// Adds a name for a class in a Python file, which scenario files may then name as a scheme.
#[pyfunction]
fn name_class(name: &str, file: &str, class: &str) -> PyResult<()> {
    scenario::scheme::named::name_class(name, file, class).map_err(Mistake::new_err)
}

/// Every policy of a switch's memory as JSON.
#[pyfunction]
fn policies() -> String {
    json(&scenario::policies())
}

/// Every built-in flow-size table as JSON.
#[pyfunction]
fn sizes() -> String {
    json(&scenario::size_tables())
}

/// The switch chips as JSON.
#[pyfunction]
fn chips() -> String {
    json(&scenario::chips())
}

/// The bytes that still come in on a link after a pause, by term, and the cells that they may fill, as JSON:
/// of a rate in bits per second, a cable's delay one way, a pipeline's and, if it is not the standard's, the
/// peer's response in picoseconds, and the longest packet, the shortest and a cell in bytes.
#[pyfunction]
#[pyo3(signature = (rate_bps, delay_ps, pipeline_ps, response_ps, packets, cell))]
fn headroom(
    rate_bps: u64,
    delay_ps: u64,
    pipeline_ps: u64,
    response_ps: Option<u64>,
    packets: (u64, u64),
    cell: u32,
) -> String {
    let (mtu, shortest) = packets;
    let asked =
        scenario::Asked { rate_bps, delay_ps, pipeline_ps, response_ps, mtu, shortest, cell };
    json(&scenario::headroom(&asked))
}

/// The host profiles as JSON.
#[pyfunction]
fn profiles() -> String {
    json(&scenario::profiles())
}

/// A host profile as JSON: settings with their sources, behaviours. `name` may be a file's path.
#[pyfunction]
fn profile(name: &str) -> PyResult<String> {
    scenario::profile(name).map(|found| json(&found)).map_err(|m| Mistake::new_err(m.to_string()))
}

/// A scenario's text with the host profile named that it had before there were profiles; `None`
/// where it names one. Messages call it `name`.
#[pyfunction]
fn migrated(name: &str, text: &str) -> PyResult<Option<String>> {
    scenario::migrated(name, text).map_err(|m| Mistake::new_err(m.to_string()))
}

/// The names of monitors' tables.
#[pyfunction]
fn monitored_tables() -> Vec<&'static str> {
    switchbed_sim::monitored_tables().collect()
}

/// Refuses a text that is not the summary of a run.
#[pyfunction]
fn check_summary(text: &str) -> PyResult<()> {
    switchbed_sim::Summary::read(text).map(drop).map_err(Mistake::new_err)
}

/// A length of time such as `85.2us`, in picoseconds.
#[pyfunction]
fn time_ps(text: &str) -> PyResult<u64> {
    scenario::quantity::time(text).map(|time| time.as_ps()).map_err(Mistake::new_err)
}

/// A rate such as `10Gbps`, in bits per second.
#[pyfunction]
fn rate_bps(text: &str) -> PyResult<u64> {
    scenario::quantity::rate(text).map(|rate| rate.as_bps()).map_err(Mistake::new_err)
}

/// The rates that links have in a topology's file, or hosts' alone, in bits a second, each once, rising.
#[pyfunction]
fn link_rates(path: PathBuf, form: &str, hosts: bool) -> PyResult<Vec<u64>> {
    let file = scenario::FromFile::read(&path, form);
    let file = file.map_err(|mistake| Mistake::new_err(mistake.to_string()))?;
    Ok(file.rates(hosts).into_iter().map(|rate| rate.as_bps()).collect())
}

/// The nodes and links in a topology's file as JSON; with a packet's bytes, what they come to, too.
#[pyfunction]
#[pyo3(signature = (path, form, packet_bytes = None))]
fn topology(path: PathBuf, form: &str, packet_bytes: Option<u64>) -> PyResult<String> {
    let map = scenario::FromFile::map(&path, form);
    let map = map.map_err(|mistake| Mistake::new_err(mistake.to_string()))?;
    Ok(match packet_bytes {
        Some(bytes) => json(&map.measured(scenario::Bytes::new(bytes))),
        None => json(&map),
    })
}

/// A size such as `300KB`, in bytes; `65pkt` where a packet's size is given.
#[pyfunction]
#[pyo3(signature = (text, packet_bytes = None))]
fn size_bytes(text: &str, packet_bytes: Option<u64>) -> PyResult<u64> {
    let packet = packet_bytes.map(scenario::Bytes::new);
    scenario::quantity::size(text, packet).map(|size| size.get()).map_err(Mistake::new_err)
}

fn json(value: &impl serde::Serialize) -> String {
    // JSON has texts for keys: a map by anything compound would fail.
    serde_json::to_string(value).expect("resolved values have string keys")
}

/// Adds the schemes that this module was built with (`switchbed build`), and names the build: results of
/// another source of theirs are not the same.
#[cfg(feature = "plugged")]
fn build() -> PyResult<String> {
    plugged::SCHEMES.iter().try_for_each(scenario::scheme::register).map_err(Mistake::new_err)?;
    Ok(format!("{}-{}", switchbed_sim::BUILD, env!("SWITCHBED_PLUGGED")))
}

/// Names the build.
#[cfg(not(feature = "plugged"))]
fn build() -> PyResult<String> {
    Ok(switchbed_sim::BUILD.to_owned())
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::conformance::conformance;
    #[pymodule_export]
    use super::drill::Drill;
    #[cfg(all(target_os = "linux", feature = "live"))]
    #[pymodule_export]
    use super::live::{
        LivePlan, LiveSwitch, confine, confine_remover, leave_none_to_heirs, live_plan,
        live_plan_of, live_reference, unprivileged_user,
    };
    #[pymodule_export]
    use super::own::{
        Admission, Departure, DropReason, Ecn, Ends, Feedback, Intent, Note, Packet, Port, Random,
        Selection, ServiceEnd, Slot, View,
    };
    #[pymodule_export]
    use super::{
        Mistake, Plan, Progress, Results, Table, check_summary, chips, headroom, link_rates,
        migrated, monitored_tables, name_class, plans, plans_of, policies, profile, profiles,
        rate_bps, reference, reference_of, schema, schemes, size_bytes, sizes, time_ps, topology,
    };
    use pyo3::panic::PanicException;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("__build__", super::build()?)?;
        module.add("SCHEMA_VERSION", switchbed_sim::SCHEMA_VERSION)?;
        module.add("Panic", module.py().get_type::<PanicException>())?;
        // In every process that reads a plan, workers too: names of installed classes.
        let plugged = module.py().import("switchbed.plugged")?;
        plugged.call_method1(
            "name_into",
            (module.getattr("name_class")?, module.getattr("Mistake")?),
        )?;
        Ok(())
    }
}
