//! Room for texts that do not stand in the trace as they are meant, because of quotes or escapes.
//!
//! A text never grows by losing its escapes, so room as large as a block is enough for all of its texts.

/// Bytes handed out from the front, each once, for as long as the block lives.
pub(super) struct Spare<'b> {
    rest: &'b mut [u8],
}

impl<'b> Spare<'b> {
    pub(super) fn new(rest: &'b mut [u8]) -> Self {
        Self { rest }
    }

    /// Lets `write` fill the front and keeps the text of the length it returns.
    ///
    /// `None` when there is less room than `len_max`, or what was written is not text.
    pub(super) fn keep(
        &mut self,
        len_max: usize,
        write: impl FnOnce(&mut [u8]) -> usize,
    ) -> Option<&'b str> {
        if self.rest.len() < len_max {
            return None;
        }
        let len = write(self.rest);
        let (kept, rest) = std::mem::take(&mut self.rest).split_at_mut_checked(len)?;
        self.rest = rest;
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
        let put = |text: &'static str| {
            move |room: &mut [u8]| {
                room[..text.len()].copy_from_slice(text.as_bytes());
                text.len()
            }
        };
        let first = spare.keep(3, put("ab"));
        let second = spare.keep(3, put("cde"));
        assert_eq!((first, second), (Some("ab"), Some("cde")));
        assert_eq!(spare.keep(1, put("f")), None);
        assert_eq!(spare.keep(0, put("")), Some(""));
    }
}
