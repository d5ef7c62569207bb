//! What each crate of the workspace may depend on: the one table behind `tidy` and `pure`.
//!
//! A new crate or a new arrow is a row here and a file in `docs/decisions/`.

/// One crate's place in the house.
pub(crate) struct CrateRules {
    /// The package name.
    pub(crate) package: &'static str,
    /// Whether the crate decides only: no clock, no system, no async.
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

/// Every crate of the workspace, each after what it uses.
pub(crate) const ROOMS: &[CrateRules] = &[
    // One of each small thing, for every crate but the judges: they share no code with what they judge.
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
    // What goes into a way to agree and comes out of it, and the words for both.
    CrateRules {
        package: MODE,
        pure: true,
        uses: &[KIT, LIMIT, CONTRACT],
    },
    // Who is in charge of what, agreed by a majority; which modes ask is no business of it.
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
    // The surroundings of simulated worlds, of the lab and of tests; it knows none of what is driven there.
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
    // Frames and names as in gossip; nothing else of it.
    CrateRules {
        package: SPLIT,
        pure: true,
        uses: &[KIT, LIMIT, CONTRACT, MODE, GOSSIP],
    },
    // Small buckets lent to clients; from gossip it has keys and the bytes of numbers.
    CrateRules {
        package: LEASE,
        pure: true,
        uses: &[KIT, LIMIT, CONTRACT, MODE, GOSSIP],
    },
    // What is allowed of contracts as live data, and what it means for a key; no database.
    CrateRules {
        package: CATALOGUE,
        pure: true,
        uses: &[LIMIT, CONTRACT],
    },
    // How a file is held open, whatever is in it.
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
    // What people see; whoever serves it fills in the views.
    CrateRules {
        package: CONSOLE,
        pure: true,
        uses: &[KIT, LIMIT, CONTRACT],
    },
    // What engines are asked; the engines themselves meet the world.
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
    // Who is in the cluster and what they say to each other, up to the bytes before they are sealed.
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
    // What other nodes and a store decide, up to the bytes; whoever carries them decides nothing.
    CrateRules {
        package: OWNER,
        pure: true,
        uses: &[KIT, LIMIT, CONTRACT, TABLE, GOSSIP, CLUSTER, STORE, NODE],
    },
    // Drives the others, so that it must be as pure as they are; whole nodes are driven as the daemon drives them.
    CrateRules {
        package: LAB,
        pure: true,
        uses: &[
            KIT, LIMIT, CONTRACT, TABLE, MODE, CONTROL, GOSSIP, SUPPLY, SPLIT, LEASE, CLUSTER, SIM,
            STORE, NODE, OWNER,
        ],
    },
    // What is counted of requests; a change is tried by the nodes that would decide.
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
    // Bytes and structs: it knows no limiter, so that neither holds the other still.
    CrateRules {
        package: WIRE,
        pure: true,
        uses: &[KIT],
    },
    // Bytes of another protocol, which knows no limiter either.
    CrateRules {
        package: MQTT,
        pure: true,
        uses: &[],
    },
    // What the server and the library's layer both tell clients, and whom they take for one.
    CrateRules {
        package: HTTP,
        pure: true,
        uses: &[LIMIT, CONTRACT, NODE],
    },
    // Reads the machine's clocks, so that the server need not ask the library for the time.
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
    // The library for other languages; the only room for pointers.
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
    // Answers beside the server what is not decided; the server knows nothing of it.
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
    // A door of the server that stands in front of a broker; the server knows nothing of brokers.
    CrateRules {
        package: GATEWAY,
        pure: false,
        uses: &[KIT, LIMIT, CONTRACT, NODE, SERVE, MQTT],
    },
    // Asks as any client would, so that it can drive other servers too.
    CrateRules {
        package: LOAD,
        pure: false,
        uses: &[KIT, WIRE, MQTT],
    },
    // Stands between any two processes, so it knows neither.
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
    // Judges the others, so it shares no code with them.
    CrateRules {
        package: ORACLE,
        pure: false,
        uses: &[],
    },
    // Meets the world, so that what decides does not.
    CrateRules {
        package: STORE_SQL,
        pure: false,
        uses: &[LIMIT, SQLITE, STORE],
    },
    // What every engine must pass; only tests use it.
    CrateRules {
        package: CONFORMANCE,
        pure: false,
        uses: &[KIT, LIMIT, CONTRACT, STORE, ORACLE],
    },
    // Starts servers of others, and knows nothing of ours; only tests and measurements use it.
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

/// Crates that read a clock, ask the system for randomness, or wait; never below a pure crate.
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
