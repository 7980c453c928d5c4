//! Operations of a program in 16 bytes each: a schedule has millions.

use switchbed_units::Span;

/// Work of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A message, by its number (see [`Schedule::message`](super::Schedule::message)), with the processor that [`Schedule::overhead`](super::Schedule::overhead) occupies;
    /// done with the ACK of its last byte.
    Send(u32, u8),
    /// A message, with the same; done when its last byte is here, and the overhead is over.
    Receive(u8),
    /// Duration on a processor, where operations run one after the other.
    Calculate(Span, u32),
}

impl Work {
    /// Whether it is a receive.
    #[inline]
    pub fn receives(self) -> bool {
        matches!(self, Work::Receive(_))
    }

    /// The processor that it occupies, and for how long, where each message takes this overhead.
    #[inline]
    pub fn occupies(self, overhead: Span) -> (u32, Span) {
        match self {
            Work::Send(_, cpu) | Work::Receive(cpu) => (cpu.into(), overhead),
            Work::Calculate(span, cpu) => (cpu, span),
        }
    }
}

/// An operation of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Work of the operation.
    pub work: Work,
    /// How many operations it waits for, of those that it follows.
    pub waits_for: u32,
    /// The end of those that wait for it in [`Schedule::followers`]; they begin where those of the operation before
    /// end.
    pub(super) until: u32,
}

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
