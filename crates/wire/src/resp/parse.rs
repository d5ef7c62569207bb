//! The request parser: bytes of one connection in, commands as slices of them out.
//!
//! It holds no bytes of array requests, only where their arguments are; the connection's buffer
//! stays the caller's. Deliberately not here: what a command means, and nested values, which no
//! client sends in a request.

use std::fmt;
use std::ops::Range;

use super::inline;

/// A request beyond a limit is refused as soon as it is announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandLimits {
    /// Arguments of one command, its name included.
    pub arguments_max: usize,
    /// Bytes of one argument.
    pub bulk_bytes_max: usize,
    /// Bytes of one array command, with all its lengths and line ends.
    pub command_bytes_max: usize,
    /// Bytes of one inline command, without its line end.
    pub inline_bytes_max: usize,
}

impl CommandLimits {
    /// For a connection that may ask for decisions.
    pub const STANDARD: Self = Self {
        arguments_max: 1_024,
        bulk_bytes_max: 65_536,
        command_bytes_max: 131_072,
        inline_bytes_max: 65_536,
    };

    /// For a connection that has yet to authenticate: enough for `HELLO` and `AUTH`.
    pub const BEFORE_AUTH: Self = Self {
        arguments_max: 10,
        bulk_bytes_max: 16_384,
        command_bytes_max: 32_768,
        inline_bytes_max: 16_384,
    };

    /// The most bytes a parser leaves unconsumed while it waits for more.
    pub const fn waiting_bytes_max(&self) -> usize {
        let array = self.command_bytes_max + HEADER_BYTES_MAX;
        let inline = self.inline_bytes_max + 1;
        if array > inline { array } else { inline }
    }
}

impl Default for CommandLimits {
    fn default() -> Self {
        Self::STANDARD
    }
}

/// Outcome of parsing.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum ParseStep<'a> {
    /// No whole command yet. Parse again with the same bytes and at least one more behind them.
    NeedMore,
    /// An empty line or an empty array, without a reply.
    Skip {
        /// Bytes to drop from the front of the input.
        consumed: usize,
    },
    /// One whole command.
    Command {
        /// Its arguments, the name first; never empty.
        request: Arguments<'a>,
        /// Bytes to drop from the front of the input once the request is handled.
        consumed: usize,
    },
}

/// Why a connection's bytes are not RESP. Framing is lost: answer and close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// The number after `*` is malformed or beyond [`CommandLimits::arguments_max`].
    ArrayLength,
    /// The number after `$` is malformed, negative, or beyond [`CommandLimits::bulk_bytes_max`].
    BulkLength,
    /// An argument does not begin with `$`.
    ExpectedBulk(u8),
    /// An argument does not end in a line end where its length says.
    BulkEnd,
    /// The command as a whole is beyond [`CommandLimits::command_bytes_max`].
    CommandLength,
    /// A line is beyond [`CommandLimits::inline_bytes_max`], or has too many arguments.
    InlineLength,
    /// A quote of an inline command is not closed, or runs into the next argument.
    UnbalancedQuotes,
    /// The line is the start of an HTTP request, most likely sent by a browser that was tricked.
    Http,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ERR Protocol error: ")?;
        match self {
            Self::ArrayLength => out.write_str("invalid multibulk length"),
            Self::BulkLength => out.write_str("invalid bulk length"),
            Self::ExpectedBulk(byte) => {
                write!(out, "expected '$', got '{}'", byte.escape_ascii())
            }
            Self::BulkEnd => out.write_str("expected a line end after bulk"),
            Self::CommandLength => out.write_str("too big command"),
            Self::InlineLength => out.write_str("too big inline request"),
            Self::UnbalancedQuotes => out.write_str("unbalanced quotes in request"),
            Self::Http => out.write_str("this is not an HTTP port"),
        }
    }
}

impl std::error::Error for ProtocolError {}

/// Arguments of one command, as slices of the connection's buffer. Cheap to copy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Arguments<'a> {
    bytes: &'a [u8],
    places: &'a [Range<usize>],
}

impl<'a> Arguments<'a> {
    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The argument at `index`; in a whole command, its name is at zero.
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        self.bytes.get(self.places.get(index)?.clone())
    }

    /// Those from `start` on.
    #[must_use]
    pub fn tail(&self, start: usize) -> Self {
        Self {
            bytes: self.bytes,
            places: self.places.get(start..).unwrap_or_default(),
        }
    }

    /// In order.
    pub fn iter(&self) -> ArgumentsIter<'a> {
        ArgumentsIter { left: *self }
    }
}

impl<'a> IntoIterator for Arguments<'a> {
    type Item = &'a [u8];
    type IntoIter = ArgumentsIter<'a>;

    fn into_iter(self) -> ArgumentsIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Arguments<'a> {
    type Item = &'a [u8];
    type IntoIter = ArgumentsIter<'a>;

    fn into_iter(self) -> ArgumentsIter<'a> {
        self.iter()
    }
}

impl fmt::Debug for Arguments<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.iter().map(|bytes| bytes.escape_ascii().to_string());
        out.debug_list().entries(shown).finish()
    }
}

#[derive(Clone, Debug)]
pub struct ArgumentsIter<'a> {
    left: Arguments<'a>,
}

impl<'a> ArgumentsIter<'a> {
    /// Those still to come.
    pub fn rest(&self) -> Arguments<'a> {
        self.left
    }
}

impl<'a> Iterator for ArgumentsIter<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let first = self.left.get(0)?;
        self.left = self.left.tail(1);
        Some(first)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left.len(), Some(self.left.len()))
    }
}

impl ExactSizeIterator for ArgumentsIter<'_> {}

/// Finds commands in the bytes of one connection.
///
/// Call [`parse`](Self::parse) with everything received and not yet consumed. On [`ParseStep::Command`] and
/// [`ParseStep::Skip`] drop `consumed` bytes from the front and call again, until it returns
/// [`ParseStep::NeedMore`]. Parsed bytes are not parsed again, however slowly they arrive. After an error every
/// further call gives the same error.
#[derive(Debug)]
pub struct Parser {
    limits: CommandLimits,
    /// Where the arguments found so far are, in the input or in `line`.
    arguments: Vec<Range<usize>>,
    /// An inline command without its quotes.
    line: Vec<u8>,
    /// How many bytes of the input are parsed.
    at: usize,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// At the first byte of a command, or in the middle of its first line.
    Start,
    /// At the `$` of an argument.
    Header {
        missing: usize,
    },
    Body {
        missing: usize,
        length: usize,
    },
    Broken(ProtocolError),
}

impl Parser {
    /// A parser for one connection.
    pub fn new(limits: CommandLimits) -> Self {
        Self {
            limits,
            arguments: Vec::new(),
            line: Vec::new(),
            at: 0,
            stage: Stage::Start,
        }
    }

    /// Changes the limits for further commands.
    pub fn set_limits(&mut self, limits: CommandLimits) {
        self.limits = limits;
    }

    /// Frees memory beyond what common commands need, for a connection that becomes idle.
    ///
    /// Between commands a parser otherwise keeps room for the largest it has seen.
    pub fn release(&mut self) {
        if matches!(self.stage, Stage::Start) {
            self.arguments.clear();
        }
        self.arguments.shrink_to(IDLE_ARGUMENTS_MAX);
        self.line = Vec::new();
    }

    /// Looks for one command at the front of `input`.
    pub fn parse<'a>(&'a mut self, input: &'a [u8]) -> Result<ParseStep<'a>, ProtocolError> {
        let found = self.advance(input).inspect_err(|&error| {
            self.stage = Stage::Broken(error);
        })?;
        let Some(found) = found else {
            return Ok(ParseStep::NeedMore);
        };
        let consumed = self.at;
        self.at = 0;
        self.stage = Stage::Start;
        let bytes = match found {
            Found::Nothing => return Ok(ParseStep::Skip { consumed }),
            Found::Array => input,
            Found::Line => &self.line,
        };
        let places = &self.arguments;
        Ok(ParseStep::Command {
            request: Arguments { bytes, places },
            consumed,
        })
    }

    /// Goes on until a command ends or the input does.
    fn advance(&mut self, input: &[u8]) -> Result<Option<Found>, ProtocolError> {
        match self.stage {
            Stage::Start => match input.first() {
                None => Ok(None),
                Some(b'*') => match self.array_header(input)? {
                    None => Ok(None),
                    Some(0) => Ok(Some(Found::Nothing)),
                    Some(missing) => self.array(input, missing, None),
                },
                Some(_) => self.inline(input),
            },
            Stage::Header { missing } => self.array(input, missing, None),
            Stage::Body { missing, length } => self.array(input, missing, Some(length)),
            Stage::Broken(error) => Err(error),
        }
    }

    /// Takes the missing arguments; the length of the first may be known already.
    #[inline]
    fn array(
        &mut self,
        input: &[u8],
        mut missing: usize,
        mut length: Option<usize>,
    ) -> Result<Option<Found>, ProtocolError> {
        while missing > 0 {
            let Some(known) = length
                .take()
                .map_or_else(|| self.bulk_header(input), |length| Ok(Some(length)))?
            else {
                self.stage = Stage::Header { missing };
                return Ok(None);
            };
            if !self.body(input, known)? {
                let length = known;
                self.stage = Stage::Body { missing, length };
                return Ok(None);
            }
            missing -= 1;
        }
        Ok(Some(Found::Array))
    }

    /// Parses `*count`; zero for a negative one.
    #[inline]
    fn array_header(&mut self, input: &[u8]) -> Result<Option<usize>, ProtocolError> {
        let Some((count, end)) = length_line(input, 0).ok_or(ProtocolError::ArrayLength)? else {
            return Ok(None);
        };
        self.at = end;
        self.arguments.clear();
        let count = usize::try_from(count).unwrap_or(0);
        if count > self.limits.arguments_max {
            return Err(ProtocolError::ArrayLength);
        }
        Ok(Some(count))
    }

    /// Parses `$length`.
    #[inline]
    fn bulk_header(&mut self, input: &[u8]) -> Result<Option<usize>, ProtocolError> {
        match input.get(self.at) {
            None => return Ok(None),
            Some(b'$') => {}
            Some(&other) => return Err(ProtocolError::ExpectedBulk(other)),
        }
        let line = length_line(input, self.at).ok_or(ProtocolError::BulkLength)?;
        let Some((length, end)) = line else {
            return Ok(None);
        };
        let length = usize::try_from(length).map_err(|_| ProtocolError::BulkLength)?;
        if length > self.limits.bulk_bytes_max {
            return Err(ProtocolError::BulkLength);
        }
        if end + length + LINE_END.len() > self.limits.command_bytes_max {
            return Err(ProtocolError::CommandLength);
        }
        self.at = end;
        Ok(Some(length))
    }

    /// Takes one argument, if all of it is there.
    #[inline]
    fn body(&mut self, input: &[u8], length: usize) -> Result<bool, ProtocolError> {
        let end = self.at + length;
        match input.get(end..) {
            Some([b'\r', b'\n', ..]) => {}
            None | Some([] | [b'\r']) => return Ok(false),
            Some(_) => return Err(ProtocolError::BulkEnd),
        }
        self.arguments.push(self.at..end);
        self.at = end + LINE_END.len();
        Ok(true)
    }

    /// Takes one line as a command.
    fn inline(&mut self, input: &[u8]) -> Result<Option<Found>, ProtocolError> {
        let window = &input[..input.len().min(self.limits.inline_bytes_max + 1)];
        let unseen = &window[self.at.min(window.len())..];
        let Some(end) = unseen.iter().position(|&byte| byte == b'\n') else {
            if window.len() > self.limits.inline_bytes_max {
                return Err(ProtocolError::InlineLength);
            }
            self.at = window.len();
            return Ok(None);
        };
        let end = self.at + end;
        let line = input[..end].strip_suffix(b"\r").unwrap_or(&input[..end]);
        let arguments_max = self.limits.arguments_max;
        self.at = end + 1;
        self.arguments.clear();
        self.line.clear();
        inline::split(line, arguments_max, &mut self.line, &mut self.arguments)?;
        let Some(name) = self.arguments.first() else {
            return Ok(Some(Found::Nothing));
        };
        if inline::is_http(&self.line[name.clone()]) {
            return Err(ProtocolError::Http);
        }
        Ok(Some(Found::Line))
    }
}

impl Default for Parser {
    fn default() -> Self {
        Self::new(CommandLimits::default())
    }
}

/// Where the arguments of a whole command are.
enum Found {
    Nothing,
    Array,
    Line,
}

/// Reads the decimal number behind the type byte at `at`, and where the line after it begins.
///
/// The outer `None` is a malformed line, the inner one an incomplete line.
#[allow(clippy::option_option)]
#[inline]
fn length_line(input: &[u8], at: usize) -> Option<Option<(i64, usize)>> {
    // Most lengths have one digit or two.
    match input.get(at + 1..) {
        Some([ones @ b'0'..=b'9', b'\r', b'\n', ..]) => {
            return Some(Some((i64::from(ones - b'0'), at + 4)));
        }
        Some([tens @ b'0'..=b'9', ones @ b'0'..=b'9', b'\r', b'\n', ..]) => {
            let value = i64::from(tens - b'0') * 10 + i64::from(ones - b'0');
            return Some(Some((value, at + 5)));
        }
        _ => {}
    }
    any_length_line(input, at)
}

#[allow(clippy::option_option)]
fn any_length_line(input: &[u8], at: usize) -> Option<Option<(i64, usize)>> {
    let mut here = at + 1;
    let negative = input.get(here) == Some(&b'-');
    here += usize::from(negative);
    let first = here;
    let mut value = 0_i64;
    loop {
        match input.get(here) {
            None => return Some(None),
            Some(byte @ b'0'..=b'9') if here - first < DIGITS_MAX => {
                value = value * 10 + i64::from(byte - b'0');
            }
            Some(b'\r') if here > first => break,
            Some(_) => return None,
        }
        here += 1;
    }
    match input.get(here + 1) {
        None => Some(None),
        Some(b'\n') => Some(Some((if negative { -value } else { value }, here + 2))),
        Some(_) => None,
    }
}

/// Arguments for which an idle parser keeps room.
const IDLE_ARGUMENTS_MAX: usize = 8;

const LINE_END: &[u8] = b"\r\n";

/// Digits of a length; more than any limit needs.
const DIGITS_MAX: usize = 10;

/// A type byte, a sign, the digits and the line end.
const HEADER_BYTES_MAX: usize = 1 + 1 + DIGITS_MAX + LINE_END.len();

#[cfg(test)]
mod tests {
    use super::*;

    /// All commands in `input`, and the error that ended it.
    #[track_caller]
    fn commands(input: &[u8]) -> (Vec<Vec<Vec<u8>>>, Option<ProtocolError>) {
        let mut parser = Parser::default();
        let (mut found, mut rest) = (Vec::new(), input);
        loop {
            let consumed = match parser.parse(rest) {
                Ok(ParseStep::NeedMore) => return (found, None),
                Ok(ParseStep::Skip { consumed }) => consumed,
                Ok(ParseStep::Command { request, consumed }) => {
                    found.push(request.iter().map(<[u8]>::to_vec).collect());
                    consumed
                }
                Err(error) => return (found, Some(error)),
            };
            rest = &rest[consumed..];
        }
    }

    #[track_caller]
    fn refused(input: &[u8]) -> ProtocolError {
        commands(input).1.unwrap()
    }

    #[test]
    fn reads_pipelined_arrays_and_lines() {
        let input = b"*2\r\n$4\r\nECHO\r\n$2\r\n\r\n\r\nping\r\n\r\n*0\r\n*-1\r\nECHO \"a b\"\n*1\r\n$4\r\nPI";
        let (found, error) = commands(input);
        assert_eq!(error, None);
        let expected: [&[&[u8]]; 3] = [&[b"ECHO", b"\r\n"], &[b"ping"], &[b"ECHO", b"a b"]];
        assert_eq!(found, expected);
    }

    #[test]
    fn every_malformed_frame_has_its_error() {
        let table: [(&[u8], ProtocolError); 19] = [
            (b"*\r\n", ProtocolError::ArrayLength),
            (b"*x\r\n", ProtocolError::ArrayLength),
            (b"*1\n", ProtocolError::ArrayLength),
            (b"*1\rx", ProtocolError::ArrayLength),
            (b"*+1\r\n", ProtocolError::ArrayLength),
            (b"*1025\r\n", ProtocolError::ArrayLength),
            (b"*12345678901", ProtocolError::ArrayLength),
            (b"*1\r\n$\r\n", ProtocolError::BulkLength),
            (b"*1\r\n$-1\r\n", ProtocolError::BulkLength),
            (b"*1\r\n$65537\r\n", ProtocolError::BulkLength),
            (b"*1\r\n$1x", ProtocolError::BulkLength),
            (b"*1\r\n:1\r\n", ProtocolError::ExpectedBulk(b':')),
            (b"*1\r\n*1\r\n", ProtocolError::ExpectedBulk(b'*')),
            (b"*1\r\n$1\r\nabc", ProtocolError::BulkEnd),
            (b"*1\r\n$1\r\na\rx", ProtocolError::BulkEnd),
            (b"echo \"a\n", ProtocolError::UnbalancedQuotes),
            (b"echo 'a'b\n", ProtocolError::UnbalancedQuotes),
            (b"POST /v1/check HTTP/1.1\r\n", ProtocolError::Http),
            (b"Host: example\r\n", ProtocolError::Http),
        ];
        for (input, error) in table {
            assert_eq!(refused(input), error, "{}", input.escape_ascii());
        }
    }

    #[test]
    fn refuses_a_long_command_when_its_length_is_announced() {
        let half = CommandLimits::STANDARD.bulk_bytes_max;
        let mut input = b"*3\r\n".to_vec();
        for _ in 0..2 {
            input.extend_from_slice(format!("${half}\r\n").as_bytes());
            input.extend(std::iter::repeat_n(b'x', half));
            input.extend_from_slice(LINE_END);
        }
        assert_eq!(refused(&input), ProtocolError::CommandLength);
    }

    #[test]
    fn refuses_a_long_line_before_it_ends() {
        let max = CommandLimits::STANDARD.inline_bytes_max;
        let mut line = vec![b'a'; max];
        assert_eq!(commands(&line), (vec![], None));
        line.push(b'a');
        assert_eq!(refused(&line), ProtocolError::InlineLength);
        line[max] = b'\n';
        assert_eq!(commands(&line).0.len(), 1);
    }

    #[test]
    fn an_error_stays() {
        let mut parser = Parser::default();
        assert_eq!(parser.parse(b"*x"), Err(ProtocolError::ArrayLength));
        assert_eq!(parser.parse(b"PING\r\n"), Err(ProtocolError::ArrayLength));
    }

    #[test]
    fn releasing_memory_changes_nothing_else() {
        let mut parser = Parser::default();
        let line = format!("echo {}\n", "a ".repeat(500));
        assert!(matches!(
            parser.parse(line.as_bytes()),
            Ok(ParseStep::Command { .. })
        ));
        parser.release();
        assert!(parser.arguments.capacity() < 500 && parser.line.capacity() == 0);
        let input = b"*2\r\n$4\r\nECHO\r\n$1\r\na\r\n";
        for at in 0..input.len() {
            assert_eq!(parser.parse(&input[..at]), Ok(ParseStep::NeedMore));
            parser.release();
        }
        let step = parser.parse(input);
        assert!(
            matches!(step, Ok(ParseStep::Command { request, .. }) if request.get(1) == Some(b"a"))
        );
    }

    #[test]
    fn errors_read_like_those_of_redis() {
        let text = ProtocolError::ExpectedBulk(b'\n').to_string();
        assert_eq!(text, "ERR Protocol error: expected '$', got '\\n'");
        let text = ProtocolError::BulkLength.to_string();
        assert_eq!(text, "ERR Protocol error: invalid bulk length");
    }
}
