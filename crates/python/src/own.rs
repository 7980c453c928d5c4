//! Seats taken by classes of the user's own. Python finds the classes and makes the objects
//! (`switchbed.prototype`); here they are made seats.

mod hook;
mod seats;
mod view;
mod words;

pub(crate) use seats::Ends;
pub(crate) use view::{Port, Random, View};
pub(crate) use words::{
    Admission, Departure, DropReason, Ecn, Feedback, Intent, Note, Packet, Selection, ServiceEnd,
    Slot,
};

use crate::Mistake;
use hook::Shared;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use seats::{OwnBuffer, OwnClassifier, OwnMarker, OwnNotifier, OwnScheduler};
use switchbed_qdisc::PortState;
use switchbed_scenario::Scenario;
use switchbed_scenario::build::{Outside, Taken};
use switchbed_scenario::scheme::Value;
use switchbed_scenario::{SchemeChoice, Switch};
use switchbed_sim::Progress;

/// The user's classes in one run. The thread that runs it holds the interpreter.
pub(crate) struct Own<'a> {
    /// `make(file, classes, base, params, port)` gives the methods of each seat taken, by
    /// the names of seat and method.
    pub make: Py<PyAny>,
    /// Called every few milliseconds; what it raises ends the run.
    pub look: Option<Py<PyAny>>,
    progress: &'a Progress,
    /// The hosts listen to messages.
    reacts: bool,
    shared: Shared,
}

impl<'a> Own<'a> {
    pub(crate) fn new(
        py: Python<'_>,
        make: Py<PyAny>,
        look: Option<Py<PyAny>>,
        progress: &'a Progress,
        reacts: bool,
    ) -> PyResult<Self> {
        Ok(Own { make, look, progress, reacts, shared: Shared::new(py)? })
    }

    /// Returns the first error, if there was one.
    pub(crate) fn failure(&self) -> Option<PyErr> {
        self.shared.failure.take()
    }

    fn seats(&self, py: Python<'_>, scheme: &SchemeChoice, port: Port) -> PyResult<Taken> {
        let Some(python) = &scheme.python else { return Ok(Taken::default()) };
        let params = PyDict::new(py);
        for (name, value) in &python.own {
            params.set_item(name, object(py, value)?)?;
        }
        let (classes, base) = (python.classes.names(), scheme.scheme.about().name);
        let seats = self.make.bind(py).call1((&python.file, classes, base, params, port))?;
        let seats = seats.cast::<PyDict>()?;
        let mut taken = Taken::default();
        for (seat, methods) in seats {
            let (methods, shared) = (methods.cast::<PyDict>()?, &self.shared);
            match seat.extract::<String>()?.as_str() {
                "classifier" => {
                    taken.classifier = Some(Box::new(OwnClassifier::new(methods, shared)?));
                }
                "buffer" => taken.buffer = Some(Box::new(OwnBuffer::new(methods, shared)?)),
                "marker" => taken.marker = Some(Box::new(OwnMarker::new(methods, shared)?)),
                "scheduler" => {
                    taken.scheduler = Some(Box::new(OwnScheduler::new(methods, shared)?));
                }
                // Without hosts that react a notifier's frames would go unheard.
                "notifier" if self.reacts => {
                    taken.notifier = Some(Box::new(OwnNotifier::new(methods, shared)?));
                }
                "notifier" => {
                    let why = "a notifier needs hosts that listen: write [reaction], which may be \
                               empty";
                    return Err(Mistake::new_err(why));
                }
                seat => return Err(Mistake::new_err(format!("{seat} is no seat of a port"))),
            }
        }
        Ok(taken)
    }
}

impl Outside for Own<'_> {
    fn take(&self, scheme: &SchemeChoice, switch: &Switch, port: &PortState) -> Taken {
        // After an error the rest runs on defaults, until the run notices.
        if self.shared.failure.happened() {
            return Taken::default();
        }
        let port = Port {
            queues: port.queues(),
            quantum: switch.quantum.iter().map(|quantum| quantum.get()).collect(),
            rate_bps: port.rate().as_bps(),
            buffer_bytes: switch.buffer.get(),
        };
        Python::attach(|py| self.seats(py, scheme, port)).unwrap_or_else(|error| {
            self.shared.failure.set(error);
            Taken::default()
        })
    }

    fn look(&self) {
        let found = Python::attach(|py| {
            // The run holds the main thread: nobody else could see Ctrl-C.
            py.check_signals()?;
            self.look.as_ref().map_or(Ok(()), |look| look.call0(py).map(drop))
        });
        if let Err(error) = found {
            self.shared.failure.set(error);
        }
        // A hook cannot end a run: it ends at its next look.
        if self.shared.failure.happened() {
            self.progress.cancel();
        }
    }
}

/// Whether a port of the scenario has such a scheme.
pub(crate) fn is_in(scenario: &Scenario) -> bool {
    let deployed = scenario.deploy.iter().filter_map(|deploy| deploy.scheme.as_ref());
    [&scenario.scheme].into_iter().chain(deployed).any(|scheme| scheme.python.is_some())
}

/// A parameter as a class gets it: bytes, picoseconds and bits per second are whole numbers.
fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    let whole = |n: u64| n.into_pyobject(py).map(Bound::into_any).map_err(PyErr::from);
    match value {
        Value::Number(x) => Ok(x.into_pyobject(py)?.into_any()),
        Value::Count(n) => whole(*n),
        Value::Flag(flag) => Ok(flag.into_pyobject(py)?.to_owned().into_any()),
        Value::Bytes(bytes) => whole(bytes.get()),
        Value::Span(span) => whole(span.as_ps()),
        Value::Rate(rate) => whole(rate.as_bps()),
        Value::Word(text) => Ok(text.into_pyobject(py)?.into_any()),
        Value::List(items) => {
            let items: Vec<_> =
                items.iter().map(|item| object(py, item)).collect::<PyResult<_>>()?;
            Ok(PyList::new(py, items)?.into_any())
        }
        Value::Table(values) => {
            let table = PyDict::new(py);
            for (name, value) in values {
                table.set_item(name, object(py, value)?)?;
            }
            Ok(table.into_any())
        }
    }
}
