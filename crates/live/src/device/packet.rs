//! An interface that exists, by `AF_PACKET`: a veth or a network card. The host's own
//! protocols still see what arrives there; the interface should have no addresses.
//!
//! Frames are read from a ring ([`Ring`]) and written many at a time (`sendmmsg`). The kernel takes the outer
//! VLAN tag off a frame before it hands it over, and tells of it beside the frame: it is put back.

use super::overruns::Overruns;
use super::ring::{Ring, Taken, behind, put, tag};
use super::segments::{Incoming, LONGEST_WHOLE, Leaving};
use super::{Condition, Device, Received};
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, MultiHeaders, SockFlag, SockProtocol,
    SockType, SockaddrStorage, bind, getsockname, getsockopt, recvmsg, sendmmsg, setsockopt,
    socket, sockopt,
};
// The macros name each other and the library by these names.
use nix::{cmsg_space, getsockopt_impl, libc, setsockopt_impl, sockopt_impl};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use switchbed_units::{Span, Time};
use switchbed_wire::offload::{Contradiction, Header};

/// Buffers of the socket: for frames that are longer than the ring's slots, and for frames on their way out.
const BUFFER: usize = 16 << 20;
/// Headers in front of a packet: Ethernet's and two VLAN tags.
const HEADERS: usize = 14 + 2 * 4;
/// A socket without frames is asked for an error this often at most.
const ERRORS_EVERY: Span = Span::from_ms(10);

sockopt_impl!(
    /// Asks for what the kernel knows of a frame beside its bytes (packet(7)).
    Auxdata,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_AUXDATA,
    bool
);
sockopt_impl!(
    /// Keeps the frames that the host itself sends by the interface from the socket, where they would
    /// take space and be counted as lost (packet(7), Linux 4.20).
    IgnoreOutgoing,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_IGNORE_OUTGOING,
    bool
);
sockopt_impl!(
    /// Keeps a frame whole for the socket that is longer than a slot of the ring (packet(7)).
    CopyThreshold,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_COPY_THRESH,
    libc::c_int
);
sockopt_impl!(
    /// Puts an offload header before each frame, in and out (packet(7)).
    OffloadHeaders,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_VNET_HDR,
    bool
);
sockopt_impl!(
    /// Frames that came and that found no space, since it was last asked (packet(7)).
    Counted,
    GetOnly,
    libc::SOL_PACKET,
    libc::PACKET_STATISTICS,
    libc::tpacket_stats
);

/// A packet socket on an interface.
pub struct PacketSocket {
    socket: OwnedFd,
    ring: Ring,
    outgoing: Outgoing,
    incoming: Incoming,
    /// The socket has offload headers.
    headers: bool,
    /// Frames that were read, and those among them whose offload header lied.
    received: u64,
    malformed: u64,
    /// Space for a frame that is longer than a slot of the ring.
    long: Vec<u8>,
    /// Time from which an empty socket is asked for an error.
    asks_at: Time,
    /// Frames that found no space in the ring or the socket.
    lost: u64,
    /// Frames that found none in the card. `rx_dropped` is not among its counters: it also counts
    /// frames that the socket has had, if no protocol takes them afterwards (`__netif_receive_skb_core`),
    /// as is the case of most frames with a VLAN tag.
    overruns: Overruns,
}

/// The tag that the kernel took off, by its `struct tpacket_auxdata`: three words, and of the four
/// half-words behind them the last two.
fn tag_beside(aux: &[u8]) -> Option<[u8; 4]> {
    const _: () = assert!(size_of::<libc::tpacket_auxdata>() == 20);
    let aux: &[u8; 20] = aux.try_into().ok()?;
    let [a, b, c, d, ..] = *aux;
    let [.., e, f, g, h] = *aux;
    let status = u32::from_ne_bytes([a, b, c, d]);
    tag(status, u16::from_ne_bytes([e, f]), u16::from_ne_bytes([g, h]))
}

impl PacketSocket {
    /// Opens the interface, whose packets have up to `mtu` bytes. With `offload` packets of a flow come and go in
    /// one frame where the other side can.
    ///
    /// # Errors
    /// There is none of that name, or `CAP_NET_RAW` is missing.
    pub fn open(name: &str, mtu: usize, offload: bool) -> io::Result<PacketSocket> {
        let unknown = || io::Error::new(io::ErrorKind::NotFound, format!("no interface {name}"));
        let mut interfaces = getifaddrs()?.filter(|found| found.interface_name == name);
        let address: LinkAddr = interfaces
            .find_map(|found| found.address?.as_link_addr().copied())
            .ok_or_else(unknown)?;
        let kind = (AddressFamily::Packet, SockType::Raw);
        // A socket with a protocol hears all interfaces until it is bound, and one without hears
        // nothing. It gets its protocol with its address, which is that of another socket.
        let other = socket(kind.0, kind.1, SockFlag::SOCK_CLOEXEC, SockProtocol::EthAll)?;
        bind(other.as_raw_fd(), &address)?;
        let bound: SockaddrStorage = getsockname(other.as_raw_fd())?;
        let address = bound.as_link_addr().ok_or_else(unknown)?;
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(kind.0, kind.1, flags, None)?;
        // Without the right to pass the system's limit the kernel may grant less.
        let _ = setsockopt(&socket, sockopt::RcvBufForce, &BUFFER)
            .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &BUFFER));
        let _ = setsockopt(&socket, sockopt::SndBufForce, &BUFFER)
            .or_else(|_| setsockopt(&socket, sockopt::SndBuf, &BUFFER));
        setsockopt(&socket, OffloadHeaders, &offload)?;
        setsockopt(&socket, Auxdata, &true)?;
        setsockopt(&socket, IgnoreOutgoing, &true)?;
        setsockopt(&socket, CopyThreshold, &1)?;
        let ring = Ring::new(&socket, mtu + HEADERS, offload)?;
        let overruns = Overruns::of(name, &["rx_missed_errors"]);
        bind(socket.as_raw_fd(), address)?;
        Ok(PacketSocket {
            socket,
            ring,
            outgoing: Outgoing::new(offload),
            incoming: Incoming::default(),
            headers: offload,
            received: 0,
            malformed: 0,
            long: vec![0; LONGEST_WHOLE],
            asks_at: Time::ZERO,
            lost: 0,
            overruns,
        })
    }

    /// Reads a frame that was longer than a slot, and its offload header. `None`: it was longer than any.
    fn read_long(&mut self, frame: &mut Vec<u8>) -> io::Result<Option<Header>> {
        let mut aux = cmsg_space!(libc::tpacket_auxdata);
        let mut offload = [0; Header::BYTES];
        let before = if self.headers { Header::BYTES } else { 0 };
        let mut parts = [IoSliceMut::new(&mut offload[..before]), IoSliceMut::new(&mut self.long)];
        let socket = self.socket.as_raw_fd();
        let flags = MsgFlags::MSG_DONTWAIT;
        let message = recvmsg::<LinkAddr>(socket, &mut parts, Some(&mut aux), flags)?;
        if message.flags.contains(MsgFlags::MSG_TRUNC) {
            return Ok(None);
        }
        let tag = message.cmsgs().into_iter().flatten().find_map(|control| match control {
            ControlMessageOwned::Unknown(control) => tag_beside(&control.data_bytes),
            _ => None,
        });
        let length = message.bytes.saturating_sub(before);
        put(frame, &self.long[..length], tag);
        Ok(Some(behind(Header::read(offload), tag)))
    }

    /// The socket's error, such as that its interface is down. A ring does not tell, but the socket is
    /// readable until it was asked.
    fn failed(&mut self, now: Time) -> io::Result<()> {
        if now < self.asks_at {
            return Ok(());
        }
        self.asks_at = now + ERRORS_EVERY;
        match getsockopt(&self.socket, sockopt::SocketError)? {
            0 => Ok(()),
            error => Err(Errno::from_raw(error).into()),
        }
    }
}

impl Device for PacketSocket {
    fn receive(&mut self, now: Time, frame: &mut Vec<u8>) -> io::Result<Received> {
        loop {
            if self.incoming.next(frame) {
                return Ok(Received::Frame);
            }
            let header = match self.ring.take(frame) {
                Some((Taken::Whole, header)) => Some(header),
                Some((Taken::Cut { copied: true }, _)) => self.read_long(frame)?,
                Some((Taken::Cut { copied: false }, _)) => {
                    self.lost += 1;
                    continue;
                }
                None => return self.failed(now).map(|()| Received::Nothing),
            };
            self.received += 1;
            let Some(header) = header else { return Ok(Received::Oversized) };
            match self.incoming.take(header, frame) {
                Ok(true) => return Ok(Received::Frame),
                Ok(false) => {}
                Err(Contradiction) => self.malformed += 1,
            }
        }
    }
    fn send(&mut self, _now: Time, frame: &[u8]) -> io::Result<()> {
        self.outgoing.push(&self.socket, frame);
        Ok(())
    }
    fn flush(&mut self) -> u64 {
        self.outgoing.flush(&self.socket)
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }
    fn condition(&mut self) -> Condition {
        let counted = getsockopt(&self.socket, Counted);
        // packet(7): reading these statistics sets them to zero, hence the sum.
        self.lost += counted.map_or(0, |counted| u64::from(counted.tp_drops));
        // The kernel unbinds it from an interface that is no more: its number is -1.
        let bound = getsockname::<SockaddrStorage>(self.socket.as_raw_fd()).ok();
        let interface = bound.and_then(|bound| Some(bound.as_link_addr()?.ifindex() as i32));
        let gone = interface.is_some_and(|number| number <= 0);
        Condition {
            overruns: self.lost + self.overruns.count(),
            received: self.received,
            sent: self.outgoing.written(),
            malformed: self.malformed,
            gone,
            ..Condition::default()
        }
    }
    fn due(&self) -> Time {
        if self.incoming.waits() || self.ring.waits() { Time::ZERO } else { Time::NEVER }
    }
}

/// Frames that are written at a time.
const BATCH: usize = 64;

/// Frames on their way out, which were not written yet.
struct Outgoing {
    leaving: Leaving,
    /// The socket takes an offload header before each frame.
    headers: bool,
    /// Frames that were written.
    written: u64,
    /// Frames that were lost by an error, since they were asked for.
    failed: u64,
}

impl Outgoing {
    /// Makes an empty list, for a socket that takes offload headers or not.
    fn new(headers: bool) -> Outgoing {
        Outgoing { leaving: Leaving::new(headers), headers, written: 0, failed: 0 }
    }

    /// Adds a packet.
    fn push(&mut self, socket: &OwnedFd, packet: &[u8]) {
        self.leaving.push(packet);
        // One more may still grow.
        if self.leaving.len() > BATCH {
            self.write(socket, BATCH);
        }
    }

    /// Writes what waits. Returns the frames lost by an error since the last call.
    fn flush(&mut self, socket: &OwnedFd) -> u64 {
        while self.leaving.len() > 0 {
            self.write(socket, self.leaving.len().min(BATCH));
        }
        std::mem::take(&mut self.failed)
    }

    /// Frames that were written so far.
    fn written(&self) -> u64 {
        self.written
    }

    /// Writes the first frames.
    fn write(&mut self, socket: &OwnedFd, count: usize) {
        let mut headers = [[0; Header::BYTES]; BATCH];
        let beside = if self.headers { Header::BYTES } else { 0 };
        let frames = headers.iter_mut().zip(self.leaving.frames()).take(count);
        let parts: Vec<[IoSlice<'_>; 2]> = frames
            .map(|(header, frame)| {
                *header = frame.finish().write();
                [IoSlice::new(&header[..beside]), IoSlice::new(frame.bytes())]
            })
            .collect();
        let mut done = 0;
        while done < count {
            let rest = &parts[done..];
            let mut messages = MultiHeaders::<LinkAddr>::preallocate(rest.len(), None);
            let (to, flags) = ([None::<LinkAddr>; BATCH], MsgFlags::MSG_DONTWAIT);
            // The kernel stops at the first frame that it cannot send, and says why if that is the first.
            match sendmmsg(socket.as_raw_fd(), &mut messages, rest, to, [], flags) {
                Ok(sent) => {
                    let sent = sent.count();
                    self.written += sent as u64;
                    done += sent;
                }
                Err(_) => {
                    self.failed += 1;
                    done += 1;
                }
            }
        }
        for _ in 0..count {
            self.leaving.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aux(status: u32, tci: u16, protocol: u16) -> Vec<u8> {
        let words = [status, 60, 60].map(u32::to_ne_bytes).concat();
        [&words[..], &[0, 14, tci, protocol].map(u16::to_ne_bytes).concat()].concat()
    }

    #[test]
    fn a_tag_is_what_the_kernel_tells() {
        assert_eq!(tag_beside(&aux(0x11, 0xa007, 0)), Some([0x81, 0x00, 0xa0, 0x07]));
        assert_eq!(tag_beside(&aux(0x51, 7, 0x88a8)), Some([0x88, 0xa8, 0, 7]));
        assert_eq!(tag_beside(&aux(0x41, 7, 0x8100)), None, "no tag");
        assert_eq!(tag_beside(&[0; 19]), None);
    }
}
