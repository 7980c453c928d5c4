//! Where a scheme is to sit: a port of a switch, idle, whose seats it fills or leaves to the
//! switch.

use crate::MAX_QUEUES;
use crate::classifier::{ByClass, Single};
use crate::hooks::{Buffer, Classifier, Marker, Nobody, Notifier, Scheduler};
use crate::memory::{OfPort, Shared};
use crate::port::set::QueueSet;
use crate::port::view::PortState;
use crate::port::{Port, Qdisc};
use crate::schedulers::{Dwrr, Fifo};
use crate::scheme::{Scheme, Seats, Way};
use crate::schemes::definition::Layout;
use crate::switch::{BufferPolicy, Classify, Discipline, Switch, Unmarkable};
use switchbed_units::{Bytes, Rate, Span};

/// A port that waits for its scheme.
pub struct Site {
    switch: Switch,
    state: PortState,
    mtu: Bytes,
    taken: Option<Taken>,
    bare: bool,
    collecting: bool,
}

/// Seats that are taken already; the switch's own and the scheme's marker sit in the others.
#[derive(Default)]
pub struct Taken {
    /// Seat that chooses a packet's queue.
    pub classifier: Option<Box<dyn Classifier + Send>>,
    /// Seat that admits packets to memory.
    pub buffer: Option<Box<dyn Buffer + Send>>,
    /// Seat that marks packets.
    pub marker: Option<Box<dyn Marker + Send>>,
    /// Seat that chooses the next departure.
    pub scheduler: Option<Box<dyn Scheduler + Send>>,
    /// Seat that sends messages to sources.
    pub notifier: Option<Box<dyn Notifier + Send>>,
}

/// Result of building a scheme on its site.
pub enum Built {
    /// A whole port with all seats filled.
    Port(Box<dyn Qdisc>),
    /// The scheme alone, and the port's state, for tests that stand around it.
    Bare(Box<dyn Scheme + Send>, PortState),
    /// A marker alone, and the site that it was made for ([`Site::collecting`]).
    Marker(Box<dyn Marker + Send>, Box<Site>),
}

impl Built {
    /// Takes the port out of the result.
    pub fn port(self) -> Box<dyn Qdisc> {
        match self {
            Built::Port(port) => port,
            Built::Bare(scheme, state) => Box::new(Port::new(state, scheme)),
            Built::Marker(marker, site) => site.mark(marker).port(),
        }
    }
}

impl Site {
    /// A port of a switch of so many `ports`; with a `layout` its queues are the scheme's, of
    /// equal weight. `mtu` gives time constants that are a packet's time on this line.
    pub fn new(
        switch: &Switch,
        layout: Option<Layout>,
        ports: u32,
        rate: Rate,
        mtu: Bytes,
    ) -> Self {
        let switch = switch.of_ports(ports);
        let state = match layout {
            Some(layout) => PortState::new(rate, &vec![mtu; layout.queues]),
            None => PortState::new(rate, &switch.quantum),
        };
        let passing = match (layout, switch.unmarkable) {
            (Some(_), Unmarkable::Pass) => QueueSet::first_of(MAX_QUEUES),
            (Some(_), Unmarkable::Drop) => QueueSet::EMPTY,
            (None, _) => switch.passing_unmarkable(),
        };
        let state = state.passing_unmarkable(passing);
        let state = match switch.trim().filter(|_| layout.is_none()) {
            Some(rules) => state.trimming(rules),
            None => state,
        };
        Site { switch, state, mtu, taken: None, bare: false, collecting: false }
    }

    /// Sets the number among the switch's ports; by default it is 0.
    pub fn numbered(self, number: u32) -> Self {
        Site { state: self.state.numbered(number), ..self }
    }

    /// Sets seats that a caller has taken.
    pub fn with(self, take: impl FnOnce(&Switch, &PortState) -> Taken) -> Self {
        let taken = Some(take(&self.switch, &self.state));
        Site { taken, ..self }
    }

    /// Asks for [`Built`] to be the scheme alone.
    pub fn bare(self) -> Self {
        Site { bare: true, ..self }
    }

    /// Asks for [`Built`] to be a marker alone, if the scheme is one.
    pub fn collecting(self) -> Self {
        Site { collecting: true, ..self }
    }

    /// How many queues there are.
    pub fn queues(&self) -> usize {
        self.state.queues()
    }

    /// Returns the port's part of `[switch]`.
    pub fn switch(&self) -> &Switch {
        &self.switch
    }

    /// The queues with strict priority.
    pub fn strict(&self) -> QueueSet {
        self.switch.strict_queues()
    }

    /// Returns the rate of the line.
    pub fn rate(&self) -> Rate {
        self.state.rate()
    }

    /// The time that one MTU takes on the line.
    pub fn packet_time(&self) -> Span {
        self.state.rate().tx_time(self.mtu.get() as u32)
    }

    /// Returns the length of the longest packet.
    pub fn packet(&self) -> Bytes {
        self.mtu
    }

    /// Each queue's memory where all have an equal part, in whole cells.
    pub fn part(&self, cell: Bytes) -> Bytes {
        Layout { queues: self.queues(), cell }.part(self.switch.buffer)
    }

    /// Puts a marker beside the switch's own classifier, buffer and scheduler. The combinations
    /// that large runs use are compiled whole; the rest is boxed.
    pub fn mark<M: Marker + Send + 'static>(self, marker: M) -> Built {
        if self.collecting {
            let site = Site { collecting: false, ..self };
            return Built::Marker(Box::new(marker), Box::new(site));
        }
        if self.taken.is_some() {
            return self.beside_taken(Box::new(marker));
        }
        let (limit, queues) = (self.switch.buffer, self.queues());
        let Switch { classify, policy, discipline, strict, .. } = self.switch;
        // Rules of single queues, and htsim's trimming, need a buffer or scheduler around the plain
        // ones.
        let alike =
            self.switch.queue.is_empty() && self.switch.trim().is_none_or(|trim| !trim.swaps);
        match (classify, policy, discipline, strict) {
            (Classify::Class, BufferPolicy::Shared, Discipline::Dwrr, 0) if alike => {
                self.seats(ByClass, Shared { limit }, marker, Dwrr::new(queues), Nobody)
            }
            (Classify::Single, BufferPolicy::Shared, Discipline::Fifo, 0)
                if queues == 1 && alike =>
            {
                self.seats(Single, Shared { limit }, marker, Fifo, Nobody)
            }
            _ => {
                let switch = &self.switch;
                let (c, b, s) = (switch.classifier(), switch.buffer(), switch.scheduler());
                self.seats(c, b, marker, s, Nobody)
            }
        }
    }

    fn beside_taken(mut self, marker: Box<dyn Marker + Send>) -> Built {
        let taken = self.taken.take().unwrap_or_default();
        let classifier = taken.classifier.unwrap_or_else(|| self.switch.classifier());
        let buffer = taken.buffer.map_or_else(|| self.switch.buffer(), OfPort::Other);
        let scheduler = taken.scheduler.unwrap_or_else(|| self.switch.scheduler());
        let marker = taken.marker.unwrap_or(marker);
        let notifier = taken.notifier.unwrap_or_else(|| Box::new(Nobody));
        self.seats(classifier, buffer, marker, scheduler, notifier)
    }

    /// Puts a notifier beside the switch's own classifier, buffer and scheduler.
    pub fn notify<N: Notifier + Send + 'static>(self, notifier: N) -> Built {
        let switch = &self.switch;
        let (c, b, s) = (switch.classifier(), switch.buffer(), switch.scheduler());
        self.seats(c, b, Nobody, s, notifier)
    }

    /// Builds a port with all seats filled.
    pub fn seats<C, B, M, S, N>(self, c: C, b: B, m: M, s: S, n: N) -> Built
    where
        C: Way<S> + Send + 'static,
        B: Buffer + Send + 'static,
        M: Marker + Send + 'static,
        S: Scheduler + Send + 'static,
        N: Notifier + Send + 'static,
    {
        self.whole(Seats::new(c, b, m, s, n))
    }

    /// One policy over all seats.
    pub fn whole<S: Scheme + Send + 'static>(self, scheme: S) -> Built {
        // A port for each scheme takes a compiler longer than the unit tests are worth.
        #[cfg(test)]
        let scheme: Box<dyn Scheme + Send> = Box::new(scheme);
        match self.bare {
            true => Built::Bare(Box::new(scheme), self.state),
            false => Built::Port(Box::new(Port::new(self.state, scheme))),
        }
    }
}
