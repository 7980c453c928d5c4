//! An interface that exists, by `AF_PACKET`: a veth or a network card. The host's own
//! protocols still see what arrives there; the interface should have no addresses.
//!
//! The kernel takes VLAN tags off frames before this socket sees them and this socket does
//! not ask for them: a tagged frame is forwarded without its tag. TAP keeps tags.

use super::{Device, LONGEST, Received};
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recvmsg, send,
    setsockopt, socket, sockopt,
};
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use switchbed_qdisc::units::Time;

/// `PACKET_OUTGOING` of `linux/if_packet.h`: the host's own frames, which did not arrive.
const OUTGOING: u8 = 4;
/// Receive buffer: some milliseconds at a gigabit.
const BUFFER: usize = 4 << 20;

/// A packet socket on an interface.
pub struct PacketSocket {
    socket: OwnedFd,
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
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let kind = (AddressFamily::Packet, SockType::Raw);
        let socket = socket(kind.0, kind.1, flags, SockProtocol::EthAll)?;
        // The kernel may grant less.
        let _ = setsockopt(&socket, sockopt::RcvBuf, &BUFFER);
        // The address names no protocol, so that the socket keeps its own: all of them.
        bind(socket.as_raw_fd(), &address)?;
        let mut opened = PacketSocket { socket };
        // Until it was bound it heard all interfaces.
        while opened.receive(Time::ZERO, &mut Vec::new())? != Received::Nothing {}
        Ok(opened)
    }
}

impl Device for PacketSocket {
    fn receive(&mut self, _now: Time, frame: &mut Vec<u8>) -> io::Result<Received> {
        loop {
            frame.resize(LONGEST, 0);
            let mut parts = [IoSliceMut::new(frame)];
            let read =
                recvmsg::<LinkAddr>(self.socket.as_raw_fd(), &mut parts, None, MsgFlags::empty());
            let (length, flags, from) = match read {
                Ok(read) => (read.bytes, read.flags, read.address),
                Err(Errno::EAGAIN) => return Ok(Received::Nothing),
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            if from.is_some_and(|from| from.pkttype() == OUTGOING) {
                continue;
            }
            if flags.contains(MsgFlags::MSG_TRUNC) {
                return Ok(Received::Oversized);
            }
            frame.truncate(length);
            return Ok(Received::Frame);
        }
    }
    fn send(&mut self, _now: Time, frame: &[u8]) -> io::Result<()> {
        send(self.socket.as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT)?;
        Ok(())
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }
}
