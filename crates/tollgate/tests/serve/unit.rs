//! The unit for systemd has nothing that systemd or the server does not know.

use std::process::Command;

use crate::kit::{file, run, tollgate};

const UNIT: &str = include_str!("../../../../deploy/systemd/tollgate.service");

#[test]
fn the_unit_starts_the_server_with_flags_that_it_has() {
    let start = UNIT
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="));
    let words: Vec<&str> = start.unwrap().split(' ').collect();
    assert_eq!(words[..2], ["/usr/bin/tollgate", "serve"]);
    let help = String::from_utf8(run(&["serve", "--help"]).stdout).unwrap();
    let flags: Vec<_> = words.iter().filter(|word| word.starts_with("--")).collect();
    assert!(flags.len() >= 2, "{words:?}");
    for flag in flags {
        assert!(help.contains(&format!("{flag} ")), "{flag}: {help}");
    }
}

#[test]
fn systemd_takes_the_unit_without_a_word() {
    if Command::new("systemd-analyze")
        .arg("--version")
        .output()
        .is_err()
    {
        println!("skipped: there is no systemd-analyze");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let serve = tollgate(&[]);
    let program = serve.get_program().to_str().unwrap();
    let unit = UNIT.replace("/usr/bin/tollgate", program);
    let verify = |text: &str| {
        let unit = file(folder.path(), "tollgate.service", text);
        let mut command = Command::new("systemd-analyze");
        let output = command
            .args(["verify", "--man=no"])
            .arg(unit)
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        String::from_utf8(said).unwrap()
    };
    assert_eq!(verify(&unit), "");
    let wrong = verify(&unit.replace("ProtectSystem=", "ProtectSistem="));
    assert!(wrong.contains("ProtectSistem"), "{wrong}");
}
