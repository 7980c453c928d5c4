//! Tables as columns, each with its name, unit and meaning: what is handed to Python and
//! written to files.

use std::collections::BTreeMap;

/// A column's values, one a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers.
    U64(Vec<u64>),
    /// Small whole numbers.
    U32(Vec<u32>),
    /// Doubles; NaN stands for a value that does not exist and is handed on as null.
    F64(Vec<f64>),
    /// Yes or no.
    Bool(Vec<bool>),
    /// Texts.
    Text(Vec<String>),
    /// Texts of which there are few and that many rows share.
    Names(Names),
}

/// A column of names: each once, and which of them a row has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    /// The names that occur.
    pub names: Vec<String>,
    /// Each row's place among them.
    pub rows: Vec<u32>,
    places: BTreeMap<String, u32>,
}

impl Names {
    /// Without rows, with space for so many.
    pub fn with_capacity(rows: usize) -> Names {
        Names { rows: Vec::with_capacity(rows), ..Names::default() }
    }

    /// Rows of names that are known, each by its place; all of these may occur.
    pub fn with_rows(names: &[&str], rows: Vec<u32>) -> Names {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let places = names.iter().cloned().zip(0..).collect();
        Names { names, rows, places }
    }

    /// One more row.
    pub fn push(&mut self, name: &str) {
        let place = match self.places.get(name) {
            Some(&place) => place,
            None => {
                let place = self.names.len() as u32;
                self.names.push(name.to_owned());
                self.places.insert(name.to_owned(), place);
                place
            }
        };
        self.rows.push(place);
    }
}

impl<'a> FromIterator<&'a str> for Names {
    fn from_iter<T: IntoIterator<Item = &'a str>>(rows: T) -> Self {
        let mut names = Names::default();
        rows.into_iter().for_each(|name| names.push(name));
        names
    }
}

impl Values {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Values::U64(v) => v.len(),
            Values::U32(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::Bool(v) => v.len(),
            Values::Text(v) => v.len(),
            Values::Names(v) => v.rows.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name of the column; it ends with the unit where there is one.
    pub name: &'static str,
    /// Unit of the values; empty for counts and names.
    pub unit: &'static str,
    /// Meaning of the values.
    pub meaning: &'static str,
    /// The values.
    pub values: Values,
}

/// A table: columns of the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns in order.
    pub columns: Vec<Column>,
}

impl Table {
    /// A table from (name, unit, meaning, values).
    pub fn new(
        columns: impl IntoIterator<Item = (&'static str, &'static str, &'static str, Values)>,
    ) -> Table {
        let column = |(name, unit, meaning, values)| Column { name, unit, meaning, values };
        let columns: Vec<Column> = columns.into_iter().map(column).collect();
        debug_assert!(columns.windows(2).all(|w| w[0].values.len() == w[1].values.len()));
        Table { columns }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }
}
