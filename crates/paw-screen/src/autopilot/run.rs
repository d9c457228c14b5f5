//! The event loop of the navigator: terminal, views and commands. It sleeps until an event arrives.

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

/// Why the navigator closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NavigatorExit {
    /// The user closed it.
    Closed,
    /// The process was asked to stop, or its terminal was closed.
    Stopped,
}

/// The channels of the navigator.
#[derive(Debug)]
pub struct NavigatorChannels {
    /// Views, and the results of commands.
    pub events: mpsc::Receiver<NavigatorEvent>,
    pub commands: mpsc::Sender<NavigatorCommand>,
}

/// The user's terminal in raw mode, restored when this is dropped.
#[derive(Debug)]
pub struct NavigatorTerminal {
    screen: RawTerminal,
    keys: TerminalInput,
}

impl NavigatorTerminal {
    pub fn open() -> Result<Self, TerminalError> {
        Ok(Self { screen: RawTerminal::open()?, keys: TerminalInput::new() })
    }

    /// Shows the navigator until the user closes it, the terminal is closed, or a signal asks the process to stop.
    pub async fn run(
        &mut self,
        state: &mut NavigatorState,
        channels: &mut NavigatorChannels,
    ) -> Result<NavigatorExit, TerminalError> {
        let stop = async {
            // If signal handlers cannot be installed, only closing the terminal remains.
            if wait_for_shutdown().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        Ok(run(&mut self.screen.terminal, state, &mut self.keys, channels, stop).await?)
    }
}

/// Runs a navigator on any terminal, with any source of keys.
pub async fn run<B, K>(
    terminal: &mut Terminal<B>,
    state: &mut NavigatorState,
    keys: &mut K,
    channels: &mut NavigatorChannels,
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
            received = channels.events.recv(), if events_open => {
                events_open = received.is_some();
                let Some(event) = received else { continue };
                event
            }
        };
        for effect in state.on_event(event) {
            match effect {
                NavigatorEffect::Redraw => {
                    terminal.draw(|frame| draw(state, frame))?;
                }
                NavigatorEffect::Repaint => terminal.clear()?,
                NavigatorEffect::Command(command) => send_command(&channels.commands, command, state),
                NavigatorEffect::Quit => return Ok(NavigatorExit::Closed),
            }
        }
    }
}

/// Never waits: a slow receiver must not freeze the screen.
fn send_command(
    commands: &mpsc::Sender<NavigatorCommand>,
    command: NavigatorCommand,
    state: &mut NavigatorState,
) {
    if let Err(error) = commands.try_send(command) {
        state.say(&error.to_string(), true);
    }
}
