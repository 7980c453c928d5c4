//! A scenario file as a tree in which every key and value knows where it was written,
//! so that what is found wrong later, in whatever combination, can point at its line.
//!
//! Parsing is `toml`'s spanned tree; serde plays no part, because its errors lose the
//! position as soon as two keys have to be judged together.

use serde_json::Value as Json;
use std::fmt;
use toml::de::{DeTable, DeValue};

/// Place where a value was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// A line of the file, from 1.
    Line(u32),
    /// An override, by its place on the command line.
    Override(usize),
    /// Nowhere: a default, or a section that is not there.
    Unwritten,
}

/// A value and where it was written.
#[derive(Clone, Debug)]
pub struct Node {
    /// Place where it was written.
    pub at: At,
    /// Value without its place.
    pub data: Data,
}

/// Value of a TOML document.
#[derive(Clone, Debug)]
pub enum Data {
    /// Boolean of TOML, `true` or `false`.
    Flag(bool),
    /// Integer of TOML, which may be wider than 64 bits.
    Whole(i128),
    /// Floating-point number of TOML.
    Number(f64),
    /// String of TOML, unescaped.
    Text(String),
    /// Array of TOML, of any items.
    List(Vec<Node>),
    /// Table of TOML, keys in order.
    Table(Table),
}

/// Keys and values in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Entries in the order of the file.
    pub entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Key as one part, without dots.
    pub key: String,
    /// Where the key is, which for a table is not where its header is.
    pub at: At,
    /// Value with its place.
    pub value: Node,
}

impl Table {
    /// Finds the value of `key`.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// The value of `key`, which is put there as an empty table, written at `at`, if
    /// it is missing.
    pub fn get_or_insert(&mut self, key: &str, at: At) -> &mut Node {
        let i = self.entries.iter().position(|entry| entry.key == key).unwrap_or_else(|| {
            let value = Node { at, data: Data::Table(Table::default()) };
            self.entries.push(Entry { key: key.to_owned(), at, value });
            self.entries.len() - 1
        });
        &mut self.entries[i].value
    }

    /// The value of `key`, to change.
    pub fn entry(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.value)
    }

    /// Puts `value` in the place of what `key` had.
    pub fn insert(&mut self, key: &str, value: Node) {
        // Last wins, and stands last.
        self.remove(key);
        self.entries.push(Entry { key: key.to_owned(), at: value.at, value });
    }

    /// Takes `key` out, if it is there.
    pub fn remove(&mut self, key: &str) {
        self.entries.retain(|entry| entry.key != key);
    }
}

impl Node {
    /// A string that was written nowhere.
    pub fn text(text: &str) -> Node {
        Node { at: At::Unwritten, data: Data::Text(text.to_owned()) }
    }

    /// The string, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The table, if it is one.
    pub fn as_table(&self) -> Option<&Table> {
        match &self.data {
            Data::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The items, if it is an array.
    pub fn as_list(&self) -> Option<&[Node]> {
        match &self.data {
            Data::List(list) => Some(list),
            _ => None,
        }
    }

    /// Lets it have been written at `at`, with all it contains.
    pub fn move_to(&mut self, at: At) {
        // All of it, as messages name the innermost.
        self.at = at;
        match &mut self.data {
            Data::List(list) => list.iter_mut().for_each(|node| node.move_to(at)),
            Data::Table(table) => {
                for entry in &mut table.entries {
                    entry.at = at;
                    entry.value.move_to(at);
                }
            }
            _ => {}
        }
    }

    /// Converts the value to JSON.
    pub fn to_json(&self) -> Json {
        match &self.data {
            Data::Flag(flag) => Json::from(*flag),
            // JSON's numbers are read as doubles by most: so are those beyond 64 bits.
            Data::Whole(n) => i64::try_from(*n).map_or(Json::from(*n as f64), Json::from),
            Data::Number(x) => Json::from(*x),
            Data::Text(text) => Json::from(text.as_str()),
            Data::List(list) => list.iter().map(Node::to_json).collect(),
            Data::Table(table) => {
                table.entries.iter().map(|e| (e.key.clone(), e.value.to_json())).collect()
            }
        }
    }
}

/// The value as it may stand in a message: in one line, and not too long.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match &self.data {
            Data::Whole(n) => n.to_string(),
            // `{:?}` keeps the point of `1.0`.
            Data::Number(x) => format!("{x:?}"),
            Data::Table(_) => "a table".to_owned(),
            _ => self.to_json().to_string(),
        };
        match text.char_indices().nth(60) {
            Some((end, _)) => write!(f, "{}…", &text[..end]),
            None => f.write_str(&text),
        }
    }
}

/// The tree of a file's text, or the line and what is wrong with it.
pub fn parse(text: &str) -> Result<Table, (u32, String)> {
    let lines = Lines::of(text);
    match DeTable::parse(text) {
        Ok(table) => Ok(lines.table(table.get_ref())),
        Err(error) => {
            let line = error.span().map_or(1, |span| lines.number(span.start));
            Err((line, error.message().replace('\n', " ")))
        }
    }
}

/// The value of a text that stands alone, as in an override or a default: TOML, or a
/// bare word, or a list of those.
pub fn parse_value(text: &str, at: At) -> Result<Node, String> {
    let text = text.trim();
    match DeValue::parse(text) {
        Ok(value) => {
            let mut node = Lines::of(text).node(value.get_ref(), 0);
            node.move_to(at);
            Ok(node)
        }
        // A text that begins so means TOML: a bare word would hide the mistake.
        Err(error) if text.starts_with(['{', '"', '\'']) => {
            Err(format!("is no TOML value: {}", error.message().replace('\n', " ")))
        }
        Err(_) => match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            Some(inner) if !inner.contains(['[', '{', '"', '\'']) => {
                let items = inner.split(',').filter(|item| !item.trim().is_empty());
                let list = items.map(|item| parse_value(item, at)).collect::<Result<_, _>>()?;
                Ok(Node { at, data: Data::List(list) })
            }
            _ if text.starts_with('[') => Err("is no TOML list: quote its words".to_owned()),
            _ => Ok(Node { at, data: Data::Text(text.to_owned()) }),
        },
    }
}

/// Where the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        let ends = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        // The byte behind each newline begins a line.
        Lines(std::iter::once(0).chain(ends.map(|(i, _)| i + 1)).collect())
    }

    /// The number of the line, from 1, that the byte is on.
    fn number(&self, byte: usize) -> u32 {
        // The first line begins at byte 0, so the count of beginnings is the line's number.
        self.0.partition_point(|&start| start <= byte) as u32
    }

    fn table(&self, table: &DeTable<'_>) -> Table {
        let entries = table.iter().map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            at: At::Line(self.number(key.span().start)),
            value: self.node(value.get_ref(), value.span().start),
        });
        Table { entries: entries.collect() }
    }

    fn node(&self, value: &DeValue<'_>, start: usize) -> Node {
        let data = match value {
            DeValue::Boolean(flag) => Data::Flag(*flag),
            // 128 bits, so that any u64 and its negative fit.
            DeValue::Integer(n) => match i128::from_str_radix(n.as_str(), n.radix()) {
                Ok(n) => Data::Whole(n),
                Err(_) => Data::Number(n.as_str().parse().unwrap_or(f64::INFINITY)),
            },
            DeValue::Float(x) => Data::Number(x.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::String(text) => Data::Text(text.to_string()),
            DeValue::Datetime(date) => Data::Text(date.to_string()),
            DeValue::Array(list) => {
                let nodes = list.iter().map(|item| self.node(item.get_ref(), item.span().start));
                Data::List(nodes.collect())
            }
            DeValue::Table(table) => Data::Table(self.table(table)),
        };
        Node { at: At::Line(self.number(start)), data }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_values_and_headers_know_their_lines() {
        let text = "title = 'x'\n\n[a]\nlist = [\n  1,\n  'b',\n]\n[[t]]\n[[t]]\nk = 0x1F\n";
        let root = parse(text).unwrap();
        let list = root.get("a").unwrap().as_table().unwrap().get("list").unwrap();
        assert_eq!((root.get("a").unwrap().at, list.at), (At::Line(3), At::Line(4)));
        assert_eq!(list.as_list().unwrap()[1].at, At::Line(6));
        let second = &root.get("t").unwrap().as_list().unwrap()[1];
        assert_eq!(second.at, At::Line(9));
        assert_eq!(second.as_table().unwrap().get("k").unwrap().to_string(), "31");
    }

    #[test]
    fn what_is_no_toml_names_its_line() {
        assert_eq!(parse("a = 1\n[b\n").unwrap_err().0, 2);
        assert_eq!(parse("a = 1\na = 2").unwrap_err(), (2, "duplicate key".to_owned()));
    }

    #[test]
    fn a_value_that_stands_alone_may_be_a_bare_word() {
        for (text, json) in [
            ("30pkt", "\"30pkt\""),
            ("0.5", "0.5"),
            ("true", "true"),
            ("ecn*", "\"ecn*\""),
            ("0-7", "\"0-7\""),
            ("[0.1, 0.5]", "[0.1,0.5]"),
            ("[mq-ecn, 3,]", "[\"mq-ecn\",3]"),
            ("{name = 'x'}", "{\"name\":\"x\"}"),
        ] {
            let node = parse_value(text, At::Override(2)).unwrap();
            assert_eq!(node.to_json().to_string(), json);
            assert_eq!(node.at, At::Override(2));
        }
        assert!(parse_value("[a, [b]]", At::Unwritten).is_err());
        assert!(parse_value("{name = x}", At::Unwritten).is_err());
    }
}
