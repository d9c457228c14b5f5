//! The page of a session, for a browser: the same view and the same actions as the terminal, live.
//!
//! - [`Page`]: opens and closes the page; [`PageRequest`]: what the user asks for
//! - `server`: listens, and answers requests; `route` is the list of addresses; `tls` encrypts
//! - `app`: what every request needs
//! - `access`: `Host`, `Origin` and token; `login`: codes, logins and tickets
//! - `feed`: the state of the session, and its changes, for every open page
//! - `api`: one file per subject, each with the functions that the command line uses; `job`: what takes a while
//! - `terminal`: the live terminal of an agent; `take_over`: who may type
//! - `assets`: the files of the page; `response`: headers and errors

mod access;
mod api;
mod app;
mod assets;
mod error;
mod feed;
mod job;
mod login;
mod page;
mod pane_marks;
mod request;
mod response;
mod route;
mod server;
mod take_over;
mod terminal;
mod tls;

pub use error::WebError;
pub use login::{LoginError, Scope};
pub use page::{Page, PageSettings};
pub use request::{PageAction, PageLink, PageRequest};
