//! Copies of frames with what their port decided, for `live capture`.
//!
//! The loop hands each frame that a capture asked for to its `Tap`, which gathers them and passes
//! whole batches on by a bounded channel. It never waits: what finds the channel full is counted
//! and not copied. The thread that answers writes pcapng of the batches ([`Reader`]).

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::interface_statistics::{
    InterfaceStatisticsBlock, InterfaceStatisticsOption,
};
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::time::Duration;
use switchbed_qdisc::QueueId;
use switchbed_qdisc::port::view::DropReason;
use switchbed_units::{Span, Time};
use switchbed_wire::pfc::Quanta;

/// Captures at a time.
pub const MOST: usize = 4;
/// Bytes of frames and their descriptions after which a batch is passed on.
const BATCH: usize = 64 << 10;
/// Batches that wait for the thread that answers: 8 MB with the one that is being filled, 20 ms at
/// 3 Gbps.
const BATCHES: usize = 128;
/// Bytes of pcapng written at a time, so that others are answered in between.
const TURN: usize = 1 << 20;

/// Direction of a frame at its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the interface.
    In,
    /// To the interface.
    Out,
}

/// Fate of a frame at a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// Arrival from the interface, handed to the ports that it is for.
    Received,
    /// Arrival that is for no port, with the reason.
    Refused(&'static str),
    /// Departure to the interface.
    Sent {
        /// Queue that the frame was in.
        queue: QueueId,
        /// Time in the queue.
        delay: Span,
        /// Whether the port's scheme marked it.
        marked: bool,
        /// Bytes before the port trimmed it.
        trimmed: Option<u32>,
    },
    /// Drop by the port.
    Dropped {
        /// Queue that the frame was for.
        queue: QueueId,
        /// Time in the queue; `None`: the port refused the arrival.
        delay: Option<Span>,
        /// Reason of the drop.
        why: DropReason,
        /// Bytes before the port trimmed it.
        trimmed: Option<u32>,
    },
    /// Frame of flow control, which ends at the port or begins there.
    Pause {
        /// Direction of the frame.
        way: Way,
        /// Quanta of each class that the frame names.
        quanta: Quanta,
    },
}

impl Fate {
    fn way(&self) -> Way {
        match self {
            Fate::Pause { way, .. } => *way,
            Fate::Received | Fate::Refused(_) => Way::In,
            Fate::Sent { .. } | Fate::Dropped { .. } => Way::Out,
        }
    }
}

/// The packet comment in a capture; docs/live.md has its words.
impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |delay: Span| delay.as_ps() as f64 / 1e6;
        let cut = |f: &mut fmt::Formatter<'_>, trimmed: Option<u32>| match trimmed {
            Some(from) => write!(f, " trimmed-from={from}"),
            None => Ok(()),
        };
        match *self {
            Fate::Received => f.write_str("received"),
            Fate::Refused(why) => write!(f, "refused reason={why}"),
            Fate::Sent { queue, delay, marked, trimmed } => {
                write!(f, "sent queue={queue} delay={:.3}us", us(delay))?;
                if marked {
                    f.write_str(" marked")?;
                }
                cut(f, trimmed)
            }
            Fate::Dropped { queue, delay, why, trimmed } => {
                write!(f, "dropped queue={queue} reason={}", why.name())?;
                if let Some(delay) = delay {
                    write!(f, " delay={:.3}us", us(delay))?;
                }
                cut(f, trimmed)
            }
            Fate::Pause { quanta, .. } => {
                f.write_str("pfc")?;
                for (class, quanta) in quanta.iter().enumerate() {
                    if let Some(quanta) = quanta {
                        write!(f, " class{class}={quanta}")?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// Request for a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Numbers of the ports.
    pub ports: Vec<u16>,
    /// Only frames of this direction; `None`: both.
    pub way: Option<Way>,
    /// Bytes kept of each frame.
    pub snaplen: usize,
    /// Frames after which it ends; `None`: the client ends it.
    pub count: Option<u64>,
}

/// A frame of a batch.
#[derive(Clone, Copy, Debug)]
struct Seen {
    at: Time,
    /// Index among the ports of the capture.
    interface: u32,
    fate: Fate,
    /// Length of the frame, and the bytes that were kept.
    length: u32,
    kept: u32,
}

#[derive(Default)]
struct Batch {
    seen: Vec<Seen>,
    bytes: Vec<u8>,
}

impl Batch {
    fn size(&self) -> usize {
        self.bytes.len() + self.seen.len() * size_of::<Seen>()
    }
}

/// State that both sides of a capture know.
struct Common {
    /// The client wants no more.
    over: AtomicBool,
    /// Frames that were not copied, by interface.
    missed: Vec<AtomicU64>,
}

/// The loop's side of a capture.
struct Tap {
    /// Interface number of each port, where the capture has it.
    interfaces: Vec<Option<u32>>,
    way: Option<Way>,
    snaplen: usize,
    left: u64,
    batch: Batch,
    to: SyncSender<Batch>,
    common: Arc<Common>,
    /// The reader is gone.
    deserted: bool,
}

impl Tap {
    #[cold]
    fn see(&mut self, at: Time, port: u16, fate: Fate, frame: &[u8]) {
        let interface = self.interfaces[usize::from(port)];
        let Some(interface) = interface.filter(|_| self.left > 0) else { return };
        if self.way.is_some_and(|way| way != fate.way()) {
            return;
        }
        if self.batch.size() >= BATCH && !self.flush() {
            self.common.missed[interface as usize].fetch_add(1, Relaxed);
            return;
        }
        let kept = frame.len().min(self.snaplen);
        self.batch.bytes.extend_from_slice(&frame[..kept]);
        let (length, kept) = (frame.len() as u32, kept as u32);
        self.batch.seen.push(Seen { at, interface, fate, length, kept });
        self.left -= 1;
    }

    /// Passes on what was gathered; `false`: there is no space for it.
    fn flush(&mut self) -> bool {
        if self.batch.seen.is_empty() {
            return true;
        }
        match self.to.try_send(std::mem::take(&mut self.batch)) {
            Ok(()) => true,
            Err(TrySendError::Full(batch)) => {
                self.batch = batch;
                false
            }
            Err(TrySendError::Disconnected(_)) => {
                self.deserted = true;
                true
            }
        }
    }

    /// Passes on what was gathered, and returns whether the capture goes on.
    fn turn(&mut self) -> bool {
        let flushed = self.flush();
        let over = self.left == 0 || self.common.over.load(Relaxed);
        if over {
            // Frames of the last batch still have to get through; no more are added.
            self.left = 0;
        }
        !(self.deserted || over && flushed)
    }
}

/// The captures of a switch that runs.
#[derive(Default)]
pub struct Taps(Vec<Tap>);

impl Taps {
    /// Begins a capture of a switch of so many ports; `epoch` is the time since 1970 at which its
    /// clock began, and `names` are its ports'. `None`: there are too many.
    pub fn begin(&mut self, asked: &Asked, names: &[String], epoch: Duration) -> Option<Reader> {
        if self.0.len() >= MOST {
            return None;
        }
        let mut interfaces = vec![None; names.len()];
        for (interface, &port) in asked.ports.iter().enumerate() {
            interfaces[usize::from(port)] = Some(interface as u32);
        }
        let missed = asked.ports.iter().map(|_| AtomicU64::new(0)).collect();
        let common = Arc::new(Common { over: AtomicBool::new(false), missed });
        let (to, from) = sync_channel(BATCHES);
        self.0.push(Tap {
            interfaces,
            way: asked.way,
            snaplen: asked.snaplen,
            left: asked.count.unwrap_or(u64::MAX),
            batch: Batch::default(),
            to,
            common: Arc::clone(&common),
            deserted: false,
        });
        let names = asked.ports.iter().map(|&port| names[usize::from(port)].clone()).collect();
        Some(Reader {
            names,
            snaplen: asked.snaplen,
            epoch,
            from,
            common,
            writer: None,
            copied: vec![0; asked.ports.len()],
            ended: false,
        })
    }

    /// Copies a frame for the captures that want it.
    #[inline]
    pub fn see(&mut self, at: Time, port: u16, fate: Fate, frame: &[u8]) {
        for tap in &mut self.0 {
            tap.see(at, port, fate, frame);
        }
    }

    /// Whether nobody captures.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Passes on what was gathered; ends captures that have enough.
    pub fn turn(&mut self) {
        self.0.retain_mut(Tap::turn);
    }

    /// Ends all captures, since the switch ends.
    pub fn end(&mut self) {
        for mut tap in self.0.drain(..) {
            if !tap.flush() {
                for seen in &tap.batch.seen {
                    tap.common.missed[seen.interface as usize].fetch_add(1, Relaxed);
                }
            }
        }
    }
}

/// The answering side of a capture: pcapng of what was copied. The capture ends with it.
pub struct Reader {
    names: Vec<String>,
    snaplen: usize,
    epoch: Duration,
    from: Receiver<Batch>,
    common: Arc<Common>,
    /// `None` until the file's beginning was written.
    writer: Option<PcapNgWriter<Vec<u8>>>,
    copied: Vec<u64>,
    ended: bool,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Reader {
    /// Asks for no more frames; those that were copied still come.
    pub fn stop(&self) {
        self.common.over.store(true, Relaxed);
    }

    /// Whether the last byte was read.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Appends the pcapng that there is now, at most some of it; nothing: there is none yet.
    ///
    /// # Errors
    /// None that memory has.
    pub fn read(&mut self, into: &mut Vec<u8>) -> io::Result<()> {
        self.write(into).map_err(|error| match error {
            PcapError::IoError(error) => error,
            other => io::Error::other(other),
        })
    }

    fn write(&mut self, into: &mut Vec<u8>) -> Result<(), PcapError> {
        if self.ended {
            return Ok(());
        }
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.begin()?,
        };
        while writer.get_ref().len() < TURN {
            match self.from.try_recv() {
                Ok(batch) => self.write_batch(&mut writer, &batch)?,
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.end(&mut writer)?;
                    self.ended = true;
                    break;
                }
            }
        }
        into.append(writer.get_mut());
        self.writer = Some(writer);
        Ok(())
    }

    fn begin(&self) -> Result<PcapNgWriter<Vec<u8>>, PcapError> {
        let mut writer = PcapNgWriter::with_endianness(Vec::new(), Endianness::Little)?;
        for name in &self.names {
            writer.write_pcapng_block(InterfaceDescriptionBlock {
                linktype: DataLink::ETHERNET,
                snaplen: self.snaplen as u32,
                options: vec![
                    InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                    // Nanoseconds.
                    InterfaceDescriptionOption::IfTsResol(9),
                ],
            })?;
        }
        Ok(writer)
    }

    fn write_batch(
        &mut self,
        writer: &mut PcapNgWriter<Vec<u8>>,
        batch: &Batch,
    ) -> Result<(), PcapError> {
        let mut rest = &batch.bytes[..];
        for seen in &batch.seen {
            let (data, after) = rest.split_at(seen.kept as usize);
            rest = after;
            self.copied[seen.interface as usize] += 1;
            // The flags word of pcapng: 1 is inbound, 2 outbound.
            let flags = match seen.fate.way() {
                Way::In => 1,
                Way::Out => 2,
            };
            writer.write_pcapng_block(EnhancedPacketBlock {
                interface_id: seen.interface,
                timestamp: self.epoch + Duration::from_nanos(seen.at.as_ps() / 1000),
                original_len: seen.length,
                data: Cow::Borrowed(data),
                options: vec![
                    EnhancedPacketOption::Comment(Cow::Owned(seen.fate.to_string())),
                    EnhancedPacketOption::Flags(flags),
                ],
            })?;
        }
        Ok(())
    }

    /// Writes how many frames each port had, and how many of them were not copied.
    fn end(&self, writer: &mut PcapNgWriter<Vec<u8>>) -> Result<(), PcapError> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.unwrap_or_default().as_nanos() as u64;
        for (interface, &copied) in self.copied.iter().enumerate() {
            let missed = self.common.missed[interface].load(Relaxed);
            writer.write_pcapng_block(InterfaceStatisticsBlock {
                interface_id: interface as u32,
                // The crate writes one number of 64 bits; the format has the upper half first.
                timestamp: now.rotate_left(32),
                options: vec![
                    InterfaceStatisticsOption::IsbIfRecv(copied + missed),
                    InterfaceStatisticsOption::IsbIfDrop(missed),
                ],
            })?;
        }
        Ok(())
    }
}
