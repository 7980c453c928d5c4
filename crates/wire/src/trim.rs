//! Packet trimming on a frame: the payload's end is cut off, IPv4's and IPv6's lengths say so, and IPv4's header
//! checksum (RFC 1624), UDP's length and TCP's and UDP's checksums with them. A checksum is updated, not computed:
//! one that was wrong stays wrong.

use crate::frame::{Ip, Version};

/// Bytes of the fixed headers.
const IPV4: usize = 20;
const IPV6: usize = 40;
const UDP: u8 = 17;
const TCP: u8 = 6;
/// IPv6's extension headers: hop-by-hop options, routing, fragment, authentication, destination options.
const EXTENSIONS: [u8; 5] = [0, 43, 44, 51, 60];

/// The least length that a frame keeps in trimming: its headers, TCP's or UDP's among them. `None`: it is not trimmed
/// at all, being no IP packet, a fragment, one with IPv6 extension headers, one whose length contradicts its headers, or
/// one to a group of stations.
pub fn least(frame: &[u8], ip: Option<&Ip>) -> Option<usize> {
    let ip = ip?;
    let header = frame.get(ip.offset..)?;
    if frame.first()? & 1 == 1 {
        return None;
    }
    let (protocol, network) = network(header, ip.version)?;
    let behind = header.get(network..)?;
    let transport = match protocol {
        UDP => 8,
        TCP => 4 * usize::from(behind.get(12)? >> 4).max(5),
        _ => 0,
    };
    let all = network + transport;
    (packet_len(frame, ip)? >= all).then_some(ip.offset + all)
}

/// The protocol behind an IP header and the header's length, where the packet may be cut.
fn network(header: &[u8], version: Version) -> Option<(u8, usize)> {
    match version {
        Version::V4 => {
            let fixed = header.first_chunk::<IPV4>()?;
            // More-fragments and the offset; the bit above them is don't-fragment.
            let fragment = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff != 0;
            let len = 4 * usize::from(fixed[0] & 15);
            (!fragment && len >= IPV4).then_some((fixed[9], len))
        }
        Version::V6 => {
            let next = header.first_chunk::<IPV6>()?[6];
            (!EXTENSIONS.contains(&next)).then_some((next, IPV6))
        }
    }
}

/// Cuts a frame to a length and gives its packet another DSCP. Nothing happens where [`least`] forbids it.
pub fn trim(frame: &mut Vec<u8>, ip: &Ip, len: usize, dscp: u8) -> bool {
    let Some(least) = least(frame, Some(ip)) else { return false };
    let Some(old) = packet_len(frame, ip) else { return false };
    let Some((protocol, network)) = network(&frame[ip.offset..], ip.version) else { return false };
    if len < least {
        return false;
    }
    let new = old.min(len - ip.offset);
    transport(&mut frame[ip.offset..], protocol, network, (old, new));
    let header = &mut frame[ip.offset..];
    match ip.version {
        Version::V4 => {
            set(header, 2, new as u16, Some(10));
            let services = u16::from_be_bytes([header[0], dscp << 2 | header[1] & 3]);
            set(header, 0, services, Some(10));
        }
        Version::V6 => {
            set(header, 4, (new - IPV6) as u16, None);
            header[0] = header[0] & 0xf0 | dscp >> 2;
            header[1] = dscp << 6 | header[1] & 0x3f;
        }
    }
    frame.truncate(len);
    true
}

/// The length that the IP header gives its packet, no more than there is.
fn packet_len(frame: &[u8], ip: &Ip) -> Option<usize> {
    let header = &frame[ip.offset..];
    let word =
        |at: usize| Some(usize::from(u16::from_be_bytes([header[at], *header.get(at + 1)?])));
    let len = match ip.version {
        Version::V4 => word(2)?,
        Version::V6 => word(4)? + IPV6,
    };
    (len <= header.len()).then_some(len)
}

/// Updates the header behind IP's for the new length.
fn transport(packet: &mut [u8], protocol: u8, at: usize, (old, new): (usize, usize)) {
    let checksum = match protocol {
        UDP => 6,
        TCP => 16,
        _ => return,
    };
    if old == new {
        return;
    }
    let segment = &packet[at..old];
    let is = u16::from_be_bytes([segment[checksum], segment[checksum + 1]]);
    let before = sum(segment, old - at);
    let mut after = sum(&segment[..new - at], new - at);
    if protocol == UDP {
        // Zero: there is none (IPv4), or it is not allowed (IPv6).
        let length = (new - at) as u16;
        let was = u16::from_be_bytes([segment[4], segment[5]]);
        after = add(add(after, !was), length);
        packet[at + 4..at + 6].copy_from_slice(&length.to_be_bytes());
        if is == 0 {
            return;
        }
    }
    // The field itself is in both sums, so that it cancels out.
    let now = !add(add(!is, !before), after);
    // RFC 768: a checksum of 0 is sent as all ones, since 0 says that there is none.
    let now = if now == 0 && protocol == UDP { 0xffff } else { now };
    packet[at + checksum..at + checksum + 2].copy_from_slice(&now.to_be_bytes());
}

/// The sum of words, with a length from the pseudo-header.
fn sum(bytes: &[u8], length: usize) -> u16 {
    let word = |pair: &[u8]| u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]);
    bytes.chunks(2).map(word).fold(length as u16, add)
}

/// Ones' complement addition.
fn add(a: u16, b: u16) -> u16 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u16::from(carry)
}

/// Writes a word of a header, and updates the checksum over it.
fn set(header: &mut [u8], at: usize, word: u16, checksum: Option<usize>) {
    let was = u16::from_be_bytes([header[at], header[at + 1]]);
    header[at..at + 2].copy_from_slice(&word.to_be_bytes());
    if let Some(at) = checksum {
        let is = u16::from_be_bytes([header[at], header[at + 1]]);
        let now = !add(add(!is, !was), word);
        header[at..at + 2].copy_from_slice(&now.to_be_bytes());
    }
}
