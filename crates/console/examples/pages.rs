//! cargo run -p tollgate-console --example pages -- FOLDER: writes every sample page, to be looked at without a server.

#[path = "../tests/samples/mod.rs"]
mod samples;

use tollgate_console::{Theme, assets};

#[allow(clippy::disallowed_methods, reason = "an example meets the world")]
fn main() -> std::io::Result<()> {
    let folder = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "target/pages".to_owned());
    std::fs::create_dir_all(format!("{folder}/console/static"))?;
    for asset in [assets::STYLE, assets::SCRIPT, assets::ICON] {
        std::fs::write(
            format!("{folder}/console/static/{}", asset.name()),
            asset.text,
        )?;
    }
    for (name, page) in samples::pages(&str::to_owned, Theme::System) {
        std::fs::write(format!("{folder}/{name}.html"), page)?;
    }
    Ok(())
}
