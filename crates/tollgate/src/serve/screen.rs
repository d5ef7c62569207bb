//! What `serve` says once it serves: one screen for people, one line for programs.

use serde_json::json;
use tollgate_serve::listen::Speech;
use tollgate_serve::run::Open;

use super::Running;
use super::options::ServeFormat;

pub(super) fn show(running: &Running, format: ServeFormat) -> String {
    match format {
        ServeFormat::Human => human(running),
        ServeFormat::Json => json_line(running),
    }
}

fn human(running: &Running) -> String {
    let mut lines = Vec::new();
    for open in running.listeners() {
        let name = match open.speech {
            Speech::Http => "http",
            Speech::Resp => "resp",
        };
        lines.push(format!("{name}  {}", open.at));
    }
    lines.join("\n") + "\n"
}

fn json_line(running: &Running) -> String {
    let of = |speech: Speech| -> Vec<String> {
        let spoken = |open: &&Open| open.speech == speech;
        let listeners = running.listeners().iter().filter(spoken);
        listeners.map(|open| open.at.to_string()).collect()
    };
    let line = json!({
        "http": of(Speech::Http),
        "resp": of(Speech::Resp),
        "pid": std::process::id(),
    });
    format!("{line}\n")
}
