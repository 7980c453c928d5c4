//! Collectives: an operation over ranks by an algorithm, as NCCL and MPI have them.

mod algorithms;

use super::flows::{Begun, Wrong};
use super::keys::check_class;
use super::program::Program;
use super::{Around, Expected, HostSet, Hosts, Placement, Site, Source};
use switchbed_config::param::Unfit;
use switchbed_config::{params, words};
use switchbed_units::{Bytes, Rate, Span, Time};

params! {
    /// A collective over ranks, each on a host of its own.
    pub struct Collective {
        /// The collective.
        operation: Operation;
        /// The schedule of its messages. ring: each rank sends to the next. halving-doubling: pairs exchange
        /// halves, then double them. recursive-doubling: pairs exchange all. tree: a binomial tree. chain: each rank
        /// passes on to the next what it has received. pairwise: in step s a rank sends to the one s on.
        /// direct: all messages at once. Default: ring; tree for broadcast and reduce, direct for all-to-all.
        algorithm: Option<Algorithm>;
        /// The ranks' hosts, rank 0 (the root) first.
        ranks: HostSet = "all";
        /// How ranks are dealt to these hosts: as listed, or drawn by the seed.
        placement: Placement = "listed";
        /// The data as nccl-tests counts them: a rank's buffer; of reduce-scatter what each rank begins
        /// with, of all-gather what each ends with, of all-to-all what each sends, its own part included.
        bytes: Bytes;
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
    }
}

/// Most messages of a repetition, and of all together.
const MOST: u64 = 1 << 24;

impl Operation {
    /// The algorithms that it has, the default first.
    fn algorithms(self) -> &'static [Algorithm] {
        use Algorithm::{Chain, Direct, HalvingDoubling, Pairwise, RecursiveDoubling, Ring, Tree};
        match self {
            Operation::AllReduce => &[Ring, HalvingDoubling, RecursiveDoubling, Tree, Chain],
            Operation::ReduceScatter | Operation::AllGather => {
                &[Ring, HalvingDoubling, Pairwise, Direct]
            }
            Operation::Broadcast | Operation::Reduce => &[Tree, Chain],
            Operation::AllToAll => &[Direct, Pairwise],
        }
    }

    /// Bus bandwidth over algorithm bandwidth among so many ranks (nccl-tests, doc/PERFORMANCE.md).
    pub fn bus_factor(self, ranks: u32) -> f64 {
        let n = f64::from(ranks);
        match self {
            Operation::AllReduce => 2.0 * (n - 1.0) / n,
            Operation::ReduceScatter | Operation::AllGather | Operation::AllToAll => (n - 1.0) / n,
            Operation::Broadcast | Operation::Reduce => 1.0,
        }
    }
}

impl Collective {
    /// How many ranks there are.
    pub fn count(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// The algorithm, which [`Source::complete`] puts in.
    pub fn schedule(&self) -> Algorithm {
        self.algorithm.unwrap_or(self.operation.algorithms()[0])
    }

    /// Messages of a repetition, about: as many as most ranks have, times the ranks.
    fn messages(&self) -> u64 {
        let n = u64::from(self.count());
        let log = u64::from(n.next_power_of_two().trailing_zeros());
        let twice = 1 + u64::from(self.operation == Operation::AllReduce);
        let steps = match self.schedule() {
            Algorithm::Ring => twice * (n - 1),
            Algorithm::Pairwise | Algorithm::Direct => n - 1,
            Algorithm::HalvingDoubling | Algorithm::RecursiveDoubling => twice * log,
            Algorithm::Tree | Algorithm::Chain => twice,
        };
        n * steps * u64::from(self.chunks) * u64::from(self.channels)
    }

    /// How often it is done in all.
    fn repeats(&self) -> u32 {
        self.warmup_repetitions + self.repetitions
    }

    fn check(&self, site: &Site<'_>) -> Result<(), Unfit> {
        if self.count() < 2 {
            return Err(Unfit::new(key!(ranks), "a collective has at least 2 ranks"));
        }
        if self.bytes == Bytes::ZERO {
            return Err(Unfit::new(key!(bytes), "a collective has at least 1 byte"));
        }
        let (algorithm, of) = (self.schedule(), self.operation.algorithms());
        if !of.contains(&algorithm) {
            let words: Vec<&str> = of.iter().map(|of| of.word()).collect();
            let why = format!("{} has {}", self.operation.word(), words.join(", "));
            return Err(Unfit::new(key!(algorithm), why));
        }
        let folds = self.operation == Operation::AllReduce;
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

impl Source for Collective {
    fn complete(&mut self, site: &Site<'_>) -> Result<(), Unfit> {
        self.ranks.name(site);
        self.algorithm = Some(self.schedule());
        self.check(site)
    }

    fn flows(&self, _: Hosts, _: u64, _: usize) -> Result<Begun, Wrong> {
        Ok(Begun::new(Vec::new().into_iter(), 0))
    }

    fn program(&self, _: &Hosts, seed: u64, place: usize) -> Result<Option<Program>, Wrong> {
        let hosts = self.placement.deal(&self.ranks, (seed, place));
        let draft = algorithms::draft(self);
        let start = Time::ZERO + self.start;
        let mut program = draft.finish(hosts, start).map_err(|fault| fault.to_string())?;
        (program.repeats, program.warmup) = (self.repeats(), self.warmup_repetitions);
        Ok(Some(program))
    }

    fn expected(&self, around: &Around<'_>) -> Expected {
        let (n, messages) = (f64::from(self.count()), self.messages() as f64);
        let all = messages * f64::from(self.repeats());
        let moved = match self.operation {
            Operation::Broadcast | Operation::Reduce => self.bytes.as_f64(),
            operation => self.bytes.as_f64() * operation.bus_factor(self.count()),
        };
        let rates = around.topology.host_rates();
        let slowest = self.ranks.iter().map(|&host| rates.of(host).as_bps()).min().unwrap_or(1);
        // Four times what the data take on a line, and as much for the steps.
        let each_s = 4.0 * (8.0 * moved / slowest as f64 + messages / n * 20e-6);
        let peers = match self.schedule() {
            Algorithm::Ring | Algorithm::Chain | Algorithm::Tree => 2.0,
            Algorithm::Pairwise | Algorithm::Direct => n - 1.0,
            _ => libm::log2(n).ceil(),
        };
        let connections = n * peers * f64::from(self.channels);
        let open = match self.schedule() {
            Algorithm::Direct => messages,
            _ => (n * f64::from(self.channels) * f64::from(self.chunks)).min(messages),
        };
        Expected {
            flows: all,
            open,
            receivers: n,
            together: open,
            mean_bytes: Some(moved * n / messages.max(1.0)),
            connections,
            messages,
            lasts_s: self.start.as_secs_f64() + each_s * f64::from(self.repeats()),
            ..Expected::default()
        }
    }

    fn classes(&self) -> u16 {
        self.class.into()
    }

    fn persists(&self) -> bool {
        true
    }

    fn asks(&self) -> bool {
        true
    }
}
