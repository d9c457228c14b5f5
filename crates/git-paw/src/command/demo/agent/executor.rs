//! The scripted agent as an executor of autopilot: writes a test or the code, depending on PAW_PHASE.

use std::io::Read as _;

use paw_core::PawError;
use paw_host::files::{self, Access};

use crate::context::Context;

const TEST: (&str, &str) = (
    "tests/shout.sh",
    "test \"$(sh src/shout.sh Ada)\" = \"HELLO, ADA\" || { echo 'FAILED: no shouting yet'; exit 1; }\n",
);
const CODE: (&str, &str) = ("src/shout.sh", "#!/bin/sh\necho \"hello, ${1:-world}\" | tr a-z A-Z\n");

pub(super) fn run(context: &Context) -> Result<(), PawError> {
    let mut prompt = String::new();
    std::io::stdin()
        .read_to_string(&mut prompt)
        .map_err(|error| PawError::internal(format!("cannot read the prompt: {error}")))?;
    let red = std::env::var_os("PAW_PHASE").is_some_and(|phase| phase == "RED");
    let (file, text) = if red { TEST } else { CODE };
    files::write_atomic(&context.cwd.join(file), text.as_bytes(), Access::Usual)?;
    context.output.say(&format!("wrote {file}"))
}
