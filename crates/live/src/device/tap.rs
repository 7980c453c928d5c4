//! A TAP interface: what its host sends comes in here, and what is sent here its host
//! receives. It may be put in another network namespace while it is open, and is gone when
//! the switch is, however that ends. With offload its host hands over segments of many packets, with checksums to
//! be filled in, and gets such; without, frames are those on a wire.

use super::overruns::Overruns;
use super::segments::{Incoming, LONGEST_WHOLE, Leaving};
use super::{Condition, Device, Received};
use nix::errno::Errno;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd};
use switchbed_units::Time;
use switchbed_wire::offload::{Contradiction, Header};
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

/// TAP interface opened by this process.
pub struct Tap {
    device: SyncDevice,
    /// Bytes of an offload header before each frame.
    header_bytes: usize,
    buffer: Vec<u8>,
    incoming: Incoming,
    leaving: Leaving,
    received: u64,
    sent: u64,
    /// Frames that were lost by an error, since they were asked for.
    failed: u64,
    malformed: u64,
    overruns: Overruns,
    gone: bool,
}

impl Tap {
    /// Makes the interface, down and without addresses. With `offload` packets of a flow come and go in one frame.
    ///
    /// # Errors
    /// The interface exists, `/dev/net/tun` cannot be opened, or `CAP_NET_ADMIN` is missing.
    pub fn create(name: &str, offload: bool) -> io::Result<Tap> {
        let builder = DeviceBuilder::new().name(name).layer(Layer::L2).enable(false);
        let device = builder.offload(offload).build_sync()?;
        device.set_nonblocking(true)?;
        // Frames that find the interface's queue full have left their host.
        let overruns = Overruns::of(name, &["tx_dropped"]);
        Ok(Tap {
            device,
            header_bytes: if offload { Header::BYTES } else { 0 },
            // One byte more tells a frame that is too long from one that just fits.
            buffer: vec![0; LONGEST_WHOLE + 1],
            incoming: Incoming::default(),
            leaving: Leaving::new(offload),
            received: 0,
            sent: 0,
            failed: 0,
            malformed: 0,
            overruns,
            gone: false,
        })
    }

    /// Writes the first frame that waits.
    fn write(&mut self) {
        let before = self.header_bytes;
        if let Some(frame) = self.leaving.first() {
            let header = frame.finish().write();
            let parts = [IoSlice::new(&header[..before]), IoSlice::new(frame.bytes())];
            match self.device.send_vectored(&parts) {
                Ok(_) => self.sent += 1,
                Err(_) => self.failed += 1,
            }
            self.leaving.pop();
        }
    }

    /// Reads a frame: its length and its offload header. `None`: nothing waits.
    fn read(&mut self) -> io::Result<Option<(usize, Header)>> {
        let mut header = [0; Header::BYTES];
        let before = self.header_bytes;
        let parts =
            &mut [IoSliceMut::new(&mut header[..before]), IoSliceMut::new(&mut self.buffer)];
        match self.device.recv_vectored(parts) {
            Ok(length) => {
                self.received += 1;
                Ok(Some((length.saturating_sub(before), Header::read(header))))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => {
                // The interface went with its namespace, or was deleted.
                self.gone |= error.raw_os_error() == Some(Errno::EBADFD as i32);
                Err(error)
            }
        }
    }
}

impl Device for Tap {
    fn receive(&mut self, _now: Time, frame: &mut Vec<u8>) -> io::Result<Received> {
        loop {
            if self.incoming.next(frame) {
                return Ok(Received::Frame);
            }
            let Some((length, header)) = self.read()? else { return Ok(Received::Nothing) };
            if length > LONGEST_WHOLE {
                return Ok(Received::Oversized);
            }
            frame.clear();
            frame.extend_from_slice(&self.buffer[..length]);
            match self.incoming.take(header, frame) {
                Ok(true) => return Ok(Received::Frame),
                Ok(false) => {}
                Err(Contradiction) => self.malformed += 1,
            }
        }
    }
    fn send(&mut self, _now: Time, frame: &[u8]) -> io::Result<()> {
        self.leaving.push(frame);
        // One more may still grow.
        while self.leaving.len() > 1 {
            self.write();
        }
        Ok(())
    }
    fn flush(&mut self) -> u64 {
        while self.leaving.len() > 0 {
            self.write();
        }
        std::mem::take(&mut self.failed)
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.device.as_fd())
    }
    fn condition(&mut self) -> Condition {
        Condition {
            overruns: self.overruns.count(),
            received: self.received,
            sent: self.sent,
            malformed: self.malformed,
            gone: self.gone,
            ..Condition::default()
        }
    }
    fn due(&self) -> Time {
        if self.incoming.waits() { Time::ZERO } else { Time::NEVER }
    }
}
