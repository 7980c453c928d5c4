//! Collectives: an operation over ranks by an algorithm, as NCCL and MPI have them.

mod algorithms;
mod keys;
mod matrix;

use super::flow::{Begun, Wrong};
use super::program::Program;
use super::{Around, Expected, Hosts, Site, Source};
pub use keys::{Algorithm, Collective, Operation};
use switchbed_config::param::Unfit;
use switchbed_units::Time;

impl Source for Collective {
    fn complete(&mut self, site: &Site<'_>) -> Result<(), Unfit> {
        self.ranks.name(site);
        self.algorithm = Some(self.schedule());
        self.measure()?;
        self.check(site)
    }

    fn flows(&self, _: Hosts, _: u64, _: usize) -> Result<Begun, Wrong> {
        Ok(Begun::new(Vec::new().into_iter(), 0))
    }

    fn program(&self, _: &Hosts, seed: u64, place: usize) -> Result<Program, Wrong> {
        let hosts = self.placement.deal(&self.ranks, (seed, place));
        let draft = algorithms::draft(self, &self.rows()?);
        let start = Time::ZERO + self.start;
        let mut program = draft.finish(hosts, start).map_err(|fault| fault.to_string())?;
        (program.repeats, program.warmup) = (self.repeats(), self.warmup_repetitions);
        program.after = self.after;
        Ok(program.into())
    }

    fn expected(&self, around: &Around<'_>) -> Expected {
        let (n, messages) = (f64::from(self.count()), self.messages() as f64);
        let all = messages * f64::from(self.repeats());
        let moved = match self.operation {
            Operation::Broadcast | Operation::Reduce | Operation::AllToAllV => self.data().as_f64(),
            operation => self.data().as_f64() * operation.bus_factor(self.count()),
        };
        let rates = around.topology.host_rates();
        let slowest = self.ranks.iter().map(|&host| rates.of(host).as_bps()).min().unwrap_or(1);
        // Four times what the data take on a line, and as much for the steps.
        let each_s = 4.0 * (8.0 * moved / slowest as f64 + messages / n * 20e-6);
        let peers = match self.schedule() {
            Algorithm::Ring | Algorithm::Chain | Algorithm::Tree => 2.0,
            Algorithm::Hierarchical => 2.0,
            Algorithm::DoubleBinaryTree => 6.0,
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

    fn has_class(&self, class: u16) -> bool {
        class == self.classes()
    }

    fn persists(&self) -> bool {
        true
    }

    fn after(&self) -> Option<u32> {
        self.after
    }

    fn waits(&self) -> bool {
        true
    }

    fn asks(&self) -> bool {
        true
    }
}
