//! Labels of a rank's operations, in little memory: schedules have millions.

use crate::traffic::program::Step;
use std::hash::{BuildHasher, RandomState};

/// Labels by number, in the order in which they are met, with their operations.
#[derive(Default)]
pub(super) struct Labels {
    /// All labels, one behind the other, and the end of each.
    text: String,
    ends: Vec<usize>,
    /// The operation of each; `None`: others wait for it, and it has not been met yet.
    pub(super) steps: Vec<Option<Step>>,
    /// Numbers of labels by hash, in the first free place from there on; at least half are free.
    places: Vec<u32>,
    hash: RandomState,
}

const FREE: u32 = u32::MAX;

impl Labels {
    /// The number of a label, which it gets now if it is new.
    pub(super) fn number(&mut self, label: &str) -> u32 {
        if self.places.len() < 2 * (self.ends.len() + 1) {
            self.grow();
        }
        let place = self.place(label);
        if self.places[place] == FREE {
            self.places[place] = self.ends.len() as u32;
            self.text.push_str(label);
            self.ends.push(self.text.len());
            self.steps.push(None);
        }
        self.places[place]
    }

    /// A label's text.
    pub(super) fn text(&self, number: u32) -> &str {
        let nth = number as usize;
        let begin = nth.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[begin..self.ends[nth]]
    }

    /// The operation of a label, if it has been met.
    pub(super) fn step(&self, number: u32) -> Option<Step> {
        self.steps[number as usize]
    }

    /// The place of a label, or the free one where it belongs.
    fn place(&self, label: &str) -> usize {
        let mut place = self.hash.hash_one(label) as usize % self.places.len();
        while self.places[place] != FREE && self.text(self.places[place]) != label {
            place = (place + 1) % self.places.len();
        }
        place
    }

    fn grow(&mut self) {
        self.places = vec![FREE; (3 * self.places.len()).max(16)];
        for number in 0..self.ends.len() as u32 {
            let place = self.place(self.text(number));
            self.places[place] = number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_numbers() {
        let mut labels = Labels::default();
        let names: Vec<String> = (0..5_000).map(|nth| format!("l{}", nth * 7)).collect();
        let first: Vec<u32> = names.iter().map(|name| labels.number(name)).collect();
        assert_eq!(first, (0..5_000).collect::<Vec<_>>());
        let again: Vec<u32> = names.iter().map(|name| labels.number(name)).collect();
        assert_eq!(again, first);
        assert!(names.iter().zip(first).all(|(name, number)| labels.text(number) == name));
        assert_eq!((labels.number(""), labels.step(17)), (5_000, None));
    }
}
