//! Devices that frames come from and go to. Middleware ([`Recorder`], [`Faulty`], [`Paced`],
//! [`Reacting`]) is a device around a device.

mod faulty;
mod memory;
mod paced;
mod reacting;
mod recorder;
mod segments;

#[cfg(target_os = "linux")]
#[cfg(target_os = "linux")]
mod overruns;
#[cfg(target_os = "linux")]
mod packet;
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "memory shared with the kernel: see its beginning")]
mod ring;
#[cfg(target_os = "linux")]
mod tap;

pub use faulty::Faulty;
pub use memory::{Memory, Port};
pub use paced::Paced;
pub use reacting::Reacting;
pub use recorder::Recorder;

#[cfg(target_os = "linux")]
pub use packet::PacketSocket;
#[cfg(target_os = "linux")]
pub use tap::Tap;

use auto_impl::auto_impl;
use std::io;
use std::os::fd::BorrowedFd;
use switchbed_units::Time;

/// Result of an attempt to read a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// A frame is in the buffer.
    Frame,
    /// A frame was there, but too long for the buffer that devices read into.
    Oversized,
    /// No frame is waiting now.
    Nothing,
}

/// A frame is read into this many bytes; longer ones are [`Received::Oversized`].
pub const LONGEST: usize = 1 << 14;

/// How a device is, and what became of frames that never reached the switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// Frames lost by middleware, on purpose or for want of space.
    pub lost: u64,
    /// Frames lost by the system, before they could be read.
    pub overruns: u64,
    /// Frames that the system handed over. A frame may hold several packets.
    pub received: u64,
    /// Frames that were handed to the system.
    pub sent: u64,
    /// Frames dropped because their offload header contradicts them.
    pub malformed: u64,
    /// Rate limiters at work in middleware.
    pub limiters: u64,
    /// The interface is no more; another of its name would be another one.
    pub gone: bool,
}

/// Source and destination of frames.
#[auto_impl(Box)]
pub trait Device {
    /// Reads the next frame that waits into `frame`, whose contents are replaced. Does not
    /// wait.
    ///
    /// # Errors
    /// Errors of the operating system; the device may recover.
    fn receive(&mut self, now: Time, frame: &mut Vec<u8>) -> io::Result<Received>;

    /// Writes a frame, at the latest when it is flushed. Does not wait.
    ///
    /// # Errors
    /// Errors of the operating system; the frame is lost, the device may recover.
    fn send(&mut self, now: Time, frame: &[u8]) -> io::Result<()>;

    /// Writes the frames that were kept to be written together. Returns how many were lost by an error of the
    /// operating system since the last call.
    fn flush(&mut self) -> u64 {
        0
    }

    /// Descriptor that becomes readable when a frame waits; `None`: ask at [`Device::due`].
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// How it is, its middleware included.
    fn condition(&mut self) -> Condition {
        Condition::default()
    }

    /// When a frame will wait without the descriptor telling.
    fn due(&self) -> Time {
        Time::NEVER
    }
}
