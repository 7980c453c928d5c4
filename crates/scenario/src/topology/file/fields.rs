//! Fields of lines that blanks separate, with their places.

use super::described::Wrong;
use switchbed_config::text::shown;

/// A field of a line.
#[derive(Clone, Copy)]
pub(super) struct Word<'a> {
    pub(super) line: u32,
    /// From 0.
    pub(super) column: usize,
    pub(super) text: &'a str,
}

impl Word<'_> {
    pub(super) fn wrong(&self, what: &str) -> Wrong {
        Wrong::field(self.line, self.column, format!("\"{}\": {what}", shown(self.text)))
    }

    /// A whole number below an end.
    pub(super) fn below(&self, end: u32, what: &str) -> Result<u32, Wrong> {
        let number = self.text.parse().ok().filter(|&number: &u32| number < end);
        number.ok_or_else(|| self.wrong(&format!("{what} is a whole number below {end}")))
    }
}

/// Lines with fields, each with its number from 1.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (u32, Vec<Word<'_>>)> {
    (1..).zip(text.lines()).filter_map(|(line, text)| {
        let word = |(column, text)| Word { line, column, text };
        let words: Vec<Word> = text.split_whitespace().enumerate().map(word).collect();
        (!words.is_empty()).then_some((line, words))
    })
}
