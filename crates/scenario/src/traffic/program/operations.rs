//! Operations of a program in 16 bytes each: a schedule has millions.

use super::{Operation, Work};
use switchbed_units::Span;

/// An operation as it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packed {
    /// A send's message, or a calculation's place among the times.
    word: u32,
    waits_for: u32,
    until: u32,
    cpu: u8,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Send,
    Receive,
    Calculate,
}

/// Operations by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Operations {
    all: Vec<Packed>,
    /// Durations and processors of calculations; successive ones that are alike share a place.
    times: Vec<(Span, u32)>,
}

impl Operations {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn push(&mut self, operation: &Operation) {
        let Operation { work, waits_for, until } = *operation;
        let (word, cpu, kind) = match work {
            Work::Send(message, cpu) => (message, cpu, Kind::Send),
            Work::Receive(cpu) => (0, cpu, Kind::Receive),
            Work::Calculate(span, cpu) => {
                if self.times.last() != Some(&(span, cpu)) {
                    self.times.push((span, cpu));
                }
                (self.times.len() as u32 - 1, 0, Kind::Calculate)
            }
        };
        self.all.push(Packed { word, waits_for, until, cpu, kind });
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> Operation {
        let Packed { word, waits_for, until, cpu, kind } = self.all[number as usize];
        let work = match kind {
            Kind::Send => Work::Send(word, cpu),
            Kind::Receive => Work::Receive(cpu),
            Kind::Calculate => {
                let (span, cpu) = self.times[word as usize];
                Work::Calculate(span, cpu)
            }
        };
        Operation { work, waits_for, until }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Operation> {
        (0..self.len() as u32).map(|number| self.get(number))
    }

    /// Bytes of memory.
    pub(super) fn held(&self) -> usize {
        size_of_val(&self.all[..]) + size_of_val(&self.times[..])
    }

    pub(super) fn shrink(&mut self) {
        self.all.shrink_to_fit();
        self.times.shrink_to_fit();
    }
}
