//! Flow lists in the forms of other simulators: which one a file has, and what they share.

use crate::traffic::ListError;
use crate::traffic::{ConnectionUse, FlowStart, seconds};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use switchbed_config::text::shown;
use switchbed_config::words;
use switchbed_units::ids::HostId;
use switchbed_units::quantity::MAX_SIZE;
use switchbed_units::{Bytes, Time};

words! {
    /// The form of a flow list.
    pub enum ListFormat {
        /// The form that its first lines show.
        Auto = "auto",
        /// CSV whose header names the columns.
        Table = "table",
        /// The flow file of HPCC's simulator.
        Hpcc = "hpcc",
        /// The connection matrix of htsim.
        Htsim = "htsim",
    }
}

/// A form's first lines are at most this long.
const HEAD_BYTES: u64 = 4096;

impl ListFormat {
    /// The form of a file, by its first two lines where it is not given.
    pub(super) fn of(self, path: &Path) -> ListFormat {
        if self != ListFormat::Auto {
            return self;
        }
        // The reader of tables reports an unreadable file, with the reason.
        let Ok(file) = std::fs::File::open(path) else { return ListFormat::Table };
        let mut lines = BufReader::new(file.take(HEAD_BYTES)).lines().map_while(Result::ok);
        let mut words = || -> Vec<String> {
            let line = lines.by_ref().find(|line| {
                let line = line.trim_start_matches('\u{feff}').trim();
                !line.is_empty() && !line.starts_with('#')
            });
            let line = line.unwrap_or_default();
            let words = line.trim_start_matches('\u{feff}').split_whitespace();
            words.map(str::to_owned).collect()
        };
        let (first, second) = (words(), words());
        // HPCC's flows have six numbers, or five where the port is left out.
        let numbers = second.iter().filter(|word| word.parse::<f64>().is_ok()).count();
        match first.as_slice() {
            [word, ..] if HEADS.contains(&word.as_str()) || word.contains("->") => {
                ListFormat::Htsim
            }
            [count] if count.parse::<u64>().is_ok() && numbers >= 5 => ListFormat::Hpcc,
            _ => ListFormat::Table,
        }
    }
}

/// Words that begin the first lines of a connection matrix.
pub(super) const HEADS: [&str; 4] = ["Nodes", "Connections", "Triggers", "Failures"];

/// Line of a mistake, from 1, where there is one, and its description.
pub(super) type Wrong = (Option<u64>, String);

/// The error of a file.
pub(super) fn error(file: &str, (line, what): Wrong) -> ListError {
    ListError { file: file.to_owned(), line, column: None, what }
}

/// The text of a file.
pub(super) fn text(file: &str) -> Result<String, ListError> {
    let text = std::fs::read_to_string(file).map_err(|fault| {
        let what = match fault.kind() {
            std::io::ErrorKind::InvalidData => "not UTF-8; save the flow list as UTF-8 text".into(),
            _ => format!("cannot read the flow list: {fault}"),
        };
        error(file, (None, what))
    })?;
    match text.strip_prefix('\u{feff}') {
        Some(text) => Ok(text.to_owned()),
        None => Ok(text),
    }
}

/// Lines with words, comments left out, each with its number from 1.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (u64, Vec<&str>)> {
    (1..).zip(text.lines()).filter_map(|(line, text)| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.first().is_some_and(|word| !word.starts_with('#')).then_some((line, words))
    })
}

/// A whole number of digits alone.
pub(super) fn number(line: u64, word: &str, what: &str, range: (u64, u64)) -> Result<u64, Wrong> {
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    let found = word.parse().ok().filter(|&found| digits && range.0 <= found && found <= range.1);
    found.ok_or_else(|| {
        let (least, most) = range;
        (Some(line), format!("`{}` is no {what}; write {least} to {most}", shown(word)))
    })
}

/// A payload.
pub(super) fn size(line: u64, word: &str) -> Result<Bytes, Wrong> {
    let most = MAX_SIZE.get();
    number(line, word, "whole number of bytes", (1, most)).map(Bytes::new)
}

/// A decimal number of seconds times ten to a power.
pub(super) fn time(line: u64, word: &str, power: i32, unit: &str) -> Result<Time, Wrong> {
    let (mantissa, exponent) = word.split_once(['e', 'E']).unwrap_or((word, "0"));
    let exponent = exponent.parse::<i32>().ok().and_then(|exponent| exponent.checked_add(power));
    let time = exponent.and_then(|exponent| seconds::parse(&format!("{mantissa}e{exponent}")).ok());
    let wrong = || (Some(line), format!("`{}` is no time from 0; write {unit}", shown(word)));
    time.ok_or_else(wrong)
}

/// A flow between two hosts; one without a size never ends.
pub(super) fn flow(
    line: u64,
    (src, dst): (u64, u64),
    (start, size): (Time, Option<Bytes>),
    (connection, row): (ConnectionUse, usize),
) -> Result<FlowStart, Wrong> {
    if src == dst {
        return Err((Some(line), format!("host {src} sends to itself; a flow has two ends")));
    }
    Ok(FlowStart {
        size,
        connection,
        list_row: Some(row as u64),
        ..FlowStart::new(start, HostId(src as u32), HostId(dst as u32))
    })
}

/// The greatest number of a host.
pub(super) fn last(hosts: u32) -> u64 {
    u64::from(hosts.saturating_sub(1))
}
