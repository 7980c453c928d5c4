//! The bytes from each rank to each, from a CSV file: a line a sender, a field a receiver.

use switchbed_config::text::shown;
use switchbed_units::Bytes;
use switchbed_units::quantity::MAX_SIZE;

/// Reads the bytes among so many ranks.
///
/// # Errors
/// The file and the line, and what is wrong there.
pub(super) fn read(file: &str, ranks: u32) -> Result<Vec<Vec<Bytes>>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    parse(&text, ranks).map_err(|(line, what)| match line {
        Some(line) => format!("{file}:{line}: {what}"),
        None => format!("{file}: {what}"),
    })
}

type Wrong = (Option<usize>, String);

fn parse(text: &str, ranks: u32) -> Result<Vec<Vec<Bytes>>, Wrong> {
    let mut rows = Vec::new();
    // A byte-order mark, as spreadsheets write it.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let size = |field: &str| {
            let field = field.trim();
            // Digits alone: `parse` would take `+5`.
            let digits = field.bytes().all(|byte| byte.is_ascii_digit());
            let size = field.parse().ok().filter(|&size| digits && size <= MAX_SIZE.get());
            let wrong = || format!("`{}` is no whole number of bytes", shown(field));
            size.map(Bytes::new).ok_or_else(|| (Some(line), wrong()))
        };
        let row = text.split(',').map(size).collect::<Result<Vec<Bytes>, Wrong>>()?;
        if row.len() != ranks as usize {
            let what = format!("{} fields, and there are {ranks} ranks", row.len());
            return Err((Some(line), what));
        }
        rows.push(row);
    }
    if rows.len() != ranks as usize {
        return Err((None, format!("{} lines, and there are {ranks} ranks", rows.len())));
    }
    // The diagonal does not count: a rank keeps its own.
    if sums(&rows).all(|(sent, _)| sent == 0) {
        return Err((None, "no rank sends another a byte".to_owned()));
    }
    if most(&rows) > MAX_SIZE {
        return Err((None, format!("a rank sends more than {} bytes", MAX_SIZE.get())));
    }
    Ok(rows)
}

/// Bytes that each rank sends to others, and receives from them.
fn sums(rows: &[Vec<Bytes>]) -> impl Iterator<Item = (u64, u64)> {
    (0..rows.len()).map(|rank| {
        let others = || (0..rows.len()).filter(move |&other| other != rank);
        let add = |sum: u64, bytes: Bytes| sum.saturating_add(bytes.get());
        let sent = others().map(|to| rows[rank][to]).fold(0, add);
        (sent, others().map(|from| rows[from][rank]).fold(0, add))
    })
}

/// The most that a rank sends, its own part included.
pub(super) fn most(rows: &[Vec<Bytes>]) -> Bytes {
    let add = |sum: u64, bytes: &Bytes| sum.saturating_add(bytes.get());
    // With what a rank keeps, as the size of an all-to-all is that of the whole buffer.
    Bytes::new(rows.iter().map(|row| row.iter().fold(0, add)).max().unwrap_or(0))
}

/// The most that a rank sends to others or receives from them.
pub(super) fn busiest(rows: &[Vec<Bytes>]) -> Bytes {
    // Lines are full duplex: the busier direction of the busiest rank bounds the time.
    Bytes::new(sums(rows).map(|(sent, received)| sent.max(received)).max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_rank_is_that_with_the_most_for_or_from_others() {
        let rows = parse("# three\n9, 1,2\n\n0,0,50\n3,4,5\n", 3).unwrap();
        assert_eq!(rows[1][2], Bytes::new(50));
        assert_eq!((most(&rows), busiest(&rows)), (Bytes::new(50), Bytes::new(52)));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, expected) in [
            ("1,2\n3,x\n", (Some(2), "`x` is no whole number of bytes")),
            ("1,2\n3\n", (Some(2), "1 fields, and there are 2 ranks")),
            ("1,2\n", (None, "1 lines, and there are 2 ranks")),
            ("1,0\n0,1\n", (None, "no rank sends another a byte")),
        ] {
            let (line, what) = parse(text, 2).unwrap_err();
            assert_eq!((line, &*what), expected);
        }
    }
}
