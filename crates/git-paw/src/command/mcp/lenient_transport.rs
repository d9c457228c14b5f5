//! A transport that skips messages before the first request. The SDK rejects a client that starts with anything else.

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;

#[derive(Debug)]
pub(super) struct LenientTransport<T> {
    inner: T,
    begun: bool,
}

impl<T> LenientTransport<T> {
    pub(super) fn new(inner: T) -> Self {
        Self { inner, begun: false }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for LenientTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let message = self.inner.receive().await?;
            self.begun |= matches!(message, ClientJsonRpcMessage::Request(_));
            if self.begun {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
