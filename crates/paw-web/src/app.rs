//! What every request needs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use hyper::http::request::Parts;
use jiff::Timestamp;
use paw_broker::Bus;
use paw_broker::http::RunRequest;
use paw_core::{AgentId, BranchName, ErrorReport, PawError, text};
use paw_host::clock;
use paw_host::files::Dirs;
use paw_host::git::Repo;
use paw_host::process::{Command, own_program};
use paw_session::Receipts;
use paw_session::lifecycle::Session;
use paw_supervisor::proof;
use paw_view::ViewEvent;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, watch};

use crate::access::{self, OwnNames};
use crate::feed::Feed;
use crate::job::Jobs;
use crate::login::{Login, LoginError, LoginFile, Logins, Scope};
use crate::response::WebRefusal;
use crate::take_over::{Holder, TakeOvers};

/// Streams and terminals that may be open at once.
const MOST_STREAMS: usize = 64;
/// Longer than delivering an instruction may take.
const COMMAND_TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(crate) struct App {
    pub(crate) repo: Repo,
    pub(crate) dirs: Dirs,
    pub(crate) receipts: Receipts,
    pub(crate) bus: Arc<Bus>,
    pub(crate) feed: Arc<Feed>,
    pub(crate) names: OwnNames,
    pub(crate) jobs: Jobs,
    pub(crate) streams: Arc<Semaphore>,
    /// The branch that agents' branches are compared with.
    base: OnceLock<Option<BranchName>>,
    /// No login may act, whatever its code says.
    view_only: bool,
    logins: Mutex<(LoginFile, Logins)>,
    taken: Mutex<TakeOvers>,
    taken_panes: watch::Sender<BTreeMap<AgentId, u64>>,
    revoked: watch::Sender<u64>,
    closed: AtomicBool,
}

/// What an [`App`] is made of.
#[derive(Debug)]
pub(crate) struct AppParts {
    pub(crate) repo: Repo,
    pub(crate) dirs: Dirs,
    pub(crate) receipts: Receipts,
    pub(crate) bus: Arc<Bus>,
    pub(crate) runs: mpsc::Sender<RunRequest>,
    pub(crate) feed: Arc<Feed>,
    pub(crate) names: OwnNames,
    pub(crate) view_only: bool,
    pub(crate) terminal_timeout_seconds: u64,
    pub(crate) logins: (LoginFile, Logins),
}

impl App {
    pub(crate) fn new(parts: AppParts) -> Arc<Self> {
        let AppParts {
            repo,
            dirs,
            receipts,
            bus,
            runs,
            feed,
            names,
            view_only,
            terminal_timeout_seconds,
            logins,
        } = parts;
        Arc::new(Self {
            repo,
            dirs,
            receipts,
            bus,
            jobs: Jobs::new(Arc::clone(&feed), runs),
            feed,
            names,
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
            base: OnceLock::new(),
            view_only,
            logins: Mutex::new(logins),
            taken: Mutex::new(TakeOvers::new(terminal_timeout_seconds)),
            taken_panes: watch::channel(BTreeMap::new()).0,
            revoked: watch::channel(0).0,
            closed: AtomicBool::new(false),
        })
    }

    fn logins(&self) -> MutexGuard<'_, (LoginFile, Logins)> {
        self.logins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the logins and writes them down.
    fn change_logins<T>(&self, change: impl FnOnce(&mut Logins) -> T) -> T {
        let mut guard = self.logins();
        let (file, logins) = &mut *guard;
        let result = change(logins);
        if let Err(error) = file.save(logins) {
            tracing::warn!(target: "paw::web", "logins end with this process: {error}");
        }
        result
    }

    /// A code for one login, and what that login may do.
    pub(crate) fn create_code(&self, scope: Scope) -> Result<(String, Scope), LoginError> {
        let scope = if self.view_only { Scope::View } else { scope };
        Ok((self.logins().1.create_code(scope, clock::now())?, scope))
    }

    pub(crate) fn log_in(&self, code: &str) -> Result<(String, Login), LoginError> {
        let (token, login) = self.change_logins(|logins| logins.exchange(code, clock::now()))?;
        Ok((token.reveal().to_owned(), self.limited(login)))
    }

    /// The login of a request.
    pub(crate) fn require_login(&self, head: &Parts) -> Result<Login, WebRefusal> {
        let token = access::token(&head.headers).ok_or(WebRefusal::NoLogin)?;
        let login = self.change_logins(|logins| logins.find(&token, clock::now()));
        login.map(|login| self.limited(login)).ok_or(WebRefusal::NoLogin)
    }

    /// The login of a request that changes something.
    pub(crate) fn require_act(&self, head: &Parts) -> Result<Login, WebRefusal> {
        let login = self.require_login(head)?;
        if login.scope == Scope::Act { Ok(login) } else { Err(WebRefusal::ViewOnly) }
    }

    fn limited(&self, login: Login) -> Login {
        if self.view_only { login.without_acting() } else { login }
    }

    pub(crate) fn create_ticket(&self, login: &Login) -> Result<String, LoginError> {
        Ok(self.logins().1.create_ticket(login, clock::now())?.reveal().to_owned())
    }

    pub(crate) fn take_ticket(&self, ticket: &str) -> Option<Login> {
        let ticket = paw_broker::identity::Token::from_text(ticket);
        self.logins().1.take_ticket(&ticket, clock::now()).map(|login| self.limited(login))
    }

    /// Whether a stream or a terminal of this login may stay open.
    pub(crate) fn is_valid(&self, login: &Login) -> bool {
        !self.closed.load(Ordering::SeqCst) && self.logins().1.is_valid(login, clock::now())
    }

    /// Ends one login.
    pub(crate) fn log_out(&self, login: &Login) {
        self.change_logins(|logins| logins.remove(login));
        self.revoked.send_modify(|count| *count += 1);
    }

    /// Ends every login, and with them every open stream and terminal.
    pub(crate) fn revoke(&self) -> usize {
        let ended = self.change_logins(Logins::revoke);
        self.taken().clear();
        self.show_taken();
        self.revoked.send_modify(|count| *count += 1);
        ended
    }

    /// Ends every open stream and terminal. Logins stay valid.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.revoked.send_modify(|count| *count += 1);
    }

    /// Changes when logins are revoked.
    pub(crate) fn revoked(&self) -> watch::Receiver<u64> {
        self.revoked.subscribe()
    }

    fn taken(&self) -> MutexGuard<'_, TakeOvers> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn take_over(&self, agent: &AgentId, login: &Login) -> Holder {
        let holder = self.taken().take(agent, login, clock::now());
        self.show_taken();
        holder
    }

    pub(crate) fn may_type(&self, agent: &AgentId, login: &Login, now: Timestamp) -> bool {
        let may = self.taken().may_type(agent, login, now);
        self.show_taken();
        may
    }

    pub(crate) fn release(&self, agent: &AgentId, login: &Login) {
        self.taken().release(agent, login);
        self.show_taken();
    }

    /// Shows every page, and the people at the terminal, who types where.
    pub(crate) fn show_taken(&self) {
        let (shown, agents) = {
            let mut taken = self.taken();
            let all = taken.all(clock::now());
            let holders = all.iter().map(|(agent, holder)| (agent.clone(), holder.login));
            (json!(all), holders.collect::<BTreeMap<_, _>>())
        };
        self.taken_panes.send_if_modified(|known| {
            let changed = *known != agents;
            *known = agents;
            changed
        });
        self.feed.set("terminals", shown);
        self.feed.flush(clock::now());
    }

    /// The agents whose panes are taken over, and the logins that type there.
    pub(crate) fn taken_panes(&self) -> watch::Receiver<BTreeMap<AgentId, u64>> {
        self.taken_panes.subscribe()
    }

    /// How long until a pane is released.
    pub(crate) fn until_release(&self) -> Option<Duration> {
        let now = clock::now();
        let first = self.taken().all(now).values().map(|holder| holder.until).min()?;
        // Rounded up, so that it is over then.
        Some(Duration::try_from(first.duration_since(now)).unwrap_or_default() + Duration::from_millis(1))
    }

    /// The session as it is now.
    pub(crate) fn session(&self) -> Result<Session, PawError> {
        Session::find(&self.repo, &self.receipts)?
            .ok_or_else(|| PawError::SessionError("the session was removed".to_owned()))
    }

    /// Looks at the tips of the agents' branches. If that fails, no branch is shown as proven.
    pub(crate) fn load_tips(&self) {
        let members = self.feed.read(|view| {
            let members = view.agents.iter();
            members.filter_map(|agent| Some((agent.id.clone(), agent.branch()?.clone()))).collect::<Vec<_>>()
        });
        let base = self.base.get_or_init(|| self.repo.git().find_default_branch().ok().flatten());
        match proof::load_tips(&members, &self.repo, &self.dirs, base.as_ref()) {
            Ok(tips) => self.feed.apply([ViewEvent::Tips(tips)]),
            Err(error) => tracing::warn!(target: "paw::web", "cannot read the signed proofs: {error}"),
        }
    }

    /// Whether an agent runs on another machine.
    pub(crate) fn is_elsewhere(&self, agent: &AgentId) -> Result<bool, PawError> {
        let receipt = self.session()?.receipt;
        Ok(receipt.remote_agents().iter().any(|remote| remote.agent_id == *agent))
    }

    /// A command of git paw in this repository.
    pub(crate) fn own_command(&self, arguments: &[&str]) -> Result<Command, PawError> {
        Ok(Command::new(own_program()?).args(arguments.iter().copied()).dir(&self.repo.root))
    }

    /// Runs a command of git paw and returns what it prints. Blocks.
    pub(crate) fn print_own(&self, arguments: &[&str]) -> Result<Vec<u8>, PawError> {
        let output = self.own_command(arguments)?.time_limit(COMMAND_TIMEOUT).capture()?;
        if output.exit.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let last = || text::output_line(said.trim().lines().last().unwrap_or("the command failed"));
        let (message, hints) = ErrorReport::find_printed(&said).unwrap_or_else(|| (last(), Vec::new()));
        Err(hints.into_iter().fold(PawError::SessionError(message), PawError::hint))
    }

    /// Runs a command of git paw and returns the document that it prints. Blocks.
    pub(crate) fn run_own(&self, arguments: &[&str]) -> Result<Value, PawError> {
        self.run_own_with(arguments, Vec::new())
    }

    /// Like [`Self::run_own`], with this standard input.
    pub(crate) fn run_own_with(&self, arguments: &[&str], input: Vec<u8>) -> Result<Value, PawError> {
        let command = self.own_command(arguments)?.input(input);
        let output = command.time_limit(COMMAND_TIMEOUT).capture()?;
        let answer: Value = serde_json::from_slice(&output.stdout).map_err(|_| {
            let said = String::from_utf8_lossy(&output.stderr);
            PawError::SessionError(format!("the command failed: {}", said.trim()))
        })?;
        let Some(message) = answer["error"]["message"].as_str() else { return Ok(answer) };
        let hints = answer["error"]["hints"].as_array().into_iter().flatten().filter_map(Value::as_str);
        Err(hints.fold(PawError::SessionError(message.to_owned()), PawError::hint))
    }
}

/// Runs `work` where it may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WebRefusal> + Send + 'static,
) -> Result<T, WebRefusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(WebRefusal::Failed(PawError::internal(error.to_string()))))
}
