//! Flow sizes: a built-in table's name, one size, or a table of points or a file.

use super::{BUILT_IN, PAYLOAD, Sizes, file};
use crate::file::found;
use switchbed_config::mistake::{Mistake, list_of};
use switchbed_config::param::{FRACTION, Field, Named, Param, ParamKind, Value};
use switchbed_config::section::Section;
use switchbed_config::similar::similar;
use switchbed_config::tree::{Data, Node};
use switchbed_units::Bytes;
use switchbed_units::quantity;

/// A flow-size distribution. The reader hands over its points and its mean.
pub const SIZES: ParamKind = ParamKind::Named(&Named {
    name: "sizes",
    form: ParamKind::Either(&[ParamKind::Text, ParamKind::Table(TABLE)]),
    example: "\"web-search\"",
    read: one,
});
/// One, or several in a list. The reader hands over a list.
pub const SIZES_BY_SERVICE: ParamKind = ParamKind::Named(&Named {
    name: "sizes by service",
    form: ParamKind::Either(&[SIZES, ParamKind::List(&SIZES)]),
    example: "\"web-search\"",
    read: several,
});
/// The keys of a flow-size distribution that is written as a table.
const TABLE: &[Param] = &[
    Param::optional("name", ParamKind::Text, "A built-in table, or what to call these points."),
    Param::optional(
        "file",
        ParamKind::Text,
        "A table from a CSV file, found from the scenario's folder.",
    ),
    Param::optional(
        "points",
        ParamKind::List(&ParamKind::List(&ParamKind::Either(&[ParamKind::Size, FRACTION]))),
        "Points of size and cumulative probability, [[\"10KB\", 0.5], [\"1MB\", 1]]; linear \
         between them.",
    ),
    Param::optional(
        "mean",
        ParamKind::Size,
        "The mean that turns a load into an arrival rate. Default: the table's own.",
    ),
    Param::optional(
        "round_up_to",
        ParamKind::Size,
        "Sizes are rounded up to whole multiples of this. Default: the table's own, or whole \
         bytes.",
    ),
];

fn one(section: &Section<'_>, name: &str, node: &Node) -> Result<Option<Value>, Mistake> {
    Ok(read(section, name, node)?.to_value())
}

fn several(section: &Section<'_>, name: &str, node: &Node) -> Result<Option<Value>, Mistake> {
    let item = |(i, node): (usize, &Node)| section.value(&SIZES, node, &format!("{name}.{i}"));
    let items = match &node.data {
        Data::List(items) => items.iter().enumerate().map(item).collect::<Result<_, _>>()?,
        _ => vec![section.value(&SIZES, node, name)?],
    };
    Ok(Some(Value::List(items)))
}

/// The distribution that is written there.
fn read(section: &Section<'_>, name: &str, node: &Node) -> Result<Sizes, Mistake> {
    match &node.data {
        Data::Text(text) => named(text).map_err(|why| section.wrong(name, node, &why)),
        Data::Table(_) => from_table(section, name, node),
        _ => Err(section.wrong(name, node, "sizes are a name, a size or a table")),
    }
}

/// A built-in table, or the one size that the text says.
fn named(text: &str) -> Result<Sizes, String> {
    if let Some(sizes) = super::named(text) {
        return Ok(sizes);
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        let size = quantity::size(text, None)?;
        return match size {
            Bytes::ZERO => Err("a flow has at least 1 byte".to_owned()),
            _ => Ok(Sizes {
                name: text.to_owned(),
                points: vec![(size, 1.0)],
                mean_bytes: size.as_f64(),
                round_up_to: None,
            }),
        };
    }
    let names = || BUILT_IN.iter().map(|table| table.name);
    Err(match similar(text, names()) {
        Some(guess) => format!("there is no such table; did you mean \"{guess}\"?"),
        None => format!(
            "there is no such table; there are {}; your own is {{ file = \"sizes.txt\" }}",
            list_of(names())
        ),
    })
}

fn from_table(section: &Section<'_>, name: &str, node: &Node) -> Result<Sizes, Mistake> {
    let path = section.key(name);
    let table = Section::open(section.origin, &path, TABLE, Some(node), None)?;
    let mut sizes = if let Some(file) = table.given("file") {
        if table.given("points").is_some() {
            return Err(table.refuse("points", "write either points or a file"));
        }
        from_file(&table, file)?
    } else if table.given("points").is_some() {
        points(&table)?
    } else {
        let name: Option<String> = table.maybe("name")?;
        let name = name.ok_or_else(|| table.missing_like("name", "\"web-search\""))?;
        named(&name).map_err(|why| table.refuse("name", why))?
    };
    if let Some(unit) = table.maybe::<Bytes>("round_up_to")? {
        if unit == Bytes::ZERO {
            return Err(table.refuse("round_up_to", "it must be at least 1 byte"));
        }
        // Drawn sizes grow by the rounding, and so the mean.
        if sizes.round_up_to != Some(unit) {
            sizes.round_up_to = Some(unit);
            sizes.mean_bytes = sizes.exact_mean();
        }
    }
    if let Some(mean) = table.given("mean") {
        let wrong = |why: &str| table.wrong("mean", mean, why);
        let text = mean.as_text().unwrap_or("");
        sizes.mean_bytes = quantity::mean_size(text).map_err(|why| wrong(&why))?;
        if sizes.mean_bytes < 1.0 {
            return Err(wrong("a flow has at least 1 byte"));
        }
    }
    if let Some(name) = table.maybe("name")? {
        sizes.name = name;
    }
    Ok(sizes)
}

fn from_file(table: &Section<'_>, file: &Node) -> Result<Sizes, Mistake> {
    let path = found(table, "file", file)?;
    file::read(&path, PAYLOAD).map_err(|error| Mistake {
        file: error.file,
        line: error.line.and_then(|line| line.try_into().ok()),
        key: String::new(),
        message: error.what,
    })
}

fn points(table: &Section<'_>) -> Result<Sizes, Mistake> {
    let node = table.given("points").ok_or_else(|| table.missing("points"))?;
    let mut points: Vec<(Bytes, f64)> = Vec::new();
    for (i, item) in node.as_list().unwrap_or_default().iter().enumerate() {
        let name = format!("points.{i}");
        let Some([size, probability]) = item.as_list() else {
            let why = "a point is a size and a cumulative probability, [\"10KB\", 0.5]";
            return Err(table.wrong(&name, item, why));
        };
        let point = (
            table.read(&ParamKind::Size, size, &format!("{name}.0"))?,
            table.read(&FRACTION, probability, &format!("{name}.1"))?,
        );
        if points.last().is_some_and(|last| point.0 < last.0 || point.1 < last.1) {
            let why = "sizes and probabilities must not fall from point to point";
            return Err(table.wrong(&name, item, why));
        }
        points.push(point);
    }
    match points.last() {
        Some(&(largest, probability)) if probability == 1.0 && largest > Bytes::ZERO => {
            let mut sizes =
                Sizes { name: "points".to_owned(), points, mean_bytes: 0.0, round_up_to: None };
            sizes.mean_bytes = sizes.exact_mean();
            Ok(sizes)
        }
        _ => {
            let why = "the last point must have a probability of 1 and a size over 0";
            Err(table.wrong("points", node, why))
        }
    }
}
