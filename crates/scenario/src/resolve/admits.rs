//! Whether an empty port lets a packet in at all: a run in which none does would go on for ever.
//!
//! The switch's ports are built as the run will, and offered a packet while they are empty. So the check
//! is that of every policy, chip and scheme.

use crate::build;
use crate::build::{AllHeadroom, Inputs, Nothing};
use crate::protocols::Protocols;
use crate::topology::graph::{Cable, Graph};
use crate::traffic::Traffic;
use crate::{Scenario, SchemeChoice, Switch, Transport};
use switchbed_qdisc::memory::pfc::Input;
use switchbed_qdisc::port::view::DropReason;
use switchbed_qdisc::switch::QueueRules;
use switchbed_qdisc::{Arena, Cx, Ecn, Enqueued, Outcome, Packet};
use switchbed_units::random::Stream;
use switchbed_units::{Bytes, Time};

/// A key, and what is wrong with it.
pub(super) type Refused = (&'static str, String);

/// Rules that a class's packets meet: its queue's, its queue's scheme, and whether it is lossless.
type Rules = (QueueRules, *const SchemeChoice, bool);

/// A packet that every connection needs.
#[derive(Clone, Copy, PartialEq)]
struct Needed {
    what: &'static str,
    bytes: Bytes,
    capable: bool,
    class: u8,
}

/// The first rule of a scenario's switches by which an empty port refuses what flows need.
pub(super) fn refused(scenario: &Scenario, graph: &Graph) -> Option<Refused> {
    let inputs = graph.inputs();
    let of =
        |name: &str| scenario.deploy.iter().find(|entry| entry.switches.iter().any(|s| s == name));
    // By identity: switches of one entry share scheme, memory and, if as many, ports.
    let mut seen: Vec<(*const SchemeChoice, Option<Bytes>, usize)> = Vec::new();
    for ((name, cables), inputs) in graph.switches.iter().zip(&inputs) {
        let entry = of(name);
        let scheme = entry.and_then(|entry| entry.scheme.as_ref()).unwrap_or(&scenario.scheme);
        let memory = entry.and_then(|entry| entry.memory);
        let kind = (std::ptr::from_ref(scheme), memory, cables.len());
        if scheme.python.is_some() || cables.is_empty() || seen.contains(&kind) {
            // A Python scheme shows what it does only as it runs.
            continue;
        }
        seen.push(kind);
        let switch =
            entry.map_or_else(|| scenario.switch.clone(), |entry| entry.switch(&scenario.switch));
        for needed in needed(scenario, &switch, scheme) {
            if let Some(refused) = refuses(scenario, (&switch, scheme), (cables, inputs), needed) {
                return Some(refused);
            }
        }
    }
    None
}

/// Packets that flows need to get through, TCP's SYNs and ACKs and a full packet, in each class that may meet
/// other rules than those before it.
fn needed(scenario: &Scenario, switch: &Switch, scheme: &SchemeChoice) -> Vec<Needed> {
    let protocols = Protocols::of(scenario);
    // No packet is longer than the MTU, whatever the transport's framing adds.
    let bytes = scenario.longest().min(scenario.host.mtu());
    let lossless = |class| switch.pfc.as_ref().is_some_and(|pfc| pfc.lossless(class));
    let mut found: Vec<(Needed, Rules)> = Vec::new();
    for (i, entry) in scenario.traffic.iter().enumerate() {
        let own = (0..=entry.classes()).filter(|&class| entry.has_class(class));
        let mut classes: Vec<u8> = own.map(|class| class as u8).collect();
        if let Traffic::List(_) = entry.source {
            // The file is not read yet: the classes with rules of their own.
            let pairs = scenario.roce.as_ref().and_then(|roce| roce.classes.as_ref()?.first());
            let paused = switch.pfc.as_ref().and_then(|pfc| pfc.priorities.first());
            classes.extend(pairs.into_iter().chain(paused));
        }
        for class in classes {
            let queue = switch.queue_of(class);
            let rules =
                (switch.rules(queue), std::ptr::from_ref(scheme.at(queue)), lossless(class));
            for protocol in protocols.of_class(i as u32, class) {
                let bare =
                    |tcp: &Transport| {
                        [("SYNs", tcp.ecn_syn), ("ACKs", tcp.ecn_acks)].map(|(what, capable)| {
                            Needed { what, bytes: tcp.header, capable: tcp.ecn && capable, class }
                        })
                    };
                let capable = protocol.ecn() || protocol.queue_pairs().is_some();
                let full = Needed { what: "data", bytes, capable, class };
                for needed in protocol.tcp().map(bare).into_iter().flatten().chain([full]) {
                    let same = |(other, of): &(Needed, Rules)| {
                        Needed { class, ..*other } == needed && *of == rules
                    };
                    if !found.iter().any(same) {
                        found.push((needed, rules));
                    }
                }
            }
        }
    }
    found.into_iter().map(|(needed, _)| needed).collect()
}

/// Why an empty port of a switch with these cables refuses a packet, whatever is drawn.
fn refuses(
    scenario: &Scenario,
    (switch, scheme): (&Switch, &SchemeChoice),
    (cables, inputs): (&[Cable], &[Cable]),
    needed: Needed,
) -> Option<Refused> {
    let mut why = None;
    // Schemes may draw: what is dropped thrice in an empty queue is dropped for good.
    for draw in 0..3 {
        let (ports, mtu) = (cables.len() as u32, scenario.host.mtu());
        let links: Vec<Input> = inputs.iter().map(Cable::input).collect();
        let shortest = scenario.shortest();
        let inputs = Inputs { links: &links, longest: mtu, shortest };
        let memory = match switch.lossless_memory(ports, inputs) {
            Ok(memory) => memory,
            Err(AllHeadroom { headroom, memory }) => {
                let why = format!(
                    "needs {headroom} of headroom for its groups, and a switch has {memory} of memory: give it \
                     more (switch.pool), or the groups less (headroom, headroom_pool)"
                );
                return Some(("switch.pfc", why));
            }
        };
        let mut port = build::port(switch, scheme, ports, cables[0].rate, mtu, &Nothing, 0);
        let mut memory = memory.behind(port.needs().memory);
        let (mut arena, mut out) = (Arena::new(), Outcome::default());
        let slot = arena.alloc(Packet {
            len_bytes: needed.bytes.get() as u32,
            class: needed.class,
            ecn: if needed.capable { Ecn::Ect0 } else { Ecn::NotEct },
            ..Packet::default()
        });
        let mut rng = Stream::new(draw, "admits", 0);
        let now = Time::from_ps(1);
        let mut cx =
            Cx { now, arena: &mut arena, memory: &mut memory, rng: &mut rng, out: &mut out };
        let Enqueued::Dropped(_, reason) = port.enqueue(slot, &mut cx) else { return None };
        why = Some(reason);
    }
    let Needed { what, bytes, class, .. } = needed;
    match why? {
        DropReason::Full => Some(match &switch.pfc {
            Some(pfc) if pfc.lossless(class) => (
                "switch.pfc",
                format!(
                    "has a lossless group that admits nothing: its part of the empty shared memory and its \
                     headroom together hold no packet of {bytes}: give it more (alpha, threshold, headroom), \
                     or switch.pool more"
                ),
            ),
            _ => {
                let queue = switch.queue_of(class);
                let own = switch.rules(queue).alpha;
                let Some(alpha) = own else {
                    let buffer = switch.buffer;
                    let why = format!("is {buffer}: an empty queue admits no packet of {bytes}");
                    return Some(("switch.buffer", why));
                };
                let memory = switch.pool.unwrap_or(switch.buffer);
                // Rounded up: what is advised must be enough.
                let least = (bytes.as_f64() / memory.as_f64() * 1e9).ceil() / 1e9;
                let (key, is) = match own == switch.alpha {
                    true => ("switch.alpha", format!("is {alpha}: an empty queue")),
                    false => {
                        ("switch.queue", format!("has alpha = {alpha}: an empty queue {queue}"))
                    }
                };
                let why = format!(
                    "{is} admits no packet of {bytes}, alpha times {memory}: it must be at least {least}"
                );
                (key, why)
            }
        }),
        DropReason::NotEcnCapable => Some((
            "scheme",
            format!(
                "{} marks at an empty queue, and {what} are not ECN-capable: each is dropped, and no flow \
                 ends; its threshold must hold a packet, {}, or switch.unmarkable be \"pass\"",
                scheme.at(switch.queue_of(class)).label,
                scenario.host.mtu()
            ),
        )),
        _ => None,
    }
}
