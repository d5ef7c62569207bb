//! What nodes of a control plane send each other, and what they keep on disk: read, and taken by a node that runs.

#![no_main]

use tollgate_control::{
    Control, ControlCommand, ControlConfig, ControlDisk, ControlFrame, ControlStart, ControlState,
    ControlTime,
};

fn node() -> Control {
    let start = ControlStart {
        name: String::from("n1"),
        address: String::from("10.0.0.1:7380"),
        zone: String::new(),
        seed: 1,
        config: ControlConfig::default(),
        disk: None,
    };
    let mut node = Control::new(start, ControlTime::default());
    settle(&mut node, 0);
    node
}

fn settle(node: &mut Control, steady: u64) {
    let now = ControlTime { steady, wall_ms: 0 };
    while node.poll_write().is_some() {
        node.handle_written(true, now);
    }
    while node.poll_send().is_some() {}
    while node.poll_event().is_some() {}
}

/// The first byte says what the bytes are; frames follow each other behind two bytes of length.
fn check(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    match kind % 4 {
        0 => {
            let mut node = node();
            let (mut rest, mut steady) = (rest, 0);
            while let Some((length, after)) = rest.split_first_chunk::<2>() {
                let length = usize::from(u16::from_le_bytes(*length)).min(after.len());
                let (frame, after) = after.split_at(length);
                rest = after;
                steady += 100_000_000;
                let now = ControlTime { steady, wall_ms: 0 };
                let _ = node.handle_frame("n2", frame, now);
                settle(&mut node, steady);
                node.handle_timeout(now);
                settle(&mut node, steady);
            }
            let _ = node.view().in_charge(7);
        }
        1 => {
            if let Ok(frame) = ControlFrame::decode(rest) {
                assert_eq!(ControlFrame::decode(&frame.encode()), Ok(frame));
            }
        }
        2 => {
            let _ = ControlDisk::recover(rest, "n1");
        }
        _ => {
            if let Some(command) = ControlCommand::decode(rest) {
                assert_eq!(
                    ControlCommand::decode(&command.encode()),
                    Some(command.clone())
                );
                let _ = ControlState::default().apply(9, &command);
            }
            let _ = ControlState::decode(rest);
        }
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check(bytes));
