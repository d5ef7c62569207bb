//! Frames of strangers.

use proptest::prelude::*;

use super::*;
use crate::talk::Frame;

/// Real frames of every kind, and the cluster they were sent in.
fn traffic() -> Cluster {
    let numbers = Numbers {
        burst: 40,
        tokens: 1,
        per_ns: SECOND,
    };
    let network = Net {
        loss: 20,
        copies: 10,
        delay_max: SECOND / 2,
    };
    let mut cluster = Cluster::new(5, numbers, Knobs::default(), network);
    let mut dice = Dice::new(1);
    for step in 0..400 {
        let next = cluster.now + dice.below(SECOND / 4);
        cluster.run_until(next);
        let key = Key(u128::from(dice.below(4)));
        cluster.request(dice.below(5) as u16, key, 1);
        if step % 100 == 50 {
            cluster.restart(dice.below(5) as u16);
        }
    }
    cluster
}

#[test]
fn every_kind_of_frame_comes_back_as_it_was() {
    let cluster = traffic();
    let mut kinds = [0_u32; 16];
    for (_, _, frame) in &cluster.sent {
        let (header, content) = Frame::decode(frame, Instant::LAST).unwrap();
        kinds[usize::from(header.kind)] += 1;
        assert_eq!(&content.encode(header), frame);
    }
    assert!(kinds[1..=9].iter().all(|&count| count > 0), "{kinds:?}");
}

#[test]
fn a_publication_of_one_segment_takes_sixty_six_bytes_on_the_network() {
    let cluster = traffic();
    let lengths = cluster
        .sent
        .iter()
        .map(|(_, _, frame)| (frame[0] & 0x0f, frame.len()));
    assert_eq!(
        lengths
            .filter(|(kind, _)| *kind == 1)
            .map(|(_, length)| length)
            .min(),
        Some(38)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn strange_bytes_are_refused_whole_or_taken_without_harm(
        noise in prop::collection::vec(any::<u8>(), 0..80),
        picks in prop::collection::vec((any::<u16>(), any::<u16>(), any::<u8>(), any::<bool>()), 40),
    ) {
        let mut cluster = traffic();
        let now = at(cluster.now);
        let sent = cluster.sent.clone();
        let node = &mut cluster.nodes[0];
        let mut frames = vec![noise.clone()];
        for kind in 1..=9 {
            let mut frame = vec![0x10 | kind, 7, 0, 1, 0, 0, 0, 0];
            frame.extend(&noise);
            frames.push(frame);
        }
        for (which, place, byte, cuts) in picks {
            let mut frame = sent[usize::from(which) % sent.len()].2.to_vec();
            let place = usize::from(place) % frame.len();
            if cuts { frame.truncate(place) } else { frame[place] = byte }
            frames.push(frame);
        }
        for frame in frames {
            let before = format!("{node:?}");
            if node.handle_frame(NodeId(1), &frame, now).is_err() {
                prop_assert_eq!(before, format!("{node:?}"));
            }
            node.level(Key(1), now);
            node.handle_timeout(now);
            while node.poll_send().is_some() {}
            node.check_caches();
        }
    }
}
