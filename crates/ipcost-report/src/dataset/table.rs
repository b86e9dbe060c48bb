//! A Parquet file that grows row by row.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};

use super::Run;

/// Rows that are written together, a row group: enough to compress well, few enough to hold.
const ROWS: usize = 1 << 17;
/// The definition levels of optional columns.
const ABSENT: i16 = 0;
const PRESENT: i16 = 1;

type Result<T> = std::result::Result<T, ParquetError>;

/// What stands in a column, and how it is taken from a record.
pub enum Take<R> {
    Text(fn(&Run<'_>, &R) -> Option<ByteArray>),
    Integer(fn(&Run<'_>, &R) -> Option<i64>),
    Number(fn(&Run<'_>, &R) -> Option<f64>),
    Flag(fn(&Run<'_>, &R) -> Option<bool>),
    /// Microseconds since 1970, UTC.
    Time(fn(&Run<'_>, &R) -> Option<i64>),
}

/// A column of records.
pub struct Column<R> {
    pub name: &'static str,
    pub take: Take<R>,
    /// Whether every row has a value.
    pub required: bool,
}

/// The names and types of columns, for people.
pub fn names<R>(columns: &[Column<R>]) -> Vec<(&'static str, &'static str)> {
    let kind = |column: &Column<R>| match (&column.take, column.required) {
        (Take::Text(_), true) => "text",
        (Take::Text(_), false) => "text, optional",
        (Take::Integer(_), true) => "integer",
        (Take::Integer(_), false) => "integer, optional",
        (Take::Number(_), true) => "number",
        (Take::Number(_), false) => "number, optional",
        (Take::Flag(_), true) => "boolean",
        (Take::Flag(_), false) => "boolean, optional",
        (Take::Time(_), true) => "time",
        (Take::Time(_), false) => "time, optional",
    };
    columns.iter().map(|column| (column.name, kind(column))).collect()
}

/// The values of a column that are not yet written.
enum Values {
    Texts(Vec<ByteArray>),
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
    Flags(Vec<bool>),
}

struct Buffer {
    values: Values,
    /// Of an optional column, for each row.
    levels: Option<Vec<i16>>,
}

impl Buffer {
    fn of<R>(column: &Column<R>) -> Self {
        let values = match column.take {
            Take::Text(_) => Values::Texts(Vec::new()),
            Take::Integer(_) | Take::Time(_) => Values::Integers(Vec::new()),
            Take::Number(_) => Values::Numbers(Vec::new()),
            Take::Flag(_) => Values::Flags(Vec::new()),
        };
        Self { values, levels: (!column.required).then(Vec::new) }
    }

    fn push<R>(&mut self, column: &Column<R>, run: &Run<'_>, record: &R) {
        let levels = &mut self.levels;
        match (&mut self.values, &column.take) {
            (Values::Texts(values), Take::Text(take)) => put(values, levels, take(run, record)),
            (Values::Integers(values), Take::Integer(take) | Take::Time(take)) => {
                put(values, levels, take(run, record));
            }
            (Values::Numbers(values), Take::Number(take)) => put(values, levels, take(run, record)),
            (Values::Flags(values), Take::Flag(take)) => put(values, levels, take(run, record)),
            // The buffer was made for this column.
            _ => {}
        }
    }

    /// Writes the values, and keeps the room for the next.
    fn write(&mut self, mut to: SerializedColumnWriter<'_>) -> Result<()> {
        let levels = self.levels.as_deref();
        match &mut self.values {
            Values::Texts(values) => write::<ByteArrayType>(values, levels, &mut to)?,
            Values::Integers(values) => write::<Int64Type>(values, levels, &mut to)?,
            Values::Numbers(values) => write::<DoubleType>(values, levels, &mut to)?,
            Values::Flags(values) => write::<BoolType>(values, levels, &mut to)?,
        }
        if let Some(levels) = &mut self.levels {
            levels.clear();
        }
        to.close()
    }
}

/// Adds a value, or that there is none; a column without levels gets the empty value then.
fn put<T: Default>(values: &mut Vec<T>, levels: &mut Option<Vec<i16>>, value: Option<T>) {
    match levels {
        None => values.push(value.unwrap_or_default()),
        Some(levels) => {
            levels.push(if value.is_some() { PRESENT } else { ABSENT });
            values.extend(value);
        }
    }
}

fn write<T: DataType>(
    values: &mut Vec<T::T>,
    levels: Option<&[i16]>,
    to: &mut SerializedColumnWriter<'_>,
) -> Result<()> {
    to.typed::<T>().write_batch(values, levels, None)?;
    values.clear();
    Ok(())
}

/// A file of records.
pub struct Table<R: 'static, W: Write + Send> {
    columns: &'static [Column<R>],
    buffers: Vec<Buffer>,
    rows: usize,
    writer: SerializedFileWriter<W>,
}

impl<R, W: Write + Send> Table<R, W> {
    /// An empty one.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn new(columns: &'static [Column<R>], file: W) -> Result<Self> {
        let fields = columns.iter().map(field).collect::<Result<_>>()?;
        let schema = Type::group_type_builder("ipcost").with_fields(fields).build()?;
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties(columns)))?;
        Ok(Self { columns, buffers: columns.iter().map(Buffer::of).collect(), rows: 0, writer })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn push(&mut self, run: &Run<'_>, record: &R) -> Result<()> {
        for (buffer, column) in self.buffers.iter_mut().zip(self.columns) {
            buffer.push(column, run, record);
        }
        self.rows += 1;
        if self.rows == ROWS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        for buffer in &mut self.buffers {
            let missing = || ParquetError::General("fewer columns than the schema has".to_owned());
            buffer.write(group.next_column()?.ok_or_else(missing)?)?;
        }
        self.rows = 0;
        group.close().map(drop)
    }

    /// Writes what is left, and the file's end.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self) -> Result<()> {
        if self.rows > 0 {
            self.flush()?;
        }
        self.writer.close().map(drop)
    }
}

fn field<R>(column: &Column<R>) -> Result<Arc<Type>> {
    let (physical, logical) = match column.take {
        Take::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Take::Integer(_) => (Physical::INT64, None),
        Take::Number(_) => (Physical::DOUBLE, None),
        Take::Flag(_) => (Physical::BOOLEAN, None),
        Take::Time(_) => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
    };
    let repetition = if column.required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
    let field = Type::primitive_type_builder(column.name, physical);
    field.with_repetition(repetition).with_logical_type(logical).build().map(Arc::new)
}

/// Texts repeat, so they are kept once; integers lie close to their neighbours.
fn properties<R>(columns: &[Column<R>]) -> WriterProperties {
    let all = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk);
    let each = columns.iter().fold(all, |properties, column| {
        let path = ColumnPath::from(column.name);
        match column.take {
            Take::Text(_) => properties.set_column_dictionary_enabled(path, true),
            Take::Integer(_) | Take::Time(_) => {
                properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
            }
            Take::Number(_) | Take::Flag(_) => properties,
        }
    });
    each.build()
}
