//! The loop that joins a terminal, pictures and whoever carries commands out. It sleeps until something happens.

use std::io;

use crossterm::event::Event as Input;
use paw_host::signals::wait_for_shutdown;
use ratatui::Terminal;
use ratatui::backend::Backend;
use tokio::sync::mpsc;
use tokio_stream::{Stream, StreamExt as _};

use super::{NavigatorCommand, NavigatorEffect, NavigatorEvent, NavigatorState, draw};
use crate::terminal::{RawTerminal, TerminalError};
use crate::terminal_input::TerminalInput;

/// Why the view was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NavigatorExit {
    /// The user closed it.
    Closed,
    /// The process was asked to end, or its terminal is gone.
    Stopped,
}

/// What the view is joined to.
#[derive(Debug)]
pub struct NavigatorChannels {
    /// Pictures, and what became of commands.
    pub events: mpsc::Receiver<NavigatorEvent>,
    pub commands: mpsc::Sender<NavigatorCommand>,
}

/// The user's terminal, taken once and given back when this is dropped.
#[derive(Debug)]
pub struct NavigatorTerminal {
    screen: RawTerminal,
    keys: TerminalInput,
}

impl NavigatorTerminal {
    pub fn open() -> Result<Self, TerminalError> {
        Ok(Self { screen: RawTerminal::open()?, keys: TerminalInput::new() })
    }

    /// Shows the navigator until it is closed, the terminal is gone or a signal asks the process to end.
    pub async fn run(
        &mut self,
        state: &mut NavigatorState,
        wires: &mut NavigatorChannels,
    ) -> Result<NavigatorExit, TerminalError> {
        let stop = async {
            // Without signal handlers there is still the terminal that goes away.
            if wait_for_shutdown().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        Ok(run(&mut self.screen.terminal, state, &mut self.keys, wires, stop).await?)
    }
}

/// Runs a navigator on any terminal, with keys from anywhere.
pub async fn run<B, K>(
    terminal: &mut Terminal<B>,
    state: &mut NavigatorState,
    keys: &mut K,
    wires: &mut NavigatorChannels,
    stop: impl Future<Output = ()>,
) -> Result<NavigatorExit, B::Error>
where
    B: Backend,
    K: Stream<Item = io::Result<Input>> + Unpin,
{
    tokio::pin!(stop);
    let mut events_open = true;
    terminal.draw(|frame| draw(state, frame))?;
    loop {
        let event = tokio::select! {
            biased;
            () = &mut stop => return Ok(NavigatorExit::Stopped),
            key = keys.next() => match key {
                Some(Ok(Input::Key(key))) => NavigatorEvent::Key(key),
                Some(Ok(Input::Resize(..))) => NavigatorEvent::Resize,
                Some(Ok(_)) => continue,
                Some(Err(_)) | None => return Ok(NavigatorExit::Stopped),
            },
            told = wires.events.recv(), if events_open => {
                events_open = told.is_some();
                let Some(event) = told else { continue };
                event
            }
        };
        for effect in state.on_event(event) {
            match effect {
                NavigatorEffect::Redraw => {
                    terminal.draw(|frame| draw(state, frame))?;
                }
                NavigatorEffect::Repaint => terminal.clear()?,
                NavigatorEffect::Command(command) => send_command(&wires.commands, command, state),
                NavigatorEffect::Quit => return Ok(NavigatorExit::Closed),
            }
        }
    }
}

/// Never waits: a pane that does not answer must not freeze the screen.
fn send_command(
    commands: &mpsc::Sender<NavigatorCommand>,
    command: NavigatorCommand,
    state: &mut NavigatorState,
) {
    if let Err(error) = commands.try_send(command) {
        state.say(&error.to_string(), true);
    }
}
