//! Common and combined access logs.
//!
//! Each line is `address ident user [time] "request" status bytes "referer" "agent"`; the last two are absent from the
//! common form, and what follows them is ignored. Quoted parts are kept as the server wrote them, including escapes. A
//! request line that is no HTTP gives neither method nor path, as scanners fill real logs with such lines.

use memchr::{memchr, memchr2, memmem};

use super::error::{ParseFault, quote};
use super::field::{RecordLayout, TIME_MS_MAX, decimal};
use super::step::{Step, TraceLine};
use crate::civil;

pub(super) fn step<'b>(text: &'b str, desk: &mut RecordLayout<'b>, at_end: bool) -> Step {
    let Some(line) = TraceLine::first(text, at_end) else {
        return Step::Short;
    };
    let took = line.took;
    if line.is_blank() {
        return Step::Blank(took);
    }
    match parse(line.text, desk) {
        Ok(time_ms) => Step::Record {
            time_ms,
            cost: 1,
            took,
        },
        Err(fault) => Step::Bad { fault, took },
    }
}

/// Whether a line could be one of an access log.
pub(super) fn is_likely(line: &str) -> bool {
    parse(line, &mut RecordLayout::new(&mut [])).is_ok()
}

fn parse<'b>(line: &'b str, desk: &mut RecordLayout<'b>) -> Result<u64, ParseFault> {
    let open = memmem::find(line.as_bytes(), b" [")
        .ok_or_else(|| ParseFault::new(0, "no time in brackets").hint(FORM_HINT))?;
    client(&line[..open], desk)?;
    let from = open + 2;
    let close = from
        + memchr(b']', &line.as_bytes()[from..])
            .ok_or_else(|| ParseFault::new(from, "the time's bracket is never closed"))?;
    let time_ms = time(&line[from..close]).map_err(|what| {
        let what = format!("the time {} {what}", quote(&line[from..close]));
        ParseFault::new(from, what).hint("write it as [10/Oct/2000:13:55:36 -0700]")
    })?;
    let at = close + 1;
    tail(&line[at..], desk).map_err(|fault| fault.moved(at))?;
    Ok(time_ms)
}

const FORM_HINT: &str =
    "a line reads: address ident user [time] \"request\" status bytes \"referer\" \"agent\"";

/// Reads `address ident user`; a user may hold spaces.
fn client<'b>(text: &'b str, desk: &mut RecordLayout<'b>) -> Result<(), ParseFault> {
    let mut parts = text.splitn(3, ' ');
    let (Some(address), Some(_), Some(user)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(
            ParseFault::new(0, "no address, ident and user before the time").hint(FORM_HINT),
        );
    };
    if address.is_empty() {
        return Err(ParseFault::new(0, "the client's address is missing").hint(FORM_HINT));
    }
    if user.starts_with("- ") {
        return Err(ParseFault::new(0, "a field too many before the time")
            .hint("logs that start with the virtual host must lose that column"));
    }
    desk.entries.push(("remote_address", address));
    enter("user", user, desk);
    Ok(())
}

/// Reads ` "request" status bytes "referer" "agent"`.
fn tail<'b>(text: &'b str, desk: &mut RecordLayout<'b>) -> Result<(), ParseFault> {
    let (request, rest) = in_quotes(text)
        .ok_or_else(|| ParseFault::new(0, "no request in quotes").hint(FORM_HINT))?;
    let mut parts = request.split(' ');
    if let (Some(method), Some(target)) = (parts.next(), parts.next())
        && !method.is_empty()
        && method
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'-' || byte == b'_')
        && method != "-"
    {
        desk.entries.push(("method", method));
        let path = memchr(b'?', target.as_bytes()).map_or(target, |query| &target[..query]);
        desk.entries.push(("path", path));
    }
    let mut words = rest.trim_ascii_start().splitn(3, ' ');
    let status = words.next().unwrap_or("");
    if status != "-" && decimal(status).is_none() {
        let at = text.len() - rest.trim_ascii_start().len();
        let what = format!("the status {} is not a number", quote(status));
        return Err(ParseFault::new(at, what).hint(FORM_HINT));
    }
    enter("status", status, desk);
    let after_bytes = words.nth(1).unwrap_or("");
    if let Some((referer, rest)) = in_quotes(after_bytes) {
        enter("referer", referer, desk);
        if let Some((agent, _)) = in_quotes(rest) {
            enter("user_agent", agent, desk);
        }
    }
    Ok(())
}

fn enter<'b>(name: &'static str, value: &'b str, desk: &mut RecordLayout<'b>) {
    if value != "-" && !value.is_empty() {
        desk.entries.push((name, value));
    }
}

/// The text in quotes at the front, and what follows it.
fn in_quotes(text: &str) -> Option<(&str, &str)> {
    let inside = text.trim_ascii_start().strip_prefix('"')?;
    let bytes = inside.as_bytes();
    let mut at = 0;
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some((&inside[..at], &inside[at + 1..]));
        }
        at += 2;
    }
}

/// Unix milliseconds of `10/Oct/2000:13:55:36 -0700`, or what is wrong with it.
fn time(text: &str) -> Result<u64, &'static str> {
    const FORM: &str = "is not a date as access logs have them";
    let bytes: &[u8; 26] = text.as_bytes().try_into().map_err(|_| FORM)?;
    let marks = [
        bytes[2], bytes[6], bytes[11], bytes[14], bytes[17], bytes[20],
    ];
    let sign = match (&marks, bytes[21]) {
        (b"//::: ", b'+') => 1,
        (b"//::: ", b'-') => -1,
        _ => return Err(FORM),
    };
    let number = |from: usize, to: usize| text.get(from..to).and_then(decimal).ok_or(FORM);
    let month = MONTHS
        .iter()
        .position(|month| *month == &bytes[3..6])
        .ok_or(FORM)?;
    let (hour, minute, second) = (number(12, 14)?, number(15, 17)?, number(18, 20)?);
    let (zone_hour, zone_minute) = (number(22, 24)?, number(24, 26)?);
    // A second of 60 is a leap second, and the same moment as the next minute's first.
    if hour > 23 || minute > 59 || second > 60 || zone_hour > 23 || zone_minute > 59 {
        return Err("names an hour, minute or second that does not exist");
    }
    let days = civil::days(number(7, 11)?, month as u64 + 1, number(0, 2)?)
        .ok_or("names a day that does not exist")?;
    let local = days * 86_400 + (hour * 3600 + minute * 60 + second).cast_signed();
    let unix = local - sign * (zone_hour * 3600 + zone_minute * 60).cast_signed();
    let unix_ms = u64::try_from(unix).map_err(|_| "is before 1970")? * 1000;
    if unix_ms > TIME_MS_MAX {
        return Err("is after the year 2554");
    }
    Ok(unix_ms)
}

const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

#[cfg(test)]
mod tests {
    use super::super::TraceFormat;
    use super::super::tests::{faults, read};
    use super::time;

    #[test]
    fn the_common_form_gives_address_user_request_and_status() {
        assert_eq!(
            read(
                TraceFormat::Clf,
                "127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] \"GET /a.gif?x=1 HTTP/1.0\" 200 2326\n"
            ),
            [
                "1: 971211336000 1 remote_address=127.0.0.1 user=frank method=GET path=/a.gif status=200"
            ]
        );
    }

    #[test]
    fn the_combined_form_adds_referer_and_agent() {
        assert_eq!(
            read(
                TraceFormat::Clf,
                "::1 - - [01/Jan/1970:00:00:01 +0000] \"POST /x HTTP/1.1\" 429 0 \"http://r/\" \"cu\\\"rl\" 0.1\n\
                 ::1 - J. Doe [01/Jan/1970:02:00:02 +0200] \"-\" 400 - \"-\" \"-\"\r\n"
            ),
            [
                "1: 1000 1 remote_address=::1 method=POST path=/x status=429 referer=http://r/ user_agent=cu\\\"rl",
                "2: 2000 1 remote_address=::1 user=J. Doe status=400"
            ]
        );
    }

    #[test]
    fn requests_that_are_no_http_leave_method_and_path_out() {
        assert_eq!(
            read(
                TraceFormat::Clf,
                "h - - [01/Jan/1970:00:00:00 +0000] \"\\x16\\x03 \\x01\" 400 0"
            ),
            ["1: 0 1 remote_address=h status=400"]
        );
    }

    #[test]
    fn a_bad_line_says_what_is_wrong() {
        for (line, part) in [
            ("hello", "no time in brackets"),
            (
                "h - [01/Jan/1970:00:00:00 +0000] \"GET / H\" 200 1",
                "no address, ident and user",
            ),
            (
                "v:80 h - - [01/Jan/1970:00:00:00 +0000] \"GET / H\" 200 1",
                "a field too many",
            ),
            ("h - - [01/Jan/1970:00:00:00 +0000", "never closed"),
            (
                "h - - [31/Feb/2000:00:00:00 +0000] \"GET / H\" 200 1",
                "day that does not exist",
            ),
            (
                "h - - [01/Jan/2000:24:00:00 +0000] \"GET / H\" 200 1",
                "hour",
            ),
            (
                "h - - [01/Jan/1969:00:00:00 +0000] \"GET / H\" 200 1",
                "before 1970",
            ),
            (
                "h - - [01/Jan/9999:00:00:00 +0000] \"GET / H\" 200 1",
                "after the year",
            ),
            ("h - - [2000-01-01] \"GET / H\" 200 1", "not a date"),
            (
                "h - - [01/Jan/2000:00:00:00 +0000] GET / 200 1",
                "no request in quotes",
            ),
            (
                "h - - [01/Jan/2000:00:00:00 +0000] \"GET / H",
                "no request in quotes",
            ),
            (
                "h - - [01/Jan/2000:00:00:00 +0000] \"GET / H\" ok 1",
                "status \"ok\"",
            ),
        ] {
            let faults = faults(TraceFormat::Clf, line);
            assert_eq!(faults.len(), 1, "{line}: {faults:?}");
            assert!(faults[0].contains(part), "{line}: {}", faults[0]);
        }
    }

    #[test]
    fn times_honour_their_zone_and_leap_seconds() {
        assert_eq!(time("31/Dec/1998:23:59:60 +0000"), Ok(915_148_800_000));
        assert_eq!(time("01/Jan/1999:05:30:00 +0530"), Ok(915_148_800_000));
    }
}
