//! Token hashes in the database.

use paw_core::AgentId;
use rusqlite::{Connection, params};

use super::SessionId;
use crate::identity::TokenHash;

/// The value of the session column for a token that is valid in every session.
const EVERY_SESSION: &str = "";

pub(super) fn save(
    connection: &Connection,
    session: Option<&SessionId>,
    agent: &AgentId,
    hash: TokenHash,
) -> rusqlite::Result<()> {
    let session = session.map_or(EVERY_SESSION, SessionId::as_str);
    let save = "INSERT INTO token VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET hash = ?3 WHERE hash <> ?3";
    connection.execute(save, params![session, agent.as_str(), hash.as_bytes()]).map(drop)
}

pub(super) fn delete(connection: &Connection, session: &SessionId, agent: &AgentId) -> rusqlite::Result<()> {
    let delete = "DELETE FROM token WHERE session = ?1 AND agent = ?2";
    connection.execute(delete, params![session.as_str(), agent.as_str()]).map(drop)
}

pub(super) fn load(
    connection: &Connection,
    session: &SessionId,
) -> rusqlite::Result<Vec<(AgentId, TokenHash)>> {
    let query = "SELECT agent, hash FROM token WHERE session IN (?1, ?2)";
    let mut statement = connection.prepare_cached(query)?;
    let rows = statement.query_map([session.as_str(), EVERY_SESSION], |row| {
        let agent = AgentId::new(row.get_ref(0)?.as_str()?).ok();
        Ok(agent.map(|agent| Ok((agent, TokenHash::from_bytes(row.get(1)?)))))
    })?;
    rows.filter_map(|row| row.transpose().map(Result::flatten)).collect()
}

/// All tokens, with the session column.
pub(super) fn load_all(connection: &Connection) -> rusqlite::Result<Vec<(String, AgentId, TokenHash)>> {
    let mut statement = connection.prepare("SELECT session, agent, hash FROM token")?;
    let rows = statement.query_map([], |row| {
        let agent = AgentId::new(row.get_ref(1)?.as_str()?).ok();
        Ok(agent.map(|agent| Ok((row.get(0)?, agent, TokenHash::from_bytes(row.get(2)?)))))
    })?;
    rows.filter_map(|row| row.transpose().map(Result::flatten)).collect()
}
