//! `WorktreeService`: translates requests to calls of `paw-worktree`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use paw_core::PawError;
use paw_host::config;
use paw_worktree::setup::{SetupOutcome, SetupStatus};
use paw_worktree::{CreateRequest, CreatedWorktree, ManagedWorktree, Preparation, RemoveOptions};
use tonic::{Request, Response, Status};

use crate::proto::worktree_service_server::WorktreeService;
use crate::proto::{
    CreateWorktreeRequest, ListWorktreesRequest, ListWorktreesResponse, RemoveWorktreeRequest,
    RemoveWorktreeResponse, SwitchWorktreeRequest, SwitchWorktreeResponse, WorktreeInfo,
};
use crate::shared::Shared;
use crate::status::CallError;
use crate::turn::TurnEndReason;
use crate::wire;

#[derive(Debug)]
pub(crate) struct WorktreeHandler(pub(crate) Arc<Shared>);

#[tonic::async_trait]
impl WorktreeService for WorktreeHandler {
    async fn list_worktrees(
        &self,
        request: Request<ListWorktreesRequest>,
    ) -> Result<Response<ListWorktreesResponse>, Status> {
        let request = request.into_inner();
        let worktrees = self.0.run_blocking(move |shared| shared.list(&request.repo_path)).await?;
        Ok(Response::new(ListWorktreesResponse { worktrees }))
    }

    async fn create_worktree(
        &self,
        request: Request<CreateWorktreeRequest>,
    ) -> Result<Response<WorktreeInfo>, Status> {
        let request = request.into_inner();
        Ok(Response::new(self.0.run_blocking(move |shared| shared.create(request)).await?))
    }

    async fn switch_worktree(
        &self,
        request: Request<SwitchWorktreeRequest>,
    ) -> Result<Response<SwitchWorktreeResponse>, Status> {
        let id = request.into_inner().worktree_id;
        let switched = self.0.run_blocking(move |shared| {
            let switched = shared.worktrees.switch(&id, None)?;
            let worktree = Some(shared.info(&switched.worktree)?);
            let previous_worktree_id = switched.previous_worktree_id.map(|id| id.to_string());
            Ok(SwitchWorktreeResponse { worktree, previous_worktree_id })
        });
        Ok(Response::new(switched.await?))
    }

    async fn remove_worktree(
        &self,
        request: Request<RemoveWorktreeRequest>,
    ) -> Result<Response<RemoveWorktreeResponse>, Status> {
        let request = request.into_inner();
        Ok(Response::new(self.0.run_blocking(move |shared| shared.remove(&request)).await?))
    }
}

impl Shared {
    fn list(&self, repo_path: &str) -> Result<Vec<WorktreeInfo>, CallError> {
        let repo = if repo_path.is_empty() { None } else { Some(absolute(repo_path)?) };
        let listing = self.worktrees.list(repo.as_deref())?;
        let conversations = self.worktrees.registry().conversations(None)?;
        let managed = listing.worktrees.iter().map(|row| wire::managed(row, &conversations));
        Ok(managed.chain(listing.unmanaged.iter().map(wire::unmanaged)).collect())
    }

    fn info(&self, row: &ManagedWorktree) -> Result<WorktreeInfo, CallError> {
        let conversations = self.worktrees.registry().conversations(Some(&row.id))?;
        Ok(wire::managed(row, &conversations))
    }

    fn create(&self, request: CreateWorktreeRequest) -> Result<WorktreeInfo, CallError> {
        let CreateWorktreeRequest { repo_path, branch, name, path, create_branch } = request;
        let repo_path = if repo_path.is_empty() { PathBuf::new() } else { absolute(&repo_path)? };
        let request = CreateRequest { repo_path, branch, name, path: path.map(PathBuf::from), create_branch };
        let created = self.worktrees.create(&request, &mut |_| {})?;
        let mut notes = created.notes.clone();
        let row = match self.preparation(&created) {
            Ok(preparation) => {
                let prepared =
                    self.worktrees.prepare(&created, &preparation, |line| tracing::debug!("{line}"))?;
                notes.extend(prepared.notes);
                if let Some(error) = &prepared.worktree.setup.error {
                    tracing::warn!("setup of {} failed: {error}", prepared.worktree.path.display());
                }
                prepared.worktree
            }
            // A failed setup is reported in the status of the worktree; the worktree is kept.
            Err(error) => {
                tracing::warn!("setup of {} failed: {error}", created.worktree.path.display());
                let setup = SetupOutcome { status: SetupStatus::Failed, error: Some(error.to_string()) };
                ManagedWorktree { setup, ..created.worktree.clone() }
            }
        };
        Ok(WorktreeInfo { notes, ..self.info(&row)? })
    }

    /// The configured setup of a new worktree. The repository's steps run only if the user has approved them.
    fn preparation(&self, created: &CreatedWorktree) -> Result<Preparation, PawError> {
        let layers = config::load_layers(Some(&created.repo.root), Some(&self.options.user_config))?;
        let config = layers.resolve()?;
        let planned = Preparation::from_config(&config, &layers.repo, &created.repo);
        let checked = planned.clone().apply_approvals(&self.trust, &created.repo);
        Ok(checked.unwrap_or_else(|error| {
            tracing::warn!("{error}");
            planned
        }))
    }

    fn remove(&self, request: &RemoveWorktreeRequest) -> Result<RemoveWorktreeResponse, CallError> {
        let row = self.worktrees.require(&request.worktree_id, None)?;
        if request.force {
            self.turns.end_all_of(&row.id, TurnEndReason::Removed);
        }
        let options = RemoveOptions { force: request.force, ..RemoveOptions::default() };
        let removed = self.worktrees.remove(row.id.as_str(), None, options)?;
        let left = removed.ignored_left_behind.iter().map(|path| path.to_string_lossy().into_owned());
        Ok(RemoveWorktreeResponse {
            removed: true,
            ignored_left_behind: left.collect(),
            sessions_closed: removed.sessions_closed,
            rescue: removed.rescue.map(|rescue| rescue.reference),
            notes: removed.notes,
        })
    }
}

/// Rejects relative paths, because a daemon has no meaningful working directory.
fn absolute(path: &str) -> Result<PathBuf, CallError> {
    let path = Path::new(path);
    if path.is_absolute() { Ok(path.to_path_buf()) } else { Err(CallError::RelativePath(path.to_path_buf())) }
}
