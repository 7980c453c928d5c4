//! A copy of all that passes, as a pcap file that Wireshark opens.

use super::{Condition, Device, Received};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, PcapError, TsResolution};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;
use switchbed_units::Time;

/// A device whose frames, in and out, are written down.
pub struct Recorder<D, W: Write> {
    device: D,
    pcap: PcapWriter<W>,
    /// Error of the first write that failed. The frames pass all the same.
    failed: bool,
}

impl<D: Device> Recorder<D, BufWriter<File>> {
    /// Records into a new file. A file that exists is left as it is, and a link is not followed: a
    /// live switch opens its devices as root.
    ///
    /// # Errors
    /// The file is there already, or cannot be written.
    pub fn create(device: D, path: &Path) -> io::Result<Self> {
        Recorder::new(device, BufWriter::new(File::create_new(path)?))
    }
}

impl<D: Device, W: Write> Recorder<D, W> {
    /// Records what passes.
    ///
    /// # Errors
    /// The file's header cannot be written.
    pub fn new(device: D, writer: W) -> io::Result<Self> {
        let header = PcapHeader {
            datalink: DataLink::ETHERNET,
            ts_resolution: TsResolution::NanoSecond,
            ..PcapHeader::default()
        };
        let pcap = PcapWriter::with_header(writer, header).map_err(|error| match error {
            PcapError::IoError(error) => error,
            other => io::Error::other(other),
        })?;
        Ok(Recorder { device, pcap, failed: false })
    }

    fn write(&mut self, now: Time, frame: &[u8]) {
        let at = Duration::from_nanos(now.as_ps() / 1000);
        let packet = PcapPacket::new(at, frame.len() as u32, frame);
        // A full disk must not stop the switch.
        self.failed |= self.failed || self.pcap.write_packet(&packet).is_err();
    }
}

impl<D: Device, W: Write> Device for Recorder<D, W> {
    fn receive(&mut self, now: Time, frame: &mut Vec<u8>) -> io::Result<Received> {
        let received = self.device.receive(now, frame)?;
        if received == Received::Frame {
            self.write(now, frame);
        }
        Ok(received)
    }
    fn send(&mut self, now: Time, frame: &[u8]) -> io::Result<()> {
        self.write(now, frame);
        self.device.send(now, frame)
    }
    fn flush(&mut self) -> u64 {
        self.device.flush()
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.device.fd()
    }
    fn condition(&mut self) -> Condition {
        self.device.condition()
    }
    fn due(&self) -> Time {
        self.device.due()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Memory;
    use pcap_file::pcap::PcapReader;

    #[test]
    fn what_passes_is_read_back_with_its_time() {
        let memory = Memory::new();
        memory.port().arrive(Time::from_ps(1_500_000_000_000), vec![1; 60]);
        let mut file = Vec::new();
        let mut recorder = Recorder::new(memory, &mut file).unwrap();
        let mut frame = Vec::new();
        let at = recorder.due();
        recorder.receive(at, &mut frame).unwrap();
        recorder.receive(at, &mut frame).unwrap();
        recorder.send(Time::from_ps(2_000_000_001_000), &[2; 70]).unwrap();
        drop(recorder);
        let mut reader = PcapReader::new(&file[..]).unwrap();
        let mut next = || reader.next_packet().map(|p| p.unwrap().into_owned());
        let first = next().unwrap();
        assert_eq!((first.timestamp.as_nanos(), &*first.data), (1_500_000_000, &[1; 60][..]));
        let second = next().unwrap();
        assert_eq!((second.timestamp.as_nanos(), &*second.data), (2_000_000_001, &[2; 70][..]));
        assert!(next().is_none());
    }
}
