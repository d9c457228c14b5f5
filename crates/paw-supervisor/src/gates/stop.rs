//! The wish that checks end before they are done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Nobody has it, until somebody raises it. All clones are one.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn raise(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
