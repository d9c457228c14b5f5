//! What a tool is: a name, a description, what it takes, and a function that answers.

use std::fmt;

use paw_core::PawError;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::sets::ToolSet;
use super::{arguments, place, schema};
use crate::context::Context;

/// What a call does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Reads,
    /// Adds something and takes nothing away.
    Adds,
    Changes,
}

type Call = Box<dyn Fn(Map<String, Value>, &Context) -> Result<Value, PawError> + Send + Sync>;

pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) set: ToolSet,
    pub(super) effect: Effect,
    pub(super) description: &'static str,
    /// JSON Schema of the arguments.
    pub(super) schema: Map<String, Value>,
    call: Call,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Tool {
    pub(super) fn new<A: DeserializeOwned + JsonSchema + 'static>(
        set: ToolSet,
        name: &'static str,
        effect: Effect,
        description: &'static str,
        call: fn(A, &Context) -> Result<Value, PawError>,
    ) -> Self {
        let schema = schema::of::<A>();
        let names = schema::names(&schema);
        let call =
            move |arguments, context: &Context| call(arguments::read(name, arguments, &names)?, context);
        Self { name, set, effect, description, schema, call: Box::new(call) }
    }

    pub(super) fn changes(&self) -> bool {
        self.effect != Effect::Reads
    }

    /// Answers one call. `server` is where the server was started; its own output is the protocol's.
    pub(super) fn answer(
        &self,
        mut arguments: Map<String, Value>,
        server: &Context,
    ) -> Result<Value, PawError> {
        let cwd = place::resolve(arguments.remove(place::PARAMETER), &server.cwd)?;
        if !cwd.is_dir() {
            return Err(place::refuse(&format!("{} is no directory", cwd.display())));
        }
        let context = server.for_program(cwd);
        (self.call)(arguments, &context)
    }
}
