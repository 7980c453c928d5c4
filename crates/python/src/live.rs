//! The live switch as Python sees it: a file read, devices opened, the loop run on a thread
//! that holds no interpreter lock.

use crate::table::Table;
use crate::{Mistake, json};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use switchbed_config::text;
use switchbed_live::clock::Monotonic;
use switchbed_live::control::{Control, GONE, serve};
use switchbed_live::stats::Sample;
use switchbed_live::{Forwarder, Switch};
use switchbed_live::{confine as rights, open};
use switchbed_scenario as scenario;
use switchbed_scenario::Live;
use switchbed_sim::SeriesRow;

/// The live switch of a file.
#[pyfunction]
#[pyo3(signature = (file, sets = Vec::new()))]
pub(crate) fn live_plan(file: PathBuf, sets: Vec<String>) -> PyResult<LivePlan> {
    let name = file.display().to_string();
    let text = text::read(&file)
        .map_err(|error| Mistake::new_err(format!("{name}: cannot be read: {error}")))?;
    live_plan_of(name, text, sets)
}

/// The same of a text; `name` stands for the file in messages.
#[pyfunction]
#[pyo3(signature = (name, text, sets = Vec::new()))]
pub(crate) fn live_plan_of(name: String, text: String, sets: Vec<String>) -> PyResult<LivePlan> {
    let (live, notes) = scenario::live_of(&name, &text, &sets)
        .map_err(|mistake| Mistake::new_err(mistake.to_string()))?;
    Ok(LivePlan { name, text, sets, live, notes })
}

/// Every key of a live switch's file, as Markdown.
#[pyfunction]
pub(crate) fn live_reference() -> String {
    scenario::live_reference()
}

/// The user that a switch becomes, by name and numbers; none where it stays who it is.
#[pyfunction]
pub(crate) fn unprivileged_user() -> Option<(String, u32, u32)> {
    rights::user().map(|user| (user.name, user.uid.as_raw(), user.gid.as_raw()))
}

/// Takes every capability from programs and threads to come.
#[pyfunction]
pub(crate) fn leave_none_to_heirs() -> PyResult<()> {
    Ok(rights::leave_none_to_heirs()?)
}

/// Gives up every right but what is open, for good; says how far it came.
#[pyfunction]
pub(crate) fn confine() -> PyResult<String> {
    Ok(rights::confine(rights::user().as_ref())?.to_string())
}

/// Leaves the process that removes the control socket only what that takes, for good.
#[pyfunction]
pub(crate) fn confine_remover() -> PyResult<()> {
    Ok(rights::confine_remover()?)
}

/// A live switch, read and checked.
#[pyclass(frozen, module = "switchbed._native")]
pub struct LivePlan {
    name: String,
    /// The file as it was read: what is set later is set on this.
    text: String,
    sets: Vec<String>,
    live: Live,
    notes: Vec<String>,
}

#[pymethods]
impl LivePlan {
    /// Returns the settings as JSON.
    #[getter]
    fn live(&self) -> String {
        json(&self.live)
    }

    /// Returns the remarks about the overrides, one line each.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// Opens its devices, and its control socket at a path.
    fn open(&self, socket: PathBuf) -> PyResult<LiveSwitch> {
        let control = Control::bind(&socket).map_err(|error| {
            PyOSError::new_err(format!("control socket {}: {error}", socket.display()))
        })?;
        let devices = (0..self.live.port.len()).map(|port| open::device(&self.live, port));
        let devices = devices.collect::<Result<Vec<_>, _>>()?;
        let forwarder = Forwarder::new(Switch::new(self.live.clone()), devices, Monotonic::new());
        Ok(LiveSwitch {
            names: self.live.port.iter().map(|port| port.name.clone()).collect(),
            source: (self.name.clone(), self.text.clone(), self.sets.clone()),
            said: self.notes.len(),
            gone: Mutex::new(Vec::new()),
            parts: Mutex::new(Some((forwarder, control))),
            stop: AtomicBool::new(false),
            series: Mutex::new(Vec::new()),
        })
    }
}

/// A live switch with its devices open.
#[pyclass(frozen, module = "switchbed._native")]
pub struct LiveSwitch {
    names: Vec<String>,
    source: (String, String, Vec<String>),
    /// Number of notes printed at the start.
    said: usize,
    gone: Mutex<Vec<usize>>,
    parts: Mutex<Option<(Forwarder<Monotonic>, Control)>>,
    stop: AtomicBool,
    series: Mutex<Vec<Sample>>,
}

#[pymethods]
impl LiveSwitch {
    /// Forwards until it is stopped, once; answers the last statistics as JSON.
    fn run(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let parts = self.parts.lock().expect("no holder panics").take();
            let (mut forwarder, control) =
                parts.ok_or_else(|| PyRuntimeError::new_err("a switch runs once"))?;
            let (name, text, sets) = &self.source;
            let resolve = |more: &[String]| {
                let all: Vec<String> = sets.iter().chain(more).cloned().collect();
                let mut found =
                    scenario::live_of(name, text, &all).map_err(|mistake| mistake.to_string())?;
                // Notes of the file's own settings were said at the start.
                found.1.drain(..self.said);
                Ok(found)
            };
            let keep = |forwarder: &mut Forwarder<Monotonic>| {
                self.series.lock().expect("no holder panics").append(&mut forwarder.take_samples());
                // All of them: Python says those that it has not said yet.
                *self.gone.lock().expect("no holder panics") = forwarder.gone();
            };
            serve(&mut forwarder, &control, &resolve, &self.stop, keep)?;
            Ok(json(&forwarder.stats()))
        })
    }

    /// Returns a line for each port whose interface no longer exists.
    fn gone(&self) -> Vec<String> {
        let gone = self.gone.lock().expect("no holder panics");
        gone.iter().map(|&port| format!("port {}: {GONE}", self.names[port])).collect()
    }

    /// Makes `run` return within milliseconds.
    fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// The queue series since it was last taken, in the form of a simulation's.
    fn take_series(&self) -> PyResult<Table> {
        let samples = std::mem::take(&mut *self.series.lock().expect("no holder panics"));
        Table::new(switchbed_sim::series_of(samples.iter().map(|sample| SeriesRow {
            time_s: sample.at.as_secs_f64(),
            port: &self.names[sample.port as usize],
            queue: u32::from(sample.queue),
            bytes: sample.bytes,
            // A quantity that the scheme has not is null in the table.
            threshold_bytes: sample.threshold_bytes.unwrap_or(f64::NAN),
            round_time_s: sample.round_time.map_or(0.0, |time| time.as_secs_f64()),
            port_marked: sample.port_marked,
            port_dropped: sample.port_dropped,
        })))
    }
}
