//! One session on several machines.
//!
//! Every host has its own log, and its agents talk only to it. The local messages of each log are sent to a stream in signed
//! batches, and the messages of all other hosts are read from there: exactly once, and in the order of their host.
//!
//! - [`host`]: whether a machine is ready
//! - [`roster`]: the hosts of a session, their keys, and which agents each may speak for
//! - [`batch`]: messages of one host, signed, as an entry of the stream
//! - [`reader`]: what an entry of the stream changes; recognises streams that were deleted or restored
//! - [`outbox`]: which local messages are sent next, one batch at a time
//! - [`replicator`]: both together, for one session
//! - [`nats`]: the stream in NATS JetStream (its client: feature `nats`)
//! - [`credentials`]: the user's login for servers of their own
//! - [`server`]: a `nats-server` of the session's own
//! - [`remote`], [`tunnel`], [`link`]: the hub runs git-paw on a host, and keeps a connection to it
//! - [`hub`], [`clone`]: starts an agent on a host; the host's part of it
//! - [`placement`]: which machine has room for an agent
//! - [`relocate`]: an agent that moves to another machine
//! - [`snapshot`]: uncommitted work of the agents on a host, for the hub
//! - [`request`]: what the user asks the session's process
//!
//! Batches, rosters, reader and outbox are pure.

pub mod batch;
pub mod clone;
pub mod credentials;
pub mod host;
pub mod hub;
pub mod link;
pub mod nats;
pub mod outbox;
pub mod pace;
pub mod placement;
pub mod reader;
pub mod relocate;
pub mod remote;
pub mod replicator;
pub mod request;
pub mod roster;
pub mod server;
pub mod snapshot;
pub mod tunnel;
