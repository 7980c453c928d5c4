//! The messages of collectives and what each waits for.

use super::keys::{Algorithm, Collective, Operation};
use crate::traffic::program::{Draft, Envelope, Step};
use switchbed_units::{Bytes, PS_PER_S, Rate, Span};

/// The messages of a collective, each part of its data by the algorithm on its own. `matrix` are the bytes from
/// each rank to each, where the file gives them.
pub(super) fn draft(collective: &Collective, matrix: &[Vec<Bytes>]) -> Draft {
    let ranks = collective.count();
    let mut draft = Draft::new(ranks);
    let parts = collective.channels * collective.chunks;
    for part in 0..parts {
        let bytes = share(collective.data(), part, parts);
        // Chunks take the channels in turn, as NCCL's do.
        let channel = part % collective.channels;
        let ready = vec![Vec::new(); ranks as usize];
        let reduction = collective.reduction;
        let class = collective.class;
        let sparse = collective.operation == Operation::AllToAllV;
        let place = (ranks, bytes, part, channel);
        let mut sketch = Sketch::new(&mut draft, place, (class, reduction, sparse), ready);
        match (collective.operation, collective.schedule()) {
            (Operation::AllToAllV, algorithm) => {
                let sizes =
                    |from: u32, to: u32| share(matrix[from as usize][to as usize], part, parts);
                sketch.shifts(&sizes, algorithm == Algorithm::Pairwise, false);
            }
            (operation, Algorithm::Hierarchical) => {
                sketch.hierarchy(operation, collective.group.unwrap_or(ranks));
            }
            (operation, algorithm) => sketch.operation(operation, algorithm),
        }
    }
    draft
}

/// One of so many shares, equal but for a byte.
fn share(bytes: Bytes, nth: u32, of: u32) -> Bytes {
    Bytes::new(before(bytes, nth + 1, of) - before(bytes, nth, of))
}

/// The bytes before a share.
fn before(bytes: Bytes, nth: u32, of: u32) -> u64 {
    // 128 bits, as bytes times parts may pass 2⁶⁴.
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
    /// Messages without bytes are left out.
    sparse: bool,
    /// Steps that each rank's next message waits for.
    ready: Vec<Vec<Step>>,
}

impl<'a> Sketch<'a> {
    fn new(
        draft: &'a mut Draft,
        (ranks, bytes, tag, channel): (u32, Bytes, u32, u32),
        (class, reduction, sparse): (u8, Option<Rate>, bool),
        ready: Vec<Vec<Step>>,
    ) -> Sketch<'a> {
        Sketch { draft, ranks, bytes, tag, channel, class, reduction, sparse, ready }
    }

    fn operation(&mut self, operation: Operation, algorithm: Algorithm) {
        use Operation::{AllGather, AllReduce, AllToAll, Broadcast, Reduce, ReduceScatter};
        match (algorithm, operation) {
            (Algorithm::Ring | Algorithm::Hierarchical, operation) => {
                let all: Vec<u32> = (0..self.ranks).collect();
                if operation != AllGather {
                    self.ring(&all, self.bytes, 0, true);
                }
                if operation != ReduceScatter {
                    // A reduce-scatter leaves share r + 1 at rank r, where the all-gather has to
                    // begin.
                    self.ring(&all, self.bytes, u32::from(operation == AllReduce), false);
                }
            }
            (Algorithm::DoubleBinaryTree, _) => self.trees(),
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
                    // From the far end, since rank 0 is the root.
                    (1..self.ranks).rev().for_each(|rank| self.pass(rank, rank - 1, true));
                }
                if operation != Reduce {
                    (1..self.ranks).for_each(|rank| self.pass(rank - 1, rank, false));
                }
            }
            (Algorithm::Pairwise | Algorithm::Direct, operation) => {
                // Shares belong to receivers; in an all-gather, to senders.
                let own = matches!(operation, AllToAll | ReduceScatter);
                let (bytes, n) = (self.bytes, self.ranks);
                let sizes = |from: u32, to: u32| share(bytes, if own { to } else { from }, n);
                self.shifts(&sizes, algorithm == Algorithm::Pairwise, operation == ReduceScatter);
            }
        }
    }

    /// A message from what is ready at a rank: the operations that send and receive it.
    fn message(&mut self, from: u32, to: u32, bytes: Bytes) -> (Step, Step) {
        let Sketch { tag, channel, class, .. } = *self;
        let envelope = Envelope { to, tag, bytes, channel, class, path: None };
        let sent = self.draft.send(from, envelope, &self.ready[from as usize]);
        // Receives wait for nothing: buffers are posted ahead, and tags tell parts apart.
        (sent, self.draft.receive((to, from), self.tag, &[]))
    }

    /// Adds the time that a rank takes to reduce what it received, after the steps `after`. Returns
    /// the steps to wait for.
    fn reduced(&mut self, rank: u32, bytes: Bytes, mut after: Vec<Step>) -> Vec<Step> {
        let Some(rate) = self.reduction else { return after };
        // 128 bits, as picoseconds of a large message times 8 pass 2⁶⁴.
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

    /// Each member's share goes round once: in step s the one in place r sends share r + `ahead` − s on to r + 1.
    fn ring(&mut self, members: &[u32], bytes: Bytes, ahead: u32, reduces: bool) {
        let n = members.len() as u32;
        for step in 0..n - 1 {
            let sent: Vec<(Bytes, Step)> = (0..n)
                .map(|place| {
                    // A rank sends on what it received in the step before: one share lower each
                    // step.
                    let bytes = share(bytes, (place + ahead + n - step) % n, n);
                    let [from, to] = [place, (place + 1) % n].map(|at| members[at as usize]);
                    (bytes, self.message(from, to, bytes).1)
                })
                .collect();
            // Only once all have sent: what is ready next must not delay messages of this step.
            for (place, (bytes, received)) in (0..n).zip(sent) {
                let next = members[((place + 1) % n) as usize];
                let after = vec![received];
                self.ready[next as usize] =
                    if reduces { self.reduced(next, bytes, after) } else { after };
            }
        }
    }

    /// Rings in each group of ranks in a row, and rings across groups of those in the same place, on their share.
    fn hierarchy(&mut self, operation: Operation, group: u32) {
        let groups: Vec<Vec<u32>> =
            (0..self.ranks / group).map(|nth| (nth * group..(nth + 1) * group).collect()).collect();
        let whole = self.bytes;
        if operation != Operation::AllGather {
            groups.iter().for_each(|members| self.ring(members, whole, 0, true));
        }
        for place in 0..group {
            let across: Vec<u32> = groups.iter().map(|members| members[place as usize]).collect();
            // The share that a ring leaves there.
            let bytes = share(whole, (place + 1) % group, group);
            if operation != Operation::AllGather {
                self.ring(&across, bytes, 0, true);
            }
            if operation != Operation::ReduceScatter {
                self.ring(&across, bytes, u32::from(operation == Operation::AllReduce), false);
            }
        }
        if operation != Operation::ReduceScatter {
            groups.iter().for_each(|members| self.ring(members, whole, 1, false));
        }
    }

    /// Up and down two binary trees, each with half of the data (NCCL, `src/graph/trees.cc`, `ncclGetDtree`).
    fn trees(&mut self) {
        let (n, whole) = (self.ranks, self.bytes);
        // Two trees with half of the data each: inner ranks of one are leaves of the other.
        for tree in 0..2 {
            let bytes = share(whole, tree, 2);
            let name = |rank: u32| match (tree, n % 2) {
                (0, _) => rank,
                // Shifted by one, or mirrored.
                (_, 1) => (rank + 1) % n,
                _ => n - 1 - rank,
            };
            let mut had: Vec<Vec<Step>> = vec![Vec::new(); n as usize];
            let mut order: Vec<(u32, u32)> = (1..n).map(|rank| (rank, parent(rank, n))).collect();
            // The longest way up first.
            order.sort_by_key(|&(rank, _)| std::cmp::Reverse(depth(rank, n)));
            for &(rank, parent) in &order {
                let after = std::mem::take(&mut had[rank as usize]);
                let (_, received) = self.pass_on((name(rank), name(parent)), bytes, &after);
                let reduced = self.reduced(name(parent), bytes, vec![received]);
                had[parent as usize].extend(reduced);
            }
            // The same order backwards: parents have it before their children.
            for &(rank, parent) in order.iter().rev() {
                let after = had[parent as usize].clone();
                let (_, received) = self.pass_on((name(parent), name(rank)), bytes, &after);
                had[rank as usize] = vec![received];
            }
        }
    }

    /// A message behind these steps.
    fn pass_on(&mut self, (from, to): (u32, u32), bytes: Bytes, after: &[Step]) -> (Step, Step) {
        let before = std::mem::replace(&mut self.ready[from as usize], after.to_vec());
        let steps = self.message(from, to, bytes);
        self.ready[from as usize] = before;
        steps
    }

    /// Among as many ranks as are a power of two: the others give theirs to one of these first, and get the
    /// outcome from it (Thakur, Rabenseifner and Gropp, section 4.4).
    fn folded(&mut self, among: impl FnOnce(&mut Self, u32)) {
        // The largest power of two; ranks beyond it give theirs to a partner, and get the result
        // back.
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
        // Only once all have sent: what is ready next must not delay messages of this step.
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
        // The farthest partner first: what remains is always a run of neighbouring shares.
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
            // The ranks that have it double each round: rank r gets it from r without its highest
            // bit.
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
        // The rounds of `spread_tree`, last first.
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

    /// Every rank sends every other its bytes, none where there are none. In step s it sends to the one s on;
    /// `waits`: once it is through with the step before.
    fn shifts(&mut self, sizes: &impl Fn(u32, u32) -> Bytes, waits: bool, reduces: bool) {
        let n = self.ranks;
        for step in 1..n {
            let mut pairs = Vec::with_capacity(n as usize);
            for from in 0..n {
                let (to, bytes) = ((from + step) % n, sizes(from, (from + step) % n));
                let empty = self.sparse && bytes == Bytes::ZERO;
                pairs.push((!empty).then(|| self.message(from, to, bytes)));
            }
            for rank in 0..n {
                let from = (rank + n - step) % n;
                let mut after = Vec::new();
                if let Some((_, received)) = pairs[from as usize] {
                    after.push(received);
                    if reduces {
                        after = self.reduced(rank, sizes(from, rank), after);
                    }
                }
                // A step is over for a rank once its own message in it is sent, too.
                after.extend(pairs[rank as usize].map(|(sent, _)| sent));
                if waits && !after.is_empty() {
                    self.ready[rank as usize] = after;
                }
            }
        }
    }
}

/// The bytes of as many shares in a row as `width`, among which is a rank's.
fn shares(bytes: Bytes, rank: u32, width: u32, of: u32) -> Bytes {
    // Ranks that differ only in bits below the width share these.
    let first = rank / width * width;
    Bytes::new(before(bytes, first + width, of) - before(bytes, first, of))
}

/// A rank's parent among `n`; the rank is not 0. The binary tree is that of NCCL's double one (`src/graph/trees.cc`,
/// `ncclGetBtree`): rank 0 is the root and has one child, odd ranks are leaves, and a rank's parent has its lowest bit
/// moved up by one.
fn parent(rank: u32, n: u32) -> u32 {
    let bit = 1 << rank.trailing_zeros();
    let up = (rank ^ bit) | (bit << 1);
    // No such rank where the tree is not full: then the one with the bit cleared, as in NCCL.
    if up < n { up } else { rank ^ bit }
}

/// How many ranks are above one.
fn depth(rank: u32, n: u32) -> u32 {
    let mut above = 0;
    let mut at = rank;
    while at != 0 {
        at = parent(at, n);
        above += 1;
    }
    above
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_have_the_parents_of_nccl_s_illustration() {
        // 0 has 8, 8 has 4 and 12, 4 has 2 and 6, 12 has 10 and 13.
        let parents: Vec<u32> = (1..14).map(|rank| parent(rank, 14)).collect();
        assert_eq!(parents, [2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 12]);
        assert_eq!((depth(13, 14), depth(11, 14), depth(0, 14)), (3, 4, 0));
    }

    #[test]
    fn a_tree_s_depth_is_at_most_one_more_than_the_logarithm() {
        for n in 2..600_u32 {
            let deepest = (0..n).map(|rank| depth(rank, n)).max().unwrap();
            assert!(deepest <= n.ilog2() + 1, "{n}: {deepest}");
        }
    }
}
