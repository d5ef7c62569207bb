//! The servers that are compared, and how each is started.
//!
//! Peers that have no package are installed from crates.io into a folder outside the repository, once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::host::{Host, build_tollgate, doors, free_port};
use super::options::ServerOptions;

pub(crate) const OURS: &str = "tollgate";
pub(crate) const OURS_SHARED: &str = "tollgate, one runtime";
pub(crate) const THROTTLECRAB: &str = "throttlecrab";
pub(crate) const LUA: &str = "redis, Lua bucket";
pub(crate) const SET: &str = "redis, SET";
pub(crate) const NOTHING: &str = "do-nothing responder";
pub(crate) const NGINX: &str = "nginx limit_req";
pub(crate) const AXUM: &str = "axum, bare GET";
pub(crate) const TONIC: &str = "tonic, bare hello";
pub(crate) const LIMITADOR: &str = "limitador, in tonic";

/// Where everything is.
pub(crate) struct ToolPaths {
    tollgate: PathBuf,
    throttlecrab: PathBuf,
    shim: PathBuf,
    /// A folder of this run, removed with it.
    scratch: PathBuf,
}

/// How our threads share the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runtime {
    PerCore,
    Shared,
}

impl ToolPaths {
    /// Builds and installs what is missing.
    pub(crate) fn ready(options: &ServerOptions) -> Result<Self> {
        let cache = options.peers_dir();
        fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
        let scratch = std::env::temp_dir().join(format!("tollgate-bench-{}", std::process::id()));
        fs::create_dir_all(&scratch)?;
        Ok(Self {
            tollgate: options.tollgate.clone().map_or_else(build_tollgate, Ok)?,
            throttlecrab: install(&cache, "throttlecrab-server", THROTTLECRAB_VERSION)?,
            shim: compile_shim(&cache)?,
            scratch,
        })
    }

    /// A file of this run.
    pub(crate) fn file(&self, name: &str, content: &[u8]) -> Result<PathBuf> {
        let path = self.scratch.join(name);
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// Our server: HTTP and gRPC on the first port, RESP on the second.
    pub(crate) fn tollgate(&self, runtime: Runtime) -> Result<Host> {
        let (name, kind) = match runtime {
            Runtime::PerCore => (OURS, "per-core"),
            Runtime::Shared => (OURS_SHARED, "shared"),
        };
        let contracts = self.file("contracts.yaml", CONTRACTS.as_bytes())?;
        let data = self.scratch.join(format!("data-{kind}-{}", free_port()?));
        let mut command = Command::new(&self.tollgate);
        command.env("TOLLGATE_SHUTDOWN_DELAY", "0s");
        command.args([
            "serve",
            "--http",
            "127.0.0.1:0",
            "--resp",
            "127.0.0.1:0",
            "--format",
            "json",
        ]);
        command
            .arg("--contracts")
            .arg(contracts)
            .arg("--data-dir")
            .arg(data);
        command.env("TOLLGATE_RUNTIME", kind);
        Host::start_told(name, command, doors)
    }

    /// Throttlecrab with `TCP_NODELAY`, which it does not set itself: RESP, HTTP and gRPC.
    pub(crate) fn throttlecrab(&self) -> Result<Host> {
        let ports = vec![free_port()?, free_port()?, free_port()?];
        let mut command = Command::new(&self.throttlecrab);
        for (door, port) in ["redis", "http", "grpc"].iter().zip(&ports) {
            command.arg(format!("--{door}"));
            command.args([format!("--{door}-host"), "127.0.0.1".to_owned()]);
            command.args([format!("--{door}-port"), port.to_string()]);
        }
        command.args(["--log-level", "error"]);
        command.env("LD_PRELOAD", &self.shim);
        Host::start(THROTTLECRAB, command, ports)
    }

    /// Nginx that serves a small file behind `limit_req`.
    pub(crate) fn nginx(&self) -> Result<Host> {
        let port = free_port()?;
        let root = self.scratch.join("nginx");
        fs::create_dir_all(root.join("www"))?;
        fs::write(root.join("www/page"), "ok")?;
        let prefix = root.display().to_string();
        let config = NGINX_CONFIG
            .replace("PREFIX", &prefix)
            .replace("PORT", &port.to_string());
        let path = self.file("nginx/nginx.conf", config.as_bytes())?;
        let mut command = Command::new("nginx");
        command.arg("-c").arg(path).args(["-p", &prefix]);
        Host::start(NGINX, command, vec![port])
    }
}

/// A server that is part of this program.
pub(crate) fn stand_in(name: &'static str, kind: &str) -> Result<Host> {
    let port = free_port()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["stand-in", kind, &port.to_string()]);
    Host::start(name, command, vec![port])
}

impl Drop for ToolPaths {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

/// Installs a peer from crates.io unless it is there.
fn install(cache: &Path, name: &str, version: &str) -> Result<PathBuf> {
    let binary = cache.join("bin").join(name);
    if binary.exists() {
        return Ok(binary);
    }
    if Command::new("protoc").arg("--version").output().is_err() {
        bail!("{name} needs protoc to build: apt-get install protobuf-compiler");
    }
    eprintln!("installing {name} {version} into {}", cache.display());
    let mut command = Command::new("cargo");
    command
        .args(["install", "--locked", name, "--version", version, "--root"])
        .arg(cache);
    // Its artefacts are of no use to this workspace.
    command.env("CARGO_TARGET_DIR", cache.join("target"));
    if !command.status().context("cannot run cargo")?.success() {
        bail!("{name} cannot be installed");
    }
    Ok(binary)
}

/// Compiles a library that sets `TCP_NODELAY` on whatever is accepted.
fn compile_shim(cache: &Path) -> Result<PathBuf> {
    let (source, library) = (cache.join("nodelay.c"), cache.join("nodelay.so"));
    fs::write(&source, SHIM)?;
    let mut command = Command::new("cc");
    command
        .args(["-O2", "-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source)
        .arg("-ldl");
    if !command.status().context("cannot run cc")?.success() {
        bail!("the TCP_NODELAY library does not compile");
    }
    Ok(library)
}

const THROTTLECRAB_VERSION: &str = "0.4.40";

/// One limit per user, wide enough never to refuse, and slow enough that keys stay known.
const CONTRACTS: &str = "\
contracts:
  - id: bench
    key: [user]
    policies:
      - { name: wide, limit: 1000000, per: 60s, burst: 100000000 }
";

const NGINX_CONFIG: &str = "\
daemon off;
worker_processes auto;
pid PREFIX/nginx.pid;
error_log PREFIX/error.log crit;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path PREFIX/body;
  proxy_temp_path PREFIX/proxy;
  fastcgi_temp_path PREFIX/fastcgi;
  uwsgi_temp_path PREFIX/uwsgi;
  scgi_temp_path PREFIX/scgi;
  open_file_cache max=16;
  keepalive_requests 100000000;
  limit_req_zone $arg_user zone=users:32m rate=1000000r/s;
  server {
    listen 127.0.0.1:PORT;
    root PREFIX/www;
    location / { limit_req zone=users burst=1000000 nodelay; }
  }
}
";

const SHIM: &str = "\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static int eager(int socket) {
    int one = 1;
    if (socket >= 0) setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return socket;
}

int accept4(int listener, struct sockaddr *peer, socklen_t *length, int flags) {
    static int (*next)(int, struct sockaddr *, socklen_t *, int);
    if (!next) next = (int (*)(int, struct sockaddr *, socklen_t *, int))dlsym(RTLD_NEXT, \"accept4\");
    return eager(next(listener, peer, length, flags));
}

int accept(int listener, struct sockaddr *peer, socklen_t *length) {
    return accept4(listener, peer, length, 0);
}
";
