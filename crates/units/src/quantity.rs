//! Numbers with units as a scenario file writes them: `10Gbps`, `85.2us`, `300KB`,
//! `65pkt`, `99.5%`. Decimals are exact: no quantity passes through a double.
//!
//! Every error says what is wrong and what would be right, to be put after the key
//! and the value (`switch.buffer is "300us": …`).

use crate::{Bytes, Rate, Span};

/// The longest time: more than a day.
pub const MAX_TIME: Span = Span::from_ms(100_000_000);
/// Greatest rate that is accepted: 100 Tbit/s.
pub const MAX_RATE: Rate = Rate::from_gbps(100_000);
/// The largest size: a terabyte.
pub const MAX_SIZE: Bytes = Bytes::new(1_000_000_000_000);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dimension {
    Time,
    Rate,
    Size,
}

/// A unit's name, what it measures, and its size in picoseconds, bits per second or
/// bytes; 0 stands for the packet, whose size the scenario gives.
const UNITS: &[(&str, Dimension, u64)] = &[
    ("ps", Dimension::Time, 1),
    ("ns", Dimension::Time, 1_000),
    ("us", Dimension::Time, 1_000_000),
    // With the micro sign of keyboards, U+00B5; the Greek letter of `GREEK` looks the same.
    ("µs", Dimension::Time, 1_000_000),
    ("ms", Dimension::Time, 1_000_000_000),
    ("s", Dimension::Time, 1_000_000_000_000),
    ("bps", Dimension::Rate, 1),
    ("kbps", Dimension::Rate, 1_000),
    ("Mbps", Dimension::Rate, 1_000_000),
    ("Gbps", Dimension::Rate, 1_000_000_000),
    ("Tbps", Dimension::Rate, 1_000_000_000_000),
    ("B", Dimension::Size, 1),
    ("KB", Dimension::Size, 1_000),
    ("kB", Dimension::Size, 1_000),
    ("MB", Dimension::Size, 1_000_000),
    ("GB", Dimension::Size, 1_000_000_000),
    ("KiB", Dimension::Size, 1 << 10),
    ("MiB", Dimension::Size, 1 << 20),
    ("GiB", Dimension::Size, 1 << 30),
    // A packet's length is the scenario's: 0 stands for it.
    ("pkt", Dimension::Size, 0),
];

/// `µs` with U+03BC in place of U+00B5.
const GREEK: &str = "\u{3bc}s";

impl Dimension {
    fn name(self) -> &'static str {
        match self {
            Dimension::Time => "a time",
            Dimension::Rate => "a rate",
            Dimension::Size => "a size",
        }
    }
    fn smallest(self) -> &'static str {
        match self {
            Dimension::Time => "picoseconds",
            Dimension::Rate => "bits per second",
            Dimension::Size => "bytes",
        }
    }
    fn example(self) -> &'static str {
        match self {
            Dimension::Time => "85.2us",
            Dimension::Rate => "10Gbps",
            Dimension::Size => "300KB",
        }
    }
    fn print(self, n: u64) -> String {
        match self {
            Dimension::Time => Span::from_ps(n).to_string(),
            Dimension::Rate => Rate::from_bps(n).to_string(),
            Dimension::Size => Bytes::new(n).to_string(),
        }
    }
    fn units(self) -> impl Iterator<Item = &'static str> {
        UNITS.iter().filter(move |unit| unit.1 == self).map(|unit| unit.0)
    }
    /// The largest quantity. What is computed with them, sums of many and products with a
    /// packet's bits, then fits 64 bits.
    fn largest(self) -> u64 {
        match self {
            Dimension::Time => MAX_TIME.as_ps(),
            Dimension::Rate => MAX_RATE.as_bps(),
            Dimension::Size => MAX_SIZE.get(),
        }
    }
    /// A regular expression that quantities of this dimension match.
    fn pattern(self) -> String {
        let greek = Some(GREEK).filter(|_| self == Dimension::Time);
        format!(
            "^[0-9]+(\\.[0-9]+)? ?({})$",
            self.units().chain(greek).collect::<Vec<_>>().join("|")
        )
    }
}

/// A decimal number, exactly: `digits` / 10^`decimals`.
struct Decimal {
    digits: u128,
    decimals: u32,
}

impl Decimal {
    /// Splits a quantity into its number and its unit.
    fn split(text: &str) -> Result<(Decimal, &str), String> {
        let text = text.trim();
        if text.starts_with('-') {
            return Err("it cannot be negative".to_owned());
        }
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        if whole.is_empty() || part.is_empty() || part.contains('.') {
            return Err("it must begin with a number, such as 10 or 85.2".to_owned());
        }
        // Zeros at the end say nothing, and would count against the digits.
        let part = part.trim_end_matches('0');
        let digits = format!("{whole}{part}").parse();
        // Thirty decimals: more would overflow the scale.
        let digits = digits.ok().filter(|_| part.len() <= 30).ok_or("it has too many digits")?;
        Ok((Decimal { digits, decimals: part.len() as u32 }, unit.trim_start()))
    }

    /// The number times `unit`, if that is whole and not too large.
    fn times(&self, unit: u64, of: Dimension) -> Result<u64, String> {
        // A product that saturates is over the largest value, and is refused below.
        let product = self.digits.saturating_mul(unit.into());
        let scale = 10_u128.pow(self.decimals);
        if product / scale > of.largest().into() {
            return Err(format!("it must be at most {}", of.print(of.largest())));
        }
        if product % scale != 0 {
            return Err(format!("it must come to a whole number of {}", of.smallest()));
        }
        Ok((product / scale) as u64)
    }

    /// The nearest double to the number divided by 10^`places`.
    fn as_f64(&self, places: u32) -> f64 {
        // By the parser, which rounds once: a division would round a second time.
        let text = format!("{}e-{}", self.digits, self.decimals + places);
        text.parse().unwrap_or(f64::INFINITY)
    }
}

/// The unit called `name`, which must measure `wanted`.
fn unit(name: &str, wanted: Dimension) -> Result<u64, String> {
    let name = if name == GREEK { "us" } else { name };
    let known = UNITS.iter().find(|unit| unit.0 == name);
    if let Some(&(_, dimension, size)) = known
        && dimension == wanted
    {
        return Ok(size);
    }
    let name = cut(name);
    let needs = format!("{} is needed, such as \"{}\"", wanted.name(), wanted.example());
    if let Some((_, dimension, _)) = known {
        return Err(format!("that is {}, {needs}", dimension.name()));
    }
    // `kb` or `gbps`: only the case is wrong.
    if let Some(meant) = wanted.units().find(|unit| unit.eq_ignore_ascii_case(&name)) {
        return Err(format!("there is no unit \"{name}\", did you mean \"{meant}\"?"));
    }
    let all = wanted.units().collect::<Vec<_>>().join(", ");
    match name.as_str() {
        "" => Err(format!("it has no unit ({all}); {needs}")),
        _ => Err(format!("there is no unit \"{name}\" (units are {all}); {needs}")),
    }
}

/// The beginning of what stands where a unit should, for a message.
fn cut(name: &str) -> String {
    match name.char_indices().nth(20) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

fn exact(text: &str, wanted: Dimension, packet: Option<Bytes>) -> Result<u64, String> {
    let (number, name) = Decimal::split(text)?;
    let size = match (unit(name, wanted)?, packet) {
        (0, Some(packet)) => packet.get(),
        (0, None) => return Err("a pkt is host.mtu, so it cannot be used here".to_owned()),
        (size, _) => size,
    };
    number.times(size, wanted)
}

/// A length of time, such as `85.2us`.
pub fn time(text: &str) -> Result<Span, String> {
    exact(text, Dimension::Time, None).map(Span::from_ps)
}

/// A rate greater than zero, such as `10Gbps`.
pub fn rate(text: &str) -> Result<Rate, String> {
    match exact(text, Dimension::Rate, None)? {
        0 => Err("a rate must be greater than 0".to_owned()),
        bps => Ok(Rate::from_bps(bps)),
    }
}

/// A size, such as `300KB`, or `65pkt` where `packet` says how large a packet is.
pub fn size(text: &str, packet: Option<Bytes>) -> Result<Bytes, String> {
    exact(text, Dimension::Size, packet).map(Bytes::new)
}

/// A mean size in bytes, such as `1671357.5B`: a size that need not be whole.
pub fn mean_size(text: &str) -> Result<f64, String> {
    let (number, name) = Decimal::split(text)?;
    match unit(name, Dimension::Size)? {
        0 => Err("a mean is in bytes, such as \"1.67MB\"".to_owned()),
        size => match number.as_f64(0) * size as f64 {
            mean if mean <= MAX_SIZE.as_f64() => Ok(mean),
            _ => Err(format!("it must be at most {MAX_SIZE}")),
        },
    }
}

/// A number of packets, such as `16pkt`.
pub fn packets(text: &str) -> Result<u64, String> {
    let (number, name) = Decimal::split(text)?;
    match name {
        "pkt" => number.times(1, Dimension::Size).map_err(|_| "packets come whole".to_owned()),
        _ => Err("a number of packets is needed, such as \"16pkt\"".to_owned()),
    }
}

/// A fraction written as `99.5%`.
pub fn percent(text: &str) -> Result<f64, String> {
    match Decimal::split(text) {
        Ok((number, "%")) => Ok(number.as_f64(2)),
        _ => Err("a number is needed, such as 0.5 or \"50%\"".to_owned()),
    }
}

/// Regular expressions (ECMA 262) of a time, a rate and a size, for the JSON Schema.
pub fn patterns() -> [(&'static str, String); 3] {
    [
        ("time", Dimension::Time.pattern()),
        ("rate", Dimension::Rate.pattern()),
        ("size", Dimension::Size.pattern()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MTU: Option<Bytes> = Some(Bytes::new(1500));

    #[test]
    fn decimals_are_exact() {
        assert_eq!(time("85.2us"), Ok(Span::from_ps(85_200_000)));
        assert_eq!(time("0.1 s"), Ok(Span::from_ms(100)));
        assert_eq!(time("7.2µs"), Ok(Span::from_ns(7_200)));
        assert_eq!(time("7.2\u{3bc}s"), time("7.2\u{b5}s"));
        assert_eq!(rate("99.5Gbps"), Ok(Rate::from_mbps(99_500)));
        assert_eq!(size("1.5KB", None), Ok(Bytes::new(1500)));
        assert_eq!(size("2KiB", None), Ok(Bytes::new(2048)));
        assert_eq!(size("65pkt", MTU), Ok(Bytes::new(97_500)));
        assert_eq!(size("0.5pkt", MTU), Ok(Bytes::new(750)));
        assert_eq!(size("1000000000000B", None), Ok(MAX_SIZE));
        assert_eq!(rate("100Tbps"), Ok(MAX_RATE));
        assert_eq!(time("100000s"), Ok(MAX_TIME));
        assert_eq!(packets("16pkt"), Ok(16));
        assert_eq!(percent("99.5%"), Ok(0.995));
        assert_eq!(mean_size("1.6713575MB"), Ok(1_671_357.5));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_right() {
        let no_unit =
            "it has no unit (bps, kbps, Mbps, Gbps, Tbps); a rate is needed, such as \"10Gbps\"";
        let long = time(&format!("1us{}", "x".repeat(10_000))).unwrap_err();
        assert!(
            long.starts_with("there is no unit \"usxxxxxxxxxxxxxxxxxx…\" (units are ps, ns"),
            "{long}"
        );
        for (result, message) in [
            (rate("10").err(), no_unit),
            (rate("10us").err(), "that is a time, a rate is needed, such as \"10Gbps\""),
            (rate("10gbps").err(), "there is no unit \"gbps\", did you mean \"Gbps\"?"),
            (rate("0Gbps").err(), "a rate must be greater than 0"),
            (rate("-1Gbps").err(), "it cannot be negative"),
            (time("Gbps").err(), "it must begin with a number, such as 10 or 85.2"),
            (time("1.2.3us").err(), "it must begin with a number, such as 10 or 85.2"),
            (time("1.00005ns").err(), "it must come to a whole number of picoseconds"),
            (time("100000.000000000001s").err(), "it must be at most 100000s"),
            (time("99999999999999999999999999999999999999s").err(), "it must be at most 100000s"),
            (rate("1000000Tbps").err(), "it must be at most 100000Gbps"),
            (size("1001GB", None).err(), "it must be at most 1000GB"),
            (size("1000000000pkt", MTU).err(), "it must be at most 1000GB"),
            (
                mean_size("1e9GB").err(),
                "there is no unit \"e9GB\" (units are B, KB, kB, MB, GB, KiB, MiB, GiB, pkt); a size is needed, such as \"300KB\"",
            ),
            (mean_size("1001GB").err(), "it must be at most 1000GB"),
            (size("1pkt", None).err(), "a pkt is host.mtu, so it cannot be used here"),
            (packets("16KB").err(), "a number of packets is needed, such as \"16pkt\""),
            (percent("50").err(), "a number is needed, such as 0.5 or \"50%\""),
        ] {
            assert_eq!(result.as_deref(), Some(message));
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(n: u64) {
            let span = Span::from_ps(n % (MAX_TIME.as_ps() + 1));
            prop_assert_eq!(time(&span.to_string()), Ok(span));
            let bytes = Bytes::new(n % (MAX_SIZE.get() + 1));
            prop_assert_eq!(size(&bytes.to_string(), None), Ok(bytes));
            let bps = Rate::from_bps(n % MAX_RATE.as_bps() + 1);
            prop_assert_eq!(rate(&bps.to_string()), Ok(bps));
        }

        #[test]
        fn short_numbers_read_back(n in 0u64..=100_000_000, zeros in 0u32..=4) {
            let n = n * 10u64.pow(zeros);
            prop_assert_eq!(time(&Span::from_ps(n).to_string()), Ok(Span::from_ps(n)));
            prop_assert_eq!(size(&Bytes::new(n).to_string(), None), Ok(Bytes::new(n)));
        }

        #[test]
        fn no_text_panics(text in "[-0-9.]{0,40}[ a-zA-Zµ%]{0,5}") {
            let _ = (time(&text), rate(&text), size(&text, MTU), packets(&text), percent(&text));
            let _ = mean_size(&text);
        }
    }
}
