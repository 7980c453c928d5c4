//! Decimal seconds, exactly: `0.1` is 100,000,000,000 picoseconds, not the double beside it.

use switchbed_config::text;
use switchbed_units::Time;
use switchbed_units::quantity::MAX_TIME;

/// Decimals of a second that a picosecond is.
const DECIMALS: i64 = 12;

/// The instant that a decimal number of seconds names, as in `0.001`, `12` or `1.5e-6`.
/// Digits beyond the picosecond (which a program that prints doubles writes) round to
/// the nearest.
///
/// # Errors
/// Says what is wrong and what would be right, of the text in quotes.
pub(super) fn parse(text: &str) -> Result<Time, String> {
    let shown = text::shown(text);
    let wrong = || format!("`{shown}` is not a time; write decimal seconds, as in `0.0015`");
    if text.starts_with('-') {
        return Err(format!("`{shown}` is before the run begins; flows start at 0 or later"));
    }
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().map_err(|_| wrong())?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = whole.bytes().chain(fraction.bytes());
    if !digits.clone().all(|byte| byte.is_ascii_digit()) || whole.len() + fraction.len() == 0 {
        return Err(wrong());
    }
    // Digits in front of the picosecond's point; the one after it decides the rounding.
    let in_front = whole.len() as i64 + i64::from(exponent) + DECIMALS;
    let padded = digits.map(|byte| u64::from(byte - b'0')).chain(std::iter::repeat(0));
    let mut ps = Some(0_u64);
    // Zeros beyond the digits end the loop, whatever the exponent: 0e999 is 0.
    let mut all_zero = true;
    let mut rounding = 0;
    for (place, digit) in (0..).zip(padded) {
        all_zero &= digit == 0;
        let beyond_digits = place >= (whole.len() + fraction.len()) as i64;
        if place >= in_front || ps.is_none() || (all_zero && beyond_digits) {
            rounding = if place == in_front { digit } else { 0 };
            break;
        }
        ps = ps.and_then(|ps| ps.checked_mul(10)?.checked_add(digit));
    }
    match ps.and_then(|ps| ps.checked_add(u64::from(rounding >= 5))) {
        Some(ps) if ps <= MAX_TIME.as_ps() => Ok(Time::from_ps(ps)),
        _ => Err(format!("`{shown}` s is too late; a run lasts at most {MAX_TIME}")),
    }
}

/// The instant as decimal seconds, all its picoseconds and no trailing zeros.
pub(super) fn print(time: Time) -> String {
    const PS: u64 = switchbed_units::PS_PER_S;
    let (s, ps) = (time.as_ps() / PS, time.as_ps() % PS);
    let decimals = format!("{ps:012}");
    match decimals.trim_end_matches('0') {
        "" => s.to_string(),
        decimals => format!("{s}.{decimals}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_exact_to_the_picosecond() {
        for (text, ps) in [
            ("0", 0),
            ("0.1", 100_000_000_000),
            ("0.000000000001", 1),
            ("1.000000000001", 1_000_000_000_001),
            (".5", 500_000_000_000),
            ("3.", 3_000_000_000_000),
            ("+1e-6", 1_000_000),
            ("1.5E-05", 15_000_000),
            ("12e3", 12_000_000_000_000_000),
            ("0e99", 0),
            ("0.0e2000000000", 0),
            ("1e-2000000000", 0),
            ("100000", MAX_TIME.as_ps()),
            // As doubles are printed: 0.1 + 0.2, and ties go up.
            ("0.30000000000000004", 300_000_000_000),
            ("0.29999999999999999", 300_000_000_000),
            ("0.0000000000005", 1),
            ("0.00000000000049", 0),
            ("9e-13", 1),
            ("9e-14", 0),
        ] {
            assert_eq!(parse(text), Ok(Time::from_ps(ps)), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for (text, expected) in [
            ("-1", "`-1` is before the run begins"),
            ("", "`` is not a time"),
            (".", "`.` is not a time"),
            ("1.2.3", "`1.2.3` is not a time"),
            ("1 s", "`1 s` is not a time"),
            ("nan", "`nan` is not a time"),
            ("inf", "`inf` is not a time"),
            ("1e", "`1e` is not a time"),
            ("1e1.5", "`1e1.5` is not a time"),
            ("100000.000000000001", "`100000.000000000001` s is too late"),
            ("18446744.0737095516155", "`18446744.0737095516155` s is too late"),
            ("1e2000000000", "`1e2000000000` s is too late"),
        ] {
            assert!(parse(text).unwrap_err().starts_with(expected), "{text}: {:?}", parse(text));
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(ps in 0..=MAX_TIME.as_ps()) {
            prop_assert_eq!(parse(&print(Time::from_ps(ps))), Ok(Time::from_ps(ps)));
        }

        #[test]
        fn doubles_as_printed_are_read_to_the_nearest_picosecond(s in 0.0..100.0_f64) {
            let ps = parse(&s.to_string()).unwrap().as_ps();
            prop_assert!((ps as f64 - s * 1e12).abs() <= 0.53, "{} {}", s, ps);
            prop_assert_eq!(parse(&format!("{s:e}")).unwrap().as_ps(), ps);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[-+0-9.eE]{0,12}|\\PC{0,5}") {
            let _ = parse(&text);
        }
    }
}
