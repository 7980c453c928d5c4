//! Random numbers for schemes that draw and for faults.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use switchbed_units::random::Random;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of `entity` under `seed`.
    pub fn new(seed: u64, entity: u64) -> Stream {
        let key = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(entity);
        Stream(Xoshiro256PlusPlus::seed_from_u64(key))
    }
}

impl Random for Stream {
    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}
