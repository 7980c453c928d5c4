//! `[scheme]`: a scheme of the registry with its parameters, or classes of the user's own.

pub mod named;
pub mod python;
pub(crate) mod read;

use python::Python;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use switchbed_config::param::{Param, ParamKind, SectionSpec, Unfit, join};
pub use switchbed_config::param::{Value, Values};
pub use switchbed_qdisc::schemes::definition::{Choice, Definition, SchemeInfo};
pub use switchbed_qdisc::schemes::register;

/// A scheme as a scenario asks for it, its parameters resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeChoice {
    /// Name in plots and tables.
    pub label: String,
    /// The scheme; with classes of the user's own the one beside them.
    pub scheme: Choice,
    /// Classes of the user's own.
    pub python: Option<Python>,
    /// Each queue's, in order, where they differ; none of these has any. Else empty.
    pub queues: Vec<SchemeChoice>,
}

impl SchemeChoice {
    /// A scheme with complete parameters, called by its name.
    pub fn of<D: Definition>(params: D::Params) -> Self {
        Choice::of::<D>(params).into()
    }

    /// A scheme of the registry with these parameters, the others at their defaults.
    ///
    /// # Errors
    /// The parameter that does not fit, or is missing; without a name there is no such scheme.
    pub fn named<'a>(
        name: &str,
        params: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Result<Self, Unfit> {
        let scheme = find(name).ok_or(Unfit::new("", format!("there is no scheme {name}")))?;
        let params = params.into_iter().map(|(key, value)| (key.to_owned(), value));
        Ok(scheme.with(params.collect())?.into())
    }

    /// A queue's.
    pub fn at(&self, queue: usize) -> &SchemeChoice {
        self.queues.get(queue).unwrap_or(self)
    }

    /// The scheme of a port whose queues have these, one each; `default` is what it is called by.
    ///
    /// # Errors
    /// A queue whose scheme cannot be one of several, and why.
    pub(crate) fn by_queue(
        default: &SchemeChoice,
        mut each: Vec<SchemeChoice>,
    ) -> Result<SchemeChoice, (usize, String)> {
        // All alike: a scheme of the whole port, as if nothing were by queue.
        if each.iter().all(|choice| *choice == each[0]) {
            return Ok(each.swap_remove(0));
        }
        let differ = each.iter().any(|choice| choice.scheme != each[0].scheme);
        for (queue, choice) in each.iter().enumerate() {
            if choice.python.is_some() {
                let why = "classes of your own sit in seats of the whole port: no queue can have another \
                           scheme beside them";
                return Err((queue, why.to_owned()));
            }
            if differ {
                // Parameters alone may differ where a scheme cannot stand beside others.
                choice.scheme.differs_by_queue().map_err(|why| (queue, why))?;
            }
        }
        // The port's own scheme is the default where a queue still has it.
        let base = if each.contains(default) { default } else { &each[0] };
        let (label, scheme) = (default.label.clone(), base.scheme.clone());
        Ok(SchemeChoice { label, scheme, python: None, queues: each })
    }

    /// The different ones of its queues.
    pub fn each(&self) -> Vec<&SchemeChoice> {
        let all = if self.queues.is_empty() { std::slice::from_ref(self) } else { &self.queues };
        // A few at most: comparing each with each is fine.
        let mut different: Vec<&SchemeChoice> = Vec::new();
        for choice in all {
            if !different.contains(&choice) {
                different.push(choice);
            }
        }
        different
    }

    /// Returns the scheme's name in the registry.
    pub fn name(&self) -> &'static str {
        match self.python {
            Some(_) => python::NAME,
            None => self.scheme.about().name,
        }
    }

    /// Returns the parameters as a manifest has them.
    pub fn params(&self) -> Values {
        let mut params = self.scheme.values();
        if let Some(python) = &self.python {
            params.extend(python.values(&self.scheme));
        }
        params
    }

    /// Whether it does anything about congestion besides dropping what does not fit.
    pub fn acts(&self) -> bool {
        self.python.is_some() || self.each().iter().any(|choice| choice.scheme.acts())
    }
}

impl From<Choice> for SchemeChoice {
    fn from(scheme: Choice) -> Self {
        let label = scheme.about().name.to_owned();
        SchemeChoice { label, scheme, python: None, queues: Vec::new() }
    }
}

impl Serialize for SchemeChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let by_queue = usize::from(!self.queues.is_empty());
        let mut fields = serializer.serialize_struct("SchemeChoice", 3 + by_queue)?;
        fields.serialize_field("name", self.name())?;
        fields.serialize_field("label", &self.label)?;
        fields.serialize_field("params", &self.params())?;
        if by_queue > 0 {
            fields.serialize_field("queues", &self.queues)?;
        }
        fields.end()
    }
}

/// `[scheme]`.
pub const SECTION: SectionSpec = SectionSpec {
    name: "scheme",
    repeated: false,
    doc: "The queue-management scheme of every switch port.",
    keys: &join::<{ ALONE.len() + 1 }>(&[
        ALONE,
        &[Param::optional(
            "queues",
            ParamKind::Tables(ALONE),
            "Each queue's, from queue 0 on, where they differ: how a resolved scenario holds what \
             [[switch.queue]] says.",
        )],
    ]),
};

/// Keys of one scheme.
pub(crate) const ALONE: &[Param] = &[
    Param::required("name", ParamKind::Text, "A scheme of the registry."),
    Param::optional("label", ParamKind::Text, "What plots and tables call it. Default: its name."),
    Param::optional("params", ParamKind::SchemeParams, "The scheme's own parameters."),
];

/// Every scheme that a file may name.
pub fn schemes() -> impl Iterator<Item = &'static SchemeInfo> + Clone {
    switchbed_qdisc::schemes::schemes().chain([&python::PYTHON])
}

/// The scheme called `name`.
pub fn find(name: &str) -> Option<&'static SchemeInfo> {
    schemes().find(|scheme| scheme.name == name)
}
