//! Calls the user: notifications, the segment in tmux's status line, and the names of windows. Its own thread keeps a
//! [`SessionView`] of the session.

mod notice;
mod notify;
mod screen_attention;
mod tracker;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use paw_broker::log::StoredMessage;
use paw_core::config::NotifyConfig;
use paw_core::paths::PawDir;
use paw_core::{AgentId, Receipt, SessionName};
use paw_host::clock::Stopwatch;
use paw_host::git::Repo;
use paw_host::tmux::Tmux;
use paw_session::Receipts;
use paw_session::lifecycle::status::{members, supervisor};
use paw_view::{Observation, SessionView, ViewEvent};

use self::notice::Notice;
use self::screen_attention::ScreenAttention;
use self::tracker::NoticeTracker;

/// How often to look for changes of the receipt.
const IDLE: Duration = Duration::from_secs(2);

/// What happened in the session.
#[derive(Debug)]
pub(super) enum AttentionEvent {
    Observed {
        agent: AgentId,
        seen: Observation,
    },
    Stalled {
        agent: AgentId,
        reason: String,
    },
    Messages(Vec<Arc<StoredMessage>>),
    /// Messages that were stored before this process started: they change the view, and are not news.
    Past(Vec<Arc<StoredMessage>>),
    Stop,
}

#[derive(Debug, Clone)]
pub(super) struct AttentionSettings {
    pub(super) repo: Repo,
    pub(super) receipts: Receipts,
    pub(super) session: SessionName,
    pub(super) config: NotifyConfig,
    /// How long the supervisor has for what it can do itself, before the user is called.
    pub(super) supervisor_window: Duration,
}

/// The running thread. It stops when this is dropped.
#[derive(Debug)]
pub(super) struct AttentionThread {
    events: Option<Sender<AttentionEvent>>,
    thread: Option<JoinHandle<()>>,
}

impl AttentionThread {
    pub(super) fn start(settings: AttentionSettings) -> io::Result<Self> {
        let (events, incoming) = mpsc::channel();
        let thread = thread::Builder::new().name("paw-attention".to_owned());
        let thread = thread.spawn(move || Attention::new(settings).run(&incoming))?;
        Ok(Self { events: Some(events), thread: Some(thread) })
    }

    pub(super) fn events(&self) -> Option<Sender<AttentionEvent>> {
        self.events.clone()
    }
}

impl Drop for AttentionThread {
    fn drop(&mut self) {
        if let Some(events) = self.events.take() {
            let _ = events.send(AttentionEvent::Stop);
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Attention {
    settings: AttentionSettings,
    watch: Stopwatch,
    view: SessionView,
    tracker: NoticeTracker,
    shown: ScreenAttention,
    receipt: Option<Receipt>,
    /// When the receipt was last written.
    written: Option<SystemTime>,
}

impl Attention {
    fn new(settings: AttentionSettings) -> Self {
        let file = PawDir::of(&settings.repo.common_dir).notified();
        Self {
            tracker: NoticeTracker::load(file),
            watch: Stopwatch::start(),
            view: SessionView::new(0),
            shown: ScreenAttention::default(),
            receipt: None,
            written: None,
            settings,
        }
    }

    fn run(mut self, incoming: &Receiver<AttentionEvent>) {
        self.refresh();
        loop {
            let now = self.watch.elapsed();
            let wait = self.tracker.next_due(now).map_or(IDLE, |due| due.min(IDLE));
            let first = match incoming.recv_timeout(wait) {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(AttentionEvent::Stop),
            };
            let mut news = Vec::new();
            for event in first.into_iter().chain(incoming.try_iter()) {
                if matches!(event, AttentionEvent::Stop) {
                    self.shown.clear(self.receipt.as_ref());
                    return;
                }
                news.extend(self.apply(event));
            }
            self.refresh();
            self.act(news);
        }
    }

    /// Returns what is news by itself, besides what an agent needs.
    fn apply(&mut self, event: AttentionEvent) -> Vec<Notice> {
        match event {
            AttentionEvent::Observed { agent, seen } => {
                self.view.apply(ViewEvent::Observed { agent, seen });
                Vec::new()
            }
            AttentionEvent::Stalled { agent, reason } => vec![Notice::stuck(agent, &reason)],
            AttentionEvent::Messages(messages) => {
                let news = messages.iter().filter_map(|stored| Notice::of_message(stored)).collect();
                self.apply_messages(messages);
                news
            }
            AttentionEvent::Past(messages) => {
                self.apply_messages(messages);
                Vec::new()
            }
            AttentionEvent::Stop => Vec::new(),
        }
    }

    fn apply_messages(&mut self, messages: Vec<Arc<StoredMessage>>) {
        for stored in messages {
            self.view.apply(ViewEvent::Message(stored));
        }
    }

    /// Loads the receipt if it was written since the last time.
    fn refresh(&mut self) {
        let file = self.settings.receipts.dir().receipt(&self.settings.session);
        let written = std::fs::metadata(file).and_then(|file| file.modified()).ok();
        if written == self.written {
            return;
        }
        self.written = written;
        if let Ok(receipt) = self.settings.receipts.load(&self.settings.session) {
            if let Some(receipt) = &receipt {
                self.view.apply(ViewEvent::Members(members(receipt)));
                self.view.apply(ViewEvent::Supervisor(supervisor(receipt)));
            }
            self.receipt = receipt;
        }
    }

    fn act(&mut self, news: Vec<Notice>) {
        let Some(receipt) = &self.receipt else { return };
        let needs = notice::find_needs(&self.view);
        let now = self.watch.elapsed();
        let window = self.settings.supervisor_window;
        let hold = |notice: &Notice| {
            let is_delegated = notice::is_for_supervisor(notice, &self.view, receipt);
            if is_delegated { window.max(tracker::HOLD) } else { tracker::HOLD }
        };
        let mut told = self.tracker.update(needs.clone(), hold, now);
        told.extend(news);
        let tmux = Tmux::on_socket(receipt.tmux_socket.clone());
        self.shown.show(&tmux, receipt, &self.view, &needs, self.settings.config.status_line);
        if !told.is_empty() {
            notify::tell(&tmux, receipt, &told, &self.settings.config);
        }
    }
}
