//! The binary form of GOAL schedules, as LogGOPSim's `Parser.hpp` writes it: packed, little endian.
//!
//! | part | fields |
//! | --- | --- |
//! | head | u64 4223; u32 ranks; u8 and u8, the most of cpu and nic |
//! | for each rank | u64 start, u64 end of its part, counted from behind the 4223 |
//! | a rank's part | u32 operations; u32 roots; so many u32; the operations; the appendix of u32 |
//! | an operation | u32 waits for; i8 send 1, receive 2, calculate 3; u32 peer; u64 size; u32 tag; u8 cpu; u8 nic; u32 followers of its end, u32 their place in the appendix; the same of its start |
//!
//! A peer or tag of 2³² − 1 is any. Ranks are read one by one.

use crate::traffic::program::{Draft, Envelope, Pattern, Step};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use switchbed_units::{Bytes, Span};

const MAGIC: u64 = 4223;
/// Mark that LogGOPSim leaves in its place where a run has used the file up.
const SPOILT: u64 = 2342;
const OPERATION: usize = 39;
const MOST_RANKS: u32 = 1 << 20;

/// Whether a file is in this form.
pub(super) fn is_one(file: &str) -> io::Result<bool> {
    let mut head = [0; 8];
    let mut file = File::open(file)?;
    match file.read_exact(&mut head) {
        Ok(()) => Ok([MAGIC, SPOILT].contains(&u64::from_le_bytes(head))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Numbers in turn.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let cut = || "ends within a rank's part; write it anew with txt2bin".to_owned();
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or_else(cut)?;
        self.0 = rest;
        Ok(*head)
    }

    fn u8(&mut self) -> Result<u8, String> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, String> {
        self.take().map(u64::from_le_bytes)
    }
}

/// Reads a schedule: how many ranks it has, and what they do.
///
/// # Errors
/// Description of the mistake, with the rank and the operation where there is one.
pub(super) fn read(file: &str, class: u8) -> Result<(u32, Draft), String> {
    let unreadable = |error: io::Error| format!("cannot read the schedule: {error}");
    let mut file = BufReader::new(File::open(file).map_err(unreadable)?);
    let length = file.get_ref().metadata().map_err(unreadable)?.len();
    let mut part = |start: u64, count: u64| -> Result<Vec<u8>, String> {
        // Lengths come from the file: checked against its size before memory is taken.
        let end = start.checked_add(count).filter(|&end| end <= length);
        end.ok_or_else(|| format!("{length} bytes, and a part ends behind them"))?;
        let mut bytes = vec![0; count as usize];
        file.seek(SeekFrom::Start(start)).map_err(unreadable)?;
        file.read_exact(&mut bytes).map_err(unreadable)?;
        Ok(bytes)
    };
    let head = part(0, 14)?;
    let mut head = Fields(&head);
    if head.u64()? == SPOILT {
        return Err("was used up by a run of LogGOPSim; write it anew with txt2bin".to_owned());
    }
    let ranks = head.u32()?;
    if ranks == 0 || ranks > MOST_RANKS {
        return Err(format!("{ranks} ranks; a schedule has 1 to {MOST_RANKS}"));
    }
    let table = part(14, u64::from(ranks) * 16)?;
    let mut table = Fields(&table);
    let mut draft = Draft::new(ranks);
    for rank in 0..ranks {
        let (start, end) = (table.u64()?, table.u64()?);
        let count = end.checked_sub(start);
        let count = count.ok_or_else(|| format!("rank {rank} ends at {end}, before {start}"))?;
        // Offsets are counted from behind the magic number of 8 bytes.
        let start = start.checked_add(8).ok_or_else(|| format!("rank {rank} begins at {start}"))?;
        let bytes = part(start, count)?;
        read_rank(Fields(&bytes), (rank, ranks), class, &mut draft)
            .map_err(|what| format!("rank {rank}: {what}"))?;
        draft.close(rank);
    }
    Ok((ranks, draft))
}

/// Name of an operation, which has none in the file.
pub(super) fn name(_: u32, nth: u32) -> Option<String> {
    Some(format!("operation {nth}"))
}

fn read_rank(
    mut fields: Fields<'_>,
    (rank, ranks): (u32, u32),
    class: u8,
    draft: &mut Draft,
) -> Result<(), String> {
    let (count, roots) = (fields.u32()?, fields.u32()?);
    // Roots are operations that wait for none, which the waits below say as well.
    for _ in 0..roots {
        fields.u32()?;
    }
    let bytes = count as usize * OPERATION;
    let appendix = fields.0.get(bytes..).ok_or("ends within its operations")?;
    let (appendix, _) = appendix.as_chunks::<4>();
    let mut steps: Vec<Step> = Vec::with_capacity(count as usize);
    let mut waits: Vec<(u32, u32, bool)> = Vec::new();
    for nth in 0..count {
        let wrong = |what: String| format!("operation {nth}: {what}");
        // How many it waits for follows from the followers of others.
        fields.u32()?;
        let (kind, peer, size) = (fields.u8()?, fields.u32()?, fields.u64()?);
        let (tag, cpu, nic) = (fields.u32()?, fields.u8()?, fields.u8()?);
        let known = |peer: u32| match peer {
            _ if peer >= ranks => Err(wrong(format!("{peer} is no rank; there are {ranks}"))),
            _ => Ok(peer),
        };
        let step = match kind {
            1 if size > u64::MAX >> 8 => return Err(wrong(format!("{size} bytes are too many"))),
            1 => {
                let (to, bytes, channel) = (known(peer)?, Bytes::new(size), nic.into());
                draft.send(rank, Envelope { to, tag, bytes, channel, class, path: None }, &[])
            }
            2 => {
                let from = if peer == u32::MAX { None } else { Some(known(peer)?) };
                let tag = Some(tag).filter(|&tag| tag != u32::MAX);
                draft.receive_any(rank, Pattern { from, tag }, &[])
            }
            // In picoseconds it still has to fit 64 bits.
            3 if size > u64::MAX / 1000 => return Err(wrong(format!("{size} ns are too long"))),
            3 => draft.calculate((rank, cpu.into()), Span::from_ns(size), &[]),
            _ => return Err(wrong(format!("its type is {kind}; 1, 2 and 3 are known"))),
        };
        draft.on_cpu(step, cpu);
        steps.push(step);
        for start in [false, true] {
            let (followers, first) = (fields.u32()? as usize, fields.u32()? as usize);
            if followers == 0 {
                continue;
            }
            let range = first..first.saturating_add(followers);
            let all =
                appendix.get(range).ok_or_else(|| wrong("waits beyond the part".to_owned()))?;
            waits.extend(all.iter().map(|&after| (nth, u32::from_le_bytes(after), start)));
        }
    }
    // Only at the end, since followers may stand further down.
    for (before, after, start) in waits {
        let Some(&after) = steps.get(after as usize) else {
            return Err(format!("operation {after} waits, and there are {count}"));
        };
        match start {
            true => draft.order_start(steps[before as usize], after),
            false => draft.order(steps[before as usize], after),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::program::{Schedule, Work};
    use std::io::Write;
    use switchbed_units::Time;
    use switchbed_units::ids::HostId;

    /// An operation: type, peer, size, tag, and followers of its end and of its start.
    type Op<'a> = (u8, u32, u64, u32, &'a [u32], &'a [u32]);

    fn part(operations: &[Op<'_>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut appendix = Vec::new();
        bytes.extend((operations.len() as u32).to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(0u32.to_le_bytes());
        for &(kind, peer, size, tag, ends, starts) in operations {
            bytes.extend(0u32.to_le_bytes());
            bytes.push(kind);
            bytes.extend(peer.to_le_bytes());
            bytes.extend(size.to_le_bytes());
            bytes.extend(tag.to_le_bytes());
            bytes.extend([3, 2]);
            for followers in [ends, starts] {
                bytes.extend((followers.len() as u32).to_le_bytes());
                bytes.extend((appendix.len() as u32 / 4).to_le_bytes());
                appendix.extend(followers.iter().flat_map(|after| after.to_le_bytes()));
            }
        }
        bytes.extend(appendix);
        bytes
    }

    fn whole(parts: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        bytes.extend((parts.len() as u32).to_le_bytes());
        bytes.extend([3, 2]);
        let mut start = 6 + 16 * parts.len() as u64;
        for part in parts {
            bytes.extend(start.to_le_bytes());
            start += part.len() as u64;
            bytes.extend(start.to_le_bytes());
        }
        parts.iter().for_each(|part| bytes.extend(part));
        bytes
    }

    fn program(bytes: &[u8]) -> Result<Schedule, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let name = file.path().to_str().unwrap();
        if !is_one(name).unwrap() {
            return Err("is not binary".to_owned());
        }
        let (ranks, draft) = read(name, 0)?;
        let hosts = (0..ranks).map(HostId).collect();
        draft.finish_named(hosts, Time::ZERO, &super::name).map_err(|fault| fault.to_string())
    }

    /// Rank 0 calculates for 7 ns, then sends 9 bytes with tag 5 on nic 2; rank 1 takes any.
    fn example() -> Vec<u8> {
        let first = part(&[(3, 0, 7, 0, &[1], &[]), (1, 1, 9, 5, &[], &[])]);
        let second = part(&[(2, u32::MAX, 9, u32::MAX, &[1], &[]), (3, 0, 4, 0, &[], &[])]);
        whole(&[first, second])
    }

    #[test]
    fn a_schedule_is_read_as_its_text_would_be() {
        let program = program(&example()).unwrap();
        assert_eq!((program.of_rank(0), program.of_rank(1)), (0..2, 2..4));
        assert_eq!(program.operation(0).work, Work::Calculate(Span::from_ns(7), 3));
        assert_eq!((program.followers(0), program.followers(2)), (&[1][..], &[3][..]));
        let message = program.message(0);
        assert_eq!((message.bytes, message.channel, message.tag), (Bytes::new(9), 2, 5));
        assert_eq!(program.pattern(2), Some(&Pattern { from: None, tag: None }));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let example = example();
        for (bytes, expected) in [
            ([&SPOILT.to_le_bytes()[..], &example[8..]].concat(), "was used up by a run"),
            (example[..40].to_vec(), "40 bytes, and a part ends behind them"),
            (whole(&[part(&[(1, 4, 1, 0, &[], &[])])]), "rank 0: operation 0: 4 is no rank"),
            (whole(&[part(&[(1, 0, 1, 0, &[], &[])])]), "rank 0: `operation 0` has no receive at"),
            (whole(&[part(&[(4, 0, 1, 0, &[], &[])])]), "rank 0: operation 0: its type is 4"),
            (whole(&[part(&[(3, 0, 1, 0, &[7], &[])])]), "rank 0: operation 7 waits"),
            (whole(&[part(&[(3, 0, 1, 0, &[0], &[])])]), "deadlock: rank 0 `operation 0`"),
            (whole(&[]), "0 ranks"),
        ] {
            let error = program(&bytes).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
        // Each byte changed in turn, and each length: read or refused.
        for at in 8..example.len() {
            for to in [0, 1, 0x7f, 0xff] {
                let mut bytes = example.clone();
                bytes[at] = to;
                let _ = program(&bytes);
            }
            assert!(program(&example[..at]).is_err());
        }
    }
}
