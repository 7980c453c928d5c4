//! Entry of a scheme for those who choose and build it: a [`Definition`] in the scheme's own file
//! says its name and paper, its parameters, where it may sit, how it is built, and what other
//! systems have in its place. [`crate::schemes`] lists them all.

use crate::MAX_QUEUES;
use crate::schemes::fairness::{Party, Shares};
use crate::schemes::site::{Built, Site};
use crate::switch::{Discipline, Switch};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use switchbed_config::param::{self, Param, Params, Unfit, Values};
use switchbed_units::{Bytes, Span};

/// Description of a scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct About {
    /// Name in its paper, in kebab-case.
    pub name: &'static str,
    /// Citation of the paper or RFC.
    pub paper: &'static str,
    /// The rule, in a line.
    pub summary: &'static str,
    /// Section, equation or algorithm of the paper.
    pub source: &'static str,
    /// Occupant of each seat, in the order classifier, buffer, marker, scheduler, notifier. `any`
    /// stands where the scenario chooses.
    pub seats: [&'static str; 5],
    /// Whether it reads the switch's pool, which the scenario must then give.
    pub needs_pool: bool,
}

/// [`About::seats`] of what marks, and leaves the other seats to the switch.
pub const fn marker(rule: &'static str) -> [&'static str; 5] {
    ["any", "any", rule, "any", "none"]
}

/// [`About::seats`] of what notifies, and leaves the other seats to the switch.
pub const fn notifier(rule: &'static str) -> [&'static str; 5] {
    ["any", "any", "none", "any", rule]
}

impl About {
    /// Returns whether it fills the seats of classifier, buffer and scheduler itself.
    pub fn fills_the_seats(&self) -> bool {
        // A scheme that has a scheduler of its own has classifier and buffer too.
        self.seats[3] != "any"
    }

    /// Returns whether it sends messages to sources.
    pub fn notifies(&self) -> bool {
        self.seats[4] != "none"
    }
}

/// Length that a scheme compares its threshold with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The packet's queue.
    Queue,
    /// All queues of the port together.
    Port,
    /// All that is in the switch's pool.
    Pool,
}

impl Compared {
    /// Word for it in the schemes' list.
    pub const fn word(self) -> &'static str {
        match self {
            Compared::Queue => "queue",
            Compared::Port => "port",
            Compared::Pool => "pool",
        }
    }
}

/// Facts by which tools choose a scheme's parameter and carry it to other systems. Empty texts
/// stand for "none".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Equivalents {
    /// Parameter that one asks about first: the threshold or the target.
    pub main: &'static str,
    /// Length that the threshold is compared with.
    pub compared: Compared,
    /// Whether a queue's threshold is its quantum's share of the one given.
    pub by_quantum: bool,
    /// Discipline of Linux's `tc` with the same rule; `step` is `red` with a step for a curve.
    pub tc: &'static str,
    /// Form as a SONiC profile of WRED: `off`, `step` or `ramp`.
    pub wred: &'static str,
    /// Reason for which WRED has no such form.
    pub no_wred: &'static str,
    /// Static scheme next to it, for systems that lack it. It gets the value of `main`.
    pub nearest: &'static str,
}

impl Equivalents {
    /// Nothing in other systems.
    pub const NONE: Equivalents = Equivalents {
        main: "",
        compared: Compared::Queue,
        by_quantum: false,
        tc: "",
        wred: "",
        no_wred: "",
        nearest: "",
    };
}

/// How far a scheme looks as it decides on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// At the packet's queue, with what the port and its scheduler say of that queue.
    Queue,
    /// At other queues of the port too.
    Port,
    /// At the memory of the switch.
    Switch,
    /// The seats of classifier, buffer and scheduler are the scheme's own.
    Whole,
}

/// A scheme. All that it must say is its parameters, what it is, and how it is built.
pub trait Definition: 'static {
    /// Parameters, as [`params!`](switchbed_config::params) declares them.
    type Params: Params;

    /// Name, paper and seats of the scheme.
    const ABOUT: About;

    /// How far it looks. What fills the seats is [`Scope::Whole`] whatever stands here.
    /// The conformance suite runs each that looks at one queue as a marker a queue.
    const SCOPE: Scope = Scope::Queue;

    /// Parameter that one asks about, and what other systems have in its place.
    const EQUIVALENTS: Equivalents = Equivalents::NONE;

    /// Fills in what follows from the parameters that are given, and refuses what does not go
    /// together. `limit` is the most that the length a threshold is compared with can reach.
    /// Complete parameters stay as they are.
    fn complete(_params: &mut Self::Params, _limit: Bytes) -> Result<(), Unfit> {
        Ok(())
    }

    /// Refuses queues that are served in a way the scheme cannot work with.
    fn stands_on(_params: &Self::Params, _discipline: Discipline) -> Result<(), Unfit> {
        Ok(())
    }

    /// The queues of a port where it makes its own, on a switch of so many ports.
    fn layout(_params: &Self::Params, _ports: u32) -> Option<Layout> {
        None
    }

    /// Whether it does anything about congestion besides dropping what does not fit.
    fn acts(_params: &Self::Params) -> bool {
        true
    }

    /// Parties that share the line, with weights and caps, if it knows any.
    fn shares(_params: &Self::Params) -> Option<(Party, Shares)> {
        None
    }

    /// The time over which it takes a queue's growth, where that is given.
    fn window(_params: &Self::Params) -> Option<Span> {
        None
    }

    /// Builds the scheme on its site.
    fn build(params: &Self::Params, site: Site) -> Built;
}

/// A port's queues that a scheme makes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// How many; each has an equal part of the port's memory.
    pub queues: usize,
    /// The memory is given out in whole cells of this size.
    pub cell: Bytes,
}

impl Layout {
    /// A queue's part of a port's memory.
    pub fn part(&self, memory: Bytes) -> Bytes {
        // Whole cells.
        let part = memory.get() / self.queues as u64;
        Bytes::new(part - part % self.cell.get())
    }
}

/// A scheme of the registry.
#[derive(Clone, Copy)]
pub struct SchemeInfo {
    about: About,
    /// Facts for tools, and for other systems.
    pub equivalents: Equivalents,
    /// Declarations of its parameters, in the order of the manifest.
    pub params: &'static [Param],
    // Through a function pointer: entries of different schemes share one table.
    choose: fn(Values, Bytes) -> Result<Choice, Unfit>,
}

impl Deref for SchemeInfo {
    type Target = About;
    fn deref(&self) -> &About {
        &self.about
    }
}

impl SchemeInfo {
    /// Makes a definition's entry in the list.
    pub const fn of<D: Definition>() -> SchemeInfo {
        let choose = |mut values: Values, limit| {
            let mut params = D::Params::from_values(&mut values);
            D::complete(&mut params, limit)?;
            Ok(Choice::of::<D>(params))
        };
        SchemeInfo {
            about: D::ABOUT,
            equivalents: D::EQUIVALENTS,
            params: <D::Params as Params>::TABLE,
            choose,
        }
    }

    /// One that only says what it is: what it does comes from elsewhere.
    pub const fn described(about: About, params: &'static [Param]) -> SchemeInfo {
        SchemeInfo {
            about,
            equivalents: Equivalents::NONE,
            params,
            choose: |_, _| Err(Unfit::new("", "it comes from elsewhere")),
        }
    }

    /// The scheme with these values, which are read by its table, defaults included. `limit` is
    /// the most that the length a threshold is compared with can reach.
    pub fn choose(&self, values: Values, limit: Bytes) -> Result<Choice, Unfit> {
        (self.choose)(values, limit)
    }

    /// The scheme with these values, the others at their defaults.
    ///
    /// # Errors
    /// The parameter that does not fit, or is missing.
    pub fn with(&self, given: Values) -> Result<Choice, Unfit> {
        let known = |key: &String| self.params.iter().any(|param| param.name == key);
        if let Some(key) = given.keys().find(|key| !known(key)) {
            return Err(Unfit::new("", format!("{key} is no parameter of {}", self.name)));
        }
        let mut values = param::defaults(self.params);
        values.extend(given);
        let given = |param: &&Param| values.contains_key(param.name);
        if let Some(param) = self.params.iter().find(|param| param.required && !given(param)) {
            return Err(Unfit::missing(param.name));
        }
        // No limit is known here: thresholds are checked where the scheme meets its switch.
        self.choose(values, Bytes::new(u64::MAX))
    }
}

/// A scheme with its parameters.
#[derive(Clone)]
pub struct Choice(Arc<dyn Chosen>);

impl Choice {
    /// A scheme with parameters that are complete.
    pub fn of<D: Definition>(params: D::Params) -> Choice {
        Choice(Arc::new(With::<D>(params)))
    }

    /// Returns the scheme's description.
    pub fn about(&self) -> &'static About {
        self.0.about()
    }

    /// Returns how far the scheme looks.
    pub fn scope(&self) -> Scope {
        // A scheme that fills all seats has the port to itself, so it sees the whole of it.
        if self.about().fills_the_seats() { Scope::Whole } else { self.0.scope() }
    }

    /// Returns the parameters as a manifest has them.
    pub fn values(&self) -> Values {
        self.0.values()
    }

    /// See [`Definition::stands_on`] for the contract.
    pub fn stands_on(&self, discipline: Discipline) -> Result<(), Unfit> {
        self.0.stands_on(discipline)
    }

    /// See [`Definition::layout`] for the contract.
    pub fn layout(&self, ports: u32) -> Option<Layout> {
        self.0.layout(ports)
    }

    /// See [`Definition::acts`] for the contract.
    pub fn acts(&self) -> bool {
        self.0.acts()
    }

    /// See [`Definition::shares`] for the contract.
    pub fn shares(&self) -> Option<(Party, Shares)> {
        self.0.shares()
    }

    /// See [`Definition::window`] for the contract.
    pub fn window(&self) -> Option<Span> {
        self.0.window()
    }

    /// See [`Definition::build`] for the contract.
    pub fn build(&self, site: Site) -> Built {
        self.0.build(site)
    }

    /// How many queues a port has, on a switch of so many ports.
    pub fn queues(&self, switch: &Switch, ports: u32) -> usize {
        self.layout(ports).map_or(usize::from(switch.queues), |layout| layout.queues)
    }

    /// Says why it does not fit a switch of `ports` ports: too many queues, or too little memory
    /// for a packet in each. `None` where it fits, or leaves the seats to the switch.
    pub fn misfit(&self, switch: &Switch, ports: u32, mtu: Bytes) -> Option<String> {
        let layout = self.layout(ports)?;
        let Layout { queues, cell } = layout;
        if queues > MAX_QUEUES {
            return Some(format!(
                "a switch of {ports} ports needs {queues} queues a port, and a port has at most \
                 {MAX_QUEUES}: cqrd-configured can have fewer"
            ));
        }
        let memory = switch.port_memory(ports);
        let part = layout.part(memory);
        // A packet takes whole cells, the last one in part.
        (mtu.get().div_ceil(cell.get()) * cell.get() > part.get()).then(|| {
            let name = self.about().name;
            format!(
                "a port's {memory} are {part} for each of its queues under {name}, on a switch of \
                 {ports} ports, and a packet has {mtu}"
            )
        })
    }
}

impl PartialEq for Choice {
    fn eq(&self, other: &Self) -> bool {
        // Schemes of one name have parameters of one type.
        self.about().name == other.about().name && self.values() == other.values()
    }
}

impl fmt::Debug for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(self.about().name).field("params", &self.values()).finish()
    }
}

/// A definition and its parameters, the type forgotten.
trait Chosen: Send + Sync {
    fn about(&self) -> &'static About;
    fn scope(&self) -> Scope;
    fn values(&self) -> Values;
    fn stands_on(&self, discipline: Discipline) -> Result<(), Unfit>;
    fn layout(&self, ports: u32) -> Option<Layout>;
    fn acts(&self) -> bool;
    fn shares(&self) -> Option<(Party, Shares)>;
    fn window(&self) -> Option<Span>;
    fn build(&self, site: Site) -> Built;
}

struct With<D: Definition>(D::Params);

impl<D: Definition> Chosen for With<D> {
    fn about(&self) -> &'static About {
        const { &D::ABOUT }
    }
    fn scope(&self) -> Scope {
        D::SCOPE
    }
    fn values(&self) -> Values {
        self.0.to_values()
    }
    fn stands_on(&self, discipline: Discipline) -> Result<(), Unfit> {
        D::stands_on(&self.0, discipline)
    }
    fn layout(&self, ports: u32) -> Option<Layout> {
        D::layout(&self.0, ports)
    }
    fn acts(&self) -> bool {
        D::acts(&self.0)
    }
    fn shares(&self) -> Option<(Party, Shares)> {
        D::shares(&self.0)
    }
    fn window(&self) -> Option<Span> {
        D::window(&self.0)
    }
    fn build(&self, site: Site) -> Built {
        D::build(&self.0, site)
    }
}
