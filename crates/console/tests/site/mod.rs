//! A tiny server of the sample pages, with the policy they are made for.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tollgate_console::assets::{Asset, CONTENT_SECURITY_POLICY};
use tollgate_console::editor::Fields;
use tollgate_console::page::{self, Overview};
use tollgate_console::part::{FormError, messages};
use tollgate_console::{PageFrame, Theme};

use crate::samples;

pub(crate) struct ConsoleSite {
    pub(crate) base: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    posted: Mutex<Vec<(String, Fields)>>,
    /// Number of requests for the overview: its figures change with it.
    turns: AtomicU64,
}

struct Request {
    method: String,
    path: String,
    query: Fields,
    theme: Theme,
    body: Fields,
}

impl ConsoleSite {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("its address"));
        let shared = Arc::new(Shared::default());
        let site = Self {
            base,
            shared: Arc::clone(&shared),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        site
    }

    pub(crate) fn names() -> Vec<&'static str> {
        samples::pages(&str::to_owned, Theme::System)
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    }

    /// The fields of the last POST to `path`.
    pub(crate) fn posted(&self, path: &str) -> Option<Fields> {
        let posted = self.shared.posted.lock().expect("the list");
        posted
            .iter()
            .rev()
            .find(|(to, _)| to == path)
            .map(|(_, fields)| fields.clone())
    }
}

fn serve(stream: TcpStream, shared: &Shared) {
    let mut reader = BufReader::new(stream);
    // A connection that the browser opened in advance ends without a request.
    let Some(request) = read(&mut reader) else {
        return;
    };
    let (status, kind, more, body) = answer(&request, shared);
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nContent-Security-Policy: {CONTENT_SECURITY_POLICY}\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n{more}\r\n",
        body.len()
    );
    let stream = reader.get_mut();
    // The browser may have left.
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(body.as_bytes()));
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut words = first.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut length, mut theme) = (0, Theme::System);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "cookie" => {
                theme = value
                    .split(';')
                    .find_map(|cookie| cookie.trim().strip_prefix("theme="))
                    .map_or(theme, Theme::from_name);
            }
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    Some(Request {
        method,
        path: path.to_owned(),
        query: Fields::parse(query),
        theme,
        body: Fields::parse(&String::from_utf8_lossy(&body)),
    })
}

fn answer(request: &Request, shared: &Shared) -> (&'static str, &'static str, String, String) {
    let html = |body: String| ("200 OK", "text/html; charset=utf-8", String::new(), body);
    if let Some(asset) = request
        .path
        .strip_prefix("/console/static/")
        .and_then(Asset::find)
    {
        return ("200 OK", asset.kind, String::new(), asset.text.to_owned());
    }
    if request.method == "POST" {
        if request.path.ends_with("/check") {
            let typed = request.body.get("policy.0.limit");
            let complaint = FormError {
                field: "policy.0.limit".to_owned(),
                text: format!("{typed} is no number"),
            };
            return html(messages(&[complaint]).into_string());
        }
        shared
            .posted
            .lock()
            .expect("the list")
            .push((request.path.clone(), request.body.clone()));
        let theme = Theme::from_name(request.body.get("theme")).name();
        let more = format!(
            "Location: /sample/overview\r\nSet-Cookie: theme={theme}; Path=/; SameSite=Strict\r\n"
        );
        return ("303 See Other", "text/plain", more, String::new());
    }
    let name = match request.path.strip_prefix("/sample/") {
        Some(name) => name.to_owned(),
        None if request.path == "/console" => return html(moving(shared, request.theme)),
        None if request.query.get("q") == "user=nobody" => "identities-none".to_owned(),
        None => request.path.trim_start_matches("/console/").to_owned(),
    };
    let page = samples::pages(&str::to_owned, request.theme)
        .into_iter()
        .find(|(is, _)| *is == name);
    match page {
        Some((_, page)) => html(page),
        None => (
            "404 Not Found",
            "text/plain",
            String::new(),
            format!("no {name}"),
        ),
    }
}

/// The overview with other numbers each time.
fn moving(shared: &Shared, theme: Theme) -> String {
    let turn = shared.turns.fetch_add(1, Ordering::Relaxed) + 2;
    let frame = PageFrame {
        ..samples::frame(&str::to_owned, theme)
    };
    let view = Overview {
        rate: 100.0 * f64::from(u32::try_from(turn).unwrap_or(u32::MAX)),
        traffic: samples::traffic_of(12 * turn, None),
        ..samples::house::overview_view(&str::to_owned)
    };
    page::overview(&frame, &view)
}
