//! The place of the client in a program that was built without it: no value of it exists.

use std::convert::Infallible;

use tokio::sync::watch;

use super::{NatsError, NatsSettings, SendOutcome, StreamState};
use crate::batch::SignedBatch;
use crate::reader::StreamEntry;

/// There is nothing to check it with.
#[expect(clippy::unnecessary_wraps, reason = "the client checks it")]
pub(crate) fn check_credentials(_: &str) -> Result<(), String> {
    Ok(())
}

#[derive(Debug, Clone)]
pub struct AbsentStream(Infallible);

#[derive(Debug)]
pub struct AbsentEntries(Infallible);

#[derive(Debug)]
pub struct AbsentEntry(Infallible);

#[expect(clippy::unused_async, reason = "the client waits for its server")]
impl AbsentStream {
    pub async fn connect(_: NatsSettings) -> Result<Self, NatsError> {
        Err(NatsError::NoClient)
    }

    pub fn is_connected(&self) -> bool {
        match self.0 {}
    }

    pub async fn wait_until_connected(&self) {
        match self.0 {}
    }

    pub fn connections(&self) -> watch::Receiver<u64> {
        match self.0 {}
    }

    pub fn refusal(&self) -> watch::Receiver<Option<String>> {
        match self.0 {}
    }

    pub async fn open(&self) -> Result<StreamState, NatsError> {
        match self.0 {}
    }

    pub async fn has_other_reader(&self) -> Result<bool, NatsError> {
        match self.0 {}
    }

    pub async fn readers(&self) -> Result<Vec<(String, u64)>, NatsError> {
        match self.0 {}
    }

    pub async fn delete(&self) -> Result<(), NatsError> {
        match self.0 {}
    }

    pub async fn read_from(&self, _: u64) -> Result<AbsentEntries, NatsError> {
        match self.0 {}
    }

    pub async fn send(&self, _: SignedBatch, _: u64) -> SendOutcome {
        match self.0 {}
    }
}

#[expect(clippy::unused_async, reason = "the client waits for its server")]
impl AbsentEntries {
    pub async fn next(&mut self) -> Result<AbsentEntry, NatsError> {
        match self.0 {}
    }
}

impl AbsentEntry {
    pub fn size(&self) -> usize {
        match self.0 {}
    }

    pub fn as_entry(&self) -> StreamEntry<'_> {
        match self.0 {}
    }
}
