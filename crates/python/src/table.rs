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
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::HashMap;
use std::sync::Arc;
use switchbed_scenario as scenario;
use switchbed_scenario::{Column, Values};

/// Columns of equal length with name, unit and meaning.
#[pyclass(frozen, module = "switchbed._native")]
pub struct Table(RecordBatch);

impl Table {
    /// Takes the columns over.
    pub fn new(table: scenario::Table) -> PyResult<Self> {
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) =
            table.columns.into_iter().map(arrow).unzip();
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

fn arrow(column: Column) -> (Field, ArrayRef) {
    let array: ArrayRef = match column.values {
        Values::U32(v) => Arc::new(UInt32Array::from(v)),
        Values::U64(v) => Arc::new(UInt64Array::from(v)),
        Values::F64(v) => Arc::new(doubles(v)),
        Values::Bool(v) => Arc::new(BooleanArray::from(v)),
        Values::Text(v) => Arc::new(StringViewArray::from(v)),
    };
    let notes = [("unit", column.unit), ("meaning", column.meaning)];
    let notes: HashMap<_, _> = notes.map(|(k, v)| (k.to_string(), v.to_string())).into();
    let field = Field::new(column.name, array.data_type().clone(), array.is_nullable());
    (field.with_metadata(notes), array)
}

/// NaN is a value that does not exist: null.
fn doubles(values: Vec<f64>) -> Float64Array {
    let exists = |&x: &f64| !x.is_nan();
    let nulls = (!values.iter().all(exists)).then(|| values.iter().map(exists).collect());
    Float64Array::new(values.into(), nulls)
}

fn internal(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
