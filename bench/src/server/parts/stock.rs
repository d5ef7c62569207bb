//! Parts driven by the usual tools of each protocol.

use std::cell::RefCell;

use anyhow::{Context as _, Result};
use prost::Message;
use tollgate_load::LUA_TOKEN_BUCKET;
use tollgate_wire::rls::{Entry, RateLimitDescriptor, RateLimitRequest};

use super::{About, Context, PER_SECOND, figures};
use crate::server::host::{Host, redis};
use crate::server::peers::{
    AXUM, LIMITADOR, LUA, NGINX, NOTHING, OURS, Runtime, SET, THROTTLECRAB, TONIC, stand_in,
};
use crate::server::rounds::{Contender, take_turns};
use crate::server::standin::HelloRequest;
use crate::server::tools::{RedisBenchmark, ToolResult, h2load, wrk};
use crate::server::{FigureTable, ServerFigure};
use crate::stopwatch::Spread;

/// RESP by redis-benchmark: 50 connections, 100 000 keys, three depths; CPU time at depth 1.
pub(crate) fn resp(context: &Context) -> Result<Vec<FigureTable>> {
    let peers = &context.peers;
    let (ours, crab) = (peers.tollgate(Runtime::PerCore)?, peers.throttlecrab()?);
    let (lua, set) = (redis(LUA)?, redis(SET)?);
    let nothing = stand_in(NOTHING, "resp")?;
    let sha = load_script(&lua)?;
    let throttle = |name| [name, KEY, "1000000", "1000000", "60"];
    let evalsha = ["EVALSHA", &sha, "1", KEY, "1000000", "1000000", "60", "1"];
    let (cell, own, plain) = (
        throttle("CL.THROTTLE"),
        throttle("THROTTLE"),
        ["SET", KEY, "xxx"],
    );
    let asked: [(&Host, u16, &[&str]); 5] = [
        (&ours, ours.port(1), &cell),
        (&crab, crab.port(0), &own),
        (&lua, lua.port(0), &evalsha),
        (&set, set.port(0), &plain),
        (&nothing, nothing.port(0), &cell),
    ];
    let mut tables = Vec::new();
    for depth in [1, 16, 64] {
        let spent = RefCell::new(vec![Vec::new(); asked.len()]);
        let contenders: Vec<_> = asked
            .iter()
            .enumerate()
            .map(|(at, (host, port, command))| {
                let spent = &spent;
                Contender::new(host.name, move || {
                    let benchmark = RedisBenchmark {
                        port: *port,
                        depth,
                        command,
                    };
                    let (found, cpu_us) = with_cpu(host, || benchmark.run(context.slice))?;
                    if let Some(spent) = spent.borrow_mut().get_mut(at) {
                        spent.push(cpu_us);
                    }
                    Ok(found.per_second)
                })
            })
            .collect();
        let name = format!("resp-{depth}");
        let about = About {
            name: &name,
            title: "redis-benchmark, 50 connections, 100 000 keys",
            unit: PER_SECOND,
        };
        tables.push(context.table(about, &contenders)?);
        drop(contenders);
        if depth == 1 {
            tables.push(cpu(asked.map(|(host, _, _)| host.name), spent.into_inner()));
        }
    }
    Ok(tables)
}

/// Runs, and returns the server's CPU time per request, in microseconds.
fn with_cpu(host: &Host, run: impl FnOnce() -> Result<ToolResult>) -> Result<(ToolResult, f64)> {
    let before = host.cpu_ns()?;
    let found = run()?;
    let spent = host.cpu_ns()? - before;
    Ok((found, spent / found.requests / 1000.0))
}

fn cpu<const N: usize>(names: [&'static str; N], rounds: Vec<Vec<f64>>) -> FigureTable {
    let lines = names
        .into_iter()
        .zip(rounds)
        .map(|(server, rounds)| ServerFigure {
            server,
            figure: Spread::of(rounds),
        });
    let about = About {
        name: "resp-cpu",
        title: "server CPU per decision at depth 1",
        unit: "microseconds",
    };
    figures(about, lines.collect())
}

/// HTTP/1.1 with keep-alive by wrk: 2 threads, 64 connections, 100 000 keys.
pub(crate) fn http(context: &Context) -> Result<Vec<FigureTable>> {
    let peers = &context.peers;
    let ours = peers.tollgate(Runtime::PerCore)?;
    let crab = peers.throttlecrab()?;
    let nginx = peers.nginx()?;
    let axum = stand_in(AXUM, "axum")?;
    let check = script("POST", "/v1/check", Some(r#"{"key":{"user":"%06d"}}"#));
    let throttle =
        r#"{"key":"user:%06d","max_burst":1000000,"count_per_period":1000000,"period":60}"#;
    let scripts = [
        (
            OURS,
            ours.port(0),
            context.file("check.lua", check.as_bytes())?,
        ),
        (
            THROTTLECRAB,
            crab.port(1),
            context.file(
                "throttle.lua",
                script("POST", "/throttle", Some(throttle)).as_bytes(),
            )?,
        ),
        (
            NGINX,
            nginx.port(0),
            context.file(
                "nginx.lua",
                script("GET", "/page?user=%06d", None).as_bytes(),
            )?,
        ),
        (
            AXUM,
            axum.port(0),
            context.file("axum.lua", script("GET", "/?user=%06d", None).as_bytes())?,
        ),
    ];
    let contenders: Vec<_> = scripts
        .iter()
        .map(|(name, port, script)| {
            Contender::new(name, move || {
                let url = format!("http://127.0.0.1:{port}/");
                Ok(wrk(&url, script, context.slice)?.per_second)
            })
        })
        .collect();
    let about = About {
        name: "http",
        title: "wrk, 64 connections, 100 000 keys",
        unit: PER_SECOND,
    };
    Ok(vec![context.table(about, &contenders)?])
}

/// A script for wrk: requests are made beforehand, so that making them costs nothing while it asks.
fn script(method: &str, path: &str, body: Option<&str>) -> String {
    let (path, body) = match body {
        Some(body) => (
            format!("\"{path}\""),
            format!("string.format('{body}', key)"),
        ),
        None => (format!("string.format(\"{path}\", key)"), "nil".to_owned()),
    };
    format!(
        "local requests, at = {{}}, 0
local threads = 0
function setup(thread) thread:set('seed', threads); threads = threads + 1 end
function init(args)
  math.randomseed(seed + 1)
  for i = 1, 20000 do
    local key = math.random(0, 99999)
    requests[i] = wrk.format('{method}', {path}, {{['content-type'] = 'application/json'}}, {body})
  end
end
function request() at = at % #requests + 1; return requests[at] end
"
    )
}

/// Envoy's rate limit service by h2load: 4 connections with 16 streams each.
pub(crate) fn rls(context: &Context) -> Result<Vec<FigureTable>> {
    let peers = &context.peers;
    let ours = peers.tollgate(Runtime::PerCore)?;
    let tonic = stand_in(TONIC, "tonic")?;
    let limitador = stand_in(LIMITADOR, "limitador")?;
    let call = context.file("rls.bin", &framed(&rls_request()))?;
    let hello = HelloRequest {
        name: "world".to_owned(),
    };
    let hello = context.file("hello.bin", &framed(&hello))?;
    let service = format!("/{}/ShouldRateLimit", tollgate_wire::rls::SERVICE);
    let asked = [
        (OURS, ours.port(0), service.as_str(), &call),
        (
            TONIC,
            tonic.port(0),
            crate::server::standin::HELLO_PATH,
            &hello,
        ),
        (LIMITADOR, limitador.port(0), service.as_str(), &call),
    ];
    let contenders: Vec<_> = asked
        .iter()
        .map(|(name, port, path, body)| {
            Contender::new(name, move || {
                let url = format!("http://127.0.0.1:{port}{path}");
                Ok(h2load(&url, body, context.slice)?.per_second)
            })
        })
        .collect();
    eprintln!(" rls");
    let lines = take_turns(&contenders, context.rounds)?;
    let about = About {
        name: "rls",
        title: "h2load, 4 connections x 16 streams, one key",
        unit: PER_SECOND,
    };
    Ok(vec![figures(about, lines)])
}

fn rls_request() -> RateLimitRequest {
    let entry = Entry {
        key: "user".into(),
        value: "000042".into(),
    };
    RateLimitRequest {
        domain: "bench".to_owned(),
        descriptors: vec![RateLimitDescriptor {
            entries: vec![entry],
            ..RateLimitDescriptor::default()
        }],
        hits_addend: 1,
    }
}

/// A gRPC message: not compressed, its length, itself.
fn framed(message: &impl Message) -> Vec<u8> {
    let body = message.encode_to_vec();
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    [&[0][..], &length.to_be_bytes(), &body].concat()
}

fn load_script(redis: &Host) -> Result<String> {
    let mut command = std::process::Command::new("redis-cli");
    command.args([
        "-p",
        &redis.port(0).to_string(),
        "SCRIPT",
        "LOAD",
        LUA_TOKEN_BUCKET,
    ]);
    let output = command.output().context("cannot run redis-cli")?;
    let sha = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    anyhow::ensure!(sha.len() == 40, "redis did not take the script: {sha}");
    Ok(sha)
}

const KEY: &str = "user:__rand_int__";
