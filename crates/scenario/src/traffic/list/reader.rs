//! A flow list's rows, one by one in the file's order.

use crate::traffic::ListError;
use crate::traffic::{ConnectionUse, FlowStart, Hosts, seconds};
use csv::StringRecord;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use switchbed_config::similar::similar;
use switchbed_config::text;
use switchbed_units::ids::HostId;
use switchbed_units::quantity::MAX_SIZE;
use switchbed_units::{Bytes, Span, Time};

/// Reads a list row by row.
#[derive(Debug)]
pub(super) struct Reader {
    file: PathBuf,
    csv: csv::Reader<File>,
    header: StringRecord,
    record: StringRecord,
    columns: Columns,
    hosts: Hosts,
    connection: ConnectionUse,
    /// Rows read so far.
    pub rows: u64,
}

/// Which field of a row is what.
#[derive(Clone, Copy, Debug)]
struct Columns {
    start: usize,
    src: usize,
    dst: usize,
    size: usize,
    /// Sizes count packets, not bytes.
    packets: bool,
    class: Option<usize>,
    connection: Option<usize>,
    path: Option<usize>,
    id: Option<usize>,
    after: Option<usize>,
    delay: Option<usize>,
}

/// Description of a mistake, with the index of the column at fault if there is one.
type Wrong = (Option<usize>, String);

const COLUMNS: [&str; 11] = [
    "start_s",
    "src",
    "dst",
    "size_bytes",
    "packets",
    "class",
    "connection",
    "path",
    "id",
    "after",
    "delay_s",
];

/// Message about a missing column. Lists of other programs call them `size` or `start`.
fn no_such(name: &str) -> String {
    let begins = |column: &&str| !name.is_empty() && column.starts_with(name);
    match similar(name, COLUMNS.into_iter()).or_else(|| COLUMNS.into_iter().find(begins)) {
        Some(guess) => format!("no such column; did you mean {guess}?"),
        None => format!("no such column; a flow list has {}", COLUMNS.join(", ")),
    }
}

impl Columns {
    /// # Errors
    /// The column at fault, if it is one, and what is wrong.
    fn named_in(header: &StringRecord) -> Result<Columns, (Option<&str>, String)> {
        for (i, name) in header.iter().enumerate() {
            if !COLUMNS.contains(&name) {
                return Err((Some(name), no_such(name)));
            }
            if header.iter().take(i).any(|before| before == name) {
                return Err((Some(name), "named twice; name it once".into()));
            }
        }
        let place = |name| header.iter().position(|column| column == name);
        let needed = |name| {
            place(name).ok_or_else(|| {
                (Some(name), "missing; a flow list has at least start_s,src,dst,size_bytes".into())
            })
        };
        let alone = ["id", "delay_s"].into_iter().find(|&name| place(name).is_some());
        if let Some(name) = alone.filter(|_| place("after").is_none()) {
            return Err((Some(name), "means nothing without the column after".into()));
        }
        let packets = place("packets");
        if packets.is_some() && place("size_bytes").is_some() {
            return Err((Some("packets"), "size_bytes is there too; give one of them".into()));
        }
        Ok(Columns {
            start: needed("start_s")?,
            src: needed("src")?,
            dst: needed("dst")?,
            size: packets.map_or_else(|| needed("size_bytes"), Ok)?,
            packets: packets.is_some(),
            class: place("class"),
            connection: place("connection"),
            path: place("path"),
            id: place("id"),
            after: place("after"),
            delay: place("delay_s"),
        })
    }
}

impl Reader {
    /// Opens the file and reads its header.
    pub(super) fn open(
        path: &Path,
        hosts: Hosts,
        connection: ConnectionUse,
    ) -> Result<Reader, ListError> {
        let whole = |what: String| {
            let file = path.display().to_string();
            ListError { file, line: None, column: None, what }
        };
        let file = File::open(path).map_err(|error| whole(unreadable(&error.into())))?;
        // `flexible`, because a row of the wrong length gets a message of our own.
        let mut csv = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .comment(Some(b'#'))
            .flexible(true)
            .buffer_capacity(1 << 16)
            .from_reader(file);
        let header = csv.headers().map_err(|error| whole(unreadable(&error)))?.clone();
        if header.is_empty() {
            return Err(whole("empty; a flow list begins with start_s,src,dst,size_bytes".into()));
        }
        let columns = Columns::named_in(&header).map_err(|(column, what)| {
            let (line, column) = (line_at(path, header.position()), column.map(text::shown));
            ListError { line, column, ..whole(what) }
        })?;
        let (file, record) = (path.into(), StringRecord::new());
        Ok(Reader { file, csv, header, record, columns, hosts, connection, rows: 0 })
    }

    /// Whether flows wait for others.
    pub(super) fn waits(&self) -> bool {
        self.columns.after.is_some()
    }

    /// The last row's line.
    pub(super) fn line(&self) -> Option<u64> {
        line_at(&self.file, self.record.position())
    }

    /// A column's place.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column == name)
    }

    /// The last row's id; empty without one.
    pub(super) fn id(&self) -> &str {
        self.columns.id.map_or("", |at| &self.record[at])
    }

    /// The ids that the last row's flow waits for, with blanks or semicolons between them.
    pub(super) fn after(&self) -> Vec<String> {
        let after = self.columns.after.map_or("", |at| &self.record[at]);
        let ids = after.split(|sign: char| sign == ';' || sign.is_whitespace());
        ids.filter(|id| !id.is_empty()).map(str::to_owned).collect()
    }

    /// How long after these it starts.
    pub(super) fn delay(&self) -> Result<Span, ListError> {
        let field = self.columns.delay.map_or("", |at| &self.record[at]);
        if field.is_empty() {
            return Ok(Span::ZERO);
        }
        let delay = seconds::parse(field).map(|delay| delay.since(Time::ZERO));
        delay.map_err(|what| self.wrong(self.line(), self.columns.delay, what))
    }

    /// The error of this file.
    pub(super) fn wrong(
        &self,
        line: Option<u64>,
        column: Option<usize>,
        what: impl Into<String>,
    ) -> ListError {
        ListError {
            file: self.file.display().to_string(),
            line,
            column: column.and_then(|column| self.header.get(column)).map(text::shown),
            what: what.into(),
        }
    }

    /// The next row's flow.
    pub(super) fn next(&mut self) -> Result<Option<FlowStart>, ListError> {
        match self.csv.read_record(&mut self.record) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => {
                let line = line_at(&self.file, error.position());
                return Err(self.wrong(line, None, unreadable(&error)));
            }
        }
        let flow = self.flow().map_err(|(column, what)| {
            self.wrong(line_at(&self.file, self.record.position()), column, what)
        })?;
        self.rows += 1;
        Ok(Some(flow))
    }

    /// The record as a flow.
    ///
    /// # Errors
    /// The column at fault, if it is one, and what is wrong.
    fn flow(&self) -> Result<FlowStart, Wrong> {
        let (record, columns) = (&self.record, self.columns);
        if record.len() != self.header.len() {
            let (fields, names) = (record.len(), self.header.len());
            return Err((None, format!("{fields} fields; the header names {names} columns")));
        }
        let waits = !self.after().is_empty();
        // Without a start it begins as soon as the flows that it waits for are through.
        let start = match &record[columns.start] {
            "" if waits => Ok(Time::ZERO),
            start => seconds::parse(start),
        };
        let start = start.map_err(|what| (Some(columns.start), what))?;
        let last_host = u64::from(self.hosts.count.saturating_sub(1));
        let src = self.number("host", columns.src, 0..=last_host)? as u32;
        let dst = self.number("host", columns.dst, 0..=last_host)? as u32;
        if src == dst {
            let what = format!("host {src} is src and dst; a flow has two ends");
            return Err((Some(columns.dst), what));
        }
        let (unit, name) = match columns.packets {
            true => (self.hosts.mss.get().max(1), "whole number of packets"),
            false => (1, "whole number of bytes"),
        };
        // In units, so that the product stays within `MAX_SIZE`.
        let size = unit * self.number(name, columns.size, 1..=MAX_SIZE.get() / unit)?;
        let class = self.optional("class", columns.class, u8::MAX.into())?;
        let key = self.optional("connection key", columns.connection, u64::MAX)?;
        let path = self.optional("path", columns.path, u32::MAX.into())?;
        Ok(FlowStart {
            class: class.unwrap_or(0) as u8,
            size: Some(Bytes::new(size)),
            connection: key.map_or(self.connection, ConnectionUse::Keyed),
            path: path.map(|path| path as u32),
            list_row: Some(self.rows),
            ..FlowStart::new(start, HostId(src), HostId(dst))
        })
    }

    /// The record's field as a number of digits alone.
    fn number(&self, name: &str, at: usize, within: RangeInclusive<u64>) -> Result<u64, Wrong> {
        let field = &self.record[at];
        let digits = field.bytes().all(|byte| byte.is_ascii_digit());
        match field.parse() {
            Ok(number) if digits && within.contains(&number) => Ok(number),
            _ => {
                let (least, most) = within.into_inner();
                Err((
                    Some(at),
                    format!("`{}` is no {name}; write {least} to {most}", text::shown(field)),
                ))
            }
        }
    }

    /// The same of a column that may be absent or empty.
    fn optional(&self, name: &str, at: Option<usize>, most: u64) -> Result<Option<u64>, Wrong> {
        let given = at.filter(|&at| !self.record[at].is_empty());
        given.map(|at| self.number(name, at, 0..=most)).transpose()
    }
}

fn unreadable(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Utf8 { .. } => "not UTF-8; save the flow list as UTF-8 text".into(),
        csv::ErrorKind::Io(error) => format!("cannot read the flow list: {error}"),
        _ => format!("cannot read the flow list: {error}"),
    }
}

/// The line of a record. Its position is where the reader was before it, which may be the
/// last line's end, or blank lines and comments ahead.
fn line_at(file: &Path, position: Option<&csv::Position>) -> Option<u64> {
    let position = position?;
    let passed_over = || -> io::Result<u64> {
        let mut file = BufReader::new(File::open(file)?);
        file.seek(SeekFrom::Start(position.byte()))?;
        for (passed, line) in (0..).zip(file.split(b'\n')) {
            let line = line?;
            let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line);
            if !line.trim_ascii().is_empty() && line[0] != b'#' {
                return Ok(passed);
            }
        }
        Ok(0)
    };
    Some(position.line() + passed_over().unwrap_or(0))
}
