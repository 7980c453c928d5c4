//! A switch's part in priority-based flow control (IEEE 802.1Q, clause 36): the signals of its memory become
//! pause frames to its neighbours, and theirs pause its ports.
//!
//! All that happens at such a switch does so in the order of time: a departure may let a neighbour send
//! again, and the frame that says so takes the line that the next departure waits for.

use super::class;
use super::link::{Packets, transit};
use super::switch::AtWork;
use crate::engine::Event;
use crate::ids::{HostId, PortId};
use crate::packet::{Body, Label, PAUSES, Payload};
use crate::topology::Hop;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use switchbed_qdisc::hooks::Signal;
use switchbed_qdisc::memory::pfc::{self, FRAME_BYTES};
use switchbed_qdisc::{Driver, Packet, SlotId};
use switchbed_units::{Bytes, Time};

/// A pause, as the switch that asks for it knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cause {
    /// When it was decided.
    pub(crate) at: Time,
    /// The port that tells the neighbour, and the class.
    pub(crate) port: PortId,
    pub(crate) class: u8,
    /// Port with the longest queue of the class among those where packets from there wait, and
    /// whether that queue has been held itself since the first of its packets came.
    pub(crate) by: Option<(PortId, bool)>,
}

/// Pause frames that a switch has sent to its neighbours, and is to send.
pub(super) struct Pausing {
    /// The port that leads back to where each input is from.
    back: Vec<PortId>,
    /// Frames that wait to be sent, with their times, in the order of time since all wait equally
    /// long.
    waiting: VecDeque<(Time, Signal)>,
    /// The inputs' classes of which something is to be said again, when, and whether that is a pause: of those
    /// that are paused, and of those that the line had no time for.
    again: BTreeMap<(u16, u8), (Time, bool)>,
    /// Why it paused whom, in the order of time.
    pub(super) causes: Vec<Cause>,
}

impl Pausing {
    pub(super) fn new(back: Vec<PortId>) -> Pausing {
        Pausing { back, waiting: VecDeque::new(), again: BTreeMap::new(), causes: Vec::new() }
    }

    /// Says again from now on what holds for the neighbour at a port.
    pub(super) fn repeat(&mut self, port: PortId, now: Time) {
        let Pausing { back, again, .. } = self;
        for (&(input, _), (at, _)) in again {
            if back.get(usize::from(input)) == Some(&port) {
                *at = now;
            }
        }
    }

    /// Returns the next frame with its time.
    fn next(&self) -> Option<(Time, Signal)> {
        if self.waiting.is_empty() && self.again.is_empty() {
            return None;
        }
        let again = self
            .again
            .iter()
            .map(|(&(input, class), &(at, pause))| (at, Signal { input, class, pause }));
        let again = again.min_by_key(|&(at, _)| at);
        // At the same time a new signal goes before a repetition, which it may make superfluous.
        match (self.waiting.front().copied(), again) {
            (Some(first), Some(again)) if again.0 < first.0 => Some(again),
            (first, again) => first.or(again),
        }
    }
}

/// A pause frame.
pub(super) fn frame(packets: &mut Packets, class: u8, quanta: u16) -> SlotId {
    let packet = Packet { flow: PAUSES, len_bytes: FRAME_BYTES, ..Packet::default() };
    let payload = Payload::loose(Body::Pause { class, quanta });
    // A pause frame goes no further than the next node, so it needs no path.
    packets.put(packet, payload, transit::new(Hop { dst: HostId(0), key: 0 }, None, Label::NONE))
}

/// A port's line is promised to no more than so many bytes: the longest packet, and a pause and a resume of each
/// class. A card holds no queue of pause frames, but what it is to say of each class.
const PROMISED: u32 = 10_000 + 2 * 8 * FRAME_BYTES;

/// When a port may put another pause frame on its line; `None`: now.
pub(super) fn later(driver: &Driver, now: Time) -> Option<Time> {
    let promised = driver.port().state().rate().tx_time(PROMISED);
    let ahead = driver.busy_until().since(now);
    (ahead > promised && driver.is_up()).then(|| now + (ahead - promised))
}

impl AtWork<'_, '_> {
    /// [`AtWork::visit`] of a switch that takes part in flow control.
    pub(super) fn visit_lossless(mut self, events: &[Event], end: Time) -> Time {
        for event in events {
            debug_assert!(class(event.what()) == 0, "switches get packets alone");
            self.catch_up(event.at);
            let slot = SlotId::at(event.what());
            if self.outputs.line.packets.arena.packet(slot).flow == PAUSES {
                self.paused(slot, event.at);
                continue;
            }
            if self.next_message().is_some() {
                self.send_feedbacks(event.at);
            }
            let port = match self.chooses() {
                false => Some(transit::out(self.outputs.line.packets.arena.cargo(slot))),
                true => self.choose(slot, event.at),
            };
            let Some(port) = port else {
                self.outputs.line.packets.arena.free(slot);
                continue;
            };
            self.arrive(port, slot, event.at);
            self.listen(event.at);
        }
        let last = Time::from_ps(end.as_ps() - 1);
        if self.next_message().is_some() {
            self.send_feedbacks(last);
        }
        self.catch_up(last);
        let next = self.pausing.as_ref().and_then(|pausing| pausing.next());
        let next = next.map_or(Time::NEVER, |(at, _)| at);
        let due = self.due().map_or(Time::NEVER, |(at, _)| at);
        let message = self.next_message().map_or(Time::NEVER, |&(at, ..)| at);
        next.min(due).min(message)
    }

    /// The departures and the pause frames that are due by `now`, in the order of their times.
    fn catch_up(&mut self, now: Time) {
        loop {
            let departs = self.due_by(now).unwrap_or((Time::NEVER, PortId(0)));
            let next = self.pausing.as_ref().and_then(|pausing| pausing.next());
            match next {
                // Strictly before: at the same instant the packet goes first, and the frame waits
                // for its end.
                Some((at, signal)) if at < departs.0 && at <= now => self.tell(signal, at),
                _ if departs.0 <= now => {
                    let (at, port) = departs;
                    let backlogged = self.at(port, |driver, line| {
                        driver.transmit(line, at);
                        driver.backlogged()
                    });
                    self.outputs.busy.set(port, backlogged);
                    self.listen(at);
                }
                _ => return,
            }
        }
    }

    /// Collects the signals of the memory after something happened at a port.
    pub(super) fn listen(&mut self, now: Time) {
        while let Some(signal) = self.outputs.line.memory.signal() {
            if signal.pause {
                self.note_cause(signal, now);
            }
            let (Some(pausing), Some(pfc)) = (&mut self.pausing, &self.outputs.line.shared.pfc)
            else {
                return;
            };
            pausing.waiting.push_back((now + pfc.pipeline, signal));
        }
    }

    /// Notes why an input's class is to be paused.
    fn note_cause(&mut self, signal: Signal, now: Time) {
        let Signal { input, class, .. } = signal;
        let state = |port: PortId| self.outputs.links[port.index()].driver.port().state();
        let ports = (0..self.outputs.links.len()).map(|port| PortId(port as u32));
        let waits = |&port: &PortId| {
            let mut queued = state(port).queued(class, &self.outputs.line.packets.arena);
            queued.any(|packet| packet.ingress == input)
        };
        let mut ports: Vec<_> = ports
            .map(|port| (state(port).queue_bytes(class), port))
            .filter(|of| of.0 > Bytes::ZERO)
            .collect();
        ports.sort_unstable_by_key(|&(bytes, port)| (Reverse(bytes), port));
        let by = ports.into_iter().map(|(_, port)| port).find(waits);
        let by = by
            .map(|port| (port, state(port).held_up(class, &self.outputs.line.packets.arena, now)));
        if let Some(pausing) = &mut self.pausing
            && let Some(&port) = pausing.back.get(usize::from(input))
            && pausing.causes.len() < self.outputs.line.shared.remembers[1]
        {
            pausing.causes.push(Cause { at: now, port, class, by });
        }
    }

    /// Sends a neighbour a pause frame.
    fn tell(&mut self, signal: Signal, now: Time) {
        let (Some(pausing), Some(pfc)) = (&mut self.pausing, &self.outputs.line.shared.pfc) else {
            return;
        };
        let Signal { input, class, pause } = signal;
        let Some(&port) = pausing.back.get(usize::from(input)) else { return };
        if pausing.waiting.front() == Some(&(now, signal)) {
            pausing.waiting.pop_front();
        }
        let driver = &self.outputs.links[port.index()].driver;
        let rate = driver.port().state().rate();
        if let Some(at) = later(driver, now) {
            // The pause that holds by then is sent then, once.
            pausing.again.insert((input, class), (at, pause));
            return;
        }
        match pause {
            true => {
                // Renewed well before it runs out, so that there is no gap.
                let lasts = pfc::quanta(pfc.quanta.into(), rate);
                pausing.again.insert((input, class), (now + lasts / 2, true));
            }
            false => {
                pausing.again.remove(&(input, class));
            }
        }
        // A line that is down sends nothing, but the repetition stays for when it is up again.
        if !driver.is_up() {
            return;
        }
        // A PFC frame with quanta of 0 is a resume (IEEE 802.1Q, clause 36).
        let quanta = if pause { pfc.quanta as u16 } else { 0 };
        let slot = frame(self.outputs.line.packets, class, quanta);
        self.at(port, |driver, line| driver.control(slot, FRAME_BYTES, line, now));
    }

    /// A neighbour's pause frame has come in.
    fn paused(&mut self, slot: SlotId, now: Time) {
        let input = self.outputs.line.packets.arena.packet(slot).ingress;
        let body = self.outputs.line.packets.payloads[slot.index()].body;
        self.outputs.line.packets.arena.free(slot);
        let (Some(pausing), Some(pfc)) = (&self.pausing, &self.outputs.line.shared.pfc) else {
            return;
        };
        let (Body::Pause { class, quanta }, Some(&port)) =
            (body, pausing.back.get(usize::from(input)))
        else {
            return;
        };
        let rate = self.outputs.links[port.index()].driver.port().state().rate();
        let from = now + pfc.response(rate);
        let until = from + pfc::quanta(quanta.into(), rate);
        self.at(port, |driver, _| driver.pause(class, from, until, now));
    }
}
