//! Everything that is counted, for Prometheus.
//!
//! Few series by default: doors, judgements, and the first sixty-four contracts are labels; keys never are.

#![allow(clippy::cast_precision_loss)] // Seconds as Prometheus wants them.

use super::durable::Reads;
use super::event::Judgement;
use super::latency;
use super::text::{Kind, Text};
use super::{Door, Event, Meter, process};
use crate::engine::Engine;

/// A kind of event by its door.
type OfDoor = fn(Door) -> Event;

impl Meter {
    /// Everything in Prometheus' text format 0.0.4: the body of `/metrics`.
    pub fn render(&self, engine: &Engine) -> String {
        let mut text = Text::new();
        self.decisions(&mut text);
        self.rules(&mut text, engine);
        self.latencies(&mut text);
        self.connections(&mut text);
        table(&mut text, engine);
        self.reloads(&mut text);
        self.durables(&mut text, engine);
        Self::clock(&mut text, engine);
        reads(&mut text, self.durable().figures().reads);
        self.traces(&mut text);
        self.process(&mut text);
        text.finish()
    }

    fn decisions(&self, text: &mut Text) {
        text.family(
            "tollgate_decisions_total",
            Kind::Counter,
            "Requests decided, by door and verdict.",
        );
        for door in Door::ALL {
            for judgement in Judgement::ALL {
                let sum = self.sum(|counts| &counts.decisions[door as usize][judgement as usize]);
                text.sample(&[("door", door.name()), ("verdict", judgement.name())], sum);
            }
        }
        text.family(
            "tollgate_contract_decisions_total",
            Kind::Counter,
            "Requests decided, by verdict and by the contract that refused or has the least left; \
             the first 64 contracts have a name, the rest are `other`, and `none` is no contract.",
        );
        for (column, name) in self.labels.names() {
            for judgement in Judgement::ALL {
                let sum = self.sum(|counts| &counts.contracts[column][judgement as usize]);
                // What never happened needs no series.
                if sum > 0 {
                    text.sample(&[("contract", &name), ("verdict", judgement.name())], sum);
                }
            }
        }
    }

    fn latencies(&self, text: &mut Text) {
        text.family(
            "tollgate_request_duration_seconds",
            Kind::Histogram,
            "From a request's bytes to its answer's bytes, inside the server, by door; requests that came in together \
             count as long as all of them took.",
        );
        for door in Door::ALL {
            let mut below = 0_u64;
            let mut next = 0;
            for bucket in latency::reported() {
                while next <= bucket {
                    below += self.sum(|counts| &counts.latency[door as usize][next]);
                    next += 1;
                }
                let bound = (latency::bound(bucket) as f64 / 1e9).to_string();
                text.part("_bucket", &[("door", door.name()), ("le", &bound)], below);
            }
            for last in next..latency::BUCKETS {
                below += self.sum(|counts| &counts.latency[door as usize][last]);
            }
            text.part("_bucket", &[("door", door.name()), ("le", "+Inf")], below);
            let sum = self.sum(|counts| &counts.latency_sum[door as usize]);
            text.part("_sum", &[("door", door.name())], sum as f64 / 1e9);
            text.part("_count", &[("door", door.name())], below);
        }
    }

    fn connections(&self, text: &mut Text) {
        text.family(
            "tollgate_connections_open",
            Kind::Gauge,
            "Connections that are open.",
        );
        for door in Door::ALL {
            text.sample(&[("door", door.name())], self.open(door));
        }
        let families: [(&'static str, &str, OfDoor); 10] = [
            (
                "tollgate_connections_total",
                "Connections ever opened.",
                Event::Opened,
            ),
            (
                "tollgate_shed_total",
                "Connections and requests turned away because there were too many.",
                Event::Shed,
            ),
            (
                "tollgate_malformed_total",
                "Requests that their protocol does not allow.",
                Event::Malformed,
            ),
            (
                "tollgate_unmatched_total",
                "Requests whose key no contract binds.",
                Event::Unmatched,
            ),
            (
                "tollgate_timed_out_total",
                "Connections closed because the other end was too slow.",
                Event::TimedOut,
            ),
            (
                "tollgate_panics_total",
                "Connections ended by a mistake of the server's own.",
                Event::Panicked,
            ),
            (
                "tollgate_accept_failures_total",
                "Connections that the system could not hand over.",
                Event::AcceptFailed,
            ),
            (
                "tollgate_handshake_failures_total",
                "Connections on which TLS was not agreed.",
                Event::HandshakeFailed,
            ),
            (
                "tollgate_unauthorized_total",
                "Requests without a credential, or with a wrong one.",
                Event::Unauthorized,
            ),
            (
                "tollgate_forbidden_total",
                "Requests whose credential is not for what they ask.",
                Event::Forbidden,
            ),
        ];
        for (name, help, event) in families {
            text.family(name, Kind::Counter, help);
            for door in Door::ALL {
                text.sample(&[("door", door.name())], self.events(event(door)));
            }
        }
    }

    fn reloads(&self, text: &mut Text) {
        text.family(
            "tollgate_reloads_total",
            Kind::Counter,
            "Contracts read again; where that failed the old ones stay in force.",
        );
        text.sample(&[("result", "ok")], self.events(Event::Reloaded));
        text.sample(&[("result", "failed")], self.events(Event::ReloadFailed));
    }

    fn durables(&self, text: &mut Text, engine: &Engine) {
        let figures = self.durable().figures();
        let on = u8::from(figures.is_on);
        text.one(
            "tollgate_durable_on",
            Kind::Gauge,
            "1 where there is a data directory or a database, so that durable counts survive.",
            on,
        );
        text.family(
            "tollgate_durable_flushes_total",
            Kind::Counter,
            "Writes of durable counts; what failed is written with the next.",
        );
        text.sample(&[("result", "ok")], figures.flushes);
        text.sample(&[("result", "failed")], figures.failures);
        let lag = if figures.is_on {
            engine.now().nanos_since(figures.flushed_at)
        } else {
            0
        };
        text.one(
            "tollgate_durable_flush_lag_seconds",
            Kind::Gauge,
            "Age of the last charge that is surely on disk: what a crash would lose.",
            lag as f64 / 1e9,
        );
        text.one(
            "tollgate_durable_flush_seconds",
            Kind::Gauge,
            "How long the last write took.",
            figures.took_ns as f64 / 1e9,
        );
        text.one(
            "tollgate_durable_rows_total",
            Kind::Counter,
            "Cells written.",
            figures.rows,
        );
        text.one(
            "tollgate_durable_waiting_cells",
            Kind::Gauge,
            "Cells of failed writes that wait for the next.",
            figures.waiting,
        );
        text.one(
            "tollgate_durable_loaded_cells",
            Kind::Gauge,
            "Cells found at the start.",
            figures.loaded,
        );
        text.one(
            "tollgate_durable_broken_rows",
            Kind::Gauge,
            "Rows found that could not be read.",
            figures.broken,
        );
        text.one(
            "tollgate_durable_refused_total",
            Kind::Counter,
            "Writes refused, as another process has this server's seat.",
            figures.refused,
        );
        text.one(
            "tollgate_durable_inherited_total",
            Kind::Counter,
            "Cells of owned keys that were taken over from the rows of nodes that are gone.",
            figures.inherited,
        );
    }

    fn clock(text: &mut Text, engine: &Engine) {
        let clock = engine.clock();
        text.one(
            "tollgate_clock_offset_seconds",
            Kind::Gauge,
            "How far the system's clock is ahead of the time that this server goes by.",
            clock.offset_ns as f64 / 1e9,
        );
        text.one(
            "tollgate_clock_steps_total",
            Kind::Counter,
            "How often the system's clock was set, forth and back.",
            clock.steps,
        );
        text.one(
            "tollgate_clock_followed_total",
            Kind::Counter,
            "How often that was followed.",
            clock.followed,
        );
    }

    fn traces(&self, text: &mut Text) {
        let Some(tracer) = self.tracer.get() else {
            return;
        };
        text.family(
            "tollgate_trace_spans_total",
            Kind::Counter,
            "Spans that reached the collector, that did not, and that found no place in the queue.",
        );
        for (result, count) in tracer.figures() {
            text.sample(&[("result", result)], count);
        }
    }

    fn process(&self, text: &mut Text) {
        text.family(
            "tollgate_build_info",
            Kind::Gauge,
            "Always 1; says which version runs.",
        );
        text.sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
        let started = self.started.as_nanos() as f64 / 1e9;
        text.one(
            "process_start_time_seconds",
            Kind::Gauge,
            "When the server was started, in seconds since the epoch.",
            started,
        );
        if let Some(bytes) = process::resident_bytes() {
            text.one(
                "process_resident_memory_bytes",
                Kind::Gauge,
                "Memory in use.",
                bytes,
            );
        }
        if let Some(used) = process::cpu_centiseconds() {
            text.one(
                "process_cpu_seconds_total",
                Kind::Counter,
                "Processor time used.",
                used as f64 / 100.0,
            );
        }
        if let Some(files) = process::open_files() {
            text.one(
                "process_open_fds",
                Kind::Gauge,
                "Files and sockets that are open.",
                files,
            );
        }
    }
}

fn reads(text: &mut Text, reads: Reads) {
    text.family(
        "tollgate_durable_reads_total",
        Kind::Counter,
        "Keys whose rows were looked for as their counts had left memory: found, new (there was none), failed, or late, \
         in which last two cases the request was denied.",
    );
    text.sample(&[("result", "found")], reads.found);
    text.sample(&[("result", "new")], reads.new);
    text.sample(&[("result", "failed")], reads.failed);
    text.sample(&[("result", "late")], reads.late);
}

fn table(text: &mut Text, engine: &Engine) {
    let node = engine.node();
    let counters = engine.counters();
    text.one(
        "tollgate_contracts",
        Kind::Gauge,
        "Contracts in force.",
        node.contracts().len(),
    );
    text.one(
        "tollgate_table_cells",
        Kind::Gauge,
        "Keys that are counted now.",
        engine.cells_count(),
    );
    text.one(
        "tollgate_table_bytes",
        Kind::Gauge,
        "Memory their counts take.",
        node.bytes(),
    );
    text.one(
        "tollgate_table_bytes_max",
        Kind::Gauge,
        "Memory their counts may take.",
        node.bytes_max(),
    );
    text.one(
        "tollgate_table_dropped_total",
        Kind::Counter,
        "Counts dropped because they equalled those of a key never seen.",
        counters.dropped_fresh,
    );
    text.one(
        "tollgate_table_evicted_total",
        Kind::Counter,
        "Counts dropped for want of room although they were of use; their keys start afresh.",
        counters.evicted_live,
    );
    text.one(
        "tollgate_table_refused_total",
        Kind::Counter,
        "Keys turned away for want of room.",
        counters.refused_new,
    );
    text.one(
        "tollgate_operation_ids",
        Kind::Gauge,
        "Operation ids that are remembered.",
        node.ids_count(),
    );
}
