//! A table of results as Arrow hands it over (the PyCapsule interface): Polars and
//! everything else that speaks Arrow take its columns without a copy. A column's unit
//! and meaning are its field's metadata.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchIterator, StringViewArray,
    UInt32Array, UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use std::collections::HashMap;
use std::sync::Arc;
use switchbed_sim::table::{Column, Names, Values};

/// A table that speaks Arrow (`__arrow_c_stream__`): columns of equal length with name, unit and
/// meaning.
#[pyclass(frozen, module = "switchbed._native")]
pub struct Table(RecordBatch);

impl Table {
    /// Takes over the columns of a simulator table.
    pub fn new(table: switchbed_sim::table::Table) -> PyResult<Self> {
        let column = |c: Column| arrow(c.name, c.unit, c.meaning, c.values);
        Self::of(table.columns.into_iter().map(column))
    }

    fn of(columns: impl Iterator<Item = (Field, ArrayRef)>) -> PyResult<Self> {
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.unzip();
        let schema = Arc::new(Schema::new(fields));
        RecordBatch::try_new(schema, arrays).map(Table).map_err(internal)
    }
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }
    /// (name, unit, meaning) of every column.
    #[getter]
    fn columns(&self) -> Vec<(String, String, String)> {
        let note = |field: &Field, key| field.metadata().get(key).cloned().unwrap_or_default();
        let schema = self.0.schema();
        let fields = schema.fields().iter();
        fields.map(|f| (f.name().clone(), note(f, "unit"), note(f, "meaning"))).collect()
    }
    /// Pickled, it crosses from a process to another.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Vec<Sent>,))> {
        let (py, table) = (slf.py(), slf.get());
        let names = table.columns().into_iter();
        let cells = table.0.columns().iter().map(|array| cells(py, array));
        let sent = names.zip(cells).map(|(name, cells)| cells.map(|(kind, c)| (name, kind, c)));
        let restore = py.get_type::<Table>().getattr("_restore")?;
        Ok((restore, (sent.collect::<PyResult<_>>()?,)))
    }
    #[staticmethod]
    fn _restore(py: Python<'_>, columns: Vec<Sent>) -> PyResult<Self> {
        let column = |((name, unit, meaning), kind, cells): Sent| -> PyResult<_> {
            Ok(arrow(&name, &unit, &meaning, values(&kind, cells.bind(py))?))
        };
        Self::of(columns.into_iter().map(column).collect::<PyResult<Vec<_>>>()?.into_iter())
    }
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref()).map_err(internal)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows a producer to ignore the request.
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn arrow(name: &str, unit: &str, meaning: &str, values: Values) -> (Field, ArrayRef) {
    let array: ArrayRef = match values {
        Values::U32(v) => Arc::new(UInt32Array::from(v)),
        Values::U64(v) => Arc::new(UInt64Array::from(v)),
        Values::F64(v) => Arc::new(doubles(v)),
        Values::Bool(v) => Arc::new(BooleanArray::from(v)),
        Values::Text(v) => Arc::new(StringViewArray::from(v)),
        Values::Names(v) => Arc::new(names(&v)),
    };
    let notes = [("unit", unit), ("meaning", meaning)];
    let notes: HashMap<_, _> = notes.map(|(k, v)| (k.to_string(), v.to_string())).into();
    // Columns without a null are declared so: readers need no bitmap.
    let field = Field::new(name, array.data_type().clone(), array.is_nullable());
    (field.with_metadata(notes), array)
}

/// A column in another process: (name, unit, meaning), type, cells.
type Sent = ((String, String, String), String, Py<PyAny>);

/// A column's type and its cells, numbers as little-endian bytes.
fn cells(py: Python<'_>, array: &ArrayRef) -> PyResult<(String, Py<PyAny>)> {
    fn bytes<T: Copy, const N: usize>(of: &[T], to: impl Fn(T) -> [u8; N]) -> Vec<u8> {
        of.iter().flat_map(|&x| to(x)).collect()
    }
    let any = array.as_any();
    let (kind, bytes) = if let Some(a) = any.downcast_ref::<UInt32Array>() {
        ("u32", bytes(a.values(), u32::to_le_bytes))
    } else if let Some(a) = any.downcast_ref::<UInt64Array>() {
        ("u64", bytes(a.values(), u64::to_le_bytes))
    } else if let Some(a) = any.downcast_ref::<Float64Array>() {
        // A null is not-a-number on the way, and becomes null again.
        let or_nan = a.iter().map(|x| x.unwrap_or(f64::NAN)).collect::<Vec<_>>();
        ("f64", bytes(&or_nan, f64::to_le_bytes))
    } else if let Some(a) = any.downcast_ref::<BooleanArray>() {
        ("bool", a.values().iter().map(u8::from).collect())
    } else if let Some(a) = any.downcast_ref::<StringViewArray>() {
        let texts: Vec<&str> = a.iter().map(Option::unwrap_or_default).collect();
        return Ok(("text".to_owned(), texts.into_pyobject(py)?.unbind()));
    } else {
        let why = format!("{} is no type of a column's", array.data_type());
        return Err(PyTypeError::new_err(why));
    };
    Ok((kind.to_owned(), PyBytes::new(py, &bytes).into_any().unbind()))
}

/// A column's values from its type and cells.
fn values(kind: &str, cells: &Bound<'_, PyAny>) -> PyResult<Values> {
    fn numbers<T, const N: usize>(bytes: &[u8], of: impl Fn([u8; N]) -> T) -> Vec<T> {
        // Whole chunks only: bytes were written by `cells`.
        bytes.as_chunks().0.iter().map(|chunk| of(*chunk)).collect()
    }
    if kind == "text" {
        return Ok(Values::Text(cells.extract()?));
    }
    let bytes = cells.cast::<PyBytes>()?.as_bytes();
    Ok(match kind {
        "u32" => Values::U32(numbers(bytes, u32::from_le_bytes)),
        "u64" => Values::U64(numbers(bytes, u64::from_le_bytes)),
        "f64" => Values::F64(numbers(bytes, f64::from_le_bytes)),
        _ => Values::Bool(bytes.iter().map(|&byte| byte != 0).collect()),
    })
}

/// Texts that share what they have in common.
fn names(names: &Names) -> StringViewArray {
    let each = StringViewArray::from_iter_values(&names.names);
    // Each name is stored once; rows are views into it.
    let views: Vec<u128> = names.rows.iter().map(|&row| each.views()[row as usize]).collect();
    StringViewArray::new(views.into(), each.data_buffers().to_vec(), None)
}

/// NaN is a value that does not exist: null.
fn doubles(values: Vec<f64>) -> Float64Array {
    let exists = |&x: &f64| !x.is_nan();
    // No bitmap where all are there.
    let nulls = (!values.iter().all(exists)).then(|| values.iter().map(exists).collect());
    Float64Array::new(values.into(), nulls)
}

fn internal(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
