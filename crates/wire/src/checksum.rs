//! The Internet checksum (RFC 1071) of headers and of packets.

/// Whether an IPv4 header's checksum is right.
pub(crate) fn ip_is_right(header: &[u8]) -> bool {
    transport::checksum(0, header, &[]) == 0
}

/// Checksums of TCP and UDP.
pub(crate) mod transport {
    /// Ones' complement sum of a part's words in the machine's byte order, which gives the network's once it is
    /// folded and swapped (RFC 1071, section 2 (B)). The part begins at an even place of its packet.
    fn add(part: &[u8]) -> u64 {
        let (words, rest) = part.as_chunks::<4>();
        let sum: u64 = words.iter().map(|&word| u64::from(u32::from_ne_bytes(word))).sum();
        // Zeros behind an odd end.
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        sum + u64::from(u32::from_ne_bytes(last))
    }

    fn fold_wide(sum: u64) -> u16 {
        let sum = (sum & 0xffff_ffff) + (sum >> 32);
        let sum = (sum & 0xffff_ffff) + (sum >> 32);
        fold(sum as u32)
    }

    /// Folds a sum to 16 bits.
    pub(crate) fn fold(sum: u32) -> u16 {
        let sum = (sum & 0xffff) + (sum >> 16);
        ((sum & 0xffff) + (sum >> 16)) as u16
    }

    /// Sum of the pseudo header of TCP and UDP (RFC 9293, section 3.1; RFC 8200, section 8.1).
    pub(crate) fn pseudo(addresses: &[u8], protocol: u8, length: usize) -> u32 {
        let addresses = fold_wide(add(addresses)).to_be();
        u32::from(addresses) + u32::from(protocol) + length as u32
    }

    /// Checksum of two parts that follow a sum, the first of even length.
    pub(crate) fn checksum(before: u32, first: &[u8], second: &[u8]) -> u16 {
        debug_assert!(second.is_empty() || first.len().is_multiple_of(2));
        let parts = fold_wide(add(first) + add(second)).to_be();
        !fold(u32::from(fold(before)) + u32::from(parts))
    }
}
