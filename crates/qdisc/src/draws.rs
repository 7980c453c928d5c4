//! Random bits and their statistics, for unit tests.

use switchbed_units::random::Random;

/// SplitMix64 (Steele, Lea, Flood 2014).
pub(crate) struct SplitMix(pub(crate) u64);

impl Random for SplitMix {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Pearson's statistic of counts against what the weights let expect.
pub(crate) fn chi_square(hits: &[u64], weights: &[f64]) -> f64 {
    let (n, sum) = (hits.iter().sum::<u64>() as f64, weights.iter().sum::<f64>());
    let term = |(&hits, &weight): (&u64, &f64)| {
        let expected = n * weight / sum;
        (hits as f64 - expected) * (hits as f64 - expected) / expected
    };
    hits.iter().zip(weights).map(term).sum()
}
