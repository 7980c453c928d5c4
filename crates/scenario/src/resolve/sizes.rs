//! Flow sizes: a built-in table's name, one size, or a table of points or a file.

use crate::mistake::{Mistake, list_of, near};
use crate::section::Section;
use crate::tree::{Data, Node};
use std::path::PathBuf;
use switchbed_spec::param::{FRACTION, SIZES_TABLE};
use switchbed_spec::{ParamKind, Sizes, sizes};
use switchbed_units::Bytes;
use switchbed_units::quantity;

/// The distribution that is written there.
pub(crate) fn read(section: &Section<'_>, name: &str, node: &Node) -> Result<Sizes, Mistake> {
    match &node.data {
        Data::Text(text) => named(text).map_err(|why| section.wrong(name, node, &why)),
        Data::Table(_) => from_table(section, name, node),
        _ => Err(section.wrong(name, node, "sizes are a name, a size or a table")),
    }
}

/// A built-in table, or the one size that the text says.
fn named(text: &str) -> Result<Sizes, String> {
    if let Some(sizes) = sizes::named(text) {
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
    let names = || sizes::BUILT_IN.iter().map(|table| table.name);
    Err(match near(text, names()) {
        Some(guess) => format!("there is no such table; did you mean \"{guess}\"?"),
        None => format!(
            "there is no such table; there are {}; your own is {{ file = \"sizes.txt\" }}",
            list_of(names())
        ),
    })
}

fn from_table(section: &Section<'_>, name: &str, node: &Node) -> Result<Sizes, Mistake> {
    let path = section.key(name);
    let table = Section::open(section.origin, &path, SIZES_TABLE, Some(node), None)?;
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
    sizes::file::read(&path, sizes::PAYLOAD).map_err(|error| Mistake {
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

/// The file that the key names, found from the scenario's folder.
pub(crate) fn found(section: &Section<'_>, key: &str, node: &Node) -> Result<PathBuf, Mistake> {
    let Some(name) = node.as_text() else {
        return Err(section.wrong(key, node, "it must be a text in quotes"));
    };
    let path = section.origin.folder.join(name);
    match path.is_file() {
        true => Ok(path),
        false => Err(section.wrong(key, node, &format!("there is no file {}", path.display()))),
    }
}
