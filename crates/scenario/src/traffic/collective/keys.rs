//! Keys of a collective: its operation, its algorithm, and values that do not go together.

use super::matrix;
use crate::file::FILE;
use crate::traffic::keys::{HostSet, Placement, check_class};
use crate::traffic::site::Site;
use switchbed_config::param::Unfit;
use switchbed_config::{params, words};
use switchbed_units::{Bytes, Rate, Span};

params! {
    /// A collective over ranks, each on a host of its own.
    pub struct Collective {
        /// The collective.
        operation: Operation;
        /// The schedule of its messages. ring: each rank sends to the next. halving-doubling: pairs exchange
        /// halves, then double them. recursive-doubling: pairs exchange all. tree: a binomial tree. chain: each rank
        /// passes on to the next what it has received. pairwise: in step s a rank sends to the one s on.
        /// direct: all messages at once. hierarchical: rings in each group of ranks, then across groups.
        /// double-binary-tree: up and down NCCL's two trees, half of the data on each. Default: ring; tree for
        /// broadcast and reduce, direct for all-to-all.
        algorithm: Option<Algorithm>;
        /// The ranks' hosts, rank 0 (the root) first.
        ranks: HostSet = "all";
        /// How ranks are dealt to these hosts: as listed, or drawn by the seed.
        placement: Placement = "listed";
        /// The data as nccl-tests counts them: a rank's buffer; of reduce-scatter what each rank begins
        /// with, of all-gather what each ends with, of all-to-all what each sends, its own part included.
        /// Needed, but with matrix.
        bytes: Option<Bytes>;
        /// all-to-all-v: the CSV file, found from the scenario's folder, of the bytes from each rank (a line) to each
        /// (a field); what it has for itself stays there.
        matrix: Option<String> as FILE;
        /// hierarchical: how many ranks in a row are a group, such as the GPUs of a server.
        group: Option<u32> as count(1, 1_048_576);
        /// Parts of the data that follow each other on a connection, each by the algorithm on its own.
        chunks: u32 = "1" as count(1, 65_536);
        /// Parts of the data with connections of their own (queue pairs), side by side.
        channels: u32 = "1" as count(1, 256);
        /// How fast a rank reduces what it has received. Default: at once.
        reduction: Option<Rate>;
        /// How often it is measured: a rank begins anew when its own part is done.
        repetitions: u32 = "1" as count(1, 1_000_000);
        /// How often it is done before that.
        warmup_repetitions: u32 = "0" as count(0, 1_000_000);
        /// The class of its packets.
        class: u8 = "0";
        /// When it starts.
        start: Span = "0us";
        /// Place of an entry above among the traffic, from 0: a collective or a schedule. A host that has a part in
        /// it begins when that is done.
        after: Option<u32>;
    }
}

words! {
    /// A collective operation.
    pub enum Operation {
        /// Every rank ends with the sum of all ranks' data.
        AllReduce = "all-reduce",
        /// Every rank ends with its part of the sum.
        ReduceScatter = "reduce-scatter",
        /// Every rank ends with all ranks' parts.
        AllGather = "all-gather",
        /// Every rank ends with rank 0's data.
        Broadcast = "broadcast",
        /// Rank 0 ends with the sum.
        Reduce = "reduce",
        /// Every rank sends every other a part of its own.
        AllToAll = "all-to-all",
        /// Every rank sends every other as much as matrix has.
        AllToAllV = "all-to-all-v",
    }
}

words! {
    /// The schedule of a collective's messages.
    pub enum Algorithm {
        /// Each rank sends to the next (Patarasuk and Yuan, JPDC 2009).
        Ring = "ring",
        /// Pairs exchange halves, then double them (Thakur, Rabenseifner and Gropp, IJHPCA 2005).
        HalvingDoubling = "halving-doubling",
        /// Pairs exchange all that they have.
        RecursiveDoubling = "recursive-doubling",
        /// A binomial tree; a rank's messages follow each other.
        Tree = "tree",
        /// Each rank passes on to the next.
        Chain = "chain",
        /// In step s a rank sends to the one s on, and waits for that step's end.
        Pairwise = "pairwise",
        /// All messages at once.
        Direct = "direct",
        /// Rings in each group, then across groups on the shares (Thakur and others' two-level scheme; NCCL's rails).
        Hierarchical = "hierarchical",
        /// Two binary trees, half of the data on each (Sanders, Speck and Träff, Parallel Computing 2009).
        DoubleBinaryTree = "double-binary-tree",
    }
}

/// Most messages of a repetition, and of all together.
const MOST: u64 = 1 << 24;

impl Operation {
    /// The algorithms that it has, the default first.
    pub(super) fn algorithms(self) -> &'static [Algorithm] {
        use Algorithm::{
            Chain, Direct, DoubleBinaryTree, HalvingDoubling, Hierarchical, Pairwise,
            RecursiveDoubling, Ring, Tree,
        };
        match self {
            Operation::AllReduce => &[
                Ring,
                HalvingDoubling,
                RecursiveDoubling,
                Tree,
                DoubleBinaryTree,
                Chain,
                Hierarchical,
            ],
            Operation::ReduceScatter | Operation::AllGather => {
                &[Ring, HalvingDoubling, Pairwise, Direct, Hierarchical]
            }
            Operation::Broadcast | Operation::Reduce => &[Tree, Chain],
            Operation::AllToAll | Operation::AllToAllV => &[Direct, Pairwise],
        }
    }

    /// Bus bandwidth over algorithm bandwidth among so many ranks (nccl-tests, doc/PERFORMANCE.md); NaN where it
    /// goes by the matrix ([`Collective::bus_factor`]).
    pub fn bus_factor(self, ranks: u32) -> f64 {
        let n = f64::from(ranks);
        match self {
            // As in nccl-tests' PERFORMANCE.md: what a rank's line carries, over the data's size.
            Operation::AllReduce => 2.0 * (n - 1.0) / n,
            Operation::ReduceScatter | Operation::AllGather | Operation::AllToAll => (n - 1.0) / n,
            Operation::AllToAllV => f64::NAN,
            Operation::Broadcast | Operation::Reduce => 1.0,
        }
    }
}

impl Collective {
    /// How many ranks there are.
    pub fn count(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// Size of the data, which [`Source::complete`](crate::traffic::source::Source::complete) puts in.
    pub fn data(&self) -> Bytes {
        self.bytes.unwrap_or_default()
    }

    /// Bus bandwidth over algorithm bandwidth. By a matrix it is the most that a rank sends to others, or receives
    /// from them, over the most that a rank sends, its own part included: that of all-to-all where all are alike.
    pub fn bus_factor(&self) -> f64 {
        if self.operation != Operation::AllToAllV {
            return self.operation.bus_factor(self.count());
        }
        let Ok(rows) = self.rows() else { return f64::NAN };
        matrix::busiest(&rows).as_f64() / self.data().as_f64()
    }

    /// The bytes from each rank to each, where the file gives them.
    pub(super) fn rows(&self) -> Result<Vec<Vec<Bytes>>, String> {
        match &self.matrix {
            Some(file) => matrix::read(file, self.count()),
            None => Ok(Vec::new()),
        }
    }

    /// The algorithm, which [`Source::complete`](crate::traffic::source::Source::complete) puts in.
    pub fn schedule(&self) -> Algorithm {
        self.algorithm.unwrap_or(self.operation.algorithms()[0])
    }

    /// Messages of a repetition, about: as many as most ranks have, times the ranks.
    pub(super) fn messages(&self) -> u64 {
        let n = u64::from(self.count());
        // Rounds of doubling, rounded up.
        let log = u64::from(n.next_power_of_two().trailing_zeros());
        let twice = 1 + u64::from(self.operation == Operation::AllReduce);
        let steps = match self.schedule() {
            Algorithm::Ring => twice * (n - 1),
            Algorithm::Pairwise | Algorithm::Direct => n - 1,
            Algorithm::HalvingDoubling | Algorithm::RecursiveDoubling => twice * log,
            Algorithm::Tree | Algorithm::Chain => twice,
            Algorithm::DoubleBinaryTree => 2 * twice,
            Algorithm::Hierarchical => {
                let group = u64::from(self.group.unwrap_or(1));
                twice * (group - 1 + n / group - 1)
            }
        };
        n * steps * u64::from(self.chunks) * u64::from(self.channels)
    }

    /// How often it is done in all.
    pub(super) fn repeats(&self) -> u32 {
        self.warmup_repetitions + self.repetitions
    }

    /// Puts in the size of the data.
    pub(super) fn measure(&mut self) -> Result<(), Unfit> {
        let by_matrix = self.operation == Operation::AllToAllV;
        match (by_matrix, &self.matrix, self.bytes) {
            (false, Some(_), _) => Err(Unfit::new(key!(matrix), "only all-to-all-v has a matrix")),
            (false, None, None) => Err(Unfit::new(key!(bytes), "write bytes = \"8MB\"")),
            (false, None, Some(_)) => Ok(()),
            (true, None, _) => Err(Unfit::new(key!(matrix), "write matrix = \"bytes.csv\"")),
            (true, Some(_), given) => {
                let rows = self.rows().map_err(|why| Unfit::new(key!(matrix), why))?;
                let most = matrix::most(&rows);
                if given.is_some_and(|given| given != most) {
                    let why = format!("the matrix makes it {}: leave it out", most.get());
                    return Err(Unfit::new(key!(bytes), why));
                }
                self.bytes = Some(most);
                Ok(())
            }
        }
    }

    /// Whether the groups go with the algorithm and the ranks.
    fn check_group(&self) -> Result<(), Unfit> {
        let wrong = |why: String| Err(Unfit::new(key!(group), why));
        match (self.schedule() == Algorithm::Hierarchical, self.group) {
            (false, None) => Ok(()),
            (false, Some(_)) => wrong("only algorithm = \"hierarchical\" has groups".to_owned()),
            (true, None) => wrong("write how many ranks a group has".to_owned()),
            (true, Some(group)) if self.count().is_multiple_of(group) => Ok(()),
            (true, Some(_)) => {
                wrong(format!("{} ranks are no whole number of groups", self.count()))
            }
        }
    }

    pub(super) fn check(&self, site: &Site<'_>) -> Result<(), Unfit> {
        if self.count() < 2 {
            return Err(Unfit::new(key!(ranks), "a collective has at least 2 ranks"));
        }
        if self.bytes == Some(Bytes::ZERO) {
            return Err(Unfit::new(key!(bytes), "a collective has at least 1 byte"));
        }
        self.check_group()?;
        let (algorithm, of) = (self.schedule(), self.operation.algorithms());
        if !of.contains(&algorithm) {
            let words: Vec<&str> = of.iter().map(|of| of.word()).collect();
            let why = format!("{} has {}", self.operation.word(), words.join(", "));
            return Err(Unfit::new(key!(algorithm), why));
        }
        let folds = self.operation == Operation::AllReduce;
        // Only all-reduce can fold ranks beyond a power of two: they need the result, and own no
        // share.
        if algorithm == Algorithm::HalvingDoubling && !folds && !self.count().is_power_of_two() {
            let why = format!(
                "{} by halving-doubling has 2, 4, 8, … ranks, and there are {}; write ring",
                self.operation.word(),
                self.count()
            );
            return Err(Unfit::new(key!(algorithm), why));
        }
        if self.reduction.is_some_and(|rate| rate.as_bps() == 0) {
            return Err(Unfit::new(
                key!(reduction),
                "a rank reduces at more than 0; leave it out for at once",
            ));
        }
        let messages = self.messages();
        if messages > MOST {
            let why = format!("that makes {messages} messages a repetition; at most {MOST}");
            return Err(Unfit::new(key!(chunks), why));
        }
        let all = messages * u64::from(self.repeats());
        if all > MOST {
            let why = format!("that makes {all} messages; at most {MOST}");
            return Err(Unfit::new(key!(repetitions), why));
        }
        if let Some(until) = site.run.until.filter(|&until| self.start >= until) {
            return Err(Unfit::new(key!(start), format!("it would start after the end, {until}")));
        }
        check_class(self.class, site)
    }
}
