//! Reading of text files that people write.

use std::io::{Error, Result};
use std::path::Path;

/// Characters of another's value that a message shows.
const SHOWN: usize = 60;

/// A value in a message, cut where it is long.
pub fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A number in a message: very large and very small ones with an exponent rather than 300 digits.
pub fn number(value: f64) -> String {
    let plain = value == 0.0 || (1e-9..1e16).contains(&value.abs());
    if plain { value.to_string() } else { format!("{value:e}") }
}

const MOST: u64 = 64 << 20;

/// Byte order mark (RFC 3629, section 6).
const MARK: char = '\u{feff}';

/// Reads the text of a file, without the byte order mark that some editors add.
///
/// # Errors
/// The file cannot be read; it is larger than anybody writes them; it is a pipe or a device, which might
/// never end.
pub fn read(path: &Path) -> Result<String> {
    let file = std::fs::metadata(path).map_err(said)?;
    if !file.is_file() {
        return Err(Error::other("it is no file"));
    }
    if file.len() > MOST {
        return Err(Error::other(format!("it is larger than {} MiB", MOST >> 20)));
    }
    let mut text = String::from_utf8(std::fs::read(path).map_err(said)?).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        Error::other(format!("line {line} is no UTF-8 text; save the file as UTF-8"))
    })?;
    if text.starts_with(MARK) {
        text.remove(0);
    }
    Ok(text)
}

/// An error of the system in words alone, without its number.
fn said(error: Error) -> Error {
    let words = error.to_string();
    Error::new(error.kind(), words.split(" (os error").next().unwrap_or(&words))
}
