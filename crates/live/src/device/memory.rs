//! A device in memory, for tests: frames arrive at times that the test sets.

use super::{Device, LONGEST, Received};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use switchbed_units::Time;

/// Frames in both directions of a [`Memory`].
#[derive(Debug, Default)]
struct Sides {
    arriving: VecDeque<(Time, Vec<u8>)>,
    sent: Vec<(Time, Vec<u8>)>,
}

/// Side of the switch, which is a device.
#[derive(Debug, Default)]
pub struct Memory(Arc<Mutex<Sides>>);

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
    /// Returns the side that a test holds.
    pub fn port(&self) -> Port {
        Port(Arc::clone(&self.0))
    }
}

impl Port {
    /// Lets a frame arrive at a time, which must not be before the last one's.
    pub fn arrive(&self, at: Time, frame: Vec<u8>) {
        let arriving = &mut sides(&self.0).arriving;
        assert!(arriving.back().is_none_or(|&(last, _)| last <= at), "in order of time");
        arriving.push_back((at, frame));
    }
    /// Frames that the switch has sent, with their times.
    pub fn sent(&self) -> Vec<(Time, Vec<u8>)> {
        sides(&self.0).sent.clone()
    }
}

impl Device for Memory {
    fn receive(&mut self, now: Time, frame: &mut Vec<u8>) -> io::Result<Received> {
        let arriving = &mut sides(&self.0).arriving;
        match arriving.pop_front_if(|&mut (at, _)| at <= now) {
            None => Ok(Received::Nothing),
            Some((_, bytes)) if bytes.len() > LONGEST => Ok(Received::Oversized),
            Some((_, bytes)) => {
                *frame = bytes;
                Ok(Received::Frame)
            }
        }
    }
    fn send(&mut self, now: Time, frame: &[u8]) -> io::Result<()> {
        sides(&self.0).sent.push((now, frame.to_vec()));
        Ok(())
    }
    fn due(&self) -> Time {
        sides(&self.0).arriving.front().map_or(Time::NEVER, |&(at, _)| at)
    }
}
