//! Answers to HTTP/1.1 requests, read from connections that stay open. Not here: requests, which tests write themselves.

use std::io::Read;

/// An answer to an HTTP request.
#[derive(Debug)]
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// The status line and the fields, in lower case.
    pub head: String,
    /// The body, as long as the head says.
    pub body: String,
}

impl HttpAnswer {
    /// Reads one answer; `None` where the connection ends before it begins.
    pub fn read(from: &mut impl Read) -> Option<Self> {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            match from.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ if head.is_empty() => return None,
                other => panic!("{other:?} after {:?}", String::from_utf8_lossy(&head)),
            }
        }
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        from.read_exact(&mut body).unwrap();
        Some(Self {
            status: head[9..12].parse().unwrap(),
            body: String::from_utf8(body).unwrap(),
            head,
        })
    }
}
