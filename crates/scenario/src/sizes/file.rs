//! A flow-size table from a text file: on each line a size and the cumulative
//! probability of sizes up to it, apart by blanks, commas, semicolons or tabs.
//!
//! ```text
//! # packets, fraction        (or a header line, as in `bytes,percent`)
//! 1   0
//! 1   0.35
//! 267 1
//! ```
//!
//! A header, or the first line if it is a comment, may name the units (`bytes` or
//! `packets`; `percent` or `fraction`). Where it does not, the last probability tells
//! percent (100) from fraction (1), and sizes of 1,000,000 and more are bytes: no
//! published table in packets goes so far. Anything smaller could be either, at 1460
//! times the load, and is refused rather than guessed at.

use super::SizeUnit;
use crate::traffic::Sizes;
use std::fmt;
use std::path::Path;
use switchbed_config::text;
use switchbed_units::Bytes;
use switchbed_units::quantity::MAX_SIZE;

/// Tables whose sizes reach this count bytes, if they do not say.
const SURELY_BYTES: f64 = 1e6;

/// Mistake in a table's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableError {
    /// The file as it was named.
    pub file: String,
    /// The line, from 1; `None`: the file as a whole.
    pub line: Option<usize>,
    /// Description of what is wrong and what would be right.
    pub what: String,
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.what),
            None => write!(f, "{}: {}", self.file, self.what),
        }
    }
}
impl std::error::Error for TableError {}

/// Reads a table from a file. Packets count `payload` bytes each, and sizes are then
/// rounded up to whole packets; its `mean_bytes` is the exact mean of what is drawn.
///
/// # Errors
/// The file cannot be read, or [`parse`] refuses it.
pub fn read(path: &Path, payload: Bytes) -> Result<Sizes, TableError> {
    let file = path.display().to_string();
    let text = switchbed_config::text::read(path).map_err(|error| {
        let what = format!("cannot read the flow-size table: {error}");
        TableError { file: file.clone(), line: None, what }
    })?;
    let mut sizes = parse(&file, &text, payload)?;
    if let Some(name) = path.file_name() {
        sizes.name = name.to_string_lossy().into_owned();
    }
    Ok(sizes)
}

/// Reads a table from text; `file` names it in errors and is the table's name.
///
/// # Errors
/// A line that is not two numbers; a negative size; sizes or probabilities that fall; a
/// last probability that is neither 1 nor 100 %; sizes that may be bytes or packets.
pub fn parse(file: &str, text: &str, payload: Bytes) -> Result<Sizes, TableError> {
    let sizes = Table::read(text).and_then(|table| table.sizes(file, payload));
    sizes.map_err(|(line, what)| TableError { file: file.to_string(), line, what })
}

/// The line at fault, if it is one, and what is wrong.
type Wrong = (Option<usize>, String);

/// A table as written.
#[derive(Default)]
struct Table {
    said: Units,
    /// (size, probability), neither falling.
    rows: Vec<(f64, f64)>,
    /// The last row's line.
    last_line: usize,
}

impl Table {
    fn read(text: &str) -> Result<Table, Wrong> {
        let mut table = Table::default();
        let lines = text.lines().map(str::trim);
        let lines = (1..).zip(lines).filter(|(_, line)| !line.is_empty());
        for (nth, (number, line)) in lines.enumerate() {
            let comment = line.starts_with('#') || line.starts_with("//");
            // `nan` and `inf` are numbers, and no header.
            let header = table.rows.is_empty()
                && line.starts_with(|c: char| c.is_alphabetic())
                && fields(line).all(|field| field.parse::<f64>().is_err());
            // Units stand in the header, or in a first line that is a comment.
            if (comment && nth == 0) || header {
                table.said = table.said.or(Units::named_in(line));
            }
            if !comment && !header {
                // Homa's files begin with a mean, alone on its line.
                if table.rows.is_empty() && homas(&lines_after(text, number), line) {
                    let what = format!(
                        "{} stands alone: this is a size table of Homa's simulator, whose first \
                         line is the mean; remove it and write `# bytes` or `# packets` instead",
                        text::shown(line)
                    );
                    return Err((Some(number), what));
                }
                let row = row(line).map_err(|what| (Some(number), what))?;
                follows(table.rows.last().copied(), row).map_err(|what| (Some(number), what))?;
                table.rows.push(row);
                table.last_line = number;
            }
        }
        Ok(table)
    }

    /// The table in bytes and fractions.
    fn sizes(&self, name: &str, payload: Bytes) -> Result<Sizes, Wrong> {
        let Some(&(largest, end)) = self.rows.last() else {
            let what = "no rows; a flow-size table has lines of size and cumulative probability";
            return Err((None, what.into()));
        };
        let whole = self.said.whole(end).map_err(|what| (Some(self.last_line), what))?;
        let surely = (largest >= SURELY_BYTES).then_some(SizeUnit::Bytes);
        let (scale, round_up_to) = match self.said.size.or(surely) {
            Some(SizeUnit::Bytes) => (1.0, None),
            Some(SizeUnit::Packets) => (payload.as_f64(), Some(payload)),
            None => {
                let largest = text::number(largest);
                let what = format!(
                    "sizes up to {largest}: bytes or packets? Say so in a first line, `# bytes` \
                     or `# packets`"
                );
                return Err((None, what));
            }
        };
        if largest == 0.0 || largest * scale > MAX_SIZE.as_f64() {
            let (bytes, most) = (text::number(largest * scale), MAX_SIZE.get());
            let what = format!("the largest size is {bytes} bytes; it is 1 to {most}");
            return Err((Some(self.last_line), what));
        }
        let in_bytes = |size: f64| {
            let bytes = (size * scale).round() as u64;
            // Rounded sizes over 0 stay over 0: a flow has a byte at least.
            Bytes::new(bytes.max(u64::from(size > 0.0)))
        };
        let mut points: Vec<_> =
            self.rows.iter().map(|&(size, p)| (in_bytes(size), p / whole)).collect();
        // A sum of shares may miss 1 by its rounding.
        for point in &mut points {
            point.1 = point.1.min(1.0);
        }
        points.last_mut().expect("a table has rows").1 = 1.0;
        let mut sizes = Sizes { name: name.to_string(), points, mean_bytes: 0.0, round_up_to };
        sizes.mean_bytes = sizes.exact_mean();
        Ok(sizes)
    }
}

/// The lines of a text after one, counted from 1.
fn lines_after(text: &str, number: usize) -> Vec<&str> {
    text.lines().skip(number).map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// Whether a line is the mean that a size table of Homa's simulator begins with: a number alone,
/// before rows of two.
fn homas(after: &[&str], line: &str) -> bool {
    let numbers = |line: &str, n: usize| {
        fields(line).count() == n && fields(line).all(|field| field.parse::<f64>().is_ok())
    };
    numbers(line, 1) && after.first().is_some_and(|next| numbers(next, 2))
}

/// Splits a line into its fields.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    let separators = |c: char| c.is_whitespace() || c == ',' || c == ';';
    line.split(separators).filter(|field| !field.is_empty())
}

/// A line's size and probability.
fn row(line: &str) -> Result<(f64, f64), String> {
    let fields: Vec<&str> = fields(line).collect();
    let &[size, probability] = &fields[..] else {
        return Err(format!(
            "{} columns; a table has two, size and cumulative probability, as in `1460 0.5` (of \
             ns-2's three columns keep the first and the last)",
            fields.len()
        ));
    };
    let size = number(size).map_err(|what| format!("the size {what}"))?;
    let probability = number(probability).map_err(|what| format!("the probability {what}"))?;
    Ok((size, probability))
}

/// A finite number that is not negative.
fn number(text: &str) -> Result<f64, String> {
    let shown = text::shown(text);
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        Ok(value) if value < 0.0 => Err(format!("{shown} is negative; it is 0 or more")),
        _ => Err(format!("`{shown}` is not a number; write it as in `1460` or `0.5`")),
    }
}

/// Whether `row` may come after `before` in a cumulative distribution.
fn follows(before: Option<(f64, f64)>, (size, p): (f64, f64)) -> Result<(), String> {
    let shown = text::number;
    match before {
        None if size == 0.0 && p > 0.0 => Err(format!(
            "a share of {} has size 0; a flow has at least 1 byte: write `0 0`",
            shown(p)
        )),
        Some((before, _)) if size < before => {
            let (size, before) = (shown(size), shown(before));
            Err(format!("the size {size} comes after {before}; sizes must not fall"))
        }
        Some((_, before)) if p < before => Err(format!(
            "the probability {} comes after {}; cumulative probabilities must not fall",
            shown(p),
            shown(before)
        )),
        Some((0.0, _)) if size == 0.0 && p > 0.0 => {
            Err(format!("a share of {} has size 0; a flow has at least 1 byte", shown(p)))
        }
        _ => Ok(()),
    }
}

/// The units that a header names.
#[derive(Clone, Copy, Default)]
struct Units {
    size: Option<SizeUnit>,
    percent: Option<bool>,
}

impl Units {
    /// A header that names both of two units (in prose, say) names neither.
    fn named_in(text: &str) -> Units {
        let lower = text.to_ascii_lowercase();
        let words: Vec<&str> =
            lower.split(|c: char| !c.is_ascii_alphabetic() && c != '%').collect();
        let any = |names: &[&str]| words.iter().any(|word| names.contains(word));
        let size = match (any(&["byte", "bytes"]), any(&["packet", "packets", "pkt", "pkts"])) {
            (true, false) => Some(SizeUnit::Bytes),
            (false, true) => Some(SizeUnit::Packets),
            _ => None,
        };
        let percent = match (any(&["percent", "%"]), any(&["fraction", "fractions"])) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => None,
        };
        Units { size, percent }
    }

    /// Takes the units given here, and from `other` those that are not.
    fn or(self, other: Units) -> Units {
        Units { size: self.size.or(other.size), percent: self.percent.or(other.percent) }
    }

    /// Scale of the probabilities, 1 or 100, judged by the last of them.
    fn whole(self, end: f64) -> Result<f64, String> {
        // Relative, as percentages are a hundred times larger.
        let ends_at = |whole: f64| (end - whole).abs() <= 1e-9 * whole;
        let shown = text::number(end);
        match self.percent {
            None if ends_at(1.0) => Ok(1.0),
            None if ends_at(100.0) => Ok(100.0),
            None => Err(format!(
                "the last probability is {shown}; a cumulative distribution ends at 1, or at 100 \
                 in percent"
            )),
            Some(percent) => {
                let (whole, name) = if percent { (100.0, "percent") } else { (1.0, "fraction") };
                if ends_at(whole) {
                    return Ok(whole);
                }
                Err(format!(
                    "the last probability is {shown}, but the table says {name}: it must end at {whole}"
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAYLOAD: Bytes = crate::sizes::PAYLOAD;

    fn refused(text: &str) -> String {
        parse("t.txt", text, PAYLOAD).unwrap_err().to_string()
    }

    #[test]
    fn units_are_read_from_a_header_a_first_comment_or_the_numbers() {
        let expected = [(Bytes::new(1460), 0.25), (Bytes::new(2920), 1.0)];
        for text in [
            "# packets\n1 0.25\n2 1\n",
            "# Packets, percent\n1, 25\n\n2, 100",
            "packets,fraction\n1,0.25\n2,1\n",
            "// size in packets\n# anything\nsize\tpercent\n1\t25\n2\t100\n",
            "# in bytes\r\n1460;25\r\n# between\r\n2.92e3;100\r\n",
        ] {
            let sizes = parse("t", text, PAYLOAD).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(sizes.points, expected, "{text}");
            assert_eq!(sizes.round_up_to.is_some(), !text.contains("bytes"), "{text}");
            assert_eq!(sizes.mean_bytes, sizes.exact_mean());
        }
        // As HPCC's files come: no word on units, percent, up to 30 MB.
        let bytes = parse("t", "0 0\n10000 15\n30000000 100\n", PAYLOAD).unwrap();
        assert_eq!((bytes.round_up_to, bytes.quantile(0.15)), (None, Bytes::new(10_000)));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_what_would_be_right() {
        for (text, expected) in [
            ("# bytes\n10 0.5\n20 0.4\n30 1\n", "t.txt:3: the probability 0.4 comes after 0.5"),
            ("# bytes\n10 0.5\n5 1\n", "t.txt:3: the size 5 comes after 10"),
            ("# bytes\n10 0.5\n20 0.97\n", "t.txt:3: the last probability is 0.97; a cumulative"),
            ("# percent bytes\n10 0.5\n20 1\n", "t.txt:3: the last probability is 1, but"),
            ("# bytes\n-10 0.5\n20 1\n", "t.txt:2: the size -10 is negative"),
            ("# bytes\n10 -0.5\n20 1\n", "t.txt:2: the probability -0.5 is negative"),
            ("# bytes\n10 0.5\n20 x\n", "t.txt:3: the probability `x` is not a number"),
            ("# bytes\n10 0.5\ninf 1\n", "t.txt:3: the size `inf` is not a number"),
            ("# bytes\n10 0.5\nNaN 1\n", "t.txt:3: the size `NaN` is not a number"),
            ("nan 0\n20 1\n", "t.txt:1: the size `nan` is not a number"),
            ("# bytes\ninf 0\n20 1\n", "t.txt:2: the size `inf` is not a number"),
            ("x 0\n20 1\n", "t.txt:1: the size `x` is not a number"),
            ("6 1 0\n20 1 1\n", "t.txt:1: 3 columns; a table has two"),
            ("# bytes\n10\n", "t.txt:2: 1 columns; a table has two"),
            ("1 0\n20000 1\n", "t.txt: sizes up to 20000: bytes or packets? Say so"),
            ("# packets of 1460 bytes\n1 0\n20000 1\n", "t.txt: sizes up to 20000: bytes or"),
            ("# bytes\n0 0.5\n20 1\n", "t.txt:2: a share of 0.5 has size 0"),
            ("# bytes\n0 0\n0 0.5\n20 1\n", "t.txt:3: a share of 0.5 has size 0"),
            ("# bytes\n0 0\n1e30 1\n", "t.txt:3: the largest size is 1e30 bytes"),
            ("# bytes\n,\n", "t.txt:2: 0 columns"),
            ("# nothing\n\n", "t.txt: no rows"),
            ("", "t.txt: no rows"),
        ] {
            assert!(refused(text).starts_with(expected), "{text:?} gives {}", refused(text));
        }
    }

    #[test]
    fn numbers_of_300_digits_are_shown_short() {
        let long = "9".repeat(300);
        for text in [
            "# bytes\n1e300 1\n".to_owned(),
            "# packets\n1e308 1\n".to_owned(),
            "# bytes\n1e300 0.5\n1e299 1\n".to_owned(),
            "# bytes\n10 0.5\n20 1e-300\n".to_owned(),
            "# bytes\n10 0.5\n20 1e300\n".to_owned(),
            "# fraction, bytes\n10 0.5\n20 1e200\n".to_owned(),
            "# bytes\n0 1e-300\n20 1\n".to_owned(),
            format!("# bytes\n{long} 1\n"),
            format!("{long}\n1 0.5\n2 1\n"),
            "1e300 1\n".to_owned(),
        ] {
            let error = refused(&text);
            assert!(error.len() < 250, "{error}");
        }
    }

    #[test]
    fn a_table_of_homas_simulator_is_named() {
        for text in ["1730.5\n1 0.2\n3000 1.0\n", "\n\n 90 \n\n1\t0.5\n10\t1\n"] {
            let error = parse("W1", text, PAYLOAD).unwrap_err().to_string();
            assert!(error.contains("Homa's simulator, whose first line is the mean"), "{error}");
        }
        for text in ["5\n", "5 0.1 1\n5 1\n", "5\n6\n"] {
            let error = parse("t", text, PAYLOAD).unwrap_err().to_string();
            assert!(!error.contains("Homa"), "{error}");
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read(Path::new("no/such.txt"), PAYLOAD).unwrap_err();
        assert!(error.to_string().starts_with("no/such.txt: cannot read"), "{error}");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(# (bytes|packets)\n)?([0-9]{1,3}[ ,][01](\\.[0-9])?\n|[,; ]{0,2}\n|\\PC{0,9}\n){0,6}") {
            if let Ok(sizes) = parse("t", &text, PAYLOAD) {
                prop_assert!(sizes.points.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 <= w[1].1));
                prop_assert!(sizes.mean_bytes >= 1.0);
                prop_assert!(sizes.quantile(1.0) >= sizes.quantile(0.3));
            }
        }

        #[test]
        fn a_rising_table_is_read_back(steps in prop::collection::vec((0u64..5000, 0u32..100), 1..20)) {
            let (mut size, mut share, mut rows) = (0, 0, Vec::new());
            for (bytes, part) in steps {
                size += bytes + 1;
                share += part + 1;
                rows.push((size, share));
            }
            let text: String = rows
                .iter()
                .map(|&(size, part)| format!("{size} {}\n", f64::from(part) / f64::from(share)))
                .collect();
            let sizes = parse("t", &format!("# bytes\n{text}"), PAYLOAD).unwrap();
            for (&(size, part), point) in rows.iter().zip(&sizes.points) {
                prop_assert_eq!(point.0, Bytes::new(size));
                prop_assert_eq!(point.1, f64::from(part) / f64::from(share));
                prop_assert_eq!(sizes.quantile(point.1), Bytes::new(size));
            }
        }
    }
}
