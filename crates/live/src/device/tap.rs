//! A TAP interface: what its host sends comes in here, and what is sent here its host
//! receives. It may be put in another network namespace while it is open, and is gone when
//! the switch is, however that ends. Offloads are off: frames are those on a wire.

use super::overruns::Overruns;
use super::{Condition, Device, LONGEST, Received};
use nix::errno::Errno;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use switchbed_units::Time;
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

/// TAP interface opened by this process.
pub struct Tap {
    device: SyncDevice,
    buffer: Vec<u8>,
    overruns: Overruns,
    gone: bool,
}

impl Tap {
    /// Makes the interface, down and without addresses.
    ///
    /// # Errors
    /// The interface exists, `/dev/net/tun` cannot be opened, or `CAP_NET_ADMIN` is missing.
    pub fn create(name: &str) -> io::Result<Tap> {
        let builder = DeviceBuilder::new().name(name).layer(Layer::L2).enable(false);
        let device = builder.build_sync()?;
        device.set_nonblocking(true)?;
        // Frames that find the interface's queue full have left their host.
        let overruns = Overruns::of(name, &["tx_dropped"]);
        // One byte more tells a frame that is too long from one that just fits.
        Ok(Tap { device, buffer: vec![0; LONGEST + 1], overruns, gone: false })
    }
}

impl Device for Tap {
    fn receive(&mut self, _now: Time, frame: &mut Vec<u8>) -> io::Result<Received> {
        match self.device.recv(&mut self.buffer) {
            Ok(length) if length > LONGEST => Ok(Received::Oversized),
            Ok(length) => {
                frame.clear();
                frame.extend_from_slice(&self.buffer[..length]);
                Ok(Received::Frame)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Received::Nothing),
            Err(error) => {
                // The interface went with its namespace, or was deleted.
                self.gone |= error.raw_os_error() == Some(Errno::EBADFD as i32);
                Err(error)
            }
        }
    }
    fn send(&mut self, _now: Time, frame: &[u8]) -> io::Result<()> {
        self.device.send(frame).map(drop)
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.device.as_fd())
    }
    fn condition(&mut self) -> Condition {
        Condition { overruns: self.overruns.count(), gone: self.gone, ..Condition::default() }
    }
}
