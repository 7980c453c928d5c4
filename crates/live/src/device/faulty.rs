//! Faults on purpose: of the frames that come in, some are lost, some have a bit flipped,
//! some come twice.

use super::{Condition, Device, Received};
use crate::random::Stream;
use std::io;
use std::os::fd::BorrowedFd;
use switchbed_qdisc::Random;
use switchbed_qdisc::units::Time;
use switchbed_spec::Faults;

/// A device whose frames suffer.
pub struct Faulty<D> {
    device: D,
    faults: Faults,
    rng: Stream,
    /// A frame that comes once more.
    again: Option<Vec<u8>>,
    lost: u64,
}

impl<D: Device> Faulty<D> {
    /// Faults between a device and the switch.
    pub fn new(device: D, faults: Faults, rng: Stream) -> Self {
        Faulty { device, faults, rng, again: None, lost: 0 }
    }

    fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.rng.unit() < probability
    }
}

impl<D: Device> Device for Faulty<D> {
    fn receive(&mut self, now: Time, frame: &mut Vec<u8>) -> io::Result<Received> {
        if let Some(again) = self.again.take() {
            *frame = again;
            return Ok(Received::Frame);
        }
        loop {
            let received = self.device.receive(now, frame)?;
            if received != Received::Frame {
                return Ok(received);
            }
            if self.happens(self.faults.drop) {
                self.lost += 1;
                continue;
            }
            if self.happens(self.faults.corrupt) && !frame.is_empty() {
                let bit = self.rng.below(8 * frame.len() as u64);
                frame[(bit / 8) as usize] ^= 1 << (bit % 8);
            }
            if self.happens(self.faults.duplicate) {
                self.again = Some(frame.clone());
            }
            return Ok(Received::Frame);
        }
    }
    fn send(&mut self, now: Time, frame: &[u8]) -> io::Result<()> {
        self.device.send(now, frame)
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.device.fd()
    }
    fn condition(&mut self) -> Condition {
        let within = self.device.condition();
        Condition { lost: self.lost + within.lost, ..within }
    }
    fn due(&self) -> Time {
        if self.again.is_some() { Time::ZERO } else { self.device.due() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Memory;

    /// What comes of 1000 frames.
    fn suffered(faults: Faults) -> Vec<Vec<u8>> {
        let memory = Memory::new();
        (0..1000).for_each(|_| memory.port().arrive(Time::ZERO, vec![0; 100]));
        let mut faulty = Faulty::new(memory, faults, Stream::new(1, 0));
        let mut frame = Vec::new();
        let mut frames = Vec::new();
        while faulty.receive(Time::ZERO, &mut frame).unwrap() == Received::Frame {
            frames.push(frame.clone());
        }
        frames
    }

    #[test]
    fn faults_happen_as_often_as_they_should() {
        let none = Faults::default();
        let whole = |frames: &[Vec<u8>]| frames.iter().filter(|f| **f == [0; 100]).count();
        assert_eq!(whole(&suffered(none)), 1000);
        let lost = suffered(Faults { drop: 0.5, ..none });
        assert!((400..600).contains(&lost.len()), "{}", lost.len());
        let twice = suffered(Faults { duplicate: 1.0, ..none });
        assert_eq!(whole(&twice), 2000);
        let flipped = suffered(Faults { corrupt: 1.0, ..none });
        assert_eq!((flipped.len(), whole(&flipped)), (1000, 0));
        let ones = |frame: &Vec<u8>| frame.iter().map(|byte| byte.count_ones()).sum::<u32>();
        assert!(flipped.iter().all(|frame| ones(frame) == 1));
    }
}
