//! Faults on purpose: of the frames that come in, some are lost, some have a bit flipped,
//! some come twice, by chance; or some are lost or marked by their number.

use super::{Condition, Device, Received};
use crate::random::Stream;
use std::io;
use std::os::fd::BorrowedFd;
use switchbed_qdisc::port::packet::Numbered;
use switchbed_scenario::Faults;
use switchbed_units::Time;
use switchbed_units::random::Random;
use switchbed_wire::{Frame, set_ce};

/// A device whose frames suffer.
pub struct Faulty<D> {
    device: D,
    faults: Faults,
    lose: Numbered,
    mark: Numbered,
    rng: Stream,
    /// A frame that comes once more.
    again: Option<Vec<u8>>,
    lost: u64,
}

impl<D: Device> Faulty<D> {
    /// Faults between a device and the switch.
    pub fn new(device: D, faults: &Faults, rng: Stream) -> Self {
        let (lose, mark) = (Numbered::new(&faults.lose), Numbered::new(&faults.mark));
        Faulty { device, faults: faults.clone(), lose, mark, rng, again: None, lost: 0 }
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
            // Each counts every frame.
            let (lose, mark) = (self.lose.count(), self.mark.count());
            if lose || self.happens(self.faults.drop) {
                self.lost += 1;
                continue;
            }
            if mark && let Ok(Frame { ip: Some(ip), .. }) = Frame::parse(frame) {
                set_ce(frame, &ip);
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
    fn flush(&mut self) -> u64 {
        self.device.flush()
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

    /// Frames that remain of 1000 under these faults.
    fn suffered(faults: &Faults) -> Vec<Vec<u8>> {
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
        let whole = |frames: &[Vec<u8>]| frames.iter().filter(|f| **f == [0; 100]).count();
        assert_eq!(whole(&suffered(&Faults::default())), 1000);
        let lost = suffered(&Faults { drop: 0.5, ..Faults::default() });
        assert!((400..600).contains(&lost.len()), "{}", lost.len());
        let twice = suffered(&Faults { duplicate: 1.0, ..Faults::default() });
        assert_eq!(whole(&twice), 2000);
        let flipped = suffered(&Faults { corrupt: 1.0, ..Faults::default() });
        assert_eq!((flipped.len(), whole(&flipped)), (1000, 0));
        let ones = |frame: &Vec<u8>| frame.iter().map(|byte| byte.count_ones()).sum::<u32>();
        assert!(flipped.iter().all(|frame| ones(frame) == 1));
    }

    /// An IPv4 packet of an ECN-capable flow, with its number as payload.
    fn packet(number: u8, ecn: u8) -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend([0x08, 0x00, 0x45, ecn, 0, 21, 0, 0, 0, 0, 64, 17, 0, 0]);
        frame.extend([10, 0, 0, 1, 10, 0, 0, 2, number]);
        frame
    }

    #[test]
    fn frames_are_lost_and_marked_by_their_number() {
        let memory = Memory::new();
        (1..=8)
            .for_each(|i| memory.port().arrive(Time::ZERO, packet(i, if i == 7 { 0 } else { 2 })));
        let faults = Faults { lose: vec![1, 4], mark: vec![4, 5, 7], ..Faults::default() };
        let mut faulty = Faulty::new(memory, &faults, Stream::new(1, 0));
        let (mut frame, mut came) = (Vec::new(), Vec::new());
        while faulty.receive(Time::ZERO, &mut frame).unwrap() == Received::Frame {
            came.push((frame[34], frame[15]));
        }
        // Frames that are not ECN-capable are not marked.
        assert_eq!(came, [(2, 2), (3, 2), (5, 3), (6, 2), (7, 0), (8, 2)]);
        assert_eq!(faulty.condition().lost, 2);
    }
}
