//! The loop that joins a terminal, pictures and whoever carries orders out. It sleeps until something happens.

use std::io;

use crossterm::event::Event as Input;
use paw_host::signals::asked_to_end;
use ratatui::Terminal;
use ratatui::backend::Backend;
use tokio::sync::mpsc;
use tokio_stream::{Stream, StreamExt as _};

use super::{Effect, Event, Order, State, draw};
use crate::terminal::{Screen, TerminalError};
use crate::typed::Typed;

/// Why the view was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The user closed it.
    Closed,
    /// The process was asked to end, or its terminal is gone.
    Stopped,
}

/// What the view is joined to.
#[derive(Debug)]
pub struct Wires {
    /// Pictures, and what became of orders.
    pub news: mpsc::Receiver<Event>,
    pub orders: mpsc::Sender<Order>,
}

/// The user's terminal, taken once and given back when this is dropped.
#[derive(Debug)]
pub struct Stage {
    screen: Screen,
    keys: Typed,
}

impl Stage {
    pub fn open() -> Result<Self, TerminalError> {
        Ok(Self { screen: Screen::open()?, keys: Typed::new() })
    }

    /// Shows the navigator until it is closed, the terminal is gone or a signal asks the process to end.
    pub async fn play(&mut self, state: &mut State, wires: &mut Wires) -> Result<End, TerminalError> {
        let stop = async {
            // Without signal handlers there is still the terminal that goes away.
            if asked_to_end().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        Ok(run(&mut self.screen.terminal, state, &mut self.keys, wires, stop).await?)
    }
}

/// Runs a navigator on any terminal, with keys from anywhere.
pub async fn run<B, K>(
    terminal: &mut Terminal<B>,
    state: &mut State,
    keys: &mut K,
    wires: &mut Wires,
    stop: impl Future<Output = ()>,
) -> Result<End, B::Error>
where
    B: Backend,
    K: Stream<Item = io::Result<Input>> + Unpin,
{
    tokio::pin!(stop);
    let mut news_open = true;
    terminal.draw(|frame| draw(state, frame))?;
    loop {
        let event = tokio::select! {
            biased;
            () = &mut stop => return Ok(End::Stopped),
            key = keys.next() => match key {
                Some(Ok(Input::Key(key))) => Event::Key(key),
                Some(Ok(Input::Resize(..))) => Event::Resize,
                Some(Ok(_)) => continue,
                Some(Err(_)) | None => return Ok(End::Stopped),
            },
            told = wires.news.recv(), if news_open => {
                news_open = told.is_some();
                let Some(event) = told else { continue };
                event
            }
        };
        for effect in state.on_event(event) {
            match effect {
                Effect::Redraw => {
                    terminal.draw(|frame| draw(state, frame))?;
                }
                Effect::Repaint => terminal.clear()?,
                Effect::Order(order) => hand_over(&wires.orders, order, state),
                Effect::Quit => return Ok(End::Closed),
            }
        }
    }
}

/// Never waits: a pane that does not answer must not freeze the screen.
fn hand_over(orders: &mpsc::Sender<Order>, order: Order, state: &mut State) {
    if let Err(error) = orders.try_send(order) {
        state.say(&error.to_string(), true);
    }
}
