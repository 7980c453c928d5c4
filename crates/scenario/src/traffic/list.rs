//! Flows from a CSV file, and its writer.
//!
//! The header names the columns, in any order:
//!
//! | column | |
//! | --- | --- |
//! | `start_s` | when the flow starts: decimal seconds, exact to the picosecond |
//! | `src`, `dst` | its hosts, numbered from 0 |
//! | `size_bytes` or `packets` | its payload, in bytes or in full packets |
//! | `class` | its class, 0 to 255; 0 if absent or empty |
//! | `connection` | key of the pair's connection that carries it; if absent or empty, the entry's `connections` decides |
//! | `path` | which of the equal paths it takes; if absent or empty, the hash decides |
//! | `id` | a name that others can wait for |
//! | `after` | ids of flows of the same source, or to it, that it waits for; it may lack `start_s` then |
//! | `delay_s` | how long after these it starts; 0 if absent or empty |
//!
//! Blank lines and lines that start with `#` are passed over. Rows may come in any order.

mod foreign;
mod hpcc;
mod matrix;
mod reader;
mod triggers;
mod waits;

use super::flow::{Begun, Drawn, Wrong};
use super::keys::OPEN_A_HOST;
use super::program::{Program, Schedule};
use super::{
    Around, Carried, ConnectionUse, Expected, FlowStart, Hosts, ListError, Site, Source, seconds,
};
use crate::file::FILE;
pub use foreign::ListFormat;
use matrix::Matrix;
use reader::Reader;
use std::io;
use std::path::Path;
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::Time;
#[cfg(test)]
use switchbed_units::ids::HostId;

params! {
    /// Flows from a CSV file.
    pub struct List {
        /// The CSV file, found from the scenario's folder, with columns start_s, src,
        /// dst, size_bytes (or packets), and, if wanted, class (default 0), connection (flows
        /// from one host to another with the same number here share a connection and follow
        /// each other on it; default: as connections says) and path (which of the equal paths
        /// its data takes, by number; ACKs go as the hash has it, and so does data without). With the
        /// column after, flows wait for others: it has their ids, of the column id, and delay_s is the time
        /// between.
        file: String as FILE;
        /// The file's form. table: CSV as above. hpcc: the flow file of HPCC's simulator. htsim: its connection
        /// matrix (.cm), triggers and failures included. auto, the default: what the first lines show.
        format: Option<ListFormat>;
        /// How flows use connections.
        carried: Carried;
    }
}

impl List {
    /// Says that rows of the file are not read, as its first line has it.
    pub fn unread(&self) -> Option<String> {
        let hpcc = self.form() == ListFormat::Hpcc;
        let text = hpcc.then(|| foreign::text(&self.file).ok()).flatten()?;
        let (count, more) = hpcc::beyond(&text);
        let file = &self.file;
        (more > 0).then(|| {
            format!("{file}: its first line says {count} flows: these are read, and {more} rows behind them are not")
        })
    }

    /// The form of the file.
    fn form(&self) -> ListFormat {
        self.format.unwrap_or(ListFormat::Auto).of(Path::new(&self.file))
    }

    /// Reads the file through, refuses what is wrong with it, and stands at its first flow.
    ///
    /// # Errors
    /// A file that cannot be read or has no flows; a header without the columns that a
    /// flow needs or with others than those known; a field that is no time, host, size,
    /// class, key or path; a flow from a host to itself.
    pub fn open(&self, hosts: Hosts) -> Result<Rows, ListError> {
        let connection = self.carried.connections.into();
        match self.form() {
            ListFormat::Hpcc => {
                let flows = hpcc::read(&foreign::text(&self.file)?, &hosts, connection);
                self.rows(flows.map_err(|wrong| foreign::error(&self.file, wrong))?, false)
            }
            ListFormat::Htsim => {
                let matrix = self.matrix(hosts.count)?;
                let wait = matrix.flows.iter().any(|of| of.trigger.is_some());
                self.rows(matrix.flows.into_iter().map(|of| of.flow).collect(), wait)
            }
            _ => Rows::open(Path::new(&self.file), hosts, connection),
        }
    }

    /// The flows of a file that is read whole.
    fn rows(&self, mut flows: Vec<FlowStart>, wait: bool) -> Result<Rows, ListError> {
        if flows.is_empty() {
            return Err(foreign::error(&self.file, (None, "no flows".to_owned())));
        }
        flows.sort_by_key(|flow| flow.start);
        let count = flows.len() as u64;
        Ok(Rows { order: Order::Sorted(flows.into_iter()), flows: count, wait, failure: None })
    }

    /// Links that the file takes away among so many hosts: line, aggregation switch, and place among its links to
    /// cores.
    ///
    /// # Errors
    /// As of [`List::open`].
    pub(crate) fn failures(&self, hosts: u32) -> Result<Vec<(u64, u32, u32)>, ListError> {
        match self.form() {
            ListFormat::Htsim => {
                let failures = self.matrix(hosts)?.failures.into_iter();
                Ok(failures.map(|of| (of.line, of.switch, of.link)).collect())
            }
            _ => Ok(Vec::new()),
        }
    }

    fn matrix(&self, hosts: u32) -> Result<Matrix, ListError> {
        let matrix =
            Matrix::read(&foreign::text(&self.file)?, hosts, self.carried.connections.into());
        matrix.map_err(|wrong| foreign::error(&self.file, wrong))
    }

    /// Schedule of the hosts that send; `None`: the flows wait for nothing but their starts.
    ///
    /// # Errors
    /// A row that is wrong, one that waits for what is not there or not of its source, and flows that wait for
    /// each other.
    pub fn schedule(&self, hosts: &Hosts) -> Result<Option<Schedule>, ListError> {
        match self.form() {
            ListFormat::Hpcc => Ok(None),
            ListFormat::Htsim => {
                let matrix = self.matrix(hosts.count)?;
                let mut channels = waits::Channels::new(matrix.flows.len());
                let connection = self.carried.connections.into();
                let schedule =
                    triggers::schedule(&matrix, |nth| channels.of(nth as u32, connection, 0));
                schedule.map_err(|wrong| foreign::error(&self.file, wrong))
            }
            _ => self.table_schedule(hosts),
        }
    }
}

impl Source for List {
    fn complete(&mut self, _: &Site<'_>) -> Result<(), Unfit> {
        Ok(())
    }

    fn flows(&self, hosts: Hosts, _: u64, _: usize) -> Result<Begun, Wrong> {
        let rows = self.open(hosts).map_err(Wrong::List)?;
        match rows.wait {
            // Rows that wait are a program's: those alone that never end start by the clock.
            true => {
                let endless = rows.filter(|flow| flow.size.is_none());
                let endless: Vec<FlowStart> = endless.collect();
                let total = endless.len() as u64;
                Ok(Begun::new(endless.into_iter(), total))
            }
            false => {
                let total = rows.flows();
                Ok(Begun::new(rows, total))
            }
        }
    }

    fn program(&self, hosts: &Hosts, _: u64, _: usize) -> Result<Program, Wrong> {
        let schedule = self.schedule(hosts).map_err(Wrong::List)?;
        Ok(schedule.map_or(Program::Timed, Program::from))
    }

    fn expected(&self, around: &Around<'_>) -> Expected {
        let flows = around.listed.flows as f64;
        let hosts = f64::from(around.topology.hosts());
        let together = around.listed.together as f64;
        let mean_bytes = around.listed.bytes as f64 / flows.max(1.0);
        // The list does not say how long flows take: a number a host and their round trips, or all
        // that start at once.
        let a_second = flows / around.listed.last_s.max(f64::MIN_POSITIVE);
        let waiting = around.round_trips(a_second, mean_bytes);
        let open = flows.min(OPEN_A_HOST * hosts + waiting).max(together);
        let mean_bytes = Some(mean_bytes);
        // Pairs of hosts bound the connections that persist.
        let connections = self.carried.connections.kept(hosts * hosts, open, flows);
        let lasts_s = around.listed.last_s.min(around.until_s);
        let expected = Expected { receivers: hosts, mean_bytes, lasts_s, ..Expected::default() };
        Expected { flows, open, together, connections, ..expected }
    }

    fn persists(&self) -> bool {
        self.carried.connections.persist()
    }
}

/// The flows of a list by their starts, ties by their rows (so that a list written from a
/// run numbers its flows as the run did).
///
/// A file whose rows are in that order is read as its flows are asked for and takes no
/// memory; any other is sorted in memory, at some 100 bytes a flow.
#[derive(Debug)]
pub struct Rows {
    order: Order,
    flows: u64,
    /// Flows that wait for each other.
    wait: bool,
    failure: Option<ListError>,
}

#[derive(Debug)]
enum Order {
    /// In the file's order; the last flow's start.
    Streamed(Box<Reader>, Time),
    Sorted(std::vec::IntoIter<FlowStart>),
}

impl Rows {
    fn open(path: &Path, hosts: Hosts, connection: ConnectionUse) -> Result<Rows, ListError> {
        let open = || Reader::open(path, hosts.clone(), connection);
        let mut reader = open()?;
        let wait = reader.waits();
        let (mut flows, mut sorted, mut last) = (0, true, Time::ZERO);
        while let Some(flow) = reader.next()? {
            // The first pass checks every row, so that a mistake in the last one is found before
            // the run.
            sorted &= last <= flow.start;
            last = flow.start;
            flows += 1;
        }
        if flows == 0 {
            return Err(reader.wrong(None, None, "no flows; every line after the header is one"));
        }
        let mut reader = open()?;
        let order = if sorted {
            Order::Streamed(Box::new(reader), Time::ZERO)
        } else {
            let mut all = Vec::with_capacity(flows as usize);
            while let Some(flow) = reader.next()? {
                all.push(flow);
            }
            // The sort is stable: flows that start together stay in the order of rows.
            all.sort_by_key(|flow: &FlowStart| flow.start);
            Order::Sorted(all.into_iter())
        };
        Ok(Rows { order, flows, wait, failure: None })
    }

    /// How many flows the list holds.
    pub fn flows(&self) -> u64 {
        self.flows
    }
}

impl Drawn for Rows {
    /// The file changed after it was opened.
    fn failure(&self) -> Option<&ListError> {
        self.failure.as_ref()
    }
}

impl Iterator for Rows {
    type Item = FlowStart;

    fn next(&mut self) -> Option<FlowStart> {
        let (reader, last) = match &mut self.order {
            Order::Sorted(flows) => return flows.next(),
            Order::Streamed(..) if self.failure.is_some() => return None,
            Order::Streamed(reader, last) => (reader, last),
        };
        let changed = "the file changed while it was being read; leave it until the run ends";
        match reader.next() {
            Ok(Some(flow)) if *last <= flow.start => {
                *last = flow.start;
                return Some(flow);
            }
            // As many rows as at first, and no more: the list has ended.
            Ok(None) if reader.rows == self.flows => {}
            Ok(_) => self.failure = Some(reader.wrong(None, None, changed)),
            Err(error) => {
                let what = format!("{}; {changed}", error.what);
                self.failure = Some(ListError { what, ..error });
            }
        }
        None
    }
}

/// Writes flows as a list that [`List`] reads back to the same flows (rows excepted), and
/// returns their number. What decides the connections of flows without a key is not part
/// of a list.
///
/// # Errors
/// Writing fails, a flow has no size, or by their program flows are asked for: a list cannot say that a flow
/// never ends, nor that it begins with a request.
pub fn write(
    out: impl io::Write,
    program: &Program,
    flows: impl IntoIterator<Item = FlowStart>,
) -> io::Result<u64> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(["start_s", "src", "dst", "size_bytes", "class", "connection", "path"])?;
    let mut count = 0;
    for flow in flows {
        let Some(size) = flow.size else {
            let what = format!("flow {} never ends; a flow list holds sizes", flow.row);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        };
        if matches!(program, Program::Answers { .. }) {
            let what = format!("flow {} is asked for; a flow list holds no requests", flow.row);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let key = match flow.connection {
            ConnectionUse::Keyed(key) => key.to_string(),
            _ => String::new(),
        };
        csv.write_record([
            seconds::print(flow.start),
            flow.src.to_string(),
            flow.dst.to_string(),
            size.get().to_string(),
            flow.class.to_string(),
            key,
            flow.path.map_or_else(String::new, |path| path.to_string()),
        ])?;
        count += 1;
    }
    csv.flush()?;
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::HostRates;
    use proptest::prelude::*;
    use std::io::Write;
    use switchbed_units::quantity::MAX_TIME;
    use switchbed_units::{Bytes, Rate};

    pub(super) const HOSTS: Hosts = Hosts {
        count: 10,
        numbers: None,
        rates: HostRates::Same(Rate::from_gbps(10)),
        mss: Bytes::new(1460),
        header: Bytes::new(40),
    };

    fn file(text: impl AsRef<[u8]>) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_ref()).unwrap();
        file
    }

    fn read(text: impl AsRef<[u8]>) -> Result<Vec<FlowStart>, String> {
        let file = file(text);
        let list = Rows::open(file.path(), HOSTS, ConnectionUse::Persistent).map_err(|error| {
            error.to_string().replace(file.path().to_str().unwrap(), "flows.csv")
        })?;
        let expected = list.flows();
        let flows: Vec<_> = list.collect();
        assert_eq!(flows.len() as u64, expected);
        Ok(flows)
    }

    #[test]
    fn every_column_is_read_wherever_it_stands() {
        let flows = read(
            "\u{feff}# a comment\r\npath,class,packets,dst,src,start_s,connection\r\n\
             7,3,2, 4 ,5,0.000001,99\r\n\r\n# another\r\n,,1,0,9,1e-6,\r\n",
        )
        .unwrap();
        let first = FlowStart {
            class: 3,
            size: Some(Bytes::new(2920)),
            connection: ConnectionUse::Keyed(99),
            path: Some(7),
            list_row: Some(0),
            ..FlowStart::new(Time::from_ps(1_000_000), HostId(5), HostId(4))
        };
        let second = FlowStart {
            src: HostId(9),
            dst: HostId(0),
            class: 0,
            size: Some(Bytes::new(1460)),
            connection: ConnectionUse::Persistent,
            path: None,
            list_row: Some(1),
            ..first
        };
        assert_eq!(flows, [first, second]);
    }

    #[test]
    fn rows_in_any_order_keep_their_numbers() {
        let unsorted =
            "start_s,src,dst,size_bytes\n0.3,1,2,10\n0.1,5,2,20\n0.1,4,2,30\n0.1,4,3,40\n";
        let order = |flows: &[FlowStart]| -> Vec<u64> {
            flows.iter().map(|flow| flow.list_row.unwrap()).collect()
        };
        assert_eq!(order(&read(unsorted).unwrap()), [1, 2, 3, 0]);
    }

    #[test]
    fn what_is_wrong_is_named_with_line_column_and_what_would_be_right() {
        let head = "start_s,src,dst,size_bytes,class\n0,1,2,3,4\n\n# comment\n";
        for (row, expected) in [
            ("x,1,2,3,4", "flows.csv:5: column start_s: `x` is not a time; write decimal"),
            ("-0.1,1,2,3,4", "flows.csv:5: column start_s: `-0.1` is before the run"),
            ("0,10,2,3,4", "flows.csv:5: column src: `10` is no host; write 0 to 9"),
            ("0,1,-2,3,4", "flows.csv:5: column dst: `-2` is no host; write 0 to 9"),
            ("0,1,,3,4", "flows.csv:5: column dst: `` is no host"),
            ("0,2,2,3,4", "flows.csv:5: column dst: host 2 is src and dst"),
            (
                "0,1,2,0,4",
                "flows.csv:5: column size_bytes: `0` is no whole number of bytes; write 1 to",
            ),
            ("0,1,2,1.5,4", "flows.csv:5: column size_bytes: `1.5` is no whole number of bytes"),
            ("0,1,2,3,256", "flows.csv:5: column class: `256` is no class; write 0 to 255"),
            ("0,1,2,3", "flows.csv:5: 4 fields; the header names 5 columns"),
            ("0,1,2,3,4,5", "flows.csv:5: 6 fields; the header names 5 columns"),
        ] {
            let text = format!("{head}{row}\n0,1,2,3,4\n");
            for text in [text.replace('\n', "\r\n"), text.clone() + "x", text] {
                let error = read(text).unwrap_err();
                assert!(error.starts_with(expected), "{row}: {error}");
            }
        }
        for (text, expected) in [
            ("", "flows.csv: empty; a flow list begins with start_s"),
            ("start_s,src,dst,size_bytes\n", "flows.csv: no flows"),
            (
                "# x\nstart,src,dst,size_bytes\n",
                "flows.csv:2: column start: no such column; did you mean start_s?",
            ),
            (
                "start_s,scr,dst,size\n",
                "flows.csv:1: column scr: no such column; did you mean src?",
            ),
            (
                "start_s,src,dst,size\n",
                "flows.csv:1: column size: no such column; did you mean size_bytes?",
            ),
            ("start_s,src,dst\n0,1,2\n", "flows.csv:1: column size_bytes: missing"),
            ("start_s,src,dst,dst,size_bytes\n", "flows.csv:1: column dst: named twice"),
            ("start_s,src,dst,packets,size_bytes\n", "flows.csv:1: column packets: size_bytes is"),
            ("0,1,2,3\n", "flows.csv:1: column 0: no such column; a flow list has start_s, "),
            (
                "start_s,src,dst,packets\n0,1,2,18446744073709551615\n",
                "flows.csv:2: column packets: `18446744073709551615` is no whole number of packets",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        let not_utf8 = read(b"start_s,src,dst,packets\n0,1,2,3\n0,1,2,\xff\n").unwrap_err();
        assert!(not_utf8.starts_with("flows.csv:3: not UTF-8"), "{not_utf8}");
        let missing = Rows::open(Path::new("no/such.csv"), HOSTS, ConnectionUse::Fresh);
        assert!(missing.unwrap_err().to_string().starts_with("no/such.csv: cannot read"));
    }

    #[test]
    fn long_values_are_cut_in_messages() {
        let long = "9".repeat(10_000);
        for text in [
            format!("start_s,src,dst,packets\n{long},1,2,3\n"),
            format!("start_s,src,dst,packets\n0,{long},2,3\n"),
            format!("start_s,src,dst,packets,{long}\n0,1,2,3,4\n"),
        ] {
            assert!(read(text).unwrap_err().len() < 300);
        }
    }

    #[test]
    fn a_file_that_changes_while_it_is_read_is_noticed() {
        let rows = |n: usize| format!("start_s,src,dst,packets\n{}", "0.001,1,2,3\n".repeat(n));
        // More than the reader's buffer, so that the end is read after the change.
        let file = file(rows(20_000));
        let mut list = Rows::open(file.path(), HOSTS, ConnectionUse::Fresh).unwrap();
        assert!(list.next().is_some() && list.failure().is_none());
        file.as_file().set_len(150_000).unwrap();
        assert!(list.by_ref().count() < 19_999);
        assert!(list.failure().unwrap().what.contains("changed while it was being read"));
        assert!(list.next().is_none());
    }

    #[test]
    fn a_flow_that_never_ends_or_is_asked_for_is_not_written() {
        let mut flow = read("start_s,src,dst,packets\n0,1,2,3\n").unwrap()[0];
        flow.size = None;
        let error = write(Vec::new(), &Program::Timed, [flow]).unwrap_err();
        assert_eq!(error.to_string(), "flow 0 never ends; a flow list holds sizes");
        flow.size = Some(Bytes::new(1));
        let asked = Program::Answers { request: Bytes::new(1) };
        let error = write(Vec::new(), &asked, [flow]).unwrap_err();
        assert_eq!(error.to_string(), "flow 0 is asked for; a flow list holds no requests");
    }

    prop_compose! {
        fn any_flow()(
            ps in prop_oneof![0..5_u64, 0..=MAX_TIME.as_ps()],
            (src, apart) in (0..10_u32, 1..10_u32),
            bytes in 1..=1_000_000_000_000_u64,
            class in any::<u8>(),
            key in any::<Option<u64>>(),
            path in any::<Option<u32>>(),
        ) -> FlowStart {
            FlowStart {
                class,
                size: Some(Bytes::new(bytes)),
                connection: key.map_or(ConnectionUse::Persistent, ConnectionUse::Keyed),
                path,
                ..FlowStart::new(Time::from_ps(ps), HostId(src), HostId((src + apart) % 10))
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_by_start_then_row(
            mut flows in prop::collection::vec(any_flow(), 1..20),
            sorted in any::<bool>(),
        ) {
            if sorted {
                flows.sort_by_key(|flow| flow.start);
            }
            let mut text = Vec::new();
            prop_assert_eq!(write(&mut text, &Program::Timed, flows.iter().copied()).unwrap(), flows.len() as u64);
            for (row, flow) in (0..).zip(&mut flows) {
                flow.list_row = Some(row);
            }
            flows.sort_by_key(|flow| flow.start);
            prop_assert_eq!(read(text).unwrap(), flows);
        }

        #[test]
        fn no_text_makes_it_panic(
            rows in "((start_s|src|dst|packets|class|,){0,9}\n)?([0-9.,e\"-]{0,9}\n|\\PC{0,9}\n){0,4}",
        ) {
            let _ = read(rows);
        }
    }
}
