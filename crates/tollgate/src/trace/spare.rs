//! Space for texts that differ from the trace because of quotes or escapes.
//!
//! Unescaping never makes a text longer, so as much space as a block is enough for all of its texts.

/// Bytes handed out from the front, each once, for as long as the block lives.
pub(super) struct Spare<'b> {
    rest: &'b mut [u8],
}

impl<'b> Spare<'b> {
    pub(super) fn new(rest: &'b mut [u8]) -> Self {
        Self { rest }
    }

    /// Keeps a copy of the text; `None` if there is not enough room.
    pub(super) fn keep(&mut self, text: &str) -> Option<&'b str> {
        let (kept, rest) = std::mem::take(&mut self.rest).split_at_mut_checked(text.len())?;
        self.rest = rest;
        kept.copy_from_slice(text.as_bytes());
        std::str::from_utf8(kept).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_where_they_were_put_until_the_room_is_used_up() {
        let mut room = [0; 5];
        let mut spare = Spare::new(&mut room);
        let first = spare.keep("ab");
        let second = spare.keep("cde");
        assert_eq!((first, second), (Some("ab"), Some("cde")));
        assert_eq!(spare.keep("f"), None);
        assert_eq!(spare.keep(""), Some(""));
    }
}
