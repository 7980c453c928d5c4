//! The messages of collectives and what each waits for.

use super::{Algorithm, Collective, Operation};
use crate::traffic::program::{Draft, Envelope, Step};
use switchbed_units::{Bytes, PS_PER_S, Rate, Span};

/// The messages of a collective, each part of its data by the algorithm on its own.
pub(super) fn draft(collective: &Collective) -> Draft {
    let ranks = collective.count();
    let mut draft = Draft::new(ranks);
    let parts = collective.channels * collective.chunks;
    for part in 0..parts {
        let bytes = share(collective.bytes, part, parts);
        let channel = part % collective.channels;
        let ready = vec![Vec::new(); ranks as usize];
        let reduction = collective.reduction;
        let class = collective.class;
        let mut sketch =
            Sketch { draft: &mut draft, ranks, bytes, tag: part, channel, class, reduction, ready };
        sketch.operation(collective.operation, collective.schedule());
    }
    draft
}

/// One of so many shares, equal but for a byte.
fn share(bytes: Bytes, nth: u32, of: u32) -> Bytes {
    Bytes::new(before(bytes, nth + 1, of) - before(bytes, nth, of))
}

/// The bytes before a share.
fn before(bytes: Bytes, nth: u32, of: u32) -> u64 {
    (u128::from(bytes.get()) * u128::from(nth) / u128::from(of)) as u64
}

/// A part of the data on its way.
struct Sketch<'a> {
    draft: &'a mut Draft,
    ranks: u32,
    bytes: Bytes,
    tag: u32,
    channel: u32,
    class: u8,
    reduction: Option<Rate>,
    /// Steps that each rank's next message waits for.
    ready: Vec<Vec<Step>>,
}

impl Sketch<'_> {
    fn operation(&mut self, operation: Operation, algorithm: Algorithm) {
        use Operation::{AllGather, AllReduce, AllToAll, Broadcast, Reduce, ReduceScatter};
        match (algorithm, operation) {
            (Algorithm::Ring, operation) => {
                if operation != AllGather {
                    self.ring(0, true);
                }
                if operation != ReduceScatter {
                    self.ring(u32::from(operation == AllReduce), false);
                }
            }
            (Algorithm::HalvingDoubling, operation) => self.folded(|sketch, ranks| {
                if operation != AllGather {
                    sketch.halve(ranks);
                }
                if operation != ReduceScatter {
                    sketch.double(ranks);
                }
            }),
            (Algorithm::RecursiveDoubling, _) => self.folded(Sketch::exchange),
            (Algorithm::Tree, operation) => {
                if operation != Broadcast {
                    self.gather_tree();
                }
                if operation != Reduce {
                    self.spread_tree();
                }
            }
            (Algorithm::Chain, operation) => {
                if operation != Broadcast {
                    (1..self.ranks).rev().for_each(|rank| self.pass(rank, rank - 1, true));
                }
                if operation != Reduce {
                    (1..self.ranks).for_each(|rank| self.pass(rank - 1, rank, false));
                }
            }
            (Algorithm::Pairwise | Algorithm::Direct, operation) => {
                let own = matches!(operation, AllToAll | ReduceScatter);
                self.shifts(own, algorithm == Algorithm::Pairwise, operation == ReduceScatter);
            }
        }
    }

    /// A message from what is ready at a rank: the operations that send and receive it.
    fn message(&mut self, from: u32, to: u32, bytes: Bytes) -> (Step, Step) {
        let Sketch { tag, channel, class, .. } = *self;
        let envelope = Envelope { to, tag, bytes, channel, class, path: None };
        let sent = self.draft.send(from, envelope, &self.ready[from as usize]);
        (sent, self.draft.receive((to, from), self.tag, &[]))
    }

    /// Adds the time that a rank takes to reduce what it received, after the steps `after`. Returns
    /// the steps to wait for.
    fn reduced(&mut self, rank: u32, bytes: Bytes, mut after: Vec<Step>) -> Vec<Step> {
        let Some(rate) = self.reduction else { return after };
        let ps = u128::from(bytes.get()) * 8 * u128::from(PS_PER_S) / u128::from(rate.as_bps());
        let span = Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX));
        after = vec![self.draft.calculate((rank, self.channel), span, &after)];
        after
    }

    /// All of the part from a rank to another, which has nothing else to send before that is there.
    fn pass(&mut self, from: u32, to: u32, reduces: bool) {
        let (_, received) = self.message(from, to, self.bytes);
        self.ready[to as usize] = match reduces {
            true => self.reduced(to, self.bytes, vec![received]),
            false => vec![received],
        };
    }

    /// Every rank's share goes round once: in step s rank r sends share r + `ahead` − s on to r + 1.
    fn ring(&mut self, ahead: u32, reduces: bool) {
        let n = self.ranks;
        for step in 0..n - 1 {
            let sent: Vec<(Bytes, Step)> = (0..n)
                .map(|rank| {
                    let bytes = share(self.bytes, (rank + ahead + n - step) % n, n);
                    (bytes, self.message(rank, (rank + 1) % n, bytes).1)
                })
                .collect();
            for (rank, (bytes, received)) in (0..n).zip(sent) {
                let next = (rank + 1) % n;
                let after = vec![received];
                self.ready[next as usize] =
                    if reduces { self.reduced(next, bytes, after) } else { after };
            }
        }
    }

    /// Among as many ranks as are a power of two: the others give theirs to one of these first, and get the
    /// outcome from it (Thakur, Rabenseifner and Gropp, section 4.4).
    fn folded(&mut self, among: impl FnOnce(&mut Self, u32)) {
        let ranks = 1 << self.ranks.ilog2();
        let others = ranks..self.ranks;
        for rank in others.clone() {
            let (_, received) = self.message(rank, rank - ranks, self.bytes);
            self.ready[(rank - ranks) as usize] =
                self.reduced(rank - ranks, self.bytes, vec![received]);
        }
        among(self, ranks);
        others.for_each(|rank| {
            self.message(rank - ranks, rank, self.bytes);
        });
    }

    /// Each rank exchanges with the one whose number differs in a bit: `bytes(rank)` are what it sends.
    fn swap(&mut self, ranks: u32, bit: u32, reduces: bool, bytes: impl Fn(u32) -> Bytes) {
        let received: Vec<Step> =
            (0..ranks).map(|rank| self.message(rank ^ bit, rank, bytes(rank ^ bit)).1).collect();
        for (rank, received) in (0..ranks).zip(received) {
            let mut after = std::mem::take(&mut self.ready[rank as usize]);
            after.push(received);
            self.ready[rank as usize] = match reduces {
                true => self.reduced(rank, bytes(rank ^ bit), after),
                false => after,
            };
        }
    }

    /// Each rank ends with its share of the sum: in each step it gives away half of what it has.
    fn halve(&mut self, ranks: u32) {
        let whole = self.bytes;
        let mut bit = ranks / 2;
        while bit > 0 {
            // The half that is the other's: shares that are its own but for lower bits.
            self.swap(ranks, bit, true, |rank| shares(whole, rank ^ bit, bit, ranks));
            bit /= 2;
        }
    }

    /// Each rank ends with all shares: in each step it gives what it has.
    fn double(&mut self, ranks: u32) {
        let whole = self.bytes;
        let mut bit = 1;
        while bit < ranks {
            self.swap(ranks, bit, false, |rank| shares(whole, rank, bit, ranks));
            bit *= 2;
        }
    }

    /// Each rank ends with the sum: in each step it gives all that it has.
    fn exchange(&mut self, ranks: u32) {
        let whole = self.bytes;
        let mut bit = 1;
        while bit < ranks {
            self.swap(ranks, bit, true, |_| whole);
            bit *= 2;
        }
    }

    /// From rank 0 down a binomial tree; a rank's messages follow each other, each once the one before is
    /// acknowledged: side by side they would share the line, and none would be there sooner.
    fn spread_tree(&mut self) {
        let mut have = 1;
        while have < self.ranks {
            for to in have..(2 * have).min(self.ranks) {
                let from = to - have;
                let (sent, received) = self.message(from, to, self.bytes);
                self.ready[from as usize] = vec![sent];
                self.ready[to as usize] = vec![received];
            }
            have *= 2;
        }
    }

    /// Up the same tree to rank 0.
    fn gather_tree(&mut self) {
        let mut have = self.ranks.next_power_of_two() / 2;
        while have > 0 {
            for from in have..(2 * have).min(self.ranks) {
                let to = from - have;
                let (_, received) = self.message(from, to, self.bytes);
                let mut after = std::mem::take(&mut self.ready[to as usize]);
                after.push(received);
                self.ready[to as usize] = self.reduced(to, self.bytes, after);
            }
            have /= 2;
        }
    }

    /// Every rank sends every other a share: the other's (`own` = the receiver's number), or its own. In step s it
    /// sends to the one s on; `waits`: once it is through with the step before.
    fn shifts(&mut self, own: bool, waits: bool, reduces: bool) {
        let n = self.ranks;
        for step in 1..n {
            let pairs: Vec<(Step, Step)> = (0..n)
                .map(|from| {
                    let to = (from + step) % n;
                    let bytes = share(self.bytes, if own { to } else { from }, n);
                    self.message(from, to, bytes)
                })
                .collect();
            for rank in 0..n {
                let (sent, _) = pairs[rank as usize];
                let (_, received) = pairs[((rank + n - step) % n) as usize];
                let bytes = share(self.bytes, rank, n);
                let after = if reduces {
                    self.reduced(rank, bytes, vec![received])
                } else {
                    vec![received]
                };
                if waits {
                    self.ready[rank as usize] = after;
                    self.ready[rank as usize].push(sent);
                }
            }
        }
    }
}

/// The bytes of as many shares in a row as `width`, among which is a rank's.
fn shares(bytes: Bytes, rank: u32, width: u32, of: u32) -> Bytes {
    let first = rank / width * width;
    Bytes::new(before(bytes, first + width, of) - before(bytes, first, of))
}
