//! Checks that a browser's request comes from a page of this server: other sites can make it send forms here.
//!
//! Browsers send this themselves, in `Sec-Fetch-Site` or, without TLS, in `Origin`. Programs
//! send neither.

use http::header::{HOST, HeaderMap, ORIGIN};
use http::uri::Authority;
use http::{HeaderValue, Request};

use crate::fault::Fault;

/// Refuses requests that another site made a browser send.
pub(crate) fn check<B>(request: &Request<B>) -> Result<(), Fault> {
    let headers = request.headers();
    let is_ours = match (headers.get("sec-fetch-site"), headers.get(ORIGIN)) {
        (Some(site), _) => matches!(site.as_bytes(), b"same-origin" | b"none"),
        (None, Some(origin)) => host(request).is_some_and(|host| is_at(origin, host)),
        (None, None) => true,
    };
    if is_ours && fits_once(headers) {
        return Ok(());
    }
    Err(Fault::forbidden(
        "a page of another site sent this; open the console itself and do it there",
    ))
}

/// Neither field may occur twice, or a proxy could read another value than this server.
fn fits_once(headers: &HeaderMap) -> bool {
    let count = |name: &str| headers.get_all(name).iter().count();
    count("sec-fetch-site") <= 1 && count("origin") <= 1
}

/// The host name that the client used.
fn host<B>(request: &Request<B>) -> Option<&str> {
    let told = request.headers().get(HOST);
    let told = told.and_then(|line| line.to_str().ok());
    told.or_else(|| request.uri().authority().map(Authority::as_str))
}

fn is_at(origin: &HeaderValue, host: &str) -> bool {
    let origin = origin.to_str().ok().and_then(|text| text.split_once("://"));
    let Some((scheme, from)) = origin else {
        return false;
    };
    let usual = if scheme == "https" { ":443" } else { ":80" };
    let bare = |name: &str| {
        name.strip_suffix(usual)
            .unwrap_or(name)
            .to_ascii_lowercase()
    };
    bare(from) == bare(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn passes(lines: &[(&str, &str)]) -> bool {
        let request = Request::post("/console/login").header("host", "console.example:8080");
        let request = lines.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        check(&request.body(()).unwrap()).is_ok()
    }

    #[test]
    fn only_pages_of_this_server_and_programs_may_send() {
        for lines in [
            &[][..],
            &[("sec-fetch-site", "same-origin")],
            &[("sec-fetch-site", "none"), ("origin", "null")],
            // A proxy may have changed the host; the browser's own field is right.
            &[
                ("sec-fetch-site", "same-origin"),
                ("origin", "https://outside.example"),
            ],
            &[("origin", "http://console.example:8080")],
            &[("origin", "http://Console.Example:8080")],
        ] {
            assert!(passes(lines), "{lines:?}");
        }
        for lines in [
            &[("sec-fetch-site", "cross-site")][..],
            &[
                ("sec-fetch-site", "same-site"),
                ("origin", "http://console.example:8080"),
            ],
            &[
                ("sec-fetch-site", "same-origin"),
                ("sec-fetch-site", "cross-site"),
            ],
            &[("origin", "null")],
            &[("origin", "http://console.example")],
            &[("origin", "http://evil.example")],
            &[
                ("origin", "http://console.example:8080"),
                ("origin", "http://evil.example"),
            ],
        ] {
            assert!(!passes(lines), "{lines:?}");
        }
    }

    #[test]
    fn the_usual_port_may_be_left_out() {
        let at = |origin, host| is_at(&HeaderValue::from_static(origin), host);
        assert!(at("https://a.example", "a.example:443") && at("http://a:80", "a"));
        assert!(!at("https://a.example", "a.example:80"));
    }
}
