//! All counters, for Prometheus.
//!
//! Few series by default: protocols, judgements, and the first sixty-four contracts are labels; keys never are.

#![allow(clippy::cast_precision_loss)] // Seconds as Prometheus wants them.

use super::event::Judgement;
use super::latency;
use super::text::Exposition;
use super::{Door, Event, Meter, process};
use crate::engine::Engine;

/// A kind of event with the protocol as label.
type OfDoor = fn(Door) -> Event;

impl Meter {
    /// In Prometheus' text format 0.0.4.
    pub fn render(&self, engine: &Engine) -> String {
        let mut text = Exposition::new();
        self.write(&mut text, engine);
        text.finish()
    }

    /// The same as a part of `/metrics`.
    pub(crate) fn write(&self, text: &mut Exposition, engine: &Engine) {
        self.decisions(text);
        self.rules(text, engine);
        self.latencies(text);
        self.connections(text);
        table(text, engine);
        self.reloads(text);
        self.durables(text, engine);
        Self::clock(text, engine);
        self.traces(text);
        self.process(text);
    }

    fn decisions(&self, text: &mut Exposition) {
        text.family("tollgate_decisions_total");
        for door in Door::ALL {
            for judgement in Judgement::ALL {
                let sum = self.sum(|counts| &counts.decisions[door as usize][judgement as usize]);
                text.sample(&[("door", door.name()), ("verdict", judgement.name())], sum);
            }
        }
        text.family("tollgate_contract_decisions_total");
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

    fn latencies(&self, text: &mut Exposition) {
        text.family("tollgate_request_duration_seconds");
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

    fn connections(&self, text: &mut Exposition) {
        let open = Door::ALL.map(|door| (door.name(), self.open(door)));
        text.each("tollgate_connections_open", "door", open);
        let families: [(&str, OfDoor); 10] = [
            ("tollgate_connections_total", Event::Opened),
            ("tollgate_shed_total", Event::Shed),
            ("tollgate_malformed_total", Event::Malformed),
            ("tollgate_unmatched_total", Event::Unmatched),
            ("tollgate_timed_out_total", Event::TimedOut),
            ("tollgate_panics_total", Event::Panicked),
            ("tollgate_accept_failures_total", Event::AcceptFailed),
            ("tollgate_handshake_failures_total", Event::HandshakeFailed),
            ("tollgate_unauthorized_total", Event::Unauthorized),
            ("tollgate_forbidden_total", Event::Forbidden),
        ];
        for (name, event) in families {
            let counts = Door::ALL.map(|door| (door.name(), self.events(event(door))));
            text.each(name, "door", counts);
        }
    }

    fn reloads(&self, text: &mut Exposition) {
        let counts = [("ok", Event::Reloaded), ("failed", Event::ReloadFailed)];
        let counts = counts.map(|(result, event)| (result, self.events(event)));
        text.each("tollgate_reloads_total", "result", counts);
    }

    fn durables(&self, text: &mut Exposition, engine: &Engine) {
        let figures = self.durable().figures();
        let on = u8::from(figures.is_on);
        text.one("tollgate_durable_on", on);
        let flushes = [("ok", figures.flushes), ("failed", figures.failures)];
        text.each("tollgate_durable_flushes_total", "result", flushes);
        let lag = if figures.is_on {
            engine.now().nanos_since(figures.flushed_at)
        } else {
            0
        };
        text.one("tollgate_durable_flush_lag_seconds", lag as f64 / 1e9);
        text.one(
            "tollgate_durable_flush_seconds",
            figures.took_ns as f64 / 1e9,
        );
        text.one("tollgate_durable_rows_total", figures.rows);
        text.one("tollgate_durable_waiting_cells", figures.waiting);
        text.one("tollgate_durable_loaded_cells", figures.loaded);
        text.one("tollgate_durable_broken_rows", figures.broken);
        text.one("tollgate_durable_refused_total", figures.refused);
        text.one("tollgate_durable_inherited_total", figures.inherited);
        let reads = [
            ("found", figures.reads.found),
            ("new", figures.reads.new),
            ("failed", figures.reads.failed),
            ("late", figures.reads.late),
        ];
        text.each("tollgate_durable_reads_total", "result", reads);
    }

    fn clock(text: &mut Exposition, engine: &Engine) {
        let clock = engine.clock();
        text.one(
            "tollgate_clock_offset_seconds",
            clock.offset_ns as f64 / 1e9,
        );
        text.one("tollgate_clock_steps_total", clock.steps);
        text.one("tollgate_clock_followed_total", clock.followed);
    }

    fn traces(&self, text: &mut Exposition) {
        let Some(tracer) = self.tracer.get() else {
            return;
        };
        text.each("tollgate_trace_spans_total", "result", tracer.figures());
    }

    fn process(&self, text: &mut Exposition) {
        text.each(
            "tollgate_build_info",
            "version",
            [(env!("CARGO_PKG_VERSION"), 1)],
        );
        let started = self.started.as_nanos() as f64 / 1e9;
        text.one("process_start_time_seconds", started);
        if let Some(bytes) = process::resident_bytes() {
            text.one("process_resident_memory_bytes", bytes);
        }
        if let Some(used) = process::cpu_centiseconds() {
            text.one("process_cpu_seconds_total", used as f64 / 100.0);
        }
        if let Some(files) = process::open_files() {
            text.one("process_open_fds", files);
        }
    }
}

fn table(text: &mut Exposition, engine: &Engine) {
    let node = engine.node();
    let counters = engine.counters();
    text.one("tollgate_contracts", node.contracts().len());
    text.one("tollgate_table_cells", engine.cells_count());
    text.one("tollgate_table_bytes", node.bytes());
    text.one("tollgate_table_bytes_max", node.bytes_max());
    text.one("tollgate_table_dropped_total", counters.dropped_fresh);
    text.one("tollgate_table_evicted_total", counters.evicted_live);
    text.one("tollgate_table_refused_total", counters.refused_new);
    text.one("tollgate_operation_ids", node.ids_count());
}
