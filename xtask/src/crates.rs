//! What each crate of the workspace may depend on: the one table behind `tidy` and `pure`.
//!
//! A new crate or a new arrow is a row here and a file in `docs/decisions/`.

pub(crate) struct CrateRules {
    pub(crate) package: &'static str,
    /// Whether the crate only computes: no clock, no system calls, no async.
    pub(crate) pure: bool,
    /// Packages of this workspace it may use in production code.
    pub(crate) uses: &'static [&'static str],
}

const ABI: &str = "tollgate-abi";
const KIT: &str = "tollgate-kit";
const LIMIT: &str = "tollgate-limit";
const CONTROL: &str = "tollgate-control";
const CONTRACT: &str = "tollgate-contract";
const TABLE: &str = "tollgate-table";
const MODE: &str = "tollgate-mode";
const GOSSIP: &str = "tollgate-gossip";
const SUPPLY: &str = "tollgate-supply";
const SIM: &str = "tollgate-sim";
const SPLIT: &str = "tollgate-split";
const LEASE: &str = "tollgate-lease";
const STORE: &str = "tollgate-store";
const CATALOGUE: &str = "tollgate-catalogue";
const CATALOGUE_SQL: &str = "tollgate-catalogue-sql";
const CONSOLE: &str = "tollgate-console";
const STATS: &str = "tollgate-stats";
const STATS_SQL: &str = "tollgate-stats-sql";
const SQLITE: &str = "tollgate-sqlite";
const STORE_SQL: &str = "tollgate-store-sql";
const CLUSTER: &str = "tollgate-cluster";
const FAULT: &str = "tollgate-fault";
const LAB: &str = "tollgate-lab";
const NODE: &str = "tollgate-node";
const CLIENT: &str = "tollgate-client";
const CLOCK: &str = "tollgate-clock";
const HTTP: &str = "tollgate-http";
const WIRE: &str = "tollgate-wire";
const SERVE: &str = "tollgate-serve";
const LOAD: &str = "tollgate-load";
const GATEWAY: &str = "tollgate-gateway";
const MQTT: &str = "tollgate-mqtt";
const STORE_REDIS: &str = "tollgate-store-redis";
const CONFORMANCE: &str = "tollgate-conformance";
const ORACLE: &str = "tollgate-oracle";
const OWNER: &str = "tollgate-owner";
const PARTS: &str = "tollgate-parts";
const ADMIN: &str = "tollgate-admin";
const TOLLGATE: &str = "tollgate";

/// Every crate of the workspace, each after its dependencies.
pub(crate) const ROOMS: &[CrateRules] = &[
    // Small shared types, for every crate but the judges: they share no code with what they judge.
    CrateRules {
        package: KIT,
        pure: true,
        uses: &[],
    },
    CrateRules {
        package: LIMIT,
        pure: true,
        uses: &[KIT],
    },
    CrateRules {
        package: CONTRACT,
        pure: true,
        uses: &[KIT, LIMIT],
    },
    CrateRules {
        package: TABLE,
        pure: true,
        uses: &[KIT, LIMIT],
    },
    // Inputs and outputs of coordination modes.
    CrateRules {
        package: MODE,
        pure: true,
        uses: &[KIT, LIMIT, CONTRACT],
    },
    // Placement agreed by a majority; independent of the modes that use it.
    CrateRules {
        package: CONTROL,
        pure: true,
        uses: &[KIT, MODE],
    },
    CrateRules {
        package: GOSSIP,
        pure: true,
        uses: &[KIT, LIMIT, CONTRACT, MODE],
    },
    // The simulator of the lab and of tests; independent of the simulated machines.
    CrateRules {
        package: SIM,
        pure: true,
        uses: &[KIT],
    },
    CrateRules {
        package: SUPPLY,
        pure: true,
        uses: &[KIT, LIMIT, CONTRACT, MODE, GOSSIP],
    },
    // Uses only frames and names of gossip.
    CrateRules {
        package: SPLIT,
        pure: true,
        uses: &[KIT, LIMIT, CONTRACT, MODE, GOSSIP],
    },
    // Leases to clients; from gossip it uses keys and number encoding.
    CrateRules {
        package: LEASE,
        pure: true,
        uses: &[KIT, LIMIT, CONTRACT, MODE, GOSSIP],
    },
    // Rules for contracts as live data, and their effect on a key; no database.
    CrateRules {
        package: CATALOGUE,
        pure: true,
        uses: &[LIMIT, CONTRACT],
    },
    // Opens database files, independent of their content.
    CrateRules {
        package: SQLITE,
        pure: false,
        uses: &[],
    },
    CrateRules {
        package: CATALOGUE_SQL,
        pure: false,
        uses: &[CATALOGUE, SQLITE],
    },
    // Pages of the console; the server fills in the views.
    CrateRules {
        package: CONSOLE,
        pure: true,
        uses: &[KIT, LIMIT, CONTRACT],
    },
    // The protocol of engines; the engines themselves do I/O.
    CrateRules {
        package: STORE,
        pure: true,
        uses: &[KIT, LIMIT, CONTRACT, TABLE],
    },
    CrateRules {
        package: STORE_REDIS,
        pure: false,
        uses: &[LIMIT, STORE],
    },
    // Membership and the protocol between nodes, up to the bytes before they are sealed.
    CrateRules {
        package: CLUSTER,
        pure: true,
        uses: &[KIT, LIMIT, GOSSIP],
    },
    CrateRules {
        package: NODE,
        pure: true,
        uses: &[
            KIT, LIMIT, CONTRACT, TABLE, MODE, GOSSIP, SUPPLY, SPLIT, LEASE,
        ],
    },
    // Remote decisions of nodes and stores, up to the bytes; the transport decides nothing.
    CrateRules {
        package: OWNER,
        pure: true,
        uses: &[KIT, LIMIT, CONTRACT, TABLE, GOSSIP, CLUSTER, STORE, NODE],
    },
    // Drives the other crates, so that it must be as pure as they are; whole nodes are driven as the daemon drives
    // them.
    CrateRules {
        package: LAB,
        pure: true,
        uses: &[
            KIT, LIMIT, CONTRACT, TABLE, MODE, CONTROL, GOSSIP, SUPPLY, SPLIT, LEASE, CLUSTER, SIM,
            STORE, NODE, OWNER,
        ],
    },
    // Statistics; previews of changes run on real nodes.
    CrateRules {
        package: STATS,
        pure: true,
        uses: &[KIT, LIMIT, CONTRACT, TABLE, NODE],
    },
    CrateRules {
        package: STATS_SQL,
        pure: false,
        uses: &[STATS, CATALOGUE_SQL],
    },
    // Bytes and structs: independent of the limiter, so that both can change separately.
    CrateRules {
        package: WIRE,
        pure: true,
        uses: &[KIT],
    },
    // Bytes of another protocol, also independent of the limiter.
    CrateRules {
        package: MQTT,
        pure: true,
        uses: &[],
    },
    // HTTP answers and client identification shared by the server and the library's layer.
    CrateRules {
        package: HTTP,
        pure: true,
        uses: &[LIMIT, CONTRACT, NODE],
    },
    // Reads the machine's clocks, so that the server does not depend on the library for it.
    CrateRules {
        package: CLOCK,
        pure: false,
        uses: &[LIMIT],
    },
    CrateRules {
        package: CLIENT,
        pure: false,
        uses: &[KIT, LIMIT, CONTRACT, TABLE, NODE, LEASE, HTTP, CLOCK],
    },
    // The library for other languages; the only crate with pointers.
    CrateRules {
        package: ABI,
        pure: false,
        uses: &[CLIENT],
    },
    CrateRules {
        package: SERVE,
        pure: false,
        uses: &[
            KIT,
            LIMIT,
            CONTRACT,
            TABLE,
            NODE,
            OWNER,
            WIRE,
            CLIENT,
            HTTP,
            CLOCK,
            GOSSIP,
            CLUSTER,
            STORE,
            STORE_REDIS,
            STORE_SQL,
            SQLITE,
            CATALOGUE,
            CATALOGUE_SQL,
            STATS,
            STATS_SQL,
        ],
    },
    // The admin API next to the server, which does not depend on it.
    CrateRules {
        package: ADMIN,
        pure: false,
        uses: &[
            KIT,
            LIMIT,
            CONTRACT,
            NODE,
            SQLITE,
            WIRE,
            HTTP,
            CATALOGUE,
            CATALOGUE_SQL,
            CONSOLE,
            SERVE,
            STATS,
        ],
    },
    // A listener of the server in front of a broker; the server does not depend on it.
    CrateRules {
        package: GATEWAY,
        pure: false,
        uses: &[KIT, LIMIT, CONTRACT, NODE, SERVE, MQTT],
    },
    // A generic client, so that it can load other servers too.
    CrateRules {
        package: LOAD,
        pure: false,
        uses: &[KIT, WIRE, MQTT],
    },
    // A proxy between any two processes, independent of both.
    CrateRules {
        package: FAULT,
        pure: false,
        uses: &[KIT],
    },
    CrateRules {
        package: TOLLGATE,
        pure: false,
        uses: &[
            KIT, LIMIT, CONTRACT, TABLE, GOSSIP, LAB, NODE, WIRE, CLIENT, SERVE, SPLIT, LOAD,
            CLUSTER, FAULT, CATALOGUE, ADMIN, STATS, GATEWAY,
        ],
    },
    // Judges the other crates, so it shares no code with them.
    CrateRules {
        package: ORACLE,
        pure: false,
        uses: &[],
    },
    // Does I/O, so that deciding crates do not.
    CrateRules {
        package: STORE_SQL,
        pure: false,
        uses: &[LIMIT, SQLITE, STORE],
    },
    // The suite of engines; only tests use it.
    CrateRules {
        package: CONFORMANCE,
        pure: false,
        uses: &[KIT, LIMIT, CONTRACT, STORE, ORACLE],
    },
    // Starts third-party servers, independent of the product; only tests and benchmarks use it.
    CrateRules {
        package: PARTS,
        pure: false,
        uses: &[KIT],
    },
    CrateRules {
        package: "tollgate-bench",
        pure: false,
        uses: &[
            KIT,
            LIMIT,
            CONTRACT,
            TABLE,
            NODE,
            WIRE,
            CLIENT,
            LOAD,
            ORACLE,
            TOLLGATE,
            STORE,
            STORE_REDIS,
            STORE_SQL,
            PARTS,
        ],
    },
    // As few as make decisions, as it is built for every run of `./test`.
    CrateRules {
        package: "tollgate-ceilings",
        pure: false,
        uses: &[KIT, LIMIT, WIRE, CLIENT],
    },
    CrateRules {
        package: "xtask",
        pure: false,
        uses: &[],
    },
];

/// External dependencies a pure crate may name.
pub(crate) const PURE_DEPENDENCIES_MAX: usize = 3;

/// Crates that read a clock, use system randomness, or wait; never below a pure crate.
pub(crate) const IMPURE: &[&str] = &[
    "async-std",
    "chrono",
    "coarsetime",
    "getrandom",
    "iana-time-zone",
    "mio",
    "quanta",
    "smol",
    "socket2",
    "time",
    "tokio",
];

/// Features that give `rand` the system's randomness.
pub(crate) const RAND_IMPURE_FEATURES: &[&str] = &[
    "default",
    "getrandom",
    "os_rng",
    "std_rng",
    "sys_rng",
    "thread_rng",
];
