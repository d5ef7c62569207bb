//! Who was right: the same trace through one exact bucket, and how far the cluster's answers are from it.
//!
//! Not here: anything the designs are made of. This bucket is written anew, so that it can judge them.

/// A cluster's answers beside those of the central bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Judgement {
    /// Requests that were rejected.
    pub rejected: u64,
    /// Requests the central bucket rejected.
    pub central_rejected: u64,
    /// Rejections in percent of the central bucket's, at the end; `None` if that rejects nothing.
    pub total: Option<f64>,
    /// The same for the sum of the cumulative rejections over a grid of 0.1 s.
    pub area: Option<f64>,
    /// The most that was admitted beyond the central bucket at any instant, summed over keys.
    pub over: u64,
    /// The most that was rejected beyond the central bucket at any instant, summed over keys.
    pub under: u64,
    /// Requests rejected although a bucket that saw everything this cluster admitted had room for them.
    pub false_rejections: u64,
}
