//! A private headless Chromium, driven by `chromedriver` over `WebDriver`, for tests of pages.
//!
//! Programs: `chromium` and `chromedriver` (Debian's packages `chromium` and `chromium-driver`).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_kit::base64;

use crate::process::{PATIENCE, Process, free_port, until};

pub struct Browser {
    port: u16,
    session: String,
    _driver: Process,
    _folder: TempDir,
}

/// In pixels.
#[derive(Clone, Copy)]
pub struct Viewport {
    width: u32,
    height: u32,
}

impl Viewport {
    pub const fn new(width: u32, height: u32) -> Self {
        Self { width, height }
    }
}

impl Browser {
    /// With an empty profile.
    pub fn start() -> Self {
        let folder = TempDir::new().expect("a folder");
        let port = free_port();
        let driver = Process::spawn(Command::new("chromedriver").arg(format!("--port={port}")));
        until("chromedriver answers", || {
            ask(port, "GET", "/status", &Value::Null).is_ok_and(|status| status["ready"] == true)
        });
        let profile = format!("--user-data-dir={}", folder.path().display());
        let mut arguments = vec![
            "--headless=new",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--hide-scrollbars",
            &profile,
        ];
        if rustix::process::geteuid().is_root() {
            arguments.push("--no-sandbox");
        }
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        } } });
        let made = ask(port, "POST", "/session", &wanted).expect("a session");
        let session = made["sessionId"].as_str().expect("its id").to_owned();
        let browser = Self {
            port,
            session,
            _driver: driver,
            _folder: folder,
        };
        // Leaves the browser's start page.
        browser.go("about:blank");
        browser.requests();
        browser
    }

    /// Waits until the page is loaded.
    pub fn go(&self, url: &str) {
        self.post("/url", &json!({ "url": url }));
    }

    /// Returns the value of the script.
    pub fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Presses and releases keys, one after another. `\u{e004}` is Tab, `\u{e007}` Enter, `\u{e00c}` Escape.
    pub fn press(&self, keys: &str) {
        let turn = |kind: &'static str, key: char| json!({ "type": kind, "value": key });
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| [turn("keyDown", key), turn("keyUp", key)])
            .collect();
        self.post(
            "/actions",
            &json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] }),
        );
    }

    /// Clicks on the first match.
    pub fn click(&self, selector: &str) {
        let element = self.element(selector);
        self.post(&format!("/element/{element}/click"), &json!({}));
    }

    /// Clicks on the first match, and waits until another page has replaced this one.
    pub fn follow(&self, selector: &str) {
        let element = self.element(selector);
        self.post(&format!("/element/{element}/click"), &json!({}));
        let name = format!("/session/{}/element/{element}/name", self.session);
        until("another page", || {
            ask(self.port, "GET", &name, &Value::Null).is_err()
        });
    }

    /// Replaces the text of a field.
    pub fn fill(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.post(&format!("/element/{element}/clear"), &json!({}));
        self.post(
            &format!("/element/{element}/value"),
            &json!({ "text": text }),
        );
    }

    /// The visible text of the first match; empty without a match.
    pub fn text(&self, selector: &str) -> String {
        let script = "return document.querySelector(arguments[0])?.innerText ?? ''";
        let said = self.post(
            "/execute/sync",
            &json!({ "script": script, "args": [selector] }),
        );
        said.as_str().unwrap_or_default().to_owned()
    }

    /// A command of the developer tools.
    pub fn tools(&self, command: &str, parameters: &Value) -> Value {
        self.post(
            "/goog/cdp/execute",
            &json!({ "cmd": command, "params": parameters }),
        )
    }

    /// Sets the size of the page and whether it is dark.
    pub fn look(&self, viewport: Viewport, is_dark: bool) {
        let Viewport { width, height } = viewport;
        let is_phone = width < 600;
        self.tools("Emulation.setDeviceMetricsOverride", &json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone }));
        let scheme = if is_dark { "dark" } else { "light" };
        self.tools(
            "Emulation.setEmulatedMedia",
            &json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] }),
        );
    }

    /// Whether pages may run scripts. [`Self::run`] works only if they may.
    pub fn allow_scripts(&self, is_allowed: bool) {
        self.tools(
            "Emulation.setScriptExecutionDisabled",
            &json!({ "value": !is_allowed }),
        );
    }

    /// Log entries since the last call: `browser` is the console, `performance` has the requests.
    pub fn logs(&self, kind: &str) -> Vec<Value> {
        let logs = self.post("/se/log", &json!({ "type": kind }));
        logs.as_array().cloned().unwrap_or_default()
    }

    /// Addresses requested since the last call.
    pub fn requests(&self) -> Vec<String> {
        let message =
            |entry: &Value| serde_json::from_str::<Value>(entry["message"].as_str()?).ok();
        let asked = |entry: Value| {
            let message = message(&entry)?;
            let is_request = message["message"]["method"] == "Network.requestWillBeSent";
            let url = message["message"]["params"]["request"]["url"].as_str()?;
            is_request.then(|| url.to_owned())
        };
        self.logs("performance")
            .into_iter()
            .filter_map(asked)
            .collect()
    }

    /// A PNG of the whole page.
    pub fn picture(&self, file: &Path) {
        let taken = self.tools(
            "Page.captureScreenshot",
            &json!({ "captureBeyondViewport": true }),
        );
        let text = taken["data"].as_str().expect("a picture");
        let bytes = base64::decode_any(text, text.len()).expect("a picture in base64");
        std::fs::write(file, bytes).expect("a file for the picture");
    }

    fn element(&self, selector: &str) -> String {
        let found = self.post(
            "/element",
            &json!({ "using": "css selector", "value": selector }),
        );
        let id = found
            .as_object()
            .and_then(|found| found.values().next())
            .and_then(Value::as_str);
        id.unwrap_or_else(|| panic!("no {selector}: {found}"))
            .to_owned()
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        self.ask("POST", path, body)
    }

    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let path = format!("/session/{}{path}", self.session);
        ask(self.port, method, &path, body).unwrap_or_else(|error| panic!("{path} {body}: {error}"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Otherwise Chromium survives when its driver is killed.
        let _ = ask(
            self.port,
            "DELETE",
            &format!("/session/{}", self.session),
            &Value::Null,
        );
    }
}

/// Each request has its own connection.
fn ask(port: u16, method: &str, path: &str, body: &Value) -> Result<Value, String> {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let answer = exchange(port, &request).map_err(|error| error.to_string())?;
    let mut answer: Value = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
    let value = answer["value"].take();
    match value["error"].as_str() {
        Some(error) => Err(format!("{error}: {}", value["message"])),
        None => Ok(value),
    }
}

fn exchange(port: u16, request: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request.as_bytes())?;
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        let is_end = reader.read_line(&mut line)? == 0 || line == "\r\n";
        if is_end {
            break;
        }
        let field = line
            .split_once(':')
            .filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        length = field
            .and_then(|(_, value)| value.trim().parse().ok())
            .unwrap_or(length);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}
