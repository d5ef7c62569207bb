//! The reader: a trace as blocks of records, in memory that does not grow with it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use memchr::memchr;

use super::block::{Block, BlockLayout, Stand};
use super::csv::{self, CsvColumn};
use super::detect::{self, TraceFormat};
use super::error::{ParseFault, TraceError};
use super::source::{HEAD, TraceSource};
use super::step::RECORD_BYTES_MAX;

/// Reads a trace from its start to its end, once.
///
/// Ask for a [`block`](Self::block), read its records with [`Block::next`], and ask again until there is none.
/// A fault that [`can_skip`](TraceError::can_skip) leaves the reader at the next record.
pub struct TraceReader {
    source: TraceSource,
    format: Option<TraceFormat>,
    extension: Option<String>,
    size: Option<u64>,
    columns: Vec<CsvColumn>,
    spare: Vec<u8>,
    stand: Stand,
    begun: bool,
}

impl TraceReader {
    /// Opens a file, or standard input for `-`. Without a format it is judged by the name and the first bytes.
    pub fn open(path: &Path, format: Option<TraceFormat>) -> Result<Self, TraceError> {
        if path == Path::new("-") {
            return Ok(Self::new(Box::new(std::io::stdin()), format));
        }
        let refused = |error| TraceError::io(0, "cannot open the trace", &error);
        let file = File::open(path).map_err(refused)?;
        let metadata = file.metadata().map_err(refused)?;
        if metadata.is_dir() {
            return Err(refused(std::io::ErrorKind::IsADirectory.into()));
        }
        let mut reader = Self::new(Box::new(file), format);
        reader.size = metadata.is_file().then_some(metadata.len());
        reader.extension = path
            .extension()
            .map(|name| name.to_string_lossy().into_owned());
        Ok(reader)
    }

    /// Without a format it is judged by the first bytes.
    pub fn new(input: Box<dyn Read>, format: Option<TraceFormat>) -> Self {
        Self {
            source: TraceSource::new(input),
            format,
            extension: None,
            size: None,
            columns: Vec::new(),
            spare: Vec::new(),
            stand: Stand::default(),
            begun: false,
        }
    }

    /// The file's size, if it has one.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Bytes read so far, for a progress bar.
    pub fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    /// The format, once the first block was read.
    pub fn format(&self) -> Option<TraceFormat> {
        self.format
    }

    /// The next stretch of the trace; `None` at its end. An error ends the reading.
    ///
    /// A block may hold no record at all.
    pub fn block(&mut self) -> Result<Option<Block<'_>>, TraceError> {
        if self.stand.finished {
            return Ok(None);
        }
        if let Err(error) = self.advance() {
            self.stand.finished = true;
            return Err(error);
        }
        let format = self.format.unwrap_or(TraceFormat::JsonLines);
        let window = self.source.window();
        if window.at_end && window.text.is_empty() {
            // An array that was never closed has one more fault to report.
            self.stand.finished = format != TraceFormat::JsonArray
                || self.stand.place == super::array::ArrayPosition::Closed;
            if self.stand.finished {
                return Ok(None);
            }
        }
        let shape = match format {
            TraceFormat::JsonLines => BlockLayout::JsonLines,
            TraceFormat::JsonArray => BlockLayout::JsonArray,
            TraceFormat::Csv => BlockLayout::Csv {
                columns: &self.columns,
                quotes: memchr(b'"', window.text.as_bytes()).is_some(),
            },
            TraceFormat::Clf => BlockLayout::Clf,
        };
        Ok(Some(Block::new(
            window,
            shape,
            &mut self.spare,
            &mut self.stand,
        )))
    }

    /// Brings new text into the window.
    fn advance(&mut self) -> Result<(), TraceError> {
        if !self.begun {
            self.begun = true;
            return self.begin();
        }
        let taken = self.stand.leave(self.source.bytes());
        self.source.consume(taken);
        self.fill()
    }

    /// Reads the first bytes, determines the format, and skips what is before the first record.
    fn begin(&mut self) -> Result<(), TraceError> {
        const MARK: &[u8] = "\u{feff}".as_bytes();
        while self.source.head().len() < HEAD && !self.source.at_end() {
            self.fill()?;
        }
        detect::refuse_binary(self.source.head())?;
        let bytes = self.source.bytes();
        self.source.consume(if bytes.starts_with(MARK) {
            MARK.len()
        } else {
            0
        });
        while self.format.is_none() {
            let (bytes, ended) = (self.source.bytes(), self.source.at_end());
            let line = bytes.trim_ascii_start();
            if memchr(b'\n', line).is_some() || ended || bytes.len() > RECORD_BYTES_MAX {
                self.format = Some(TraceFormat::detect(self.extension.as_deref(), bytes));
            } else {
                self.fill()?;
            }
        }
        if self.format == Some(TraceFormat::Csv) {
            self.header()
        } else {
            Ok(())
        }
    }

    fn header(&mut self) -> Result<(), TraceError> {
        loop {
            let window = self.source.window();
            let bytes = window.text.as_bytes();
            match csv::header(window.text, window.at_end) {
                Some(Ok((columns, took))) => {
                    if let Some(at) = window.bad.within(0, took.bytes) {
                        let fault = ParseFault::not_text(at).fatal();
                        return Err(self.stand.tell(bytes, fault));
                    }
                    self.columns = columns;
                    self.stand.lines = took.lines;
                    self.source.consume(took.bytes);
                    return Ok(());
                }
                Some(Err(fault)) => return Err(self.stand.tell(bytes, fault)),
                None if bytes.len() > RECORD_BYTES_MAX => {
                    return Err(self.stand.tell(bytes, ParseFault::too_long().fatal()));
                }
                None => self.fill()?,
            }
        }
    }

    fn fill(&mut self) -> Result<(), TraceError> {
        let line = self.stand.lines + 1;
        self.source
            .fill()
            .map_err(|error| TraceError::io(line, "cannot read the trace", &error))
    }
}
