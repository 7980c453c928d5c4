//! A scheme's name and parameters, made into a port.

mod afqcn;
mod cqrd;
mod outside;

pub use afqcn::shares;
pub use outside::{Nothing, Outside, Taken};

use crate::scheme::SchemeChoice;
use crate::{BufferPolicy, Classify, Discipline, Switch};
use switchbed_qdisc::buffer::{Dynamic, Shared, Static};
use switchbed_qdisc::classifier::{ByClass, ByHash, ByIngress, Single};
use switchbed_qdisc::marker::{
    Afd, Cedm, CedmSettings, EEcn, MarkAt, MqEcn, Red, RedSettings, Rounds, SEcn, Share, Spacing,
    Step, Timed, Weights,
};
use switchbed_qdisc::notifier::{AfQcn, Qcn};
use switchbed_qdisc::scheduler::{Dwrr, Fifo, RoundRobin, Strict, Wfq, Wrr};
use switchbed_qdisc::seats::{Buffer, Classifier, Marker, Nobody, Notifier, Scheduler};
use switchbed_qdisc::units::{Bytes, Rate, Span};
use switchbed_qdisc::{Port, PortState, Qdisc, QueueId, Seats};

/// A port of a switch of so many `ports`, idle, with the scheme in its seats. `mtu` gives
/// time constants that are a packet's time on this line.
///
/// The parameters must be those that the registry resolved: a missing one is a mistake of
/// the caller and panics. `outside` takes the seats of a scheme that is not compiled in.
pub fn port(
    switch: &Switch,
    scheme: &SchemeChoice,
    ports: u32,
    rate: Rate,
    mtu: Bytes,
    outside: &dyn Outside,
) -> Box<dyn Qdisc> {
    if let Some(part) = scheme.part(switch, ports) {
        return cqrd::port(scheme, (scheme.queues(switch, ports), part), rate, mtu);
    }
    let switch = &switch.of_ports(ports);
    let state = PortState::new(rate, &switch.quantum);
    let queues = state.queues();
    let base = scheme.base();
    let taken = base.is_some().then(|| outside.take(scheme, switch, &state));
    let scheme = base.as_ref().unwrap_or(scheme);
    let site = Site { switch, state, taken };
    let packet_time = rate.tx_time(mtu.get() as u32);
    let at = || match scheme.word("mark_at") {
        "dequeue" => MarkAt::Dequeue,
        _ => MarkAt::Enqueue,
    };
    let threshold = || scheme.bytes("threshold");
    match scheme.name.as_str() {
        "none" => seat(site, Nobody),
        "per-queue" => seat(site, Step::per_queue(threshold(), queues, at())),
        "per-queue-min" => seat(site, Step::per_queue_min(threshold(), &switch.quantum, at())),
        "per-port" => seat(site, Step::per_port(threshold(), queues, at())),
        "per-pool" => seat(site, Step::per_pool(threshold(), queues, at())),
        "mq-ecn" => mq_ecn(site, scheme, packet_time, at()),
        "red" => seat(site, Red::new(red(scheme, packet_time, at()), queues)),
        "per-queue-dq" => seat(site, Step::per_queue(threshold(), queues, MarkAt::Dequeue)),
        "cedm" => seat(site, Cedm::new(cedm(scheme), queues)),
        "e-ecn" => {
            let (t_i, t_a) = (t_i(scheme, packet_time), scheme.span("t_a").expect("resolved"));
            seat(site, EEcn::new(threshold(), t_i, t_a, queues))
        }
        "s-ecn" => {
            let slope = scheme.rate("slope");
            seat(site, SEcn::new(t_i(scheme, packet_time), slope, queues))
        }
        "qcn" => notify(site, Qcn::new(afqcn::qcn(scheme), queues)),
        "af-qcn" => notify(site, AfQcn::new(afqcn::af_qcn(scheme), queues)),
        "afd" => seat(site, Afd::new(afqcn::afd(scheme), queues)),
        unknown => panic!("scheme {unknown} is not in the registry"),
    }
}

/// Where a scheme is to sit.
struct Site<'a> {
    switch: &'a Switch,
    state: PortState,
    /// The seats that are taken already.
    taken: Option<Taken>,
}

/// Puts a marker beside the switch's own classifier, buffer and scheduler. The
/// combination that the large fabrics run is compiled whole; the rest is boxed.
fn seat<M: Marker + Send + 'static>(site: Site, marker: M) -> Box<dyn Qdisc> {
    let Site { switch, state, taken } = site;
    if let Some(taken) = taken {
        let marker = taken.marker.unwrap_or_else(|| Box::new(marker));
        return whole(
            state,
            taken.classifier.unwrap_or_else(|| classifier(switch)),
            taken.buffer.unwrap_or_else(|| buffer(switch)),
            marker,
            taken.scheduler.unwrap_or_else(|| scheduler(switch)),
        );
    }
    let limit = switch.buffer;
    let queues = state.queues();
    match (switch.classify, switch.policy, switch.discipline, switch.strict) {
        (Classify::Class, BufferPolicy::Shared, Discipline::Dwrr, 0) => {
            whole(state, ByClass, Shared { limit }, marker, Dwrr::new(queues))
        }
        (Classify::Single, BufferPolicy::Shared, Discipline::Fifo, 0) if queues == 1 => {
            whole(state, Single, Shared { limit }, marker, Fifo)
        }
        _ => whole(state, classifier(switch), buffer(switch), marker, scheduler(switch)),
    }
}

/// Puts a notifier beside the switch's own classifier, buffer and scheduler.
fn notify<N: Notifier + Send + 'static>(site: Site, notifier: N) -> Box<dyn Qdisc> {
    let Site { switch, state, .. } = site;
    let seats = Seats::new(classifier(switch), buffer(switch), Nobody, scheduler(switch), notifier);
    Box::new(Port::new(state, seats))
}

/// E-ECN's and S-ECN's window.
fn t_i(scheme: &SchemeChoice, packet_time: Span) -> Span {
    let packets = || packet_time.as_secs_f64() * scheme.number("t_i_packets");
    scheme.span("t_i").unwrap_or_else(|| Span::from_secs_f64(packets()))
}

fn cedm(scheme: &SchemeChoice) -> CedmSettings {
    CedmSettings {
        k1: scheme.bytes("k1"),
        k2: scheme.bytes("k2"),
        weight: scheme.number("w_s"),
        header: scheme.bytes("header"),
    }
}

/// The paper's main form is compiled whole; the others are RED with a share of the line.
fn mq_ecn(site: Site, scheme: &SchemeChoice, packet_time: Span, at: MarkAt) -> Box<dyn Qdisc> {
    let (kmin, strict) = (scheme.bytes("threshold"), site.switch.strict as QueueId);
    let beta = scheme.number("beta");
    let t_idle = scheme.span("t_idle").unwrap_or(packet_time);
    let by_weights = scheme.word("share") == "weights";
    let weight = scheme.number("weight");
    let share: Box<dyn Share + Send> = match (scheme.span("clock"), by_weights) {
        (None, false) => {
            let rounds = Rounds::new(beta, t_idle, strict);
            if weight == 1.0 && scheme.size("kmax").is_none() {
                return seat(site, MqEcn::new(kmin, rounds, at));
            }
            Box::new(rounds)
        }
        (None, true) => Box::new(Weights::new(beta, t_idle, strict)),
        (Some(clock), false) => Box::new(Timed::rounds(beta, clock, strict)),
        (Some(clock), true) => Box::new(Timed::weights(beta, clock, strict)),
    };
    let settings = RedSettings {
        kmin,
        kmax: scheme.size("kmax").unwrap_or(kmin),
        pmax: scheme.size("kmax").map_or(1.0, |_| scheme.number("pmax")),
        weight,
        gentle: false,
        spacing: Spacing::Geometric,
        packet_time,
        at,
    };
    let queues = site.state.queues();
    let marker: Box<dyn Marker + Send> = Box::new(Red::scaled(settings, share, queues));
    seat(site, marker)
}

fn red(scheme: &SchemeChoice, packet_time: Span, at: MarkAt) -> RedSettings {
    RedSettings {
        kmin: scheme.bytes("kmin"),
        kmax: scheme.bytes("kmax"),
        pmax: scheme.number("pmax"),
        weight: scheme.number("weight"),
        gentle: scheme.flag("gentle"),
        spacing: match scheme.word("spacing") {
            "geometric" => Spacing::Geometric,
            _ => Spacing::Uniform,
        },
        packet_time,
        at,
    }
}

fn whole<C, B, M, S>(state: PortState, c: C, b: B, m: M, s: S) -> Box<dyn Qdisc>
where
    C: Classifier + Send + 'static,
    B: Buffer + Send + 'static,
    M: Marker + Send + 'static,
    S: Scheduler + Send + 'static,
{
    Box::new(Port::new(state, Seats::new(c, b, m, s, Nobody)))
}

fn classifier(switch: &Switch) -> Box<dyn Classifier + Send> {
    match switch.classify {
        Classify::Single => Box::new(Single),
        Classify::Class => Box::new(ByClass),
        Classify::Ingress => Box::new(ByIngress),
        Classify::Hash => Box::new(ByHash { key: 0 }),
    }
}

fn buffer(switch: &Switch) -> Box<dyn Buffer + Send> {
    let part = Bytes::new(switch.buffer.get() / switch.queues as u64);
    match switch.policy {
        BufferPolicy::Shared => Box::new(Shared { limit: switch.buffer }),
        BufferPolicy::Static => Box::new(Static { limit: part }),
        BufferPolicy::Dynamic => Box::new(Dynamic { alpha: switch.alpha.unwrap_or(1.0) }),
    }
}

fn scheduler(switch: &Switch) -> Box<dyn Scheduler + Send> {
    let queues = switch.queues as usize;
    let base: Box<dyn Scheduler + Send> = match switch.discipline {
        Discipline::Fifo => Box::new(Fifo),
        Discipline::RoundRobin => Box::new(RoundRobin::default()),
        Discipline::Wrr => Box::new(Wrr::new(queues)),
        Discipline::Dwrr => Box::new(Dwrr::new(queues)),
        Discipline::Wfq => Box::new(Wfq::new(queues)),
    };
    if switch.strict == 0 { base } else { Box::new(Strict::new(switch.strict as u8, base)) }
}
