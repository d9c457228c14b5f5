//! Named crash points, for tests of recovery.

/// Aborts the process if `GIT_PAW_CRASH_AT` names this point. Does nothing in a release build.
#[cfg(debug_assertions)]
pub fn point(name: &str) {
    if std::env::var_os("GIT_PAW_CRASH_AT").is_some_and(|wanted| wanted == name) {
        std::process::abort();
    }
}

#[cfg(not(debug_assertions))]
pub fn point(_name: &str) {}
