//! The content of a payload: publisher, sequence number, due time and send time.

use tollgate_kit::Reader;

use super::plan::SIZE_MIN;

/// The front of a payload. Times are nanoseconds on the clock of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PayloadStamp {
    /// Distinguishes this run from others at the same broker.
    pub(crate) run: u32,
    pub(crate) publisher: u32,
    pub(crate) sequence: u32,
    pub(crate) due: u64,
    pub(crate) sent: u64,
}

impl PayloadStamp {
    /// Appends a payload of that size.
    pub(crate) fn write(&self, size: usize, out: &mut Vec<u8>) {
        out.extend(MAGIC);
        out.extend(self.run.to_be_bytes());
        out.extend(self.publisher.to_be_bytes());
        out.extend(self.sequence.to_be_bytes());
        out.extend(self.due.to_be_bytes());
        out.extend(self.sent.to_be_bytes());
        out.resize(out.len() + size.saturating_sub(SIZE_MIN), FILLER);
    }

    /// Reads the front of a payload; `None` if it is not ours.
    pub(crate) fn read(payload: &[u8]) -> Option<Self> {
        let mut reader = Reader(payload);
        let is_ours = reader.array()? == *MAGIC;
        let stamp = Self {
            run: u32::from_be_bytes(reader.array()?),
            publisher: u32::from_be_bytes(reader.array()?),
            sequence: u32::from_be_bytes(reader.array()?),
            due: u64::from_be_bytes(reader.array()?),
            sent: u64::from_be_bytes(reader.array()?),
        };
        is_ours.then_some(stamp)
    }
}

const MAGIC: &[u8; 4] = b"tgm1";
const FILLER: u8 = b'.';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_as_it_was_written() {
        let stamp = PayloadStamp {
            run: 1,
            publisher: 2,
            sequence: 3,
            due: 4,
            sent: 5,
        };
        for size in [SIZE_MIN, 100] {
            let mut bytes = Vec::new();
            stamp.write(size, &mut bytes);
            assert_eq!(
                (bytes.len(), PayloadStamp::read(&bytes)),
                (size, Some(stamp))
            );
        }
        assert_eq!(PayloadStamp::read(b"21.5"), None);
        assert_eq!(PayloadStamp::read(&[b'x'; 64]), None);
    }
}
