//! What happens to arrived frames before TCP sees them: a random processing time (`jitter`),
//! interrupts for several frames at a time, and packets of a flow merged into one (Shan and
//! Ren, INFOCOM 2017, section II-A).
//!
//! Only hosts of a scenario that switches one of them on have this.

use super::jitter::Jitter;
use super::{CARD, Hosts, PROCESSED};
use crate::network::{Delivery, Network};
use crate::tcp::{Flags, Segment};
use std::cmp::Reverse;
use switchbed_qdisc::units::{Span, Time};
use switchbed_qdisc::{Ecn, Packet, SlotId};
use switchbed_spec::Host;

/// All hosts' receiving sides.
pub(super) struct Offload {
    /// The time that each frame takes before anything else; `None`: none.
    jitter: Option<Jitter>,
    /// Frames that raise an interrupt at once.
    frames: usize,
    /// The longest that a frame waits for the interrupt; zero: none waits.
    coalesce_time: Span,
    /// Most packets that become one.
    merge_packets: u32,
    /// The longest that a packet waits for the next, where no interrupt ends it.
    merge_time: Span,
    cards: Vec<Card>,
}

/// One host's receiving side.
struct Card {
    /// Frames that wait for the interrupt, in the order of arrival.
    waiting: Vec<SlotId>,
    /// Packets being merged, at most one a connection, the oldest first.
    merged: Vec<Merged>,
    /// When to look at it again; [`Time::NEVER`] if nothing waits. An older timer that
    /// comes before does nothing.
    due: Time,
}

/// Packets merged so far.
struct Merged {
    /// The first one.
    packet: Packet,
    /// Its segment, with the payload of all.
    segment: Segment,
    packets: u32,
    /// When it goes up at the latest.
    deadline: Time,
}

impl Offload {
    /// `hosts` receiving sides; `None` where nothing is switched on.
    pub(super) fn new(host: &Host, hosts: usize, seed: u64) -> Option<Box<Offload>> {
        let Host { coalesce, merge, .. } = host;
        let jitter = Jitter::new(host, hosts, seed);
        let on = jitter.is_some() || coalesce.time > Span::ZERO || merge.packets > 1;
        let card = || Card { waiting: Vec::new(), merged: Vec::new(), due: Time::NEVER };
        on.then(|| {
            Box::new(Offload {
                jitter,
                frames: match coalesce.frames {
                    0 => usize::MAX,
                    frames => frames as usize,
                },
                coalesce_time: coalesce.time,
                merge_packets: merge.packets,
                merge_time: merge.time,
                cards: (0..hosts).map(|_| card()).collect(),
            })
        })
    }
}

impl Hosts {
    /// A frame has arrived at its host's card.
    #[cold]
    pub(super) fn take_in(&mut self, delivery: Delivery, net: &mut Network) {
        let Some(offload) = &mut self.offload else { return };
        if let Some(jitter) = &mut offload.jitter {
            let at = jitter.take(&delivery);
            return self.timers.push(Reverse((at, delivery.host, PROCESSED)));
        }
        self.wait_for_interrupt(delivery, net);
    }

    /// A host is through with the frame that came first.
    pub(super) fn processed(&mut self, host: u32, now: Time, net: &mut Network) {
        let Some(jitter) = self.offload.as_mut().and_then(|o| o.jitter.as_mut()) else { return };
        let Some(slot) = jitter.release(host) else { return };
        self.wait_for_interrupt(Delivery { at: now, host, slot }, net);
    }

    /// A frame waits for the interrupt, or causes it.
    fn wait_for_interrupt(&mut self, delivery: Delivery, net: &mut Network) {
        let Delivery { at: now, host, slot } = delivery;
        let Some(offload) = &mut self.offload else { return };
        let card = &mut offload.cards[host as usize];
        card.waiting.push(slot);
        if offload.coalesce_time == Span::ZERO || card.waiting.len() >= offload.frames {
            self.interrupt(host, now, net);
        } else if card.waiting.len() == 1 {
            card.due = now + offload.coalesce_time;
            self.timers.push(Reverse((card.due, host, CARD)));
        }
    }

    /// A card's timer fires.
    pub(super) fn card_due(&mut self, host: u32, now: Time, net: &mut Network) {
        let Some(offload) = &mut self.offload else { return };
        if offload.cards[host as usize].due == now {
            self.interrupt(host, now, net);
        }
    }

    /// The host looks at the frames that wait.
    fn interrupt(&mut self, host: u32, now: Time, net: &mut Network) {
        let Some(offload) = &mut self.offload else { return };
        let coalesces = offload.coalesce_time > Span::ZERO;
        let merges = offload.merge_packets > 1;
        let card = &mut offload.cards[host as usize];
        if coalesces || card.due <= now {
            card.due = Time::NEVER;
        }
        let mut waiting = std::mem::take(&mut card.waiting);
        for slot in waiting.drain(..) {
            let (packet, segment) = (*net.packet(slot), *net.segment(slot));
            net.free(slot);
            let data = !segment.flags.contains(Flags::ACK) && !segment.flags.contains(Flags::SYN);
            if merges && data {
                self.merge(host, packet, segment, now, net);
            } else {
                self.hand_up(&packet, &segment, now, net);
            }
        }
        let Some(offload) = &mut self.offload else { return };
        // The vector's memory serves again.
        offload.cards[host as usize].waiting = waiting;
        self.flush(host, if coalesces { Time::NEVER } else { now }, now, net);
    }

    /// Merges a packet with those of its flow that wait, or lets it wait for the next. What
    /// cannot be merged goes up in order.
    fn merge(&mut self, host: u32, packet: Packet, segment: Segment, now: Time, net: &mut Network) {
        let last = self.ends_flow(&packet, &segment);
        let Some(offload) = &mut self.offload else { return };
        let (most, mss) = (offload.merge_packets, self.config.mss());
        let deadline = now + offload.merge_time;
        let held = &mut offload.cards[host as usize].merged;
        // What is sent in one piece ends there, as TCP's PSH says.
        let ends = last || segment.len < mss;
        let place = held.iter().position(|merged| merged.packet.flow == packet.flow);
        if let Some(place) = place {
            let merged = &mut held[place];
            let next = merged.segment.offset + merged.segment.len as u64;
            let alike = merged.packet.ecn == packet.ecn && merged.segment.flags == segment.flags;
            let joins = next == segment.offset && alike;
            if joins {
                merged.segment.len += segment.len;
                merged.packets += 1;
            }
            if !joins || ends || merged.packets == most {
                let merged = held.remove(place);
                self.hand_up_merged(&merged, now, net);
            }
            if joins {
                return;
            }
        }
        let merged = Merged { packet, segment, packets: 1, deadline };
        if ends {
            return self.hand_up_merged(&merged, now, net);
        }
        let Some(offload) = &mut self.offload else { return };
        offload.cards[host as usize].merged.push(merged);
    }

    /// Hands up what may wait no longer than `until`, and wakes up for the rest.
    fn flush(&mut self, host: u32, until: Time, now: Time, net: &mut Network) {
        loop {
            let Some(offload) = &mut self.offload else { return };
            let card = &mut offload.cards[host as usize];
            match card.merged.first() {
                Some(first) if first.deadline <= until => {
                    let merged = card.merged.remove(0);
                    self.hand_up_merged(&merged, now, net);
                }
                Some(first) => {
                    // A wake-up that is still to come sees to the next.
                    if card.due == Time::NEVER {
                        card.due = first.deadline;
                        self.timers.push(Reverse((card.due, host, CARD)));
                    }
                    return;
                }
                None => return,
            }
        }
    }

    /// Whether a segment ends what its flow's application wrote.
    fn ends_flow(&self, packet: &Packet, segment: &Segment) -> bool {
        let end = segment.offset + segment.len as u64;
        self.place_of(packet.flow).is_some_and(|place| {
            self.connections[place as usize].flows.iter().any(|flow| flow.until == end)
        })
    }

    fn hand_up_merged(&mut self, merged: &Merged, now: Time, net: &mut Network) {
        if merged.packets == 1 {
            return self.hand_up(&merged.packet, &merged.segment, now, net);
        }
        let Some(place) = self.place_of(merged.packet.flow) else { return };
        let receiver = &mut self.connections[place as usize].receiver;
        let ce = merged.packet.ecn == Ecn::Ce;
        receiver.on_merged(&self.config, &merged.segment, ce, now);
        self.received(place, now, net);
    }
}
