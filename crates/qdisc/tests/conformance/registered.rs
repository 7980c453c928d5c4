//! Every scheme of the registry, with its parameters at values that short sequences reach: one
//! case with the defaults, one for each other value that its table allows, and one for each policy by
//! which a switch's ports share their memory. A new scheme is among them by being in the registry.

use super::cases::{Case, Limits, QUANTA};
use switchbed_config::param::{Param, ParamKind, Value, Values};
use switchbed_qdisc::schemes::SCHEMES;
use switchbed_qdisc::schemes::by_queue::{self, ByQueue};
use switchbed_qdisc::schemes::definition::{Choice, Layout, SchemeInfo};
use switchbed_qdisc::schemes::site::{Built, Site};
use switchbed_qdisc::switch::QueueRules;
use switchbed_qdisc::switch::{
    BufferPolicy, Classify, Discipline, POLICIES, Sharing, StrictOrder, Switch, Unmarkable,
};
use switchbed_units::{Bytes, Rate, Span};

const PORT: Bytes = Bytes::new(20_000);
const POOL: Bytes = Bytes::new(40_000);

/// Every registered scheme.
pub fn cases() -> Vec<Case> {
    SCHEMES.iter().flat_map(of).collect()
}

/// A scheme, with the values of its parameters and under the policies.
pub fn of(scheme: &'static SchemeInfo) -> Vec<Case> {
    let base = base(scheme);
    let mut variants = vec![(scheme.name.to_owned(), base.clone())];
    for param in scheme.params {
        for value in others(&param.kind, base.get(param.name)) {
            let mut values = base.clone();
            let name = format!("{}, {} = {value:?}", scheme.name, param.name);
            values.insert(param.name.to_owned(), value);
            variants.push((name, values));
        }
    }
    let fits = |(name, values)| Some(case(name, scheme.with(values).ok()?));
    let mut cases: Vec<Case> = variants.into_iter().filter_map(fits).collect();
    let choice = scheme.with(base).expect("the first of the variants");
    let shared = POLICIES.iter().map(|of| of.policy).filter(|policy| policy.shares_pool());
    cases.extend(shared.filter_map(|policy| sharing(scheme.name, &choice, policy)));
    assert!(cases.first().is_some_and(|case| case.name == scheme.name), "{}", scheme.name);
    cases
}

/// The defaults, where they are not too large or too long for a short sequence, and what must be
/// given besides.
fn base(scheme: &SchemeInfo) -> Values {
    let short = |param: &Param| {
        let given = match param.default {
            None if param.required => small(&param.kind),
            None => None,
            Some(text) => match param.kind.parse(text) {
                Ok(Value::Bytes(bytes)) if bytes > Bytes::new(100) => small(&param.kind),
                Ok(Value::Span(_)) => small(&param.kind),
                _ => None,
            },
        };
        Some((param.name.to_owned(), given?))
    };
    let mut values: Values = scheme.params.iter().filter_map(short).collect();
    // One of several must be given, which no table says.
    while let Err(unfit) = scheme.with(values.clone()) {
        let missing = scheme.params.iter().find(|param| param.name == unfit.param);
        let missing = missing.filter(|param| !values.contains_key(param.name));
        let param = missing.unwrap_or_else(|| panic!("{}: {unfit:?}", scheme.name));
        values.extend([(param.name.to_owned(), small(&param.kind).expect("a length or a time"))]);
    }
    values
}

/// A length, time or rate that a short sequence reaches.
fn small(kind: &ParamKind) -> Option<Value> {
    Some(match kind {
        ParamKind::Size => Value::Bytes(Bytes::new(3_000)),
        ParamKind::Threshold => Value::Bytes(Bytes::new(6_000)),
        ParamKind::Time | ParamKind::Wait => Value::Span(Span::from_us(5)),
        ParamKind::Rate => Value::Rate(Rate::from_gbps(1)),
        _ => return None,
    })
}

/// Other values of a parameter.
fn others(kind: &ParamKind, present: Option<&Value>) -> Vec<Value> {
    let all = match *kind {
        ParamKind::Word(words) => words.iter().map(|word| Value::Word((*word).into())).collect(),
        ParamKind::Flag => vec![Value::Flag(true), Value::Flag(false)],
        ParamKind::Number { min, max } => vec![Value::Number(0.25_f64.clamp(min, max))],
        ParamKind::Part => vec![Value::Number(0.25)],
        ParamKind::Count { min, max } => vec![Value::Count(3.clamp(min, max))],
        ParamKind::List(item) => {
            let item = small(item).unwrap_or(Value::Number(3.0));
            vec![Value::List(vec![item])]
        }
        _ => small(kind).into_iter().collect::<Vec<_>>(),
    };
    all.into_iter().filter(|value| Some(value) != present).collect()
}

/// It on a switch whose ports share their memory by this policy, where the buffer is the switch's.
fn sharing(name: &str, choice: &Choice, policy: BufferPolicy) -> Option<Case> {
    let leaves = !choice.about().fills_the_seats();
    let name = format!("{name}, policy = {}", policy.word());
    leaves.then(|| on(policy, name, choice.clone()))
}

fn case(name: String, choice: Choice) -> Case {
    on(BufferPolicy::Shared, name, choice)
}

fn on(policy: BufferPolicy, name: String, choice: Choice) -> Case {
    let of = choice.clone();
    built(switch(policy), name, choice, move |site| of.build(site()))
}

/// Each scheme that looks at one queue, and the same as a marker for each queue.
pub fn alike() -> Vec<(Case, Case)> {
    let pair = |scheme: &&'static SchemeInfo| {
        let choice = scheme.with(base(scheme)).expect("the first of the variants");
        choice.differs_by_queue().ok()?;
        let each = choice.clone();
        let split = move |site: &dyn Fn() -> Site| {
            let member = |_| match each.build(site().collecting()) {
                Built::Marker(marker, _) => marker,
                Built::Port(_) | Built::Bare(..) => panic!("it differs by queue"),
            };
            let members = (0..QUANTA.len()).map(member).collect();
            site().mark(ByQueue::new(&[0, 1, 2, 3], members))
        };
        let name = format!("{}, a marker for each queue", scheme.name);
        let split = built(switch(BufferPolicy::Shared), name, choice.clone(), split);
        Some((case(scheme.name.to_owned(), choice), split))
    };
    SCHEMES.iter().collect::<Vec<_>>().iter().filter_map(pair).collect()
}

/// Queues with different schemes, of which each has every other as its neighbour once, and queues with
/// different rules.
pub fn mixtures() -> Vec<Case> {
    let choice = |scheme: &'static SchemeInfo| scheme.with(base(scheme)).ok();
    let all: Vec<Choice> = SCHEMES.iter().filter_map(choice).collect();
    let all: Vec<Choice> = all.into_iter().filter(|of| of.differs_by_queue().is_ok()).collect();
    let mixture = |first: usize| {
        let four = [0, 1, 3, 3].map(|step| all[(first + step) % all.len()].clone());
        let names: Vec<&str> = four.iter().map(|of| of.about().name).collect();
        let name = names.join(" | ");
        let build = move |site: &dyn Fn() -> Site| {
            by_queue::build(&four, site).expect("all look at one queue")
        };
        built(switch(BufferPolicy::Shared), name, all[first].clone(), build)
    };
    (0..all.len()).map(mixture).chain(ruled()).collect()
}

/// Every scheme that leaves memory and scheduling to the switch, at its defaults.
pub fn choices() -> Vec<Choice> {
    let choice = |scheme: &'static SchemeInfo| scheme.with(base(scheme)).ok();
    let choices = SCHEMES.iter().filter_map(choice);
    choices.filter(|choice| !choice.about().fills_the_seats()).collect()
}

/// A switch whose ports share their memory by this policy.
pub fn switch(policy: BufferPolicy) -> Switch {
    let pool = policy.shares_pool().then_some(POOL);
    Switch {
        queues: QUANTA.len() as u16,
        classify: Classify::Class,
        discipline: Discipline::Dwrr,
        strict: 0,
        strict_order: StrictOrder::Lowest,
        quantum: QUANTA.into(),
        buffer: PORT,
        memory: None,
        policy,
        pool,
        alpha: pool.map(|_| 0.5),
        sharing: Sharing {
            young: Some(Bytes::new(4_000)),
            alpha_young: Some(4.0),
            saturation: Some(Bytes::new(3_000)),
            drain_interval: Some(Span::from_us(5)),
            ..Sharing::default()
        },
        unmarkable: Unmarkable::Drop,
        pfc: None,
        trimming: None,
        queue: Vec::new(),
    }
}

/// Step marking where queues have rules of their own, by policy.
fn ruled() -> Vec<Case> {
    let step = SCHEMES.iter().find(|scheme| scheme.name == "per-queue").expect("registered");
    let choice = step.with(base(step)).expect("the first of the variants");
    let case = |policy: BufferPolicy| {
        let mut switch = switch(policy);
        let rules = |queue: usize| QueueRules {
            strict: queue == 2,
            unmarkable: if queue == 1 { Unmarkable::Pass } else { Unmarkable::Drop },
            alpha: switch.alpha.map(|alpha| alpha * (1 + queue) as f64),
            reserve: None,
            limit: (queue == 3).then_some(Bytes::new(5_000)),
        };
        switch.queue = (0..QUANTA.len()).map(rules).collect();
        let (name, of) = (format!("rules by queue, policy = {}", policy.word()), choice.clone());
        built(switch, name, choice.clone(), move |site| of.build(site()))
    };
    let shared = POLICIES.iter().map(|of| of.policy);
    shared.filter(|policy| policy.shares_pool()).chain([BufferPolicy::Shared]).map(case).collect()
}

fn built(
    switch: Switch,
    name: String,
    choice: Choice,
    build: impl Fn(&dyn Fn() -> Site) -> Built + 'static,
) -> Case {
    let pool = switch.pool;
    let ports = QUANTA.len() as u32;
    let port = if pool.is_some() { None } else { Some(PORT) };
    let reads_pool = choice.about().needs_pool || pool.is_some();
    let pausable = !choice.about().fills_the_seats();
    let mtu = Bytes::new(1_500);
    let policy = (!choice.about().fills_the_seats()).then(|| switch.clone());
    let policy = move || policy.as_ref()?.policy(super::driver::PORTS, mtu);
    let make = move || {
        let rate = super::driver::RATE;
        // The driver probes four queues, whoever makes them.
        let layout = choice.layout(ports).map(|of| Layout { queues: QUANTA.len(), ..of });
        let site = || Site::new(&switch, layout, ports, rate, mtu).bare();
        match build(&site) {
            Built::Bare(scheme, _) => scheme,
            Built::Port(_) | Built::Marker(..) => panic!("a bare site gives the scheme alone"),
        }
    };
    Case {
        name,
        quanta: QUANTA.into(),
        make: Box::new(make),
        policy: Box::new(policy),
        limits: Limits { port, pool, ..Limits::default() },
        waits: false,
        remembers_refused: true,
        reads_pool,
        pausable,
    }
}
