//! Every mode crossed with every feature, by the table that `config check` and the reference go by (`Feature`): a cell
//! that works is asked for in simulation and of two processes, with exact answers; one that does not is refused with
//! the reason of the table.
//!
//! What is asked of a feature is in `cases`; `whole` are two nodes in virtual time, `live` two servers. Keys that
//! have owners or are in a store, files and assignments need a server, so those cells are asked of processes alone. Not
//! here: loss, partitions and crashes, which the lab has.

mod cases;
mod live;
mod pair;
mod whole;

use tollgate_contract::{Contracts, Coordination, Feature};
use tollgate_parts::Redis;

use crate::kit::tollgate;
use cases::Case;
use live::Live;
use pair::Pair;
use whole::Whole;

/// What is written of a mode in a policy.
fn written(mode: Coordination) -> String {
    let begins_full = match mode {
        Coordination::Lease => ", recovery: fresh, term: 1s",
        _ => "",
    };
    format!("coordination: {}{begins_full}", mode.name())
}

fn name(feature: Feature) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = feature.name().chars().map(kept).collect();
    name.trim_matches('-').to_owned()
}

/// The contracts of some features under a mode.
fn contracts(mode: Coordination, features: impl Iterator<Item = Feature>) -> String {
    let each = features.map(|feature| cases::contracts(feature, &name(feature), &written(mode)));
    let (plans, meet) = (cases::PLANS, cases::MEET);
    format!("{plans}contracts:\n{meet}{}", each.collect::<String>())
}

fn working(mode: Coordination) -> impl Iterator<Item = Feature> {
    Feature::all().filter(move |feature| mode.does(*feature).is_ok())
}

fn ask_all(pair: &mut dyn Pair, mode: Coordination) {
    for feature in working(mode) {
        if !pair.can(feature) {
            continue;
        }
        println!("{} under {}, {}", feature.name(), mode.name(), pair.what());
        cases::ask(&mut Case::new(pair, mode, &name(feature)), feature);
    }
}

#[test]
fn every_feature_works_in_every_mode_or_is_refused_with_the_reason_of_the_table() {
    let redis = Redis::start();
    let url = redis.url();
    std::thread::scope(|scope| {
        for mode in Coordination::ALL {
            let url = &url;
            let ask = move || {
                refuses(mode);
                if !matches!(mode, Coordination::Owner | Coordination::Store) {
                    let text = contracts(mode, working(mode));
                    ask_all(&mut Whole::start(&text), mode);
                }
                let mut live = Live::start(&contracts(mode, working(mode)), url);
                ask_all(&mut live, mode);
            };
            let thread = std::thread::Builder::new().name(mode.name().to_owned());
            thread.spawn_scoped(scope, ask).unwrap();
        }
    });
}

/// What a mode does not do is refused with the reason, by the command and by the reader.
fn refuses(mode: Coordination) {
    let folder = tempfile::tempdir().unwrap();
    for feature in Feature::all() {
        let Err(why) = mode.does(feature) else {
            continue;
        };
        let text = contracts(mode, std::iter::once(feature));
        if matches!(feature, Feature::Plan | Feature::Overrides) {
            Contracts::parse(&text).unwrap();
            continue;
        }
        let file = folder.path().join(name(feature));
        std::fs::write(&file, text).unwrap();
        let file = file.display().to_string();
        let output = tollgate(&["config", "check", &file]).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success(),
            "{} under {}",
            feature.name(),
            mode.name()
        );
        assert!(errors.contains(&why), "{why}: {errors}");
    }
}
