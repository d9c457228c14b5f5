//! `[broker]`: the message broker.

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
        /// token: senders must authenticate; none: no authentication
        default auth: BrokerAuth = BrokerAuth::Token,
        /// normal: messages survive a crash; full: also a power cut, but slower
        default synchronous: Synchronous = Synchronous::Normal,
        /// watches the files that agents change
        section watcher: WatcherConfig,
    }
}

section! {
    /// How changes in worktrees become status messages.
    WatcherConfig {
        /// repeat the status "working" after this long; 0: never, at least 5 otherwise
        default republish_working_ttl_seconds: u64 = 60,
    }
}

choice! {
    /// How senders authenticate.
    BrokerAuth {
        Token = "token",
        None = "none",
    }
}

choice! {
    /// What an acknowledged message survives.
    Synchronous {
        Normal = "normal",
        Full = "full",
    }
}

impl BrokerConfig {
    /// The URL of the broker.
    pub fn url(&self) -> String {
        match self.bind.parse::<Ipv6Addr>() {
            Ok(address) => format!("http://[{address}]:{}", self.port),
            Err(_) => format!("http://{}:{}", self.bind, self.port),
        }
    }
}
