//! The system's figures about this process. What is unavailable is not reported.

use std::time::{SystemTime, UNIX_EPOCH};

use tollgate_limit::Instant;

pub(crate) fn wall() -> Instant {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = since.map_or(0, |since| since.as_nanos());
    Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

pub(super) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Processor time used, in hundredths of a second.
pub(super) fn cpu_centiseconds() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is a name in brackets that may contain anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

pub(super) fn open_files() -> Option<u64> {
    let files = std::fs::read_dir("/proc/self/fd").ok()?;
    u64::try_from(files.count()).ok()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn linux_tells_memory_time_and_files() {
        assert!(resident_bytes().unwrap() > 100_000);
        assert!(open_files().unwrap() > 2);
        assert!(cpu_centiseconds().is_some());
    }
}
