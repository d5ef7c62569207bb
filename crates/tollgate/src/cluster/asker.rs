//! Asks one node after the other about a key, over a connection that stays.
//!
//! Not here: which node, and when.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A connection to a node's RESP listener.
#[derive(Debug)]
pub struct Asker {
    stream: BufReader<TcpStream>,
}

/// Fields of an answer, names and values together.
const FIELDS_MAX: usize = 64;
const FIELD_BYTES_MAX: usize = 64 << 10;

impl Asker {
    /// Connects; neither that nor an answer may take longer than `patience`.
    pub fn connect(to: SocketAddr, patience: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&to, patience)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        Ok(Self {
            stream: BufReader::new(stream),
        })
    }

    /// Whether a key may pass at that cost. After an error the connection is of no more use.
    pub fn ask(&mut self, entries: &[(&str, &str)], cost: u64) -> io::Result<bool> {
        self.ask_many(entries, cost, 1).map(|passed| passed == 1)
    }

    /// How many of so many requests may pass, asked together.
    pub fn ask_many(
        &mut self,
        entries: &[(&str, &str)],
        cost: u64,
        count: usize,
    ) -> io::Result<usize> {
        let request = request(entries, cost)?.repeat(count);
        self.stream.get_mut().write_all(&request)?;
        let mut passed = 0;
        for _ in 0..count {
            passed += usize::from(self.allowed()?);
        }
        Ok(passed)
    }

    /// Reads an answer; the value after `allowed` is the verdict.
    fn allowed(&mut self) -> io::Result<bool> {
        let count = match self.line()?.split_at_checked(1) {
            Some(("*", count)) => count.parse::<usize>().ok(),
            _ => None,
        };
        let count = count.filter(|count| *count <= FIELDS_MAX);
        let count = count.ok_or_else(|| broken("no answer"))?;
        let mut verdict = None;
        let mut name = String::new();
        for at in 0..count {
            let field = self.field()?;
            if at % 2 == 0 {
                name = field;
            } else if name == "allowed" {
                verdict = Some(field == "1");
            }
        }
        verdict.ok_or_else(|| broken("no verdict"))
    }

    fn field(&mut self) -> io::Result<String> {
        let line = self.line()?;
        match line.split_at_checked(1) {
            Some(("$", "-1")) => Ok(String::new()),
            Some(("$", length)) => {
                let length = length.parse::<usize>().ok();
                let length = length.filter(|length| *length <= FIELD_BYTES_MAX);
                let length = length.ok_or_else(|| broken("a bad length"))?;
                let mut bytes = vec![0; length + 2];
                self.stream.read_exact(&mut bytes)?;
                bytes.truncate(length);
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            }
            Some((":" | "+", value)) => Ok(value.to_owned()),
            _ => Err(broken("a field of another kind")),
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        let limit = FIELD_BYTES_MAX as u64;
        (&mut self.stream).take(limit).read_line(&mut line)?;
        if line.starts_with('-') {
            return Err(io::Error::other(line.trim_end().to_owned()));
        }
        match line.strip_suffix("\r\n") {
            Some(line) => Ok(line.to_owned()),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

fn request(entries: &[(&str, &str)], cost: u64) -> io::Result<Vec<u8>> {
    let cost = cost.to_string();
    let mut words = vec!["TOLLGATE.CHECK", "COST", &cost, "KEY"];
    words.extend(entries.iter().flat_map(|(name, value)| [*name, *value]));
    let mut request = Vec::new();
    write!(request, "*{}\r\n", words.len())?;
    for word in words {
        write!(request, "${}\r\n{word}\r\n", word.len())?;
    }
    Ok(request)
}

fn broken(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    fn answered(reply: &'static [u8]) -> io::Result<bool> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 256];
            let _ = stream.read(&mut request).unwrap();
            stream.write_all(reply).unwrap();
        });
        let mut asker = Asker::connect(at, Duration::from_secs(5)).unwrap();
        let answer = asker.ask(&[("user", "42")], 1);
        server.join().unwrap();
        answer
    }

    #[test]
    fn the_verdict_is_found_wherever_it_stands() {
        let yes = b"*4\r\n$6\r\npolicy\r\n$-1\r\n$7\r\nallowed\r\n:1\r\n";
        assert!(answered(yes).unwrap());
        let no = b"*4\r\n$7\r\nallowed\r\n:0\r\n$6\r\npolicy\r\n$1\r\nx\r\n";
        assert!(!answered(no).unwrap());
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for reply in [
            &b"-ERR no\r\n"[..],
            b"",
            b"*2\r\n$7\r\nallowed\r\n",
            b"*0\r\n",
            b"*99999\r\n",
            b"*2\r\n$999999999\r\n",
            b"+OK\r\n",
        ] {
            assert!(answered(reply).is_err(), "{reply:?}");
        }
    }
}
