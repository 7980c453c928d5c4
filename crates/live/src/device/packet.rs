//! An interface that exists, by `AF_PACKET`: a veth or a network card. The host's own
//! protocols still see what arrives there; the interface should have no addresses.
//!
//! Frames are read many at a time (`recvmmsg`). The kernel takes the outer VLAN tag off a frame
//! before it hands it over, and tells of it beside the frame (`PACKET_AUXDATA`): it is put back.

use super::overruns::Overruns;
use super::{Condition, Device, LONGEST, Received};
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, MultiHeaders, RecvMsg, SockFlag,
    SockProtocol, SockType, SockaddrStorage, bind, getsockname, getsockopt, recvmmsg, send,
    setsockopt, socket, sockopt,
};
// The macros name each other and the library by these names.
use nix::{cmsg_space, getsockopt_impl, libc, setsockopt_impl, sockopt_impl};
use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use switchbed_units::Time;

/// Receive buffer: some milliseconds at a gigabit.
const BUFFER: usize = 4 << 20;
/// Frames read at a time.
const BATCH: usize = 32;

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
    /// take room and be counted as lost (packet(7), Linux 4.20).
    IgnoreOutgoing,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_IGNORE_OUTGOING,
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
    /// Space that a batch is read into, one buffer a frame.
    buffers: Vec<Vec<u8>>,
    /// The frames of the batch that were not handed over yet: each one's buffer.
    batch: VecDeque<(usize, Got)>,
    /// The batch was all that there was: the next question is answered without the kernel.
    drained: bool,
    /// Frames that found no space in the socket.
    lost: u64,
    /// Frames that found none in the card. `rx_dropped` is not among its counters: it also counts
    /// frames that the socket has had, if no protocol takes them afterwards (`__netif_receive_skb_core`),
    /// as is the case of most frames with a VLAN tag.
    overruns: Overruns,
}

/// A frame that was read.
struct Got {
    length: usize,
    /// Whether the frame was longer than its buffer.
    cut: bool,
    tag: Option<[u8; 4]>,
}

/// A frame of a batch.
fn got(message: &RecvMsg<'_, '_, LinkAddr>) -> Got {
    let cut = message.flags.contains(MsgFlags::MSG_TRUNC);
    let tag = message.cmsgs().into_iter().flatten().find_map(|told| match told {
        ControlMessageOwned::Unknown(told) => tag(&told.data_bytes),
        _ => None,
    });
    Got { length: message.bytes, cut, tag }
}

/// The tag that the kernel took off, as on the wire, by its `struct tpacket_auxdata`: three
/// words, and of the four half-words behind them the last two.
fn tag(aux: &[u8]) -> Option<[u8; 4]> {
    const _: () = assert!(size_of::<libc::tpacket_auxdata>() == 20);
    let aux: &[u8; 20] = aux.try_into().ok()?;
    let [a, b, c, d, ..] = *aux;
    let [.., e, f, g, h] = *aux;
    let status = u32::from_ne_bytes([a, b, c, d]);
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let protocol = match status & libc::TP_STATUS_VLAN_TPID_VALID {
        0 => [0x81, 0x00],
        _ => u16::from_ne_bytes([g, h]).to_be_bytes(),
    };
    let [high, low] = u16::from_ne_bytes([e, f]).to_be_bytes();
    Some([protocol[0], protocol[1], high, low])
}

impl PacketSocket {
    /// Opens the interface.
    ///
    /// # Errors
    /// There is none of that name, or `CAP_NET_RAW` is missing.
    pub fn open(name: &str) -> io::Result<PacketSocket> {
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
        setsockopt(&socket, Auxdata, &true)?;
        setsockopt(&socket, IgnoreOutgoing, &true)?;
        let overruns = Overruns::of(name, &["rx_missed_errors"]);
        bind(socket.as_raw_fd(), address)?;
        Ok(PacketSocket {
            socket,
            buffers: vec![vec![0; LONGEST]; BATCH],
            batch: VecDeque::with_capacity(BATCH),
            drained: false,
            lost: 0,
            overruns,
        })
    }

    fn read(&mut self) -> io::Result<()> {
        self.batch.clear();
        let aux = cmsg_space!(libc::tpacket_auxdata);
        let mut headers = MultiHeaders::<LinkAddr>::preallocate(BATCH, Some(aux));
        let mut parts: Vec<[IoSliceMut<'_>; 1]> =
            self.buffers.iter_mut().map(|buffer| [IoSliceMut::new(buffer)]).collect();
        let socket = self.socket.as_raw_fd();
        match recvmmsg(socket, &mut headers, &mut parts, MsgFlags::MSG_DONTWAIT, None) {
            Ok(messages) => {
                let mut count = 0;
                for (buffer, message) in messages.enumerate() {
                    count += 1;
                    self.batch.push_back((buffer, got(&message)));
                }
                self.drained = count < BATCH;
            }
            Err(Errno::EAGAIN) => self.drained = true,
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

impl Device for PacketSocket {
    fn receive(&mut self, _now: Time, frame: &mut Vec<u8>) -> io::Result<Received> {
        while self.batch.is_empty() {
            if std::mem::take(&mut self.drained) {
                return Ok(Received::Nothing);
            }
            self.read()?;
        }
        let Some((buffer, got)) = self.batch.pop_front() else { return Ok(Received::Nothing) };
        if got.cut {
            return Ok(Received::Oversized);
        }
        // IEEE 802.1Q: the tag stands behind the two MAC addresses.
        let (addresses, behind) = self.buffers[buffer][..got.length].split_at(got.length.min(12));
        frame.clear();
        frame.extend_from_slice(addresses);
        frame.extend(got.tag.into_iter().flatten());
        frame.extend_from_slice(behind);
        Ok(Received::Frame)
    }
    fn send(&mut self, _now: Time, frame: &[u8]) -> io::Result<()> {
        send(self.socket.as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT)?;
        Ok(())
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
        Condition { overruns: self.lost + self.overruns.count(), gone, ..Condition::default() }
    }
    fn due(&self) -> Time {
        if self.batch.is_empty() { Time::NEVER } else { Time::ZERO }
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
        assert_eq!(tag(&aux(0x11, 0xa007, 0)), Some([0x81, 0x00, 0xa0, 0x07]));
        assert_eq!(tag(&aux(0x51, 7, 0x88a8)), Some([0x88, 0xa8, 0, 7]));
        assert_eq!(tag(&aux(0x41, 7, 0x8100)), None, "no tag");
        assert_eq!(tag(&[0; 19]), None);
    }
}
