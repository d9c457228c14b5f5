//! The page of a session: opened and closed by requests of the user, and opened again when the session's process is restarted.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use paw_broker::Bus;
use paw_broker::http::RunRequest;
use paw_core::PawError;
use paw_core::config::WebConfig;
use paw_core::paths::PawDir;
use paw_host::clock;
use paw_host::config;
use paw_host::files::{self, Access, Dirs};
use paw_host::git::Repo;
use paw_session::Receipts;
use paw_session::trust::is_user_only;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};

use crate::error::WebError;
use crate::login::{CODE_LIFETIME, Scope};
use crate::request::{PageAction, PageLink};
use crate::server::{WebServer, WebSettings};
use crate::tls;

/// What the page needs from the session's process.
#[derive(Debug, Clone)]
pub struct PageSettings {
    pub repo: Repo,
    pub dirs: Dirs,
    pub receipts: Receipts,
    pub bus: Arc<Bus>,
    /// Takes verifications and merges.
    pub runs: mpsc::Sender<RunRequest>,
}

/// The page, whether it is open or not.
#[derive(Debug)]
pub struct Page {
    settings: PageSettings,
    open: Mutex<Option<OpenPage>>,
}

#[derive(Debug)]
struct OpenPage {
    server: WebServer,
    options: PageOptions,
}

/// What the configuration says about an open page. If it changes, the page is opened again.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PageOptions {
    bind: IpAddr,
    hosts: Vec<String>,
    view_only: bool,
    terminal_timeout_seconds: u64,
    /// Certificate and key, if they are needed.
    certificate: Option<(PathBuf, PathBuf)>,
}

/// Written down for the next process of the session.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StoredPage {
    session: String,
    address: SocketAddr,
}

impl PageOptions {
    fn new(config: &WebConfig, bind: Option<IpAddr>) -> Result<Self, WebError> {
        let configured = match config.bind.as_str() {
            "localhost" => Ok(IpAddr::from([127, 0, 0, 1])),
            text => text.parse().map_err(|_| WebError::BadAddress(text.to_owned())),
        };
        let bind = bind.map_or(configured, Ok)?;
        let certificate = match (&config.certificate, &config.key) {
            _ if bind.is_loopback() => None,
            (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
            _ => return Err(WebError::NoCertificate(bind)),
        };
        if bind.is_unspecified() && config.hosts.is_empty() {
            return Err(WebError::NoName(bind));
        }
        Ok(Self {
            bind,
            hosts: config.hosts.clone(),
            view_only: config.view_only,
            terminal_timeout_seconds: config.terminal_timeout_seconds,
            certificate,
        })
    }
}

impl Page {
    pub fn new(settings: PageSettings) -> Self {
        Self { settings, open: Mutex::new(None) }
    }

    /// Opens the page if every session has one, or if it was open when the last process of this session ended.
    pub async fn resume(&self) {
        let stored = self.load_stored();
        let opened = match self.load_config() {
            Ok(config) if config.enabled || stored.is_some() => {
                let bind = stored.map(|stored| stored.address.ip());
                self.ensure_open(&mut *self.open.lock().await, &config, bind).await
            }
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = opened {
            tracing::warn!(target: "paw::web", "the page is not served: {error}");
        }
    }

    /// Does what the user asks for. Returns the document to print.
    pub async fn answer(&self, action: PageAction) -> Result<Value, WebError> {
        match action {
            PageAction::Open { scope, bind } => Ok(json!(self.create_link(scope, bind).await?)),
            PageAction::Close => {
                let ended = self.revoke().await?;
                Ok(json!({"ended_logins": ended}))
            }
        }
    }

    async fn create_link(&self, scope: Scope, bind: Option<IpAddr>) -> Result<PageLink, WebError> {
        let config = self.load_config()?;
        let mut open = self.open.lock().await;
        // A page that was opened at another address stays there until it is closed.
        let bind = bind.or_else(|| open.as_ref().map(|page| page.options.bind));
        self.ensure_open(&mut open, &config, bind).await?;
        let Some(page) = open.as_ref() else {
            return Err(PawError::internal("the page is not open").into());
        };
        let (code, scope) = page.server.create_code(scope)?;
        let link = |base: &str| format!("{base}/#{code}");
        Ok(PageLink {
            link: link(&page.server.url()),
            remote_link: page.server.remote_url().map(|url| link(&url)),
            scope,
            expires_at: clock::now() + CODE_LIFETIME,
            code,
        })
    }

    /// Ends every login, those of an earlier process, too, and stops serving.
    async fn revoke(&self) -> Result<usize, WebError> {
        let mut open = self.open.lock().await;
        let dir = self.dir();
        let ended = match open.take() {
            Some(page) => {
                let ended = page.server.revoke();
                page.server.close().await;
                ended
            }
            None => crate::login::LoginFile::load(dir.web_logins())?.1.revoke(),
        };
        files::delete_file(&dir.web_logins())?;
        files::delete_file(&dir.web_page())?;
        Ok(ended)
    }

    /// Stops serving. Logins stay valid for the next process.
    pub async fn close(&self) {
        if let Some(page) = self.open.lock().await.take() {
            page.server.close().await;
        }
    }

    async fn ensure_open(
        &self,
        open: &mut Option<OpenPage>,
        config: &WebConfig,
        bind: Option<IpAddr>,
    ) -> Result<(), WebError> {
        let options = PageOptions::new(config, bind)?;
        if open.as_ref().is_some_and(|page| page.options == options) {
            return Ok(());
        }
        let tls = options.certificate.as_ref().map(|(file, key)| tls::load(file, key)).transpose()?;
        let before = open.take().map(|page| page.server);
        let before_port = before.as_ref().map(|server| server.address().port());
        if let Some(server) = before {
            server.close().await;
        }
        let ports = [before_port, self.load_stored().map(|stored| stored.address.port()), Some(config.port)];
        let PageSettings { repo, dirs, receipts, bus, runs } = self.settings.clone();
        let server = WebServer::start(WebSettings {
            repo,
            dirs,
            receipts,
            bus,
            runs,
            bind: options.bind,
            ports: ports.into_iter().flatten().chain([0]).collect(),
            hosts: options.hosts.clone(),
            view_only: options.view_only,
            terminal_timeout_seconds: options.terminal_timeout_seconds,
            tls,
        })
        .await?;
        let stored = StoredPage {
            session: self.settings.bus.session().as_str().to_owned(),
            address: server.address(),
        };
        let text = serde_json::to_vec(&stored).unwrap_or_default();
        files::write_atomic(&self.dir().web_page(), &text, Access::Private)?;
        tracing::info!(target: "paw::web", "the page is served at {}", server.address());
        *open = Some(OpenPage { server, options });
        Ok(())
    }

    fn dir(&self) -> PawDir {
        PawDir::of(&self.settings.repo.common_dir)
    }

    /// Where the page of this session was served last.
    fn load_stored(&self) -> Option<StoredPage> {
        let text = files::load_text(&self.dir().web_page()).ok()??;
        let stored: StoredPage = serde_json::from_str(&text).ok()?;
        (stored.session == self.settings.bus.session().as_str()).then_some(stored)
    }

    /// The settings as they are now.
    fn load_config(&self) -> Result<WebConfig, PawError> {
        let layers = config::load_layers(Some(&self.settings.repo.root), None)?;
        Ok(layers.without(is_user_only).resolve()?.web)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_is_encrypted_where_other_machines_reach_it() {
        let config = WebConfig::default();
        assert!(PageOptions::new(&config, None).unwrap().bind.is_loopback());
        let wide = WebConfig { bind: "0.0.0.0".to_owned(), ..config };
        let refused = PageOptions::new(&wide, None).unwrap_err();
        assert!(matches!(refused, WebError::NoCertificate(_)), "{refused}");
        let (certificate, key) = (Some("cert.pem".into()), Some("key.pem".into()));
        let own = WebConfig { certificate, key, ..wide };
        assert!(matches!(PageOptions::new(&own, None).unwrap_err(), WebError::NoName(_)));
        let named = WebConfig { hosts: vec!["box.example".to_owned()], ..own };
        assert!(PageOptions::new(&named, None).unwrap().certificate.is_some());
        let local = PageOptions::new(&named, Some(IpAddr::from([127, 0, 0, 1]))).unwrap();
        assert_eq!(local.certificate, None);
        let bad = WebConfig { bind: "box.example".to_owned(), ..WebConfig::default() };
        assert!(matches!(PageOptions::new(&bad, None).unwrap_err(), WebError::BadAddress(_)));
    }
}
