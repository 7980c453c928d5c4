//! A device in memory, for tests: frames arrive at times that the test sets.

use super::segments::{Incoming, Leaving};
use super::{Condition, Device, LONGEST, Received};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use switchbed_units::Time;
use switchbed_wire::offload::{Contradiction, Header};

/// Frames in both directions of a [`Memory`].
#[derive(Debug, Default)]
struct Sides {
    arriving: VecDeque<(Time, Header, Vec<u8>)>,
    sent: Vec<(Time, Header, Vec<u8>)>,
}

/// Side of the switch, which is a device.
#[derive(Default)]
pub struct Memory {
    sides: Arc<Mutex<Sides>>,
    incoming: Incoming,
    leaving: Leaving,
    /// When the packets that are leaving were sent.
    at: Time,
    malformed: u64,
}

/// Side of the test, which sends and receives.
#[derive(Clone, Debug)]
pub struct Port(Arc<Mutex<Sides>>);

fn sides(shared: &Mutex<Sides>) -> MutexGuard<'_, Sides> {
    shared.lock().expect("no holder panics")
}

impl Memory {
    /// A device that nothing has reached yet.
    pub fn new() -> Memory {
        Memory::default()
    }
    /// The same, which joins the packets of a flow that leave in a row.
    pub fn with_offload() -> Memory {
        Memory { leaving: Leaving::new(true), ..Memory::default() }
    }
    /// Returns the side that a test holds.
    pub fn port(&self) -> Port {
        Port(Arc::clone(&self.sides))
    }
}

impl Port {
    /// Lets a frame arrive at a time, which must not be before the last one's.
    pub fn arrive(&self, at: Time, frame: Vec<u8>) {
        self.arrive_with(at, Header::default(), frame);
    }
    /// Lets a frame with an offload header arrive.
    pub fn arrive_with(&self, at: Time, header: Header, frame: Vec<u8>) {
        let arriving = &mut sides(&self.0).arriving;
        assert!(arriving.back().is_none_or(|&(last, ..)| last <= at), "in order of time");
        arriving.push_back((at, header, frame));
    }
    /// Frames that the switch has sent, with their times.
    pub fn sent(&self) -> Vec<(Time, Vec<u8>)> {
        sides(&self.0).sent.iter().map(|(at, _, frame)| (*at, frame.clone())).collect()
    }
    /// Frames that the switch has sent, with their times and offload headers.
    pub fn sent_with(&self) -> Vec<(Time, Header, Vec<u8>)> {
        sides(&self.0).sent.clone()
    }
}

impl Device for Memory {
    fn receive(&mut self, now: Time, frame: &mut Vec<u8>) -> io::Result<Received> {
        loop {
            if self.incoming.next(frame) {
                return Ok(Received::Frame);
            }
            let arriving = &mut sides(&self.sides).arriving;
            match arriving.pop_front_if(|&mut (at, ..)| at <= now) {
                None => return Ok(Received::Nothing),
                Some((_, header, bytes)) if header.is_empty() && bytes.len() > LONGEST => {
                    return Ok(Received::Oversized);
                }
                Some((_, header, bytes)) => {
                    *frame = bytes;
                    match self.incoming.take(header, frame) {
                        Ok(true) => return Ok(Received::Frame),
                        Ok(false) => {}
                        Err(Contradiction) => self.malformed += 1,
                    }
                }
            }
        }
    }
    fn send(&mut self, now: Time, frame: &[u8]) -> io::Result<()> {
        self.at = now;
        self.leaving.push(frame);
        Ok(())
    }
    fn flush(&mut self) -> u64 {
        let mut sides = sides(&self.sides);
        while let Some(frame) = self.leaving.first() {
            let header = frame.finish();
            sides.sent.push((self.at, header, frame.bytes().to_vec()));
            self.leaving.pop();
        }
        0
    }
    fn condition(&mut self) -> Condition {
        Condition { malformed: self.malformed, ..Condition::default() }
    }
    fn due(&self) -> Time {
        if self.incoming.waits() {
            return Time::ZERO;
        }
        sides(&self.sides).arriving.front().map_or(Time::NEVER, |&(at, ..)| at)
    }
}
