//! Calling a method of a user's class from a hook, which cannot fail: what goes wrong is put
//! aside, ends the run soon after, and until then the hook answers something harmless.

use super::view::{self, Dice, Random, VIEW};
use crate::Mistake;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use switchbed_qdisc as qdisc;

/// The first thing that went wrong in a run.
#[derive(Default)]
pub(super) struct Failure {
    happened: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Failure {
    pub(super) fn happened(&self) -> bool {
        self.happened.load(Relaxed)
    }
    pub(super) fn set(&self, error: PyErr) {
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        // The first error is the cause; later ones may follow from it.
        first.get_or_insert(error);
        self.happened.store(true, Relaxed);
    }
    pub(super) fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// State that the seats of a run share.
#[derive(Clone)]
pub(super) struct Shared {
    pub failure: Arc<Failure>,
    pub view: Arc<Py<view::View>>,
    pub random: Arc<Py<Random>>,
}

impl Shared {
    pub(super) fn new(py: Python<'_>) -> PyResult<Self> {
        Ok(Shared {
            failure: Arc::default(),
            view: Arc::new(Py::new(py, view::View)?),
            random: Arc::new(Py::new(py, Random)?),
        })
    }
}

/// Result of reading a method's answer, or a text that says what would have been right.
pub(super) type Read<T> = Result<T, String>;

/// A method of a user's object; none where its class leaves it to the base class.
pub(super) struct Hook {
    method: Option<Py<PyAny>>,
    shared: Shared,
}

impl Hook {
    /// The method of that name, of those that the class has.
    pub(super) fn of(methods: &Bound<'_, PyDict>, name: &str, shared: &Shared) -> PyResult<Self> {
        let method = methods.get_item(name)?.map(Bound::unbind);
        Ok(Hook { method, shared: shared.clone() })
    }

    /// Calls the method with `args`, the view and the randomness that Python sees. Returns `None`
    /// without a method, and after the first error.
    pub(super) fn ask<A, T>(
        &self,
        view: &qdisc::View,
        args: A,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Read<T>,
    ) -> Option<T>
    where
        A: for<'py> PyCallArgs<'py>,
    {
        // A hook that the class has not costs nothing: no lock of the interpreter.
        let method = self.method.as_ref()?;
        if self.shared.failure.happened() {
            return None;
        }
        Python::attach(|py| VIEW.set(*view, || self.call(method.bind(py), args, read)))
    }

    /// Calls the method with randomness as well.
    pub(super) fn ask_with<A, T>(
        &self,
        view: &qdisc::View,
        rng: &mut dyn qdisc::Random,
        args: A,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Read<T>,
    ) -> Option<T>
    where
        A: for<'py> PyCallArgs<'py>,
    {
        self.method.as_ref()?;
        // Scoped: a reference that the hook keeps is refused once it has returned.
        view::DICE.set(Dice(rng), || self.ask(view, args, read))
    }

    /// Tells it something; an answer means nothing.
    pub(super) fn tell<A>(&self, view: &qdisc::View, args: A)
    where
        A: for<'py> PyCallArgs<'py>,
    {
        self.ask(view, args, |_| Ok(()));
    }

    /// Calls a method that takes no arguments, while no packet is handled.
    pub(super) fn ask_alone<T>(
        &self,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Read<T>,
    ) -> Option<T> {
        let method = self.method.as_ref()?;
        if self.shared.failure.happened() {
            return None;
        }
        Python::attach(|py| self.call(method.bind(py), (), read))
    }

    /// Calls a method without an answer, while no packet is handled.
    pub(super) fn tell_alone<A>(&self, args: A)
    where
        A: for<'py> PyCallArgs<'py>,
    {
        if let Some(method) = self.method.as_ref().filter(|_| !self.shared.failure.happened()) {
            Python::attach(|py| self.call(method.bind(py), args, |_| Ok(())));
        }
    }

    /// Keeps the first error of what it did besides answering.
    pub(super) fn refuse(&self, what: &str) {
        if let Some(method) = &self.method {
            Python::attach(|py| {
                let text = format!("{}: {what}", place(method.bind(py)));
                self.shared.failure.set(Mistake::new_err(text));
            });
        }
    }

    fn call<'py, A, T>(
        &self,
        method: &Bound<'py, PyAny>,
        args: A,
        read: impl FnOnce(&Bound<'py, PyAny>) -> Read<T>,
    ) -> Option<T>
    where
        A: PyCallArgs<'py>,
    {
        let answer = method.call1(args);
        let found = match &answer {
            Err(error) => {
                self.shared.failure.set(error.clone_ref(method.py()));
                None
            }
            Ok(answer) => match read(answer) {
                Ok(value) => Some(value),
                Err(why) => {
                    let text = format!("{} returned {}: {why}", place(method), repr(answer));
                    self.shared.failure.set(Mistake::new_err(text));
                    None
                }
            },
        };
        view::ended();
        found
    }
}

fn repr(answer: &Bound<'_, PyAny>) -> String {
    let text = answer.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
    // By characters, as a cut within one would not be text.
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Describes a method as in `my_marker.py:12: MyMarker.intend`.
fn place(method: &Bound<'_, PyAny>) -> String {
    let line = || -> PyResult<String> {
        // Callables without code, such as partials, have a name alone.
        let code = method.getattr("__code__")?;
        let file: String = code.getattr("co_filename")?.extract()?;
        let line: u32 = code.getattr("co_firstlineno")?.extract()?;
        Ok(format!("{file}:{line}: "))
    };
    let name = || -> PyResult<String> { method.getattr("__qualname__")?.extract() };
    line().unwrap_or_default() + &name().unwrap_or_default()
}
