//! The `tollgate` command, which is in the library of the same name.

use std::process::ExitCode;

fn main() -> ExitCode {
    tollgate::main()
}
