//! Plans, runs and what they leave. Plans and results can be pickled: they cross between
//! processes.

use crate::detached::{detached, processor_s};
use crate::own::{self, Own};
use crate::table::Table;
use crate::{Mistake, json};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, OnceLock};
use switchbed_scenario as scenario;
use switchbed_scenario::topology::map::Map;
use switchbed_sim::{Division, Part, Unfinished};

/// One simulation, resolved and ready to run. `plans` makes it.
#[pyclass(frozen, module = "switchbed._native")]
pub struct Plan {
    source: Arc<scenario::Source>,
    /// The user wrote the source's text, and knows its lines.
    lines: bool,
    index: usize,
    plan: Arc<scenario::Plan>,
    /// The forecast of its memory: for large networks that takes as long as they are built.
    parts: OnceLock<Vec<Part>>,
}

/// Name, text, folder, overrides, whether messages have lines, place among the runs.
type Recipe = (String, String, OsString, Vec<(String, String)>, bool, usize);

impl Plan {
    /// Every run of a source. It may have many, or name long lists: a signal ends it.
    pub fn all(py: Python<'_>, source: scenario::Source, lines: bool) -> PyResult<Vec<Self>> {
        let work = move || (source.plans(), source);
        let Some((plans, source)) = detached(py, work, || false)? else {
            return Ok(Vec::new());
        };
        let plans = plans.map_err(|mistake| with_line(mistake, &source, lines))?;
        let source = Arc::new(source);
        let plan = |(index, plan)| {
            let (source, plan) = (source.clone(), Arc::new(plan));
            Plan { source, lines, index, plan, parts: OnceLock::new() }
        };
        Ok(plans.into_iter().enumerate().map(plan).collect())
    }
}

/// A mistake as its user can find it.
fn with_line(mut mistake: scenario::Mistake, source: &scenario::Source, lines: bool) -> PyErr {
    // The text was made by a program: its lines would tell the user nothing.
    if !lines && mistake.file == source.file {
        mistake.line = None;
    }
    Mistake::new_err(mistake.to_string())
}

impl Plan {
    /// The memory that it will take, in bytes.
    fn forecast(&self) -> u64 {
        let bytes = self.parts().iter().map(|part| part.count.saturating_mul(part.each));
        bytes.fold(0, u64::saturating_add)
    }

    fn parts(&self) -> &[Part] {
        self.parts.get_or_init(|| switchbed_sim::memory(&self.plan.scenario, self.plan.listed))
    }
}

/// A context in which the results of a run are held.
#[pyclass(frozen, module = "switchbed._native")]
pub struct Held {
    forecast: u64,
    held: Mutex<Option<switchbed_sim::Held>>,
}

#[pymethods]
impl Held {
    fn __enter__(&self) {
        *self.held.lock().expect("no holder panics") =
            Some(switchbed_sim::Held::new(self.forecast));
    }
    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        self.held.lock().expect("no holder panics").take();
    }
}

#[pymethods]
impl Plan {
    /// Coordinates in `[compare]` as a JSON list of [key, value].
    #[getter]
    fn settings(&self) -> String {
        json(&self.plan.settings)
    }
    /// The scenario as resolved, as JSON.
    #[getter]
    fn scenario(&self) -> String {
        json(&self.plan.scenario)
    }
    /// Where its hosts are from as JSON: `profile`, whether the file `named` it, `overrides`.
    #[getter]
    fn hosts(&self) -> String {
        json(&self.plan.hosts)
    }
    /// Hosts by what they have, as JSON: `label`, `count`, `hosts`, `profile`, `transport`, `ecn`,
    /// `least_delay` and `most_delay` of hosts that are alike.
    #[getter]
    fn stacks(&self) -> String {
        json(&self.plan.scenario.described_hosts())
    }
    /// The number of its hosts.
    #[getter]
    fn host_count(&self) -> u32 {
        self.plan.scenario.topology.hosts()
    }
    /// Nodes and links of its network as JSON, with their measures.
    #[getter]
    fn topology(&self) -> String {
        let scenario = &self.plan.scenario;
        json(&Map::of(&scenario.graph()).measured(scenario.host.mtu()))
    }
    /// The memory that it will take, part by part, as JSON: `what`, `count`, bytes of `each`.
    #[getter]
    fn memory(&self) -> String {
        json(&self.parts())
    }
    /// Return a context in which results of this run are held, by this process or on their way to it: what the process
    /// grows by is then no excess of other runs.
    fn _held(&self) -> Held {
        Held { forecast: self.forecast(), held: Mutex::default() }
    }
    /// The busiest links by the load that its traffic offers them, as JSON.
    #[getter]
    fn offered(&self) -> String {
        json(&self.plan.offered())
    }
    /// The busiest links of a repetition of each collective and schedule, as JSON.
    #[getter]
    fn repetitions(&self) -> PyResult<String> {
        let found = self.plan.repetitions();
        found.map(|found| json(&found)).map_err(Mistake::new_err)
    }
    /// Headroom of its lossless groups, as JSON.
    #[getter]
    fn headroom(&self) -> String {
        json(&self.plan.headroom())
    }
    /// Returns the remarks to print before the run.
    #[getter]
    fn cautions(&self) -> Vec<String> {
        self.plan.cautions()
    }
    /// One repetition of what hosts do for a traffic entry, as GOAL's text; `None`: its flows start by time.
    ///
    /// Args:
    ///     entry: Number of the entry in `[[traffic]]`, from 0.
    fn goal(&self, entry: usize) -> PyResult<Option<String>> {
        let program = scenario::traffic::flows::schedule(&self.plan.scenario, entry);
        let program = program.map_err(|error| Mistake::new_err(error.to_string()))?;
        let text = program.map(|program| program.goal()).transpose();
        text.map_err(|why| Mistake::new_err(format!("traffic.{entry}: {why}")))
    }
    /// Whether it needs `make`: a port has a scheme in Python.
    #[getter]
    fn python(&self) -> bool {
        own::is_in(&self.plan.scenario)
    }
    /// Run it without holding the interpreter lock; a signal that raises ends it.
    ///
    /// Args:
    ///     progress: Progress of the run, by which another thread may cancel it.
    ///     make: For schemes in Python, called as `make(file, classes, base, params, port)`;
    ///         returns a port's seats and their methods. The interpreter lock is then held.
    ///     look: Called every few milliseconds with a scheme in Python.
    ///     threads: Number of threads; results do not depend on it.
    ///     any_memory: Go on even with far more memory than was forecast. A scheme in Python
    ///         always does.
    ///
    /// Returns:
    ///     The results; `None` if `progress` was cancelled.
    ///
    /// Raises:
    ///     Mistake: The run cannot be built or finished, or takes far too much memory.
    #[pyo3(signature = (progress, make = None, look = None, threads = 1, any_memory = false))]
    fn run(
        &self,
        py: Python<'_>,
        progress: &Progress,
        make: Option<Py<PyAny>>,
        look: Option<Py<PyAny>>,
        threads: usize,
        any_memory: bool,
    ) -> PyResult<Option<Results>> {
        let done = if !self.python() {
            // Without the check nothing is expected, and the watchdog lets all pass.
            if !any_memory {
                progress.0.expect(self.forecast());
            }
            let (plan, track) = (self.plan.clone(), progress.0.clone());
            let work = move || {
                let done = switchbed_sim::run_on(&plan.scenario, &track, threads).map(Columns::of);
                // Of a thread that was begun for this run; others that it begins are not counted.
                let took = processor_s().filter(|_| threads == 1);
                done.map(|columns| columns.map(|columns| Columns { processor_s: took, ..columns }))
            };
            let done = detached(py, work, || progress.cancelled());
            // Whoever left the wait by a signal wants nothing more of it.
            done.inspect_err(|_| progress.cancel())?
        } else if let Some(make) = make {
            // Python's classes are called on this thread, which holds the interpreter.
            let own = {
                let reacts = self.plan.scenario.reaction.is_some();
                Own::new(py, make, look, &progress.0, reacts)?
            };
            let results =
                switchbed_sim::run_with(&self.plan.scenario, &progress.0, &own, Division::ALONE);
            // An exception of a hook comes before what the run made of it.
            match own.failure() {
                Some(error) => return Err(error),
                None => Some(results.map(Columns::of)),
            }
        } else {
            return Err(Mistake::new_err("a scheme in Python runs with switchbed.prototype"));
        };
        match done {
            None | Some(Err(Unfinished::Cancelled)) => Ok(None),
            Some(Err(Unfinished::Impossible(error))) => {
                Err(PyRuntimeError::new_err(format!("{}: {error}", self.source.file)))
            }
            Some(Err(error)) => Err(Mistake::new_err(format!("{}: {error}", self.source.file))),
            Some(Ok(columns)) => columns?.results(py).map(Some),
        }
    }
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Recipe)> {
        let Plan { source, lines, index, .. } = slf.get();
        // Planned anew from its text: plans hold what no pickle can carry.
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
        let plan = source.plan(index).map_err(|mistake| with_line(mistake, &source, lines))?;
        let (source, plan) = (Arc::new(source), Arc::new(plan));
        Ok(Plan { source, lines, index, plan, parts: OnceLock::new() })
    }
}

/// Progress of a run, which any thread may read or cancel. Times are in picoseconds.
#[pyclass(frozen, module = "switchbed._native")]
pub struct Progress(pub Arc<switchbed_sim::Progress>);

/// Flows done and in all, simulated time, end, events, packet-hops.
type Counts = (u64, u64, u64, u64, u64, u64);

#[pymethods]
impl Progress {
    #[new]
    fn new() -> Self {
        Progress(Arc::new(switchbed_sim::Progress::new()))
    }
    /// Cancel the run, which ends within milliseconds and without results.
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
    /// Simulated time in picoseconds since the start.
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
    /// Return all counts, in the order that `tell` takes.
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
    /// Set all counts to those of a run in another process.
    ///
    /// Args:
    ///     counts: What `counts` of that process returned.
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

/// A run's results, its tables as Arrow columns: made without the interpreter.
struct Columns {
    summary: String,
    /// In the order of [`Results`].
    tables: [Table; 6],
    monitors: Vec<(&'static str, Table)>,
    captures: Vec<(String, Vec<u8>, u64)>,
    processor_s: Option<f64>,
}

impl Columns {
    fn of(results: switchbed_sim::Results) -> PyResult<Self> {
        let r = results;
        let [flows, queues, ports] = [r.flows, r.queues, r.ports].map(Table::new);
        let [series, goodput, probes] = [r.series, r.goodput, r.probes].map(Table::new);
        let monitors = r.monitors.into_iter().map(|(name, table)| Ok((name, Table::new(table)?)));
        Ok(Columns {
            summary: json(&r.summary),
            tables: [flows?, queues?, ports?, series?, goodput?, probes?],
            monitors: monitors.collect::<PyResult<_>>()?,
            captures: r.captures.into_iter().map(|c| (c.name, c.pcapng, c.missed)).collect(),
            processor_s: None,
        })
    }

    fn results(self, py: Python<'_>) -> PyResult<Results> {
        let [flows, queues, ports, series, goodput, probes] = self.tables;
        let table = |table| Py::new(py, table);
        let monitor = |(name, values): (&str, _)| Ok((name.to_owned(), table(values)?));
        Ok(Results {
            summary: self.summary,
            flows: table(flows)?,
            queues: table(queues)?,
            ports: table(ports)?,
            series: table(series)?,
            goodput: table(goodput)?,
            probes: table(probes)?,
            monitors: self.monitors.into_iter().map(monitor).collect::<PyResult<_>>()?,
            captures: self.captures,
            processor_s: self.processor_s,
        })
    }
}

/// Measurements of a finished run: the summary as JSON, and tables that speak Arrow.
#[pyclass(frozen, get_all, module = "switchbed._native")]
pub struct Results {
    /// Summary as a JSON text.
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
    /// Seconds of a core that the run took on its one thread, where that is known.
    processor_s: Option<f64>,
}

/// Summary, the six tables, those of monitors, traces.
type Parts = (String, [Py<Table>; 6], BTreeMap<String, Py<Table>>, Vec<(String, Vec<u8>, u64)>);

#[pymethods]
impl Results {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts)> {
        let (py, r) = (slf.py(), slf.get());
        let tables = [&r.flows, &r.queues, &r.ports, &r.series, &r.goodput, &r.probes];
        let monitors = r.monitors.iter().map(|(name, table)| (name.clone(), table.clone_ref(py)));
        let restore = py.get_type::<Results>().getattr("_restore")?;
        let tables = tables.map(|table| table.clone_ref(py));
        let (summary, captures) = (r.summary.clone(), r.captures.clone());
        Ok((restore, (summary, tables, monitors.collect(), captures)))
    }
    #[staticmethod]
    fn _restore(
        summary: String,
        tables: [Py<Table>; 6],
        monitors: BTreeMap<String, Py<Table>>,
        captures: Vec<(String, Vec<u8>, u64)>,
    ) -> Self {
        let [flows, queues, ports, series, goodput, probes] = tables;
        let processor_s = None;
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
            processor_s,
        }
    }
}
