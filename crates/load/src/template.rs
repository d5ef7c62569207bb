//! Requests prepared as bytes with holes of fixed width for numbers.
//!
//! All numbers have as many digits as the largest, so that every length inside a request (of a body, of a bulk string,
//! of a protobuf field) is known before the first is sent.

#[derive(Clone, Debug)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    holes: Vec<usize>,
    width: usize,
}

impl Template {
    /// The holes are where the marker of that width occurs.
    pub(crate) fn new(bytes: Vec<u8>, width: usize) -> Self {
        let marker = marker(width);
        let holes = memchr::memmem::find_iter(&bytes, &marker).collect();
        Self {
            bytes,
            holes,
            width,
        }
    }

    /// Appends the request, with a number from `draw` in each hole.
    pub(crate) fn write(&self, mut draw: impl FnMut() -> u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        for hole in &self.holes {
            let from = start + hole;
            if let Some(place) = out.get_mut(from..from + self.width) {
                write_digits(place, draw());
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }
}

/// Digits for numbers below `count`, and at least as many as a marker needs.
pub(crate) fn width_for(count: u64) -> usize {
    let largest = count.saturating_sub(1);
    let digits = largest.checked_ilog10().unwrap_or(0) as usize + 1;
    digits.max(MARKER_MIN)
}

/// The placeholder of a number; text that no request has by chance.
pub(crate) fn marker(width: usize) -> Vec<u8> {
    let mut marker = vec![b'0'; width];
    if let [first, .., last] = marker.as_mut_slice() {
        *first = b'{';
        *last = b'}';
    }
    marker
}

/// The marker as text.
pub(crate) fn marker_text(width: usize) -> String {
    String::from_utf8(marker(width)).unwrap_or_default()
}

fn write_digits(place: &mut [u8], mut number: u64) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

const MARKER_MIN: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hole_gets_its_own_number() {
        let width = width_for(100_000);
        let text = format!("a{0} b{0}", marker_text(width));
        let template = Template::new(text.into_bytes(), width);
        let mut out = b"> ".to_vec();
        let mut next = 41;
        template.write(
            || {
                next += 1;
                next
            },
            &mut out,
        );
        assert_eq!(out, b"> a00042 b00043");
        assert_eq!(template.len(), 13);
    }

    #[test]
    fn a_width_holds_the_largest_number() {
        assert_eq!(width_for(1), 4);
        assert_eq!(width_for(10_000), 4);
        assert_eq!(width_for(10_001), 5);
        assert_eq!(width_for(5_000_000), 7);
    }
}
