//! `ConversationService`: starts, continues, lists and closes conversations.

use std::sync::Arc;

use paw_agent::cli;
use paw_host::clock;
use paw_host::config;
use paw_host::process;
use paw_worktree::{ConversationStatus, ManagedWorktree};
use tonic::{Request, Response, Status};

use crate::proto::conversation_service_server::ConversationService;
use crate::proto::{
    CloseConversationRequest, CloseConversationResponse, Conversation, ListConversationsRequest,
    ListConversationsResponse, SendMessageRequest, StartConversationRequest,
};
use crate::shared::Shared;
use crate::status::CallError;
use crate::turn::{self, TurnEndReason, TurnStream};
use crate::wire;

#[derive(Debug)]
pub(crate) struct ConversationHandler(pub(crate) Arc<Shared>);

#[tonic::async_trait]
impl ConversationService for ConversationHandler {
    type SendMessageStream = TurnStream;

    async fn start_conversation(
        &self,
        request: Request<StartConversationRequest>,
    ) -> Result<Response<Conversation>, Status> {
        let request = request.into_inner();
        Ok(Response::new(self.0.run_blocking(move |shared| shared.start_conversation(request)).await?))
    }

    async fn send_message(
        &self,
        request: Request<SendMessageRequest>,
    ) -> Result<Response<TurnStream>, Status> {
        if self.0.stopping.is_cancelled() {
            return Err(Status::unavailable("The daemon is stopping"));
        }
        let SendMessageRequest { conversation_id, content } = request.into_inner();
        let stream = self.0.run_blocking(move |shared| turn::begin(shared, &conversation_id, &content));
        Ok(Response::new(stream.await?))
    }

    async fn list_conversations(
        &self,
        request: Request<ListConversationsRequest>,
    ) -> Result<Response<ListConversationsResponse>, Status> {
        let worktree = request.into_inner().worktree_id;
        let listed = self.0.run_blocking(move |shared| {
            let id = worktree.map(|id| shared.worktrees.require(&id, None)).transpose()?.map(|row| row.id);
            let found = shared.worktrees.registry().conversations(id.as_ref())?;
            Ok(found.iter().map(wire::conversation).collect())
        });
        Ok(Response::new(ListConversationsResponse { conversations: listed.await? }))
    }

    async fn close_conversation(
        &self,
        request: Request<CloseConversationRequest>,
    ) -> Result<Response<CloseConversationResponse>, Status> {
        let id = request.into_inner().conversation_id;
        let closed = self.0.run_blocking(move |shared| {
            let conversation = shared.worktrees.registry().require_conversation(&id)?;
            // Close it first, so that the end of its turn does not set it to idle.
            let registry = shared.worktrees.registry();
            let closed = registry.set_conversation_status(
                &conversation.id,
                ConversationStatus::Closed,
                clock::now(),
            )?;
            shared.turns.end(&conversation.id, TurnEndReason::Closed);
            // Earlier turns may have left servers and watchers running.
            process::end_marked(conversation.id.as_str());
            Ok(closed)
        });
        Ok(Response::new(CloseConversationResponse { closed: closed.await? }))
    }
}

impl Shared {
    fn start_conversation(&self, request: StartConversationRequest) -> Result<Conversation, CallError> {
        let row = self.worktrees.require_usable(&request.worktree_id, None)?;
        let name = match request.cli.filter(|cli| !cli.is_empty()) {
            Some(cli) => cli,
            None => self.default_cli(&row)?,
        };
        let cli = self.require_cli(&name)?;
        let model = request.model.filter(|model| !model.is_empty());
        let registry = self.worktrees.registry();
        let conversation =
            registry.start_conversation(&row.id, &cli.binary_name, model.as_deref(), clock::now())?;
        Ok(wire::conversation(&conversation))
    }

    fn default_cli(&self, row: &ManagedWorktree) -> Result<String, CallError> {
        let config =
            config::load_config(&row.repo, Some(&self.options.user_config)).map_err(CallError::Config)?;
        Ok(config.default_cli.unwrap_or_else(|| cli::DEFAULT.to_owned()))
    }
}
