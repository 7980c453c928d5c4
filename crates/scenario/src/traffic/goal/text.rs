//! The text of GOAL schedules (Hoefler, Siebert and Lumsdaine, ICPP 2009), as LogGOPSim's `txt2bin` reads it.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//! a: calc 100 cpu 1
//! b: send 8b to 1 tag 5 cpu 0 nic 0
//! b requires a
//! }
//! ```

use crate::traffic::program::{ANY, Draft, Envelope, Pattern, Step};
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, ErrorKind};
use switchbed_config::text::shown;
use switchbed_units::{Bytes, Span};

/// Line of a mistake, and its description.
pub(super) type Wrong = (u64, String);

/// A calculation takes so many nanoseconds at most: 213 days, a run's longest.
const MOST_NS: u64 = u64::MAX / 1000;

/// A part of a line; [`Token::End`] ends it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Sign(char),
    End,
}

impl Token {
    fn text(&self) -> String {
        match self {
            Token::Word(word) => format!("`{}`", shown(word)),
            Token::Sign(sign) => format!("`{}`", shown(&sign.to_string())),
            Token::End => "the line's end".to_owned(),
        }
    }
}

struct Lexer<'a> {
    source: &'a mut dyn BufRead,
    /// The line that is being read, and how far it has been.
    text: String,
    at: usize,
    line: u64,
    next: Option<Token>,
    /// The class of messages.
    class: u8,
    /// Called for each label, with the rank and the operation's number there.
    labelled: &'a mut dyn FnMut(u32, u32, &str),
}

impl Lexer<'_> {
    /// The next sign, which stays.
    fn peek(&mut self) -> Result<Option<char>, Wrong> {
        // A line at a time: schedules are larger than memory should hold as text.
        if self.at == self.text.len() {
            self.text.clear();
            self.at = 0;
            self.source.read_line(&mut self.text).map_err(|error| {
                let what = match error.kind() {
                    ErrorKind::InvalidData => "not UTF-8; a schedule is text".to_owned(),
                    _ => format!("cannot read the schedule: {error}"),
                };
                (self.line, what)
            })?;
        }
        Ok(self.text[self.at..].chars().next())
    }

    /// Takes the next sign if it fits.
    fn next_if(&mut self, fits: impl Fn(char) -> bool) -> Result<Option<char>, Wrong> {
        let sign = self.peek()?.filter(|&sign| fits(sign));
        self.at += sign.map_or(0, char::len_utf8);
        Ok(sign)
    }

    /// The next part; `None` at the end.
    fn read(&mut self) -> Result<Option<Token>, Wrong> {
        if let Some(token) = self.next.take() {
            return Ok(Some(token));
        }
        loop {
            let Some(sign) = self.next_if(|_| true)? else { return Ok(None) };
            match sign {
                '\n' => {
                    self.line += 1;
                    return Ok(Some(Token::End));
                }
                sign if sign.is_whitespace() => {}
                // The line's end stays, since it ends the operation, too.
                '/' if self.peek()? == Some('/') => {
                    while self.next_if(|sign| sign != '\n')?.is_some() {}
                }
                '/' if self.next_if(|sign| sign == '*')?.is_some() => self.pass_comment()?,
                sign if is_of_word(sign) => {
                    let mut word = String::from(sign);
                    while let Some(sign) = self.next_if(is_of_word)? {
                        word.push(sign);
                    }
                    return Ok(Some(Token::Word(word)));
                }
                sign => return Ok(Some(Token::Sign(sign))),
            }
        }
    }

    fn pass_comment(&mut self) -> Result<(), Wrong> {
        let first = self.line;
        let mut star = false;
        while let Some(sign) = self.next_if(|_| true)? {
            match sign {
                '/' if star => return Ok(()),
                '\n' => self.line += 1,
                _ => {}
            }
            // Only a slash right after a star ends the comment.
            star = sign == '*';
        }
        Err((first, "a comment begins with /* and does not end; write */".to_owned()))
    }

    fn put_back(&mut self, token: Token) {
        // A newline token belongs to the line that it ends.
        self.next = Some(token);
    }

    /// Message about a token that stands in place of something else.
    fn wrong<T>(&self, found: Option<&Token>, expected: &str) -> Result<T, Wrong> {
        // The end of a line has been counted already; the mistake is on the line before.
        let line = self.line - u64::from(found == Some(&Token::End));
        let found = found.map_or("the file's end".to_owned(), Token::text);
        Err((line, format!("{found} where {expected} is expected")))
    }

    fn word(&mut self, expected: &str) -> Result<String, Wrong> {
        match self.read()? {
            Some(Token::Word(word)) => Ok(word),
            other => self.wrong(other.as_ref(), expected),
        }
    }

    fn keyword(&mut self, keyword: &str) -> Result<(), Wrong> {
        let expected = format!("`{keyword}`");
        let word = self.word(&expected)?;
        match word.strip_prefix(keyword) {
            Some(rest) => {
                self.keep(rest);
                Ok(())
            }
            None => self.wrong(Some(&Token::Word(word)), &expected),
        }
    }

    /// Keeps what is behind a keyword or a number: txt2bin needs no blanks there (`8bto 1tag 5`).
    fn keep(&mut self, rest: &str) {
        if !rest.is_empty() {
            self.put_back(Token::Word(rest.to_owned()));
        }
    }

    /// The digits, or the -1, that a word begins with; a word that begins otherwise is returned whole.
    fn digits(&mut self, expected: &str) -> Result<String, Wrong> {
        let word = self.word(expected)?;
        let end = match word.starts_with("-1") {
            true => 2,
            false => word.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(word.len()),
        };
        if end == 0 {
            return Ok(word);
        }
        self.keep(&word[end..]);
        Ok(word[..end].to_owned())
    }

    fn sign(&mut self, sign: char) -> Result<(), Wrong> {
        match self.read()? {
            Some(Token::Sign(found)) if found == sign => Ok(()),
            other => self.wrong(other.as_ref(), &format!("`{sign}`")),
        }
    }

    fn number(&mut self, name: &str, most: u64) -> Result<u64, Wrong> {
        let word = self.digits(&format!("the {name}"))?;
        self.as_number(&word, name, most)
    }

    fn as_number(&self, word: &str, name: &str, most: u64) -> Result<u64, Wrong> {
        // `parse` would take a sign, too.
        let digits = word.bytes().all(|byte| byte.is_ascii_digit());
        match word.parse() {
            Ok(number) if digits && number <= most => Ok(number),
            _ => Err((self.line, format!("`{}` is no {name}; write 0 to {most}", shown(word)))),
        }
    }

    /// `8b` or `8 b`.
    fn size(&mut self) -> Result<Bytes, Wrong> {
        let digits = self.digits("a size, as in 8b,")?;
        // Space for sums of many sizes in 64 bits.
        let size = self.as_number(&digits, "size in bytes", u64::MAX >> 8)?;
        self.keyword("b")?;
        Ok(Bytes::new(size))
    }

    fn end(&mut self) -> Result<(), Wrong> {
        match self.read()? {
            None | Some(Token::End) => Ok(()),
            // A brace may close the rank on the line of its last operation.
            Some(Token::Sign('}')) => {
                self.put_back(Token::Sign('}'));
                Ok(())
            }
            other => self.wrong(other.as_ref(), "the line's end"),
        }
    }
}

fn is_of_word(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || sign == '_' || sign == '-'
}

/// Options of an operation.
#[derive(Clone, Copy, Debug)]
struct Options {
    /// `None`: any.
    tag: Option<u32>,
    cpu: u8,
    nic: u8,
}

/// Reads a schedule line by line: how many ranks it has, and what they do. Each label is told with its operation's
/// rank and number there.
///
/// # Errors
/// The mistake with its line.
pub(super) fn read(
    source: &mut dyn BufRead,
    class: u8,
    labelled: &mut dyn FnMut(u32, u32, &str),
) -> Result<(u32, Draft), Wrong> {
    let (text, at, line, next) = (String::new(), 0, 1, None);
    let mut lexer = Lexer { source, text, at, line, next, class, labelled };
    // A byte order mark, which editors leave.
    lexer.next_if(|sign| sign == '\u{feff}')?;
    let mut begun: Option<(u32, Draft)> = None;
    let mut seen = Vec::new();
    // The ranks before this one are read.
    let mut next = 0;
    while let Some(token) = lexer.read()? {
        match (token, &mut begun) {
            (Token::End, _) => {}
            (Token::Word(word), None) if word == "num_ranks" => {
                let ranks = lexer.number("number of ranks", 1 << 20)? as u32;
                if ranks == 0 {
                    return Err((lexer.line, "a schedule has at least 1 rank".to_owned()));
                }
                seen = vec![false; ranks as usize];
                begun = Some((ranks, Draft::new(ranks)));
            }
            (token, None) => return lexer.wrong(Some(&token), "`num_ranks` and their number"),
            (Token::Word(word), Some((ranks, draft))) if word == "rank" => {
                let rank = lexer.number("rank", u64::from(*ranks) - 1)? as u32;
                if std::mem::replace(&mut seen[rank as usize], true) {
                    return Err((lexer.line, format!("rank {rank} is there twice")));
                }
                lexer.sign('{')?;
                read_rank(&mut lexer, rank, *ranks, draft)?;
                // Ranks may come in any order, and are closed in theirs, so that memory is given
                // back early.
                while seen.get(next).is_some_and(|&seen| seen) {
                    draft.close(next as u32);
                    next += 1;
                }
            }
            (token, Some(_)) => return lexer.wrong(Some(&token), "`rank` and its number"),
        }
    }
    begun.ok_or_else(|| (lexer.line, "no ranks; a schedule begins with num_ranks".to_owned()))
}

fn read_rank(lexer: &mut Lexer, rank: u32, ranks: u32, draft: &mut Draft) -> Result<(), Wrong> {
    let mut labels = Labels::default();
    let mut waits: Vec<Wait> = Vec::new();
    loop {
        match lexer.read()? {
            Some(Token::End) => {}
            Some(Token::Sign('}')) => break,
            Some(Token::Word(word)) => match word.as_str() {
                "send" | "recv" | "calc" => {
                    read_operation(lexer, (rank, ranks), &word, draft)?;
                }
                _ => {
                    let wait = read_labelled(lexer, (rank, ranks), &word, draft, &mut labels)?;
                    // Labels may be used before they are given: those waits are put in at the
                    // rank's end.
                    waits.extend(wait.filter(|wait| !wait.order(&labels, draft)));
                }
            },
            other => return lexer.wrong(other.as_ref(), "an operation, a label or `}`"),
        }
    }
    for Wait { line, before, after, start } in waits {
        let step = |label: u32| {
            let name = || format!("rank {rank} has no label `{}`", shown(labels.text(label)));
            labels.step(label).ok_or_else(|| (line, name()))
        };
        let (before, after) = (step(before)?, step(after)?);
        match start {
            true => draft.order_start(before, after),
            false => draft.order(before, after),
        }
    }
    Ok(())
}

/// A label waits for another.
#[derive(Clone, Copy, Debug)]
struct Wait {
    line: u64,
    before: u32,
    after: u32,
    /// For its start.
    start: bool,
}

impl Wait {
    /// Puts it into the draft if both labels are known; starts wait, so that they stay in their order.
    fn order(&self, labels: &Labels, draft: &mut Draft) -> bool {
        let steps = labels.step(self.before).zip(labels.step(self.after));
        let steps = steps.filter(|_| !self.start);
        steps.is_some_and(|(before, after)| {
            draft.order(before, after);
            true
        })
    }
}

/// `label: operation`, or `label requires label`.
fn read_labelled(
    lexer: &mut Lexer,
    at: (u32, u32),
    label: &str,
    draft: &mut Draft,
    labels: &mut Labels,
) -> Result<Option<Wait>, Wrong> {
    let expected = "`:`, `requires` or `irequires` behind a label";
    match lexer.read()? {
        Some(Token::Sign(':')) => {
            let word = lexer.word("send, recv or calc")?;
            let line = lexer.line;
            let step = read_operation(lexer, at, &word, draft)?;
            (lexer.labelled)(at.0, step.nth(), label);
            let number = labels.number(label);
            if labels.step(number).is_some() {
                return Err((line, format!("rank {} has the label `{label}` twice", at.0)));
            }
            labels.steps[number as usize] = Some(step);
            Ok(None)
        }
        Some(Token::Word(word)) if word == "requires" || word == "irequires" => {
            let before = lexer.word("the label of what comes before")?;
            let line = lexer.line;
            lexer.end()?;
            let [after, before] = [label, &before].map(|label| labels.number(label));
            Ok(Some(Wait { line, before, after, start: word == "irequires" }))
        }
        other => lexer.wrong(other.as_ref(), expected),
    }
}

fn read_operation(
    lexer: &mut Lexer,
    (rank, ranks): (u32, u32),
    word: &str,
    draft: &mut Draft,
) -> Result<Step, Wrong> {
    match word {
        "calc" => {
            let span = Span::from_ns(lexer.number("time in ns", MOST_NS)?);
            let options = read_options(lexer, &["cpu"])?;
            Ok(draft.calculate((rank, options.cpu.into()), span, &[]))
        }
        "send" | "recv" => {
            let (size, line) = (lexer.size()?, lexer.line);
            lexer.keyword(if word == "send" { "to" } else { "from" })?;
            let peer = lexer.digits("a rank")?;
            if peer == "-1" {
                if word == "send" {
                    return Err((line, "-1 is any source; a send goes to a rank".to_owned()));
                }
                let options = read_options(lexer, &["tag", "cpu", "nic"])?;
                let step = draft.receive_any(rank, Pattern { from: None, tag: options.tag }, &[]);
                draft.on_cpu(step, options.cpu);
                return Ok(step);
            }
            let peer = lexer.as_number(&peer, "rank", u64::from(ranks) - 1)? as u32;
            let options = read_options(lexer, &["tag", "cpu", "nic"])?;
            let step = match word {
                "send" => {
                    let tag = options.tag.unwrap_or(ANY);
                    let channel = options.nic.into();
                    let class = lexer.class;
                    let envelope =
                        Envelope { to: peer, tag, bytes: size, channel, class, path: None };
                    draft.send(rank, envelope, &[])
                }
                _ => draft.receive_any(rank, Pattern { from: Some(peer), tag: options.tag }, &[]),
            };
            draft.on_cpu(step, options.cpu);
            Ok(step)
        }
        _ => lexer.wrong(Some(&Token::Word(word.to_owned())), "send, recv or calc"),
    }
}

fn read_options(lexer: &mut Lexer, may: &[&str]) -> Result<Options, Wrong> {
    let mut options = Options { tag: Some(0), cpu: 0, nic: 0 };
    loop {
        match lexer.read()? {
            Some(Token::Word(word)) => {
                let Some(key) = may.iter().find(|&&key| word.starts_with(key)) else {
                    let expected = format!("{} or the line's end", may.join(", "));
                    return lexer.wrong(Some(&Token::Word(word)), &expected);
                };
                lexer.keep(&word[key.len()..]);
                match *key {
                    "tag" => {
                        let tag = lexer.digits("a tag")?;
                        options.tag = match &*tag {
                            "-1" => None,
                            // 2³² − 1 is any tag in the binary form.
                            tag => {
                                Some(lexer.as_number(tag, "tag", u64::from(u32::MAX) - 1)? as u32)
                            }
                        };
                    }
                    "cpu" => options.cpu = lexer.number("cpu", u8::MAX.into())? as u8,
                    _ => options.nic = lexer.number("nic", u8::MAX.into())? as u8,
                }
            }
            None => return Ok(options),
            Some(token) => {
                let line = lexer.line;
                lexer.put_back(token);
                lexer.end().map_err(|(_, what)| (line, what))?;
                return Ok(options);
            }
        }
    }
}

/// Labels of a rank's operations by number, in the order in which they are met, with these operations. In little
/// memory: schedules have millions.
#[derive(Default)]
struct Labels {
    /// All labels, one behind the other, and the end of each.
    text: String,
    ends: Vec<usize>,
    /// The operation of each; `None`: others wait for it, and it has not been met yet.
    steps: Vec<Option<Step>>,
    /// Numbers of labels by hash, in the first free place from there on; at least half are free.
    places: Vec<u32>,
    hash: RandomState,
}

/// A place without a label.
const FREE: u32 = u32::MAX;

impl Labels {
    /// The number of a label, which it gets now if it is new.
    fn number(&mut self, label: &str) -> u32 {
        if self.places.len() < 2 * (self.ends.len() + 1) {
            self.grow();
        }
        let place = self.place(label);
        if self.places[place] == FREE {
            self.places[place] = self.ends.len() as u32;
            self.text.push_str(label);
            self.ends.push(self.text.len());
            self.steps.push(None);
        }
        self.places[place]
    }

    /// A label's text.
    fn text(&self, number: u32) -> &str {
        let nth = number as usize;
        let begin = nth.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[begin..self.ends[nth]]
    }

    /// The operation of a label, if it has been met.
    fn step(&self, number: u32) -> Option<Step> {
        self.steps[number as usize]
    }

    /// The place of a label, or the free one where it belongs.
    fn place(&self, label: &str) -> usize {
        let mut place = self.hash.hash_one(label) as usize % self.places.len();
        while self.places[place] != FREE && self.text(self.places[place]) != label {
            place = (place + 1) % self.places.len();
        }
        place
    }

    fn grow(&mut self) {
        self.places = vec![FREE; (3 * self.places.len()).max(16)];
        for number in 0..self.ends.len() as u32 {
            let place = self.place(self.text(number));
            self.places[place] = number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::program::{Schedule, Work};
    use proptest::prelude::*;
    use switchbed_units::Time;
    use switchbed_units::ids::HostId;

    fn program(text: &str) -> Result<Schedule, String> {
        let mut labels = std::collections::HashMap::new();
        let mut labelled =
            |rank, nth, label: &str| _ = labels.insert((rank, nth), label.to_owned());
        let (ranks, draft) = read(&mut text.as_bytes(), 0, &mut labelled)
            .map_err(|(line, what)| format!("{line}: {what}"))?;
        let hosts = (0..ranks).map(HostId).collect();
        let name = |rank, nth| labels.get(&(rank, nth)).cloned();
        draft.finish_named(hosts, Time::ZERO, &name).map_err(|fault| fault.to_string())
    }

    #[test]
    fn messages_that_wait_for_as_many_steps_are_under_way_at_once() {
        let sends = "a: send 1b to 1 tag 1\nb: send 1b to 1 tag 2\nc: send 1b to 1 tag 3\n";
        let receives =
            "rank 1 {\nrecv 1b from 0 tag 1\nrecv 1b from 0 tag 2\nrecv 1b from 0 tag 3\n}\n";
        let at_once = |waits: &str| {
            let text = format!("num_ranks 2\nrank 0 {{\n{sends}{waits}}}\n{receives}");
            program(&text).unwrap().at_once()
        };
        assert_eq!(at_once(""), 3);
        assert_eq!(at_once("c requires a\n"), 2);
        assert_eq!(at_once("b requires a\nc requires b\n"), 1);
        // An answer waits for what it answers.
        let pong = "num_ranks 2\nrank 0 {\nsend 1b to 1 tag 1\nrecv 1b from 1 tag 2\n}\n\
                    rank 1 {\na: recv 1b from 0 tag 1\nb: send 1b to 0 tag 2\nb requires a\n}\n";
        assert_eq!(program(pong).unwrap().at_once(), 1);
    }

    #[test]
    fn a_schedule_is_read_with_its_comments_and_options() {
        let program = program(
            "\u{feff}// two ranks\r\nnum_ranks 3\r\n\r\nrank 1 {\nb: recv 8 b from 0 tag 5\n/* three\nlines\n*/\n\
             calc 12 cpu 3\nc requires b\nc: calc 7 }\nrank 0 { a: send 8b to 1 tag 5 cpu 2 nic 1\n\
             d: send 0b to 1 nic 0\n d irequires a // behind\n}\nrank 2 {\nrecv 8b from 1\n}",
        );
        let expected = "rank 0: `d` has no receive at rank 1 with tag 0: 1 sends, 0 receives";
        assert_eq!(program.unwrap_err(), expected);
        let text = "num_ranks 2\nrank 0 {\na: send 8b to 1 tag 5 cpu 2 nic 1\nd: calc 3 cpu 9\nd requires a\n}\n\
                    rank 1 {\nrecv 8b from 0 tag 5\n}";
        let program = self::program(text).unwrap();
        assert_eq!((program.operations(), program.message_count()), (3, 1));
        assert_eq!((program.message(0).channel, program.message(0).received_by), (1, 2));
        assert_eq!(program.operation(1).work, Work::Calculate(Span::from_ns(3), 9));
        assert_eq!(program.followers(0), [1]);
    }

    #[test]
    fn ranks_without_operations_have_one_that_takes_no_time() {
        let program = program("num_ranks 2\nrank 0 {\n}").unwrap();
        assert_eq!((program.of_rank(0), program.of_rank(1)), (0..1, 1..2));
    }

    #[test]
    fn a_start_is_waited_for_by_what_it_waits_for() {
        // c starts with b, which waits for a; d with c.
        let text = "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\nb requires a\nc: calc 3\nc irequires b\n\
                    d: calc 4\nd irequires c\n}";
        let program = program(text).unwrap();
        // The starts of b and of c.
        assert_eq!(program.operations(), 6);
        assert_eq!((program.followers(0), program.followers(4)), (&[4][..], &[1, 5][..]));
        assert_eq!(program.followers(5), [2, 3]);
        let circle = "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\nb irequires a\na irequires b\n}";
        assert!(self::program(circle).unwrap_err().starts_with("deadlock: rank 0 `"), "{circle}");
    }

    #[test]
    fn what_any_receive_takes_is_printed_with_its_tag() {
        let text = "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 7\nsend 8b to 1 tag 9\n}\n\
                    rank 1 {\nrecv 8b from -1 tag 7\nrecv 8b from 0 tag -1\n}\n";
        let one = program(text).unwrap();
        let other = program(&one.goal().unwrap()).unwrap();
        let tags = |of: &Schedule| of.messages().map(|of| of.tag).collect::<Vec<_>>();
        assert_eq!((tags(&one), tags(&other)), (vec![7, 9], vec![7, 9]));
        for number in 2..4 {
            let of = |of: &Schedule| of.pattern(number).map(|of| (of.from, of.tag));
            assert_eq!(of(&one), of(&other));
            assert!(of(&one).is_some());
        }
    }

    #[test]
    fn what_is_printed_is_read_as_the_same() {
        let text = "num_ranks 3\nrank 2 {\na: recv 9b from 0\nb: calc 4 cpu 2\nb requires a\nc: send 7b to 1 nic 3\n\
                    c irequires b\n}\nrank 0 {\nsend 9b to 2\nsend 5b to 2 tag 1\n}\nrank 1 {\nrecv 7b from 2\n}\n";
        let text = text.replace("}\nrank 0", "recv 5b from 0 tag 1\n}\nrank 0");
        let one = program(&text).unwrap();
        let other = program(&one.goal().unwrap()).unwrap();
        assert_eq!(
            one.goal().unwrap().lines().filter(|line| line.contains(" requires ")).count(),
            3
        );
        assert_eq!(one.operations(), other.operations());
        for number in 0..one.operations() {
            assert_eq!(one.operation(number), other.operation(number));
            assert_eq!(one.followers(number), other.followers(number));
        }
        let of = |program: &Schedule| -> Vec<_> {
            let messages = program.messages();
            messages.map(|of| (of.sent_by, of.received_by, of.bytes, of.channel)).collect()
        };
        assert_eq!(of(&one), of(&other));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, expected) in [
            ("", "1: no ranks; a schedule begins with num_ranks"),
            ("rank 0 {\n}", "1: `rank` where `num_ranks` and their number is expected"),
            ("num_ranks 0", "1: a schedule has at least 1 rank"),
            ("num_ranks x", "1: `x` is no number of ranks; write 0 to 1048576"),
            ("num_ranks 2\nrank 2 {\n}", "2: `2` is no rank; write 0 to 1"),
            ("num_ranks 2\nrank 1 {\n}\nrank 1 {\n}", "4: rank 1 is there twice"),
            ("num_ranks 2\nrank 1\n{\n}", "2: the line's end where `{` is expected"),
            ("num_ranks 2\nrank 1 {\ncalc 5\n", "4: the file's end where an operation"),
            ("num_ranks 2\nrank 1 {\ncalc 5 nic 2\n}", "3: `nic` where cpu or the line's end"),
            ("num_ranks 2\nrank 1 {\ncalc x\n}", "3: `x` is no time in ns"),
            ("num_ranks 2\nrank 1 {\ncalc 5 cpu 256\n}", "3: `256` is no cpu; write 0 to 255"),
            ("num_ranks 2\nrank 1 {\nsend 5 to 0\n}", "3: `to` where `b` is expected"),
            ("num_ranks 2\nrank 1 {\nsend 5b from 0\n}", "3: `from` where `to` is expected"),
            (
                "num_ranks 2\nrank 1 {\na: send 5b to 1\n}",
                "rank 1: `a` has no receive at rank 1 with",
            ),
            ("num_ranks 2\nrank 1 {\nsend 5b to 2\n}", "3: `2` is no rank; write 0 to 1"),
            ("num_ranks 2\nrank 1 {\nsend 5b to -1\n}", "3: -1 is any source; a send goes"),
            (
                "num_ranks 2\nrank 1 {\nsend 5b to 0 tag -1\n}",
                "rank 0: 1 messages are sent to it, and it receives 0",
            ),
            (
                "num_ranks 2\nrank 1 {\nrecv 5b from -1\nrecv 5b from 0 tag -1\n}\nrank 0 {\nsend 5b to 1\n}",
                "rank 1: 1 messages are sent to it, and it receives 2",
            ),
            ("num_ranks 2\nrank 1 {\na: calc 5\na: calc 6\n}", "4: rank 1 has the label `a` twice"),
            ("num_ranks 2\nrank 1 {\na: calc 5\na requires b\n}", "4: rank 1 has no label `b`"),
            ("num_ranks 2\nrank 1 {\na: calc 5\na needs a\n}", "4: `needs` where `:`, `requires`"),
            ("num_ranks 2\nrank 1 {\na: 5\n}", "3: `5` where send, recv or calc is expected"),
            ("num_ranks 2\nrank 1 {\n/* x\n\n", "3: a comment begins with /* and does not end"),
            ("num_ranks 2\nrank 1 {\n%\n}", "3: `%` where an operation, a label or `}`"),
            (
                "num_ranks 2\nrank 1 {\ncalc 99999999999999999999\n}",
                "3: `99999999999999999999` is no",
            ),
        ] {
            let error = program(text).unwrap_err();
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn numbers_and_keywords_need_no_blanks() {
        // Each token of `txt2bin.re` ends by itself.
        let plain = "num_ranks 2\nrank 0 {\na: send 8b to 1 tag 5 cpu 3 nic 2\nb: calc 7 cpu 1\n}\n\
                     rank 1 {\nrecv 8b from -1 tag 5\n}\n";
        let joined = "num_ranks2\nrank0{\na:send8bto1tag5cpu3nic2\nb:calc 7cpu1\n}\n\
                      rank 1{\nrecv 8bfrom-1tag5\n}\n";
        // A label ends at no keyword: `send8b` would be one.
        let joined = joined.replace("send8b", "send 8b").replace("ranks2", "ranks 2");
        let joined = joined.replace("rank0", "rank 0");
        let [plain, joined] = [plain, &joined].map(|text| program(text).unwrap());
        assert_eq!(plain.operations(), joined.operations());
        for number in 0..plain.operations() {
            assert_eq!(plain.operation(number), joined.operation(number));
        }
        let of = |program: &Schedule| {
            let message = program.message(0);
            (message.tag, message.channel, message.bytes)
        };
        assert_eq!((of(&plain), of(&joined)), ((5, 2, Bytes::new(8)), (5, 2, Bytes::new(8))));
        let error = program("num_ranks 2\nrank 0 {\nsend 8b total 1\n}").unwrap_err();
        assert!(error.starts_with("3: `tal` is no rank"), "{error}");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(
            lines in "((num_ranks|rank|send|recv|calc|a:|a|requires|to|from|tag|[0-9]b?|\\{|\\}|/\\*|-1) ?\n?){0,40}",
            any in "\\PC{0,40}",
        ) {
            let _ = program(&format!("num_ranks 2\nrank 0 {{\n{lines}{any}"));
            let _ = program(&format!("{lines}{any}"));
        }
    }

    #[test]
    fn labels_keep_their_numbers() {
        let mut labels = Labels::default();
        let names: Vec<String> = (0..5_000).map(|nth| format!("l{}", nth * 7)).collect();
        let first: Vec<u32> = names.iter().map(|name| labels.number(name)).collect();
        assert_eq!(first, (0..5_000).collect::<Vec<_>>());
        let again: Vec<u32> = names.iter().map(|name| labels.number(name)).collect();
        assert_eq!(again, first);
        assert!(names.iter().zip(first).all(|(name, number)| labels.text(number) == name));
        assert_eq!((labels.number(""), labels.step(17)), (5_000, None));
    }
}
