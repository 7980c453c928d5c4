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
}
