//! Plans, runs and what they leave. Plans and results can be pickled: they cross between
//! processes.

use crate::own::{self, Own};
use crate::table::Table;
use crate::{Mistake, json};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use switchbed_scenario as scenario;

/// One simulation, resolved and ready to run.
#[pyclass(frozen, module = "switchbed._native")]
pub struct Plan {
    source: Arc<scenario::Source>,
    /// The user wrote the source's text, and knows its lines.
    lines: bool,
    index: usize,
    plan: scenario::Plan,
}

/// Name, text, folder, overrides, whether messages have lines, place among the runs.
type Recipe = (String, String, OsString, Vec<(String, String)>, bool, usize);

impl Plan {
    /// Every run of a source.
    pub fn all(source: scenario::Source, lines: bool) -> PyResult<Vec<Self>> {
        let plans = source.plans().map_err(|mistake| told(mistake, &source, lines))?;
        let source = Arc::new(source);
        let plan = |(index, plan)| Plan { source: source.clone(), lines, index, plan };
        Ok(plans.into_iter().enumerate().map(plan).collect())
    }
}

/// A mistake as its user can find it.
fn told(mut mistake: scenario::Mistake, source: &scenario::Source, lines: bool) -> PyErr {
    if !lines && mistake.file == source.file {
        mistake.line = None;
    }
    Mistake::new_err(mistake.to_string())
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
    /// Whether it needs `make`: a port has a scheme in Python.
    #[getter]
    fn python(&self) -> bool {
        own::is_in(&self.plan.scenario)
    }
    /// Runs it without holding the interpreter; returns early once `progress` is cancelled.
    ///
    /// With a scheme in Python the interpreter is held: `make(file, classes, base, params,
    /// port)` gives each port's seats and their methods, `look()` is called every few
    /// milliseconds. What they or a class raise is raised here.
    #[pyo3(signature = (progress, make = None, look = None))]
    fn run(
        &self,
        py: Python<'_>,
        progress: &Progress,
        make: Option<Py<PyAny>>,
        look: Option<Py<PyAny>>,
    ) -> PyResult<Results> {
        let scenario = &self.plan.scenario;
        let results = if !self.python() {
            py.detach(|| scenario::run(scenario, &progress.0))
        } else if let Some(make) = make {
            let own = Own::new(py, make, look, &progress.0)?;
            let results = scenario::run_with(scenario, &progress.0, &own);
            match own.failure() {
                Some(error) => return Err(error),
                None => results,
            }
        } else {
            return Err(Mistake::new_err("a scheme in Python runs with switchbed.prototype"));
        };
        let results =
            results.map_err(|error| Mistake::new_err(format!("{}: {error}", self.source.file)))?;
        let table = |table| Py::new(py, Table::new(table)?);
        let monitor = |(name, values): (&str, _)| Ok((name.to_owned(), table(values)?));
        Ok(Results {
            summary: json(&results.summary),
            flows: table(results.flows)?,
            queues: table(results.queues)?,
            ports: table(results.ports)?,
            series: table(results.series)?,
            goodput: table(results.goodput)?,
            probes: table(results.probes)?,
            monitors: results.monitors.into_iter().map(monitor).collect::<PyResult<_>>()?,
            captures: results.captures.into_iter().map(|c| (c.name, c.pcapng, c.missed)).collect(),
            complete: results.complete,
        })
    }
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Recipe)> {
        let Plan { source, lines, index, .. } = slf.get();
        let scenario::Source { file, text, folder, overrides } = (**source).clone();
        let restore = slf.py().get_type::<Plan>().getattr("_restore")?;
        Ok((restore, (file, text, folder.into_os_string(), overrides, *lines, *index)))
    }
    #[staticmethod]
    fn _restore(
        file: String,
        text: String,
        folder: OsString,
        overrides: Vec<(String, String)>,
        lines: bool,
        index: usize,
    ) -> PyResult<Self> {
        let source = scenario::Source { file, text, folder: folder.into(), overrides };
        let plan = source.plan(index).map_err(|mistake| told(mistake, &source, lines))?;
        Ok(Plan { source: Arc::new(source), lines, index, plan })
    }
}

/// How far a run is; may be read and cancelled from any thread.
#[pyclass(frozen, module = "switchbed._native")]
pub struct Progress(pub scenario::Progress);

/// Flows done and in all, simulated time, end, events, packet-hops.
type Counts = (u64, u64, u64, u64, u64, u64);

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
    fn cancelled(&self) -> bool {
        self.0.cancelled()
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
    /// All of them, for `tell`.
    fn counts(&self) -> Counts {
        (
            self.flows_done(),
            self.flows_total(),
            self.now_ps(),
            self.until_ps(),
            self.events(),
            self.packet_hops(),
        )
    }
    /// Sets all of them, to those of a run in another process.
    fn tell(&self, counts: Counts) {
        let at = &self.0;
        at.flows_done.store(counts.0, Relaxed);
        at.flows_total.store(counts.1, Relaxed);
        at.now_ps.store(counts.2, Relaxed);
        at.until_ps.store(counts.3, Relaxed);
        at.events.store(counts.4, Relaxed);
        at.packet_hops.store(counts.5, Relaxed);
    }
}

/// What a run measured.
#[pyclass(frozen, get_all, module = "switchbed._native")]
pub struct Results {
    /// JSON.
    summary: String,
    flows: Py<Table>,
    queues: Py<Table>,
    ports: Py<Table>,
    series: Py<Table>,
    goodput: Py<Table>,
    probes: Py<Table>,
    /// The tables of the monitors that were asked for, by name.
    monitors: BTreeMap<String, Py<Table>>,
    /// Packet traces: name, pcapng file, packets that the limit kept out.
    captures: Vec<(String, Vec<u8>, u64)>,
    /// Whether it ran to its end.
    complete: bool,
}

/// Summary, the six tables, those of monitors, traces, complete.
type Parts =
    (String, [Py<Table>; 6], BTreeMap<String, Py<Table>>, Vec<(String, Vec<u8>, u64)>, bool);

#[pymethods]
impl Results {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts)> {
        let (py, r) = (slf.py(), slf.get());
        let tables = [&r.flows, &r.queues, &r.ports, &r.series, &r.goodput, &r.probes];
        let monitors = r.monitors.iter().map(|(name, table)| (name.clone(), table.clone_ref(py)));
        let restore = py.get_type::<Results>().getattr("_restore")?;
        let tables = tables.map(|table| table.clone_ref(py));
        let (summary, captures) = (r.summary.clone(), r.captures.clone());
        Ok((restore, (summary, tables, monitors.collect(), captures, r.complete)))
    }
    #[staticmethod]
    fn _restore(
        summary: String,
        tables: [Py<Table>; 6],
        monitors: BTreeMap<String, Py<Table>>,
        captures: Vec<(String, Vec<u8>, u64)>,
        complete: bool,
    ) -> Self {
        let [flows, queues, ports, series, goodput, probes] = tables;
        Results {
            summary,
            flows,
            queues,
            ports,
            series,
            goodput,
            probes,
            monitors,
            captures,
            complete,
        }
    }
}
