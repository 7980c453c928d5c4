//! Keyed, portable randomness: every entity draws from streams of its own, found by
//! (seed, name, entity). Nothing is drawn from a sequence that others share, so that no
//! draw shifts when something else changes, and two schemes meet the same flows.
//!
//! The generator is xoshiro256++ (Blackman and Vigna 2021) of `rand_xoshiro`, which the
//! rand project maintains: 32 bytes of state, under a nanosecond a draw, named and
//! specified bit by bit, so that a seed means the same on every machine and in every
//! version (`rand`'s own `StdRng` and `SmallRng` promise neither). What turns bits into
//! numbers is here, for the same reason.

use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// A source of random bits. Callers seed it; schemes never do.
pub trait Random {
    /// Draws 64 uniformly distributed bits.
    fn next_u64(&mut self) -> u64;

    /// A double uniform in [0, 1), of 53 bits.
    fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// An integer uniform in 0…n−1, without bias (Lemire 2019). `n` must not be 0.
    fn below(&mut self, n: u64) -> u64 {
        loop {
            let wide = self.next_u64() as u128 * n as u128;
            let low = wide as u64;
            // The remainder is below `n`, so that the division is rarely needed.
            if low >= n || low >= n.wrapping_neg() % n {
                return (wide >> 64) as u64;
            }
        }
    }
}

/// Source for a port whose scheme draws nothing: any draw is a mistake and panics.
pub struct NoRandom;

impl Random for NoRandom {
    fn next_u64(&mut self) -> u64 {
        panic!("this scheme was declared to draw no random numbers")
    }
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream `name` of `entity` (a host's number, say) in the run of `seed`. Two
    /// entities of one name never share a stream.
    pub fn new(seed: u64, name: &str, entity: u64) -> Self {
        // FNV-1a: a name's number need only be distinct; `mixed` scatters it.
        let name = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let key = mixed(mixed(mixed(seed) ^ name) ^ entity);
        Stream(Xoshiro256PlusPlus::seed_from_u64(key))
    }

    /// A double exponentially distributed with mean 1.
    pub fn exponential(&mut self) -> f64 {
        // 1 − u is never 0, so the logarithm is finite.
        -libm::log(1.0 - self.unit())
    }

    /// A double normally distributed with mean 0 and variance 1 (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.exponential());
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }

    /// A double log-normally distributed with mean 1, whose logarithm has this standard
    /// deviation.
    pub fn log_normal(&mut self, sigma: f64) -> f64 {
        libm::exp(sigma * self.normal() - sigma * sigma / 2.0)
    }

    /// The numbers 0…n−1 in random order (Fisher and Yates).
    pub fn permutation(&mut self, n: u32) -> Vec<u32> {
        let mut order: Vec<u32> = (0..n).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, self.below(last as u64 + 1) as usize);
        }
        order
    }
}

impl Random for Stream {
    #[inline]
    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// An entity's stream that is not begun before something is drawn: most ports draw nothing.
#[derive(Clone, Debug)]
pub struct OnDemand {
    seed: u64,
    name: &'static str,
    entity: u32,
    stream: Option<Box<Stream>>,
}

impl OnDemand {
    /// Makes a stream that is opened at its first draw.
    pub const fn new(seed: u64, name: &'static str, entity: u32) -> Self {
        OnDemand { seed, name, entity, stream: None }
    }
}

impl Random for OnDemand {
    fn next_u64(&mut self) -> u64 {
        let begin = || Box::new(Stream::new(self.seed, self.name, u64::from(self.entity)));
        self.stream.get_or_insert_with(begin).next_u64()
    }
}

/// A bijection that scatters: SplitMix64's output for one state.
fn mixed(bits: u64) -> u64 {
    SplitMix64::seed_from_u64(bits).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scripted(Vec<u64>);
    impl Random for Scripted {
        fn next_u64(&mut self) -> u64 {
            self.0.remove(0)
        }
    }

    #[test]
    fn unit_is_below_one_and_below_is_in_range() {
        assert!(Scripted(vec![u64::MAX]).unit() < 1.0);
        assert_eq!(Scripted(vec![0]).unit(), 0.0);
        assert_eq!(Scripted(vec![u64::MAX]).below(10), 9);
        // The first draw falls into the biased remainder (2^64 mod 10 = 6) and is redrawn.
        assert_eq!(Scripted(vec![0, u64::MAX / 2]).below(10), 4);
    }

    /// Calculated apart from this code, from the published definitions of FNV-1a,
    /// SplitMix64 and xoshiro256++: a seed must mean the same for ever.
    #[test]
    fn a_key_gives_the_same_bits_on_every_machine() {
        let mut stream = Stream::new(1, "sizes", 7);
        let drawn: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
        assert_eq!(drawn, EXPECTED);
    }
    const EXPECTED: [u64; 3] = [0x136d6d29e5f05035, 0xcf5d183978f01144, 0x29f8f9e396b4bbe5];

    #[test]
    fn a_stream_on_demand_is_the_same_stream() {
        let (mut now, mut later) = (Stream::new(4, "ports", 9), OnDemand::new(4, "ports", 9));
        for _ in 0..5 {
            assert_eq!(now.next_u64(), later.next_u64());
        }
    }

    #[test]
    fn seed_name_and_entity_each_make_another_stream() {
        let first = |seed, name, entity| Stream::new(seed, name, entity).next_u64();
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..20 {
            for name in ["arrivals", "sizes", "a", ""] {
                for entity in 0..50 {
                    assert_eq!(first(seed, name, entity), first(seed, name, entity));
                    assert!(seen.insert(first(seed, name, entity)), "{seed} {name} {entity}");
                }
            }
        }
    }

    #[test]
    fn first_draws_of_neighbouring_entities_are_uniform_and_independent() {
        let n = 100_000;
        let first: Vec<f64> = (0..n).map(|host| Stream::new(3, "sizes", host).unit()).collect();
        let mean = first.iter().sum::<f64>() / n as f64;
        let covariance =
            first.windows(2).map(|pair| (pair[0] - 0.5) * (pair[1] - 0.5)).sum::<f64>() / n as f64;
        // Four standard errors: 1/√12 and 1/12 over √n.
        assert!((mean - 0.5).abs() < 4.0 * 0.2887 / (n as f64).sqrt(), "{mean}");
        assert!(covariance.abs() < 4.0 / 12.0 / (n as f64).sqrt(), "{covariance}");
    }

    #[test]
    fn exponentials_have_the_mean_variance_and_distribution() {
        let n = 100_000;
        let mut stream = Stream::new(5, "arrivals", 0);
        let mut drawn: Vec<f64> = (0..n).map(|_| stream.exponential()).collect();
        let root = (n as f64).sqrt();
        let mean = drawn.iter().sum::<f64>() / n as f64;
        let variance = drawn.iter().map(|x| (x - 1.0) * (x - 1.0)).sum::<f64>() / n as f64;
        assert!((mean - 1.0).abs() < 4.0 / root, "{mean}");
        assert!((variance - 1.0).abs() < 4.0 * 8f64.sqrt() / root, "{variance}");
        // Kolmogorov and Smirnov: below 1.63/√n in 99 of 100 seeds.
        drawn.sort_by(f64::total_cmp);
        let distance = drawn
            .iter()
            .enumerate()
            .map(|(i, &x)| (1.0 - libm::exp(-x) - i as f64 / n as f64).abs())
            .fold(0.0, f64::max);
        assert!(distance < 1.63 / root, "{distance}");
    }

    #[test]
    fn log_normals_have_mean_1_and_a_normal_logarithm() {
        let (n, sigma) = (100_000, 1.5);
        let mut stream = Stream::new(6, "gaps", 0);
        let drawn: Vec<f64> = (0..n).map(|_| stream.log_normal(sigma)).collect();
        let root = (n as f64).sqrt();
        let mean = drawn.iter().sum::<f64>() / n as f64;
        // The variance of a draw is exp(σ²) − 1.
        assert!((mean - 1.0).abs() < 4.0 * (libm::exp(2.25) - 1.0).sqrt() / root, "{mean}");
        let mut z: Vec<f64> =
            drawn.iter().map(|x| (libm::log(*x) + sigma * sigma / 2.0) / sigma).collect();
        z.sort_by(f64::total_cmp);
        // Kolmogorov and Smirnov, as above.
        let distance = z
            .iter()
            .enumerate()
            .map(|(i, &z)| (0.5 * libm::erfc(-z / 2f64.sqrt()) - i as f64 / n as f64).abs())
            .fold(0.0, f64::max);
        assert!(distance < 1.63 / root, "{distance}");
    }

    #[test]
    fn permutations_hold_each_number_once_and_favour_no_order() {
        let mut count = std::collections::BTreeMap::new();
        for entity in 0..6000 {
            let order = Stream::new(9, "ranks", entity).permutation(3);
            *count.entry(order).or_insert(0_i32) += 1;
        }
        assert_eq!(count.len(), 6);
        for (order, n) in count {
            // Binomial with p = 1/6: standard deviation 29.
            assert!((n - 1000).abs() < 116, "{order:?}: {n}");
        }
        let mut long = Stream::new(9, "ranks", 0).permutation(1000);
        long.sort_unstable();
        assert_eq!(long, (0..1000).collect::<Vec<_>>());
        assert!(Stream::new(9, "ranks", 0).permutation(0).is_empty());
    }
}
