//! What commands do to the replicated state: who gets which slots, and how few of them move.
//!
//! Not here: how commands are agreed on.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tollgate_control::{
    ControlCommand, ControlError, ControlState, NODES_MAX, NodeInfo, NodeState, SLOTS, SlotMove,
    SlotStop,
};

fn info(number: u64, zone: &str) -> NodeInfo {
    NodeInfo {
        name: format!("n{number}"),
        id: number + 1,
        boot: 1 << 16,
        address: format!("10.0.0.{number}:7380"),
        zone: zone.to_owned(),
    }
}

/// A cluster, and the place of the next command.
struct Agreed {
    state: ControlState,
    next: u64,
}

impl Agreed {
    fn of(nodes: u64) -> Self {
        let mut it = Self {
            state: ControlState::default(),
            next: 1,
        };
        let founders = (0..nodes.min(3)).map(|number| info(number, "a")).collect();
        it.must(&ControlCommand::Found(founders));
        for number in 3..nodes {
            it.must(&ControlCommand::Join(info(number, "a")));
        }
        it.level();
        it
    }

    fn apply(&mut self, command: &ControlCommand) -> Result<(), ControlError> {
        self.next += 1;
        self.state.apply(self.next, command)
    }

    fn must(&mut self, command: &ControlCommand) {
        assert_eq!(self.apply(command), Ok(()));
    }

    /// Hands over all that should move; how many slots that are.
    fn level(&mut self) -> usize {
        let mut count = 0;
        loop {
            let moves = self.state.moves(64);
            if moves.is_empty() {
                return count;
            }
            count += moves.len();
            assert!(count <= 2 * SLOTS, "slots move for ever");
            self.must(&ControlCommand::Hand(moves.clone()));
            let hand = self.next;
            let stop = |one: SlotMove| SlotStop {
                slot: one.slot,
                hand,
            };
            let stops = moves.into_iter().map(stop).collect();
            self.must(&ControlCommand::Change(stops));
        }
    }

    fn epochs(&self) -> Vec<u64> {
        self.state.slots().iter().map(|slot| slot.epoch).collect()
    }
}

#[test]
fn every_slot_has_a_node_in_charge_and_another_that_stands_by() {
    for nodes in [3, 5, 8, 30] {
        let agreed = Agreed::of(nodes);
        let loads = agreed.state.loads();
        let part = SLOTS / usize::try_from(nodes).unwrap();
        assert!(
            loads.values().all(|load| (part..=part + 2).contains(load)),
            "{loads:?}"
        );
        for slot in agreed.state.slots() {
            assert_ne!(slot.in_charge, slot.standby);
            assert!(agreed.state.nodes().contains_key(&slot.standby));
        }
    }
}

#[test]
fn a_node_that_joins_moves_its_part_and_no_more() {
    let mut agreed = Agreed::of(7);
    let before: Vec<u16> = agreed
        .state
        .slots()
        .iter()
        .map(|slot| slot.in_charge)
        .collect();
    agreed.apply(&ControlCommand::Join(info(7, "a"))).unwrap();
    assert_eq!(agreed.level(), SLOTS / 8);
    for (slot, before) in agreed.state.slots().iter().zip(before) {
        assert!(slot.in_charge == before || slot.in_charge == 7);
    }
}

#[test]
fn slots_of_a_dead_node_go_to_those_who_stood_by() {
    let mut agreed = Agreed::of(5);
    let before = agreed.state.clone();
    let dead = ControlCommand::Dead { id: 3, since: 9 };
    agreed.apply(&dead).unwrap();
    for (slot, before) in agreed.state.slots().iter().zip(before.slots()) {
        if before.in_charge == 2 {
            assert_eq!(
                (slot.in_charge, slot.epoch),
                (before.standby, before.epoch + 1)
            );
        } else {
            assert_eq!(
                (slot.in_charge, slot.epoch),
                (before.in_charge, before.epoch)
            );
        }
        assert!(slot.standby != 2 && slot.standby != slot.in_charge);
    }
    assert_eq!(agreed.apply(&dead), Err(ControlError::Stale));
    let shares = agreed.state.shares();
    agreed.apply(&ControlCommand::Lapse { id: 3 }).unwrap();
    assert!(!agreed.state.nodes()[&2].has_share && agreed.state.shares() == shares + 1);
    agreed.apply(&ControlCommand::Return(info(2, "a"))).unwrap();
    assert!(agreed.state.nodes()[&2].has_share && agreed.state.shares() == shares + 2);
    assert_eq!(agreed.state.nodes()[&2].state, NodeState::Present);
}

#[test]
fn a_restart_is_a_new_epoch_and_ends_hand_overs() {
    let mut agreed = Agreed::of(3);
    let slot = agreed
        .state
        .slots()
        .iter()
        .position(|slot| slot.in_charge == 1)
        .unwrap();
    let slot = u16::try_from(slot).unwrap();
    agreed
        .apply(&ControlCommand::Hand(vec![SlotMove { slot, to: 2 }]))
        .unwrap();
    let (hand, before) = (agreed.next, *agreed.state.slot(slot).unwrap());
    let again = NodeInfo {
        boot: 2 << 16,
        ..info(1, "a")
    };
    agreed.apply(&ControlCommand::Return(again)).unwrap();
    agreed
        .apply(&ControlCommand::Change(vec![SlotStop { slot, hand }]))
        .unwrap();
    let after = agreed.state.slot(slot).unwrap();
    assert_eq!((after.in_charge, after.epoch), (1, before.epoch + 1));
}

#[test]
fn a_drained_node_ends_with_nothing_and_can_be_forgotten_once_it_is_gone() {
    let mut agreed = Agreed::of(4);
    let (forget, drain) = (
        ControlCommand::Forget {
            name: String::from("n2"),
        },
        ControlCommand::Drain {
            name: String::from("n2"),
        },
    );
    assert_eq!(agreed.apply(&forget), Err(ControlError::StillThere));
    agreed.apply(&drain).unwrap();
    assert_eq!(agreed.level(), SLOTS / 4);
    assert_eq!(agreed.state.loads().get(&2), None);
    agreed.apply(&ControlCommand::Leave { id: 3 }).unwrap();
    agreed.apply(&forget).unwrap();
    assert_eq!(agreed.apply(&forget), Err(ControlError::UnknownNode));
}

#[test]
fn a_moved_slot_stays_and_a_zone_gets_what_it_uses() {
    let mut agreed = Agreed::of(3);
    agreed.apply(&ControlCommand::Join(info(3, "b"))).unwrap();
    agreed.level();
    let mine = agreed
        .state
        .slots()
        .iter()
        .position(|slot| slot.in_charge == 0)
        .unwrap();
    let mine = u16::try_from(mine).unwrap();
    let other = mine + 1;
    agreed
        .apply(&ControlCommand::Move {
            slot: mine,
            name: String::from("n1"),
        })
        .unwrap();
    let hand = agreed.next;
    agreed
        .apply(&ControlCommand::Change(vec![SlotStop { slot: mine, hand }]))
        .unwrap();
    agreed
        .apply(&ControlCommand::Prefer {
            slot: other,
            zone: String::from("b"),
        })
        .unwrap();
    agreed.level();
    assert_eq!(agreed.state.slot(mine).unwrap().in_charge, 1);
    assert_eq!(agreed.state.slot(other).unwrap().in_charge, 3);
}

#[test]
fn a_full_roster_forgets_those_who_left_first() {
    let mut agreed = Agreed::of(3);
    for number in 3..1_500 {
        agreed
            .apply(&ControlCommand::Join(info(number, "a")))
            .unwrap();
        agreed
            .apply(&ControlCommand::Leave { id: number + 1 })
            .unwrap();
    }
    assert_eq!(agreed.state.nodes().len(), NODES_MAX);
    assert!((0..3).all(|number| agreed.state.by_id(number + 1).is_some()));
    assert!(agreed.state.by_id(4).is_none() && agreed.state.by_id(1_500).is_some());
}

fn command() -> impl Strategy<Value = ControlCommand> {
    let (number, slot) = (0..9_u64, 0..4_096_u16);
    let name = number.clone().prop_map(|number| format!("n{number}"));
    let list = prop::collection::vec((slot.clone(), 0..9_u16), 0..5);
    let stops = prop::collection::vec((slot.clone(), 0..40_u64), 0..5);
    let stops = stops.prop_map(|stops| {
        stops
            .into_iter()
            .map(|(slot, hand)| SlotStop { slot, hand })
            .collect::<Vec<_>>()
    });
    let zone = prop::sample::select(vec!["a", "b"]);
    prop_oneof![
        (number.clone(), 1..4_u64, zone.clone()).prop_map(|(number, boot, zone)| {
            ControlCommand::Join(NodeInfo {
                boot: boot << 16,
                ..info(number, zone)
            })
        }),
        (number.clone(), 1..9_u64).prop_map(|(number, boot)| {
            ControlCommand::Return(NodeInfo {
                boot: boot << 16,
                ..info(number, "a")
            })
        }),
        number
            .clone()
            .prop_map(|id| ControlCommand::Dead { id, since: 7 }),
        number.clone().prop_map(|id| ControlCommand::Lapse { id }),
        number.clone().prop_map(|id| ControlCommand::Leave { id }),
        name.clone()
            .prop_map(|name| ControlCommand::Forget { name }),
        name.clone().prop_map(|name| ControlCommand::Drain { name }),
        (slot.clone(), name.clone()).prop_map(|(slot, name)| ControlCommand::Move { slot, name }),
        list.prop_map(|list| ControlCommand::Hand(
            list.into_iter()
                .map(|(slot, to)| SlotMove { slot, to })
                .collect()
        )),
        stops.clone().prop_map(ControlCommand::Change),
        stops.prop_map(ControlCommand::CallOff),
        (slot, zone).prop_map(|(slot, zone)| ControlCommand::Prefer {
            slot,
            zone: zone.to_owned()
        }),
        any::<u64>().prop_map(|revision| ControlCommand::Contracts { revision }),
        (name, any::<bool>())
            .prop_map(|(name, is_expected)| ControlCommand::Expect { name, is_expected }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn epochs_only_grow_and_grow_with_every_change(commands in prop::collection::vec(command(), 1..60)) {
        let mut agreed = Agreed::of(3);
        for command in commands {
            let (before, epochs) = (agreed.state.clone(), agreed.epochs());
            let _ = agreed.apply(&command);
            for ((old, new), epoch) in before.slots().iter().zip(agreed.state.slots()).zip(epochs) {
                prop_assert!(new.epoch >= epoch);
                prop_assert!(new.in_charge == old.in_charge || new.epoch > epoch);
            }
            let names: BTreeSet<&String> = agreed.state.nodes().values().map(|node| &node.info.name).collect();
            prop_assert_eq!(names.len(), agreed.state.nodes().len());
        }
        let bytes = agreed.state.encode();
        prop_assert_eq!(ControlState::decode(&bytes), Some(agreed.state));
    }

    #[test]
    fn commands_come_back_whole(command in command(), cut in 0..100_usize) {
        let bytes = command.encode();
        prop_assert_eq!(ControlCommand::decode(&bytes), Some(command));
        let cut = cut % bytes.len();
        let _ = ControlCommand::decode(&bytes[..cut]);
        let _ = ControlState::decode(&bytes[..cut]);
    }
}
