//! Priority-based flow control at the switch's ports (IEEE 802.1Qbb): signals of its memory become
//! frames to the peers, and theirs pause its ports.
//!
//! A frame is obeyed at once, after the packet on the line. It ends by itself after its quanta, so a
//! pause is sent again after half of them while it holds.

use crate::egress::Egress;
use std::collections::BTreeMap;
use switchbed_qdisc::SwitchMemory;
use switchbed_qdisc::hooks::Signal;
use switchbed_qdisc::memory::Inputs;
use switchbed_qdisc::memory::pfc::{self, PRIORITIES, Pfc};
use switchbed_scenario::Live;
use switchbed_units::{Rate, Time};
use switchbed_wire::pfc::{LENGTH, Quanta};

/// Flow control of a switch.
pub(crate) struct Pausing {
    pfc: Pfc,
    /// The line rate of each port that takes part.
    lines: Vec<Option<Rate>>,
    /// Bytes that a port's line may be promised to ahead of time: the longest packet, and a pause and a
    /// resume of each class. Further frames wait, so that no flapping memory fills the line.
    promised: u32,
    /// Frames to send: of classes that are paused, before their pause ends, and of those that the line
    /// had no time for. When, and whether that is a pause.
    again: BTreeMap<(u16, u8), (Time, bool)>,
    /// The ends of the pauses that peers asked for, by port and class.
    held: Vec<[Time; PRIORITIES as usize]>,
}

/// Frames of flow control at a port.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frames {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// Cut short.
    pub(crate) malformed: u64,
}

impl Pausing {
    /// Makes the flow control that the settings ask for. It takes over from what was there before: the
    /// pauses of peers, and resumes that had to wait.
    pub(crate) fn after(before: Option<Pausing>, live: &Live) -> Option<Pausing> {
        let pfc = live.switch.pfc.clone()?;
        let lines = live.port.iter().map(|port| port.pfc.then_some(port.rate)).collect();
        let longest = live.inputs().1.get() as u32;
        let promised = longest + 2 * u32::from(PRIORITIES) * LENGTH as u32;
        let mut held = vec![Default::default(); live.port.len()];
        let mut again = BTreeMap::new();
        if let Some(before) = before {
            again = before.again;
            again.retain(|_, (_, pause)| !*pause);
            held = before.held;
        }
        Some(Pausing { pfc, lines, promised, again, held })
    }

    /// Whether a port sends and obeys frames.
    pub(crate) fn takes_part(&self, port: u16) -> bool {
        self.lines[usize::from(port)].is_some()
    }

    /// When the next frame is to be sent.
    pub(crate) fn next(&self) -> Time {
        self.again.values().map(|&(at, _)| at).min().unwrap_or(Time::NEVER)
    }

    /// Takes out a frame that is due.
    pub(crate) fn due(&mut self, now: Time) -> Option<Signal> {
        let due = self.again.iter().find(|(_, (at, _))| *at <= now);
        let (&(input, class), &(_, pause)) = due?;
        self.again.remove(&(input, class));
        Some(Signal { input, class, pause })
    }

    /// The classes that are paused now, each with its input.
    pub(crate) fn pauses(&self) -> impl Iterator<Item = (u16, u8)> {
        self.again.iter().filter(|(_, (_, pause))| *pause).map(|(&of, _)| of)
    }

    /// Whether the peer of an input has been asked to pause a class.
    pub(crate) fn has_paused(&self, input: u16, class: u8) -> bool {
        self.again.get(&(input, class)).is_some_and(|&(_, pause)| pause)
    }

    /// Decides on a signal: the quanta that a frame says at once, or none: later, or never.
    pub(crate) fn tell(&mut self, signal: Signal, egress: &Egress, now: Time) -> Option<Quanta> {
        let Signal { input, class, pause } = signal;
        let line = self.lines[usize::from(input)]?;
        if let Some(at) = egress.later(self.promised, now) {
            // One frame then says whatever holds by that time.
            self.again.insert((input, class), (at, pause));
            return None;
        }
        match pause {
            true => {
                let lasts = pfc::quanta(self.pfc.quanta.into(), line);
                self.again.insert((input, class), (now + lasts / 2, true));
            }
            false => drop(self.again.remove(&(input, class))),
        }
        let mut quanta = [None; 8];
        quanta[usize::from(class)] = Some(if pause { self.pfc.quanta as u16 } else { 0 });
        Some(quanta)
    }

    /// A peer's frame: each lossless class that it is about, and the end of the pause.
    pub(crate) fn heard(&mut self, port: u16, quanta: &Quanta, now: Time) -> Vec<(u8, Time)> {
        let Some(line) = self.lines[usize::from(port)] else { return Vec::new() };
        let held = &mut self.held[usize::from(port)];
        let each = (0..).zip(quanta).filter(|(class, _)| self.pfc.lossless(*class));
        each.filter_map(|(class, quanta)| {
            let until = now + pfc::quanta((*quanta)?.into(), line);
            held[usize::from(class)] = until;
            Some((class, until))
        })
        .collect()
    }

    /// Sets up a port that its peer may pause: the watchdog, and what the peer holds now.
    pub(crate) fn prepare(&self, port: u16, egress: &mut Egress, now: Time) {
        if !self.takes_part(port) {
            return;
        }
        egress.guard(self.pfc.guard());
        for (class, &until) in (0..).zip(&self.held[usize::from(port)]) {
            if until > now {
                egress.pause(class, until, now);
            }
        }
    }
}

/// The switch's memory.
pub(crate) fn memory(live: &Live) -> SwitchMemory {
    let ports = live.port.len() as u32;
    if live.switch.pfc.is_none() {
        // Ports count what is behind Ethernet's header; headroom counts whole frames.
        return live.switch.memory(ports, live.live.mtu);
    }
    let (links, longest, shortest) = live.inputs();
    let memory = live.switch.lossless_memory(ports, Inputs { links: &links, longest, shortest });
    memory.unwrap_or_else(|_| panic!("a file without memory beside the headroom is refused"))
}
