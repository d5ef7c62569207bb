//! Where metrics are shown: `GET /metrics` and `GET /healthz`, one request for each connection.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::buffer::write;
use crate::connection::Shared;

/// The most bytes of a request.
const REQUEST_MAX: usize = 8192;
/// The most who are answered at once.
const VISITORS_MAX: usize = 64;
const PATIENCE: Duration = Duration::from_secs(5);

/// Answers until it is dropped.
pub(crate) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let visitors = Arc::new(Semaphore::new(VISITORS_MAX));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Ok(place) = Arc::clone(&visitors).try_acquire_owned() else {
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let _ = timeout(PATIENCE, answer(stream, &shared)).await;
            drop(place);
        });
    }
}

async fn answer(mut stream: TcpStream, shared: &Shared) {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut chunk = [0; 1024];
        match stream.read(&mut chunk).await {
            Ok(count @ 1..) if request.len() < REQUEST_MAX => request.extend(&chunk[..count]),
            _ => return,
        }
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or(&[]);
    let mut words = line.split(|byte| *byte == b' ');
    let (status, body) = match (words.next(), words.next()) {
        (Some(b"GET"), Some(b"/metrics")) => ("200 OK", shared.meter.text()),
        (Some(b"GET"), Some(b"/healthz")) => ("200 OK", "ok\n".to_owned()),
        (Some(b"GET"), _) => ("404 Not Found", "see /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "see GET /metrics\n".to_owned()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let _ = write(&mut stream, format!("{head}{body}").as_bytes(), PATIENCE).await;
}
