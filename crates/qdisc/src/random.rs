//! Randomness as an argument: a scheme draws from what its caller hands it.

/// A source of random bits. Callers seed it; schemes never do.
pub trait Random {
    /// 64 uniform bits.
    fn next_u64(&mut self) -> u64;

    /// A double uniform in [0, 1), of 53 bits.
    fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// An integer uniform in 0…n−1, without bias (Lemire 2019). `n` must not be 0.
    fn below(&mut self, n: u64) -> u64 {
        loop {
            let wide = self.next_u64() as u128 * n as u128;
            if wide as u64 >= n.wrapping_neg() % n {
                return (wide >> 64) as u64;
            }
        }
    }
}

/// For a port whose scheme draws nothing: any draw is a mistake and panics.
pub struct NoRandom;

impl Random for NoRandom {
    fn next_u64(&mut self) -> u64 {
        panic!("this scheme was declared to draw no random numbers")
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

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
}
