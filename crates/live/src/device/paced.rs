//! A host's network card, for hosts without a line of their own (TAP): frames come in no
//! faster than a rate, one behind the other, and wait in a queue before.
//!
//! A late thread makes up for as much as a port's bucket holds, as the port does: with more, what
//! a host alone sends would fill a port as fast as itself, and with less leave it idle.

use super::{Condition, Device, LONGEST, Received};
use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use switchbed_units::{Line, Rate, Span, Time};

/// Frames that the card's queue holds (Linux's default); the rest is lost.
const QUEUE: usize = 1000;
/// Frames read at a time, so that a flood on one port does not keep the loop.
const BUDGET: usize = 64;

/// A device whose frames come in at a line's rate.
pub struct Paced<D> {
    device: D,
    line: Line,
    /// How late a frame may be and still be made up for.
    bucket: Span,
    /// Time that the line has lost, as [`Line`] counts it. `busy_until` and `waiting` are in line
    /// time.
    lost_time: Span,
    busy_until: Time,
    /// Frames and the ends of their last bits.
    waiting: VecDeque<(Time, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
    /// Frames that were too long to be read.
    oversized: usize,
    lost: u64,
}

impl<D: Device> Paced<D> {
    /// A card of this rate before a device. A frame that is late by up to `bucket` is made up for.
    pub fn new(device: D, rate: Rate, bucket: Span) -> Self {
        Paced {
            device,
            line: Line::new(rate),
            bucket,
            lost_time: Span::ZERO,
            busy_until: Time::ZERO,
            waiting: VecDeque::new(),
            spare: Vec::new(),
            oversized: 0,
            lost: 0,
        }
    }

    fn line_time(&self, now: Time) -> Time {
        Time::ZERO + now.since(Time::ZERO + self.lost_time)
    }

    /// Takes in what the device holds.
    fn take(&mut self, now: Time) -> io::Result<()> {
        for _ in 0..BUDGET {
            let mut frame = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(LONGEST + 1));
            match self.device.receive(now, &mut frame)? {
                Received::Nothing => {
                    self.spare.push(frame);
                    break;
                }
                Received::Oversized => self.oversized += 1,
                Received::Frame if self.waiting.len() >= QUEUE => {
                    self.lost += 1;
                    self.spare.push(frame);
                }
                Received::Frame => {
                    let begins = self.busy_until.max(self.line_time(now));
                    self.busy_until = begins + self.line.transmit(frame.len() as u32);
                    self.waiting.push_back((self.busy_until, frame));
                }
            }
        }
        Ok(())
    }
}

impl<D: Device> Device for Paced<D> {
    fn receive(&mut self, now: Time, frame: &mut Vec<u8>) -> io::Result<Received> {
        self.take(now)?;
        if self.oversized > 0 {
            self.oversized -= 1;
            return Ok(Received::Oversized);
        }
        let now = self.line_time(now);
        match self.waiting.pop_front_if(|&mut (ends, _)| ends <= now) {
            None => Ok(Received::Nothing),
            Some((ends, arrived)) => {
                // Later than the bucket makes up for: that time is lost to the line for good.
                self.lost_time += now.since(ends + self.bucket);
                self.spare.push(std::mem::replace(frame, arrived));
                Ok(Received::Frame)
            }
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
        let next = self.waiting.front().map_or(Time::NEVER, |&(ends, _)| ends + self.lost_time);
        next.min(self.device.due())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Memory;
    use switchbed_units::Span;

    #[test]
    fn a_burst_comes_in_one_behind_the_other() {
        let memory = Memory::new();
        let at = |us| Time::ZERO + Span::from_us(us);
        (0..3).for_each(|i| memory.port().arrive(at(5), vec![i; 1250]));
        memory.port().arrive(at(1000), vec![3; 125]);
        let mut paced = Paced::new(memory, Rate::from_mbps(100), Span::ZERO);
        let mut frame = Vec::new();
        let mut arrivals = Vec::new();
        while paced.due() < Time::NEVER {
            let now = paced.due();
            while paced.receive(now, &mut frame).unwrap() == Received::Frame {
                arrivals.push((now, frame[0]));
            }
        }
        assert_eq!(arrivals, [(at(105), 0), (at(205), 1), (at(305), 2), (at(1010), 3)]);
    }

    #[test]
    fn a_late_reader_makes_up_for_a_bucket_and_no_more() {
        let memory = Memory::new();
        let at = |us| Time::ZERO + Span::from_us(us);
        (0..20).for_each(|i| memory.port().arrive(at(0), vec![i; 1250]));
        let mut paced = Paced::new(memory, Rate::from_mbps(100), Span::from_us(300));
        let mut frame = Vec::new();
        let mut read = |now| {
            let mut frames = 0;
            while paced.receive(now, &mut frame).unwrap() == Received::Frame {
                frames += 1;
            }
            (frames, paced.due())
        };
        // One frame every 100 us, the first at 100. 250 us late: two more at once.
        assert_eq!(read(at(0)), (0, at(100)));
        assert_eq!(read(at(350)), (3, at(400)));
        // 1,000 us late, 700 of which are lost for good.
        assert_eq!(read(at(1400)), (4, at(1500)));
        assert_eq!(read(at(1500)), (1, at(1600)));
    }

    #[test]
    fn its_queue_is_bounded() {
        let memory = Memory::new();
        (0..1500).for_each(|_| memory.port().arrive(Time::ZERO, vec![0; 60]));
        let mut paced = Paced::new(memory, Rate::from_mbps(1), Span::ZERO);
        let mut frame = Vec::new();
        for _ in 0..30 {
            assert_eq!(paced.receive(Time::ZERO, &mut frame).unwrap(), Received::Nothing);
        }
        assert_eq!((paced.waiting.len(), paced.condition().lost), (QUEUE, 500));
    }
}
