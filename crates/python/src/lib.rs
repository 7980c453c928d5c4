//! The module `switchbed._native`: what Python sees of the crate `scenario`. Values that
//! are read by people or scripts cross as JSON text, tables as Arrow columns.

#[cfg(target_os = "linux")]
mod live;
mod table;

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use switchbed_scenario as scenario;
use table::Table;

create_exception!(_native, Mistake, PyValueError, "Bad input: one line that says where and what.");

/// The scenarios of a file: one, or with `[compare]` each of the cross product, in order.
#[pyfunction]
#[pyo3(signature = (file, sets = Vec::new(), seed = None))]
fn plans(file: PathBuf, sets: Vec<String>, seed: Option<u64>) -> PyResult<Vec<Plan>> {
    let plans = scenario::plans(&file, &sets, seed).map_err(|m| Mistake::new_err(m.to_string()))?;
    let file = file.display().to_string();
    Ok(plans.into_iter().map(|plan| Plan { file: file.clone(), plan }).collect())
}

/// The same of a scenario given as text. Messages call it `name`, with line numbers if the
/// user wrote the text, and an override (`key=value`) what its second part says.
#[pyfunction]
fn plans_of(
    name: String,
    text: &str,
    folder: PathBuf,
    overrides: Vec<(String, String)>,
    lines: bool,
) -> PyResult<Vec<Plan>> {
    let plans = scenario::plans_with(&name, text, &folder, overrides).map_err(|mut mistake| {
        if !lines && mistake.file == name {
            mistake.line = None;
        }
        Mistake::new_err(mistake.to_string())
    })?;
    Ok(plans.into_iter().map(|plan| Plan { file: name.clone(), plan }).collect())
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

/// Every scheme as JSON: name, paper, seats, parameters.
#[pyfunction]
fn schemes() -> String {
    json(&scenario::schemes())
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

/// A size such as `300KB`, in bytes; `65pkt` where a packet's size is given.
#[pyfunction]
#[pyo3(signature = (text, packet_bytes = None))]
fn size_bytes(text: &str, packet_bytes: Option<u64>) -> PyResult<u64> {
    let packet = packet_bytes.map(scenario::Bytes::new);
    scenario::quantity::size(text, packet).map(|size| size.get()).map_err(Mistake::new_err)
}

/// One simulation, resolved and ready to run.
#[pyclass(frozen, module = "switchbed._native")]
struct Plan {
    file: String,
    plan: scenario::Plan,
}

#[pymethods]
impl Plan {
    /// The coordinates in `[compare]` as a JSON list of [key, value].
    #[getter]
    fn settings(&self) -> String {
        json(&self.plan.settings)
    }
    /// The scenario as resolved, as JSON.
    #[getter]
    fn scenario(&self) -> String {
        json(&self.plan.scenario)
    }
    /// Runs it without holding the interpreter; returns early once `progress` is cancelled.
    fn run(&self, py: Python<'_>, progress: &Progress) -> PyResult<Results> {
        let results = py
            .detach(|| scenario::run(&self.plan.scenario, &progress.0))
            .map_err(|error| Mistake::new_err(format!("{}: {error}", self.file)))?;
        let table = |table| Py::new(py, Table::new(table)?);
        Ok(Results {
            summary: json(&results.summary),
            flows: table(results.flows)?,
            queues: table(results.queues)?,
            ports: table(results.ports)?,
            series: table(results.series)?,
            goodput: table(results.goodput)?,
            probes: table(results.probes)?,
            monitors: results
                .monitors
                .into_iter()
                .map(|(name, values)| Ok((name, table(values)?)))
                .collect::<PyResult<_>>()?,
            captures: results.captures.into_iter().map(|c| (c.name, c.pcapng, c.missed)).collect(),
            complete: results.complete,
        })
    }
}

/// How far a run is; may be read and cancelled from any thread.
#[pyclass(frozen, module = "switchbed._native")]
struct Progress(scenario::Progress);

#[pymethods]
impl Progress {
    #[new]
    fn new() -> Self {
        Progress(scenario::Progress::new())
    }
    /// Ends the run within milliseconds; its results are then incomplete.
    fn cancel(&self) {
        self.0.cancel();
    }
    #[getter]
    fn flows_done(&self) -> u64 {
        self.0.flows_done.load(Relaxed)
    }
    #[getter]
    fn flows_total(&self) -> u64 {
        self.0.flows_total.load(Relaxed)
    }
    /// Simulated time in picoseconds.
    #[getter]
    fn now_ps(&self) -> u64 {
        self.0.now_ps.load(Relaxed)
    }
    /// When the run ends in any case, in picoseconds; 0: it ends with its flows.
    #[getter]
    fn until_ps(&self) -> u64 {
        self.0.until_ps.load(Relaxed)
    }
    #[getter]
    fn events(&self) -> u64 {
        self.0.events.load(Relaxed)
    }
    #[getter]
    fn packet_hops(&self) -> u64 {
        self.0.packet_hops.load(Relaxed)
    }
}

/// What a run measured.
#[pyclass(frozen, get_all, module = "switchbed._native")]
struct Results {
    /// JSON.
    summary: String,
    flows: Py<Table>,
    queues: Py<Table>,
    ports: Py<Table>,
    series: Py<Table>,
    goodput: Py<Table>,
    probes: Py<Table>,
    /// The tables of the monitors that were asked for, by name.
    monitors: BTreeMap<&'static str, Py<Table>>,
    /// Packet traces: name, pcapng file, packets that the limit kept out.
    captures: Vec<(String, Vec<u8>, u64)>,
    /// Whether it ran to its end.
    complete: bool,
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("resolved values have string keys")
}

#[pymodule]
mod _native {
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::live::{
        LivePlan, LiveSwitch, drop_capabilities, live_plan, live_plan_of, live_reference,
    };
    #[pymodule_export]
    use super::{
        Mistake, Plan, Progress, Results, Table, plans, plans_of, rate_bps, reference, schema,
        schemes, size_bytes, time_ps,
    };
    use pyo3::panic::PanicException;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("__build__", switchbed_scenario::BUILD)?;
        module.add("SCHEMA_VERSION", switchbed_scenario::SCHEMA_VERSION)?;
        module.add("Panic", module.py().get_type::<PanicException>())
    }
}
