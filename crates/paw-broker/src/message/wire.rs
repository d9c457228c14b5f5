//! Reads and writes messages of any type as JSON. [`message_type`] declares the fields of a type once, for both
//! directions.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::fields::{Fields, kind};
use super::object::{Envelope, Object, Payload};
use super::{AgentId, Extra, Message, MessageError};

/// Nesting levels of a message. Readers wrap messages in further lists and objects, and JSON parsers have a limit.
const MAX_LEVELS: usize = 64;

/// Where the fields of a type are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// `agent_id` next to `type`, the others in `payload`.
    Agent,
    /// All in `payload`.
    Payload,
    /// All next to `type`.
    Flat,
}

/// The JSON fields of a type.
pub(super) trait WireFormat: Sized {
    const TYPE: &'static str;
    const LAYOUT: Layout;

    /// Takes the known fields out of `fields`, and `agent_id` out of `envelope` if the layout has it there.
    fn take(envelope: &mut Fields<'_>, fields: &mut Fields<'_>) -> Result<Self, MessageError>;

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;

    /// The agent the message is about.
    fn subject(&self) -> &AgentId;

    fn extra(&self) -> &Extra;

    fn extra_mut(&mut self) -> &mut Extra;
}

/// Declares a message type: its wire name, its layout, the field of its subject (default: `agent_id`), and its fields,
/// each with the method of [`Fields`] that reads it. Fields are written in the same order; `None` is omitted.
macro_rules! message_type {
    (
        $(#[$about:meta])*
        pub struct $name:ident = $type:literal, Agent {
            $($(#[$note:meta])* pub $field:ident: $kind:ty = $take:ident,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            pub agent_id: paw_core::AgentId,
            $($(#[$note])* pub $field: $kind,)+
            pub extra: $crate::message::Extra,
        }

        message_type!(@wire $name, $type, Agent, agent_id, envelope,
            { agent_id: envelope.require_agent("agent_id")?, } $($field: $take,)+);
    };
    (
        $(#[$about:meta])*
        pub struct $name:ident = $type:literal, $layout:ident about $subject:ident {
            $($(#[$note:meta])* pub $field:ident: $kind:ty = $take:ident,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $($(#[$note])* pub $field: $kind,)+
            pub extra: $crate::message::Extra,
        }

        message_type!(@wire $name, $type, $layout, $subject, _envelope, {} $($field: $take,)+);
    };
    (@wire $name:ident, $type:literal, $layout:ident, $subject:ident, $envelope:ident,
        { $($outside:tt)* } $($field:ident: $take:ident,)+
    ) => {
        impl $crate::message::wire::WireFormat for $name {
            const TYPE: &'static str = $type;
            const LAYOUT: $crate::message::wire::Layout = $crate::message::wire::Layout::$layout;

            fn take(
                $envelope: &mut $crate::message::fields::Fields<'_>,
                fields: &mut $crate::message::fields::Fields<'_>,
            ) -> Result<Self, $crate::message::MessageError> {
                Ok(Self {
                    $($outside)*
                    $($field: fields.$take(stringify!($field))?,)+
                    extra: $crate::message::Extra::default(),
                })
            }

            fn write<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                use $crate::message::wire::WriteField as _;
                $(self.$field.write(map, stringify!($field))?;)+
                Ok(())
            }

            fn subject(&self) -> &paw_core::AgentId {
                &self.$subject
            }

            fn extra(&self) -> &$crate::message::Extra {
                &self.extra
            }

            fn extra_mut(&mut self) -> &mut $crate::message::Extra {
                &mut self.extra
            }
        }
    };
}

pub(super) use message_type;

/// Writes a field. A missing list is written as `[]`; only optional fields are omitted.
pub(super) trait WriteField {
    fn write<M: SerializeMap>(&self, map: &mut M, name: &'static str) -> Result<(), M::Error>;
}

impl<T: Serialize> WriteField for Option<T> {
    fn write<M: SerializeMap>(&self, map: &mut M, name: &'static str) -> Result<(), M::Error> {
        self.as_ref().map_or(Ok(()), |value| map.serialize_entry(name, value))
    }
}

macro_rules! always_written {
    ($($kind:ty),+) => {$(
        impl WriteField for $kind {
            fn write<M: SerializeMap>(&self, map: &mut M, name: &'static str) -> Result<(), M::Error> {
                map.serialize_entry(name, self)
            }
        }
    )+};
}

always_written!(String, u64, AgentId, Value, Vec<String>, Vec<super::IntentFile>);

impl Message {
    /// Parses a message. The caller limits the size.
    pub fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(MessageError::Empty);
        }
        if let Ok(envelope) = serde_json::from_slice(bytes) {
            return Self::from_envelope(envelope);
        }
        // Something is wrong; the errors of this way say what.
        let value = serde_json::from_slice(bytes).map_err(|error| MessageError::Json(error.to_string()))?;
        Self::from_json(value)
    }

    /// Parses a message from a JSON value.
    pub fn from_json(value: Value) -> Result<Self, MessageError> {
        if is_deeper(&value, MAX_LEVELS) {
            return Err(MessageError::TooDeep(MAX_LEVELS));
        }
        let Value::Object(map) = value else { return Err(MessageError::NotAnObject(kind(&value))) };
        Self::from_envelope(map.into())
    }

    fn from_envelope(envelope: Envelope<'_>) -> Result<Self, MessageError> {
        let Envelope { fields, payload } = envelope;
        let is_too_deep = match &payload {
            Some(Payload::Object(object)) => object.values().any(|value| is_deeper(value, MAX_LEVELS - 2)),
            Some(Payload::Other(value)) => is_deeper(value, MAX_LEVELS - 1),
            None => false,
        };
        if is_too_deep || fields.values().any(|value| is_deeper(value, MAX_LEVELS - 1)) {
            return Err(MessageError::TooDeep(MAX_LEVELS));
        }
        let mut fields = Fields::new(fields, "");
        let name = fields.require_text("type")?;
        Self::read(&name, fields, payload)
    }

    /// The message as JSON.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The message as stored and sent: JSON on one line.
    pub fn to_text(&self) -> String {
        // Most messages fit without growing.
        let mut text = Vec::with_capacity(512);
        match serde_json::to_writer(&mut text, self) {
            Ok(()) => String::from_utf8(text).unwrap_or_default(),
            Err(_) => String::new(),
        }
    }
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return value.is_array() || value.is_object() };
    match value {
        Value::Array(list) => list.iter().any(|value| is_deeper(value, below)),
        Value::Object(map) => map.values().any(|value| is_deeper(value, below)),
        _ => false,
    }
}

/// Reads a message of a known type.
pub(super) fn read<T: WireFormat>(
    mut envelope: Fields<'_>,
    payload: Option<Payload<'_>>,
) -> Result<T, MessageError> {
    if T::LAYOUT == Layout::Flat {
        if let Some(unknown) = payload {
            envelope.set("payload", unknown.into());
        }
        let mut message = T::take(&mut Fields::new(Object::default(), ""), &mut envelope)?;
        message.extra_mut().envelope = envelope.rest();
        return Ok(message);
    }
    let mut payload = match payload {
        Some(Payload::Object(object)) => Fields::new(object, "payload."),
        Some(Payload::Other(other)) if !other.is_null() => {
            return Err(envelope.wrong("payload", "an object", &other));
        }
        _ => return Err(MessageError::field("payload", "is missing")),
    };
    if T::LAYOUT == Layout::Payload {
        // Senders may put it next to `type`, as in the other types.
        let outside = envelope.find_agent("agent_id")?;
        payload.set_default("agent_id", outside.as_ref().map(AgentId::as_str));
    }
    let mut message = T::take(&mut envelope, &mut payload)?;
    *message.extra_mut() = Extra { envelope: envelope.rest(), payload: payload.rest() };
    Ok(message)
}

/// Writes known fields in declaration order, then unknown fields.
pub(super) fn write<T: WireFormat, S: Serializer>(message: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("type", T::TYPE)?;
    match T::LAYOUT {
        Layout::Flat => message.write(&mut map)?,
        Layout::Payload => map.serialize_entry("payload", &PayloadOf(message))?,
        Layout::Agent => {
            map.serialize_entry("agent_id", message.subject())?;
            map.serialize_entry("payload", &PayloadOf(message))?;
        }
    }
    write_all(&mut map, &message.extra().envelope)?;
    map.end()
}

struct PayloadOf<'a, T>(&'a T);

impl<T: WireFormat> Serialize for PayloadOf<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.write(&mut map)?;
        write_all(&mut map, &self.0.extra().payload)?;
        map.end()
    }
}

fn write_all<M: SerializeMap>(map: &mut M, fields: &Map<String, Value>) -> Result<(), M::Error> {
    fields.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))
}
