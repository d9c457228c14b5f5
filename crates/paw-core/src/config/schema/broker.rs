//! `[broker]`: how agents' messages are carried.

use std::net::Ipv6Addr;

use crate::config::section::{choice, section};

section! {
    /// The message broker of a session.
    BrokerConfig {
        /// run a broker in every session; supervisor mode always does
        default enabled: bool = false,
        /// preferred port; the next free one if it is taken
        default port: u16 = 9119,
        /// address to listen on
        default bind: String = "127.0.0.1".to_owned(),
        /// token: senders prove who they are; none: they do not
        default auth: BrokerAuth = BrokerAuth::Token,
        /// normal: messages survive a crash; full: a power cut too, but slower
        default synchronous: Synchronous = Synchronous::Normal,
        /// agents' changed files
        section watcher: WatcherConfig,
    }
}

section! {
    /// How changes in worktrees become status messages.
    WatcherConfig {
        /// say "working" again after this long; 0 turns it off, 5 is the least
        default republish_working_ttl_seconds: u64 = 60,
    }
}

choice! {
    /// How a sender proves who it is.
    BrokerAuth {
        Token = "token",
        None = "none",
    }
}

choice! {
    /// What a message that was acknowledged survives.
    Synchronous {
        Normal = "normal",
        Full = "full",
    }
}

impl BrokerConfig {
    /// Where the broker is reached.
    pub fn url(&self) -> String {
        match self.bind.parse::<Ipv6Addr>() {
            Ok(address) => format!("http://[{address}]:{}", self.port),
            Err(_) => format!("http://{}:{}", self.bind, self.port),
        }
    }
}
