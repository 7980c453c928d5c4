//! Ethernet, VLAN tags, IPv4, IPv6 with extension headers, and the ports behind them, as
//! far as a switch's classifier needs them. Slicing is etherparse's.

use etherparse::{LaxLinkExtSlice, LaxNetSlice, LaxSlicedPacket, LinkSlice, ip_number};
use std::fmt;

/// MAC address of a host or switch port.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Address of a frame for all hosts.
    pub const BROADCAST: Mac = Mac([0xff; 6]);

    /// Whether it names a group (broadcast among them) rather than one station.
    #[inline]
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// The address that a text such as `02:00:00:00:00:0a` writes.
    pub fn parse(text: &str) -> Option<Mac> {
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().filter(|part| part.len() == 2)?;
            // `from_str_radix` alone would take a sign.
            *byte = u8::from_str_radix(part, 16).ok().filter(|_| !part.starts_with('+'))?;
        }
        parts.next().is_none().then_some(Mac(bytes))
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Version of the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// IPv4 (RFC 791), with a header checksum.
    V4,
    /// IPv6 (RFC 8200), without a header checksum.
    V6,
}

/// Where a frame's IP header is and what a classifier reads of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Version of the header found.
    pub version: Version,
    /// Bytes of the frame before the header.
    pub offset: usize,
    /// The differentiated services field and the ECN field: IPv4's TOS byte, IPv6's traffic
    /// class (RFC 2474, RFC 3168).
    pub traffic_class: u8,
}

impl Ip {
    /// The DSCP, 0 to 63.
    #[inline]
    pub const fn dscp(self) -> u8 {
        self.traffic_class >> 2
    }
    /// The ECN codepoint, 0 to 3: Not-ECT, ECT(1), ECT(0), CE (RFC 3168, section 5).
    #[inline]
    pub const fn ecn(self) -> u8 {
        self.traffic_class & 0b11
    }
}

/// Fields of a frame that a switch reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// MAC address of the receiver.
    pub destination: Mac,
    /// MAC address of the sender.
    pub source: Mac,
    /// The outermost VLAN tag's identifier.
    pub vlan: Option<u16>,
    /// The IP header; `None` for other protocols, and where the header contradicts itself,
    /// is cut short, or is protected by MACsec.
    pub ip: Option<Ip>,
    /// A hash that a flow's frames share: of addresses, protocol and ports; without ports
    /// for fragments, which would otherwise part from the first one; of the addresses where
    /// there is no IP.
    pub flow: u32,
}

/// The frame is shorter than an Ethernet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated;

impl Frame {
    /// Reads a frame, without its frame check sequence.
    ///
    /// # Errors
    /// [`Truncated`]: it has no Ethernet header.
    pub fn parse(bytes: &[u8]) -> Result<Frame, Truncated> {
        Frame::read(bytes, true)
    }

    /// Reads the beginning of a frame, whose rest is not in the buffer: an IP packet longer than what
    /// is here is none that is cut short.
    ///
    /// # Errors
    /// As [`Frame::parse`].
    pub fn parse_head(bytes: &[u8]) -> Result<Frame, Truncated> {
        Frame::read(bytes, false)
    }

    fn read(bytes: &[u8], whole: bool) -> Result<Frame, Truncated> {
        let sliced = LaxSlicedPacket::from_ethernet(bytes).map_err(|_| Truncated)?;
        let Some(LinkSlice::Ethernet2(ethernet)) = &sliced.link else { return Err(Truncated) };
        let (destination, source) = (Mac(ethernet.destination()), Mac(ethernet.source()));
        let vlan = sliced.link_exts.first().and_then(|tag| match tag {
            LaxLinkExtSlice::Vlan(tag) => Some(tag.vlan_identifier().value()),
            LaxLinkExtSlice::Macsec(_) => None,
        });
        let (ip, flow) = match ip(bytes, &sliced, whole) {
            Some((ip, flow)) => (Some(ip), flow),
            None => (None, Hash::new().bytes(&destination.0).bytes(&source.0)),
        };
        Ok(Frame { destination, source, vlan, ip, flow: flow.finish() })
    }
}

/// Bytes of an Ethernet header, and of a VLAN tag.
const ETHERNET: usize = 14;
const TAG: usize = 4;

fn ip(bytes: &[u8], sliced: &LaxSlicedPacket<'_>, whole: bool) -> Option<(Ip, Hash)> {
    // MACsec protects what is behind it: a rewrite would make the frame invalid.
    let tags = &sliced.link_exts;
    if tags.iter().any(|tag| matches!(tag, LaxLinkExtSlice::Macsec(_))) {
        return None;
    }
    let offset = ETHERNET + TAG * tags.len();
    let ether_type = u16::from_be_bytes([*bytes.get(offset - 2)?, *bytes.get(offset - 1)?]);
    let (version, traffic_class, payload, mut flow) = match (sliced.net.as_ref()?, ether_type) {
        (LaxNetSlice::Ipv4(ip), 0x0800) => {
            let header = ip.header();
            if usize::from(header.total_len()) < header.slice().len() {
                return None;
            }
            let flow = Hash::new().bytes(&header.source()).bytes(&header.destination());
            (Version::V4, header.slice()[1], ip.payload(), flow)
        }
        (LaxNetSlice::Ipv6(ip), 0x86dd) => {
            let header = ip.header();
            let flow = Hash::new().bytes(&header.source()).bytes(&header.destination());
            (Version::V6, header.traffic_class(), ip.payload(), flow)
        }
        _ => return None,
    };
    if payload.incomplete && whole {
        return None;
    }
    flow = flow.word(u32::from(payload.ip_number.0));
    // TCP and UDP both begin with their ports; the rest of their headers may not be here.
    if matches!(payload.ip_number, ip_number::TCP | ip_number::UDP)
        && !payload.fragmented
        && let Some(&[a, b, c, d]) = payload.payload.first_chunk()
    {
        flow = flow.ports(u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    }
    Some((Ip { version, offset, traffic_class }, flow))
}

/// FNV-1a over 32-bit words with MurmurHash3's finalizer: the same on every machine.
#[derive(Clone, Copy)]
struct Hash(u32);

impl Hash {
    const fn new() -> Hash {
        Hash(0x811c_9dc5)
    }
    fn word(self, word: u32) -> Hash {
        Hash((self.0 ^ word).wrapping_mul(0x0100_0193).rotate_left(13))
    }
    fn bytes(self, bytes: &[u8]) -> Hash {
        let words = bytes.chunks(4).map(|chunk| {
            let mut word = [0; 4];
            word[..chunk.len()].copy_from_slice(chunk);
            u32::from_be_bytes(word)
        });
        words.fold(self, Hash::word)
    }
    fn ports(self, source: u16, destination: u16) -> Hash {
        self.word(u32::from(source) << 16 | u32::from(destination))
    }
    fn finish(self) -> u32 {
        let mut h = self.0;
        h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
        h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
        h ^ (h >> 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_back_and_nothing_else_does() {
        let mac = Mac([2, 0, 0, 0xab, 0, 0x10]);
        assert_eq!(Mac::parse(&mac.to_string()), Some(mac));
        assert!(Mac::BROADCAST.is_group() && !mac.is_group());
        for text in ["", "02:00:00:00:00", "02:00:00:00:00:0", "02:00:00:00:00:0g"] {
            assert_eq!(Mac::parse(text), None, "{text}");
        }
        for text in ["02:00:00:00:00:00:00", "2:0:0:0:0:0", "02:00:00:00:00:+1"] {
            assert_eq!(Mac::parse(text), None, "{text}");
        }
    }

    #[test]
    fn neighbouring_ports_are_spread() {
        let low_bits: std::collections::BTreeSet<u32> =
            (0..64).map(|port| Hash::new().ports(5001, 40_000 + port).finish() % 8).collect();
        assert_eq!(low_bits.len(), 8);
    }
}
