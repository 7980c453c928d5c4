//! Packets by their number among those that a line carries: what it loses or marks on purpose.

/// Counts packets and knows which are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbered {
    numbers: Vec<u64>,
    counted: u64,
}

impl Numbered {
    /// `numbers` are from 1, in any order.
    pub fn new(numbers: &[u64]) -> Numbered {
        let mut numbers = numbers.to_vec();
        numbers.sort_unstable();
        Numbered { numbers, counted: 0 }
    }

    /// Counts the next packet; whether it is one of them.
    pub fn count(&mut self) -> bool {
        self.counted += 1;
        self.numbers.binary_search(&self.counted).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_count_from_one() {
        let mut numbered = Numbered::new(&[5, 1, 3]);
        let meant: Vec<u64> = (1..=8).filter(|_| numbered.count()).collect();
        assert_eq!(meant, [1, 3, 5]);
        assert!(!Numbered::new(&[]).count());
    }
}
