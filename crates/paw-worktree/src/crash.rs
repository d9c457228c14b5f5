//! Named moments at which a test can make this process die, to see what the next one finds.

/// Dies here, as by `kill -9`, when `GIT_PAW_CRASH_AT` names this moment. Does nothing in a release build.
#[cfg(debug_assertions)]
pub fn point(moment: &str) {
    if std::env::var_os("GIT_PAW_CRASH_AT").is_some_and(|wanted| wanted == moment) {
        std::process::abort();
    }
}

#[cfg(not(debug_assertions))]
pub fn point(_moment: &str) {}
