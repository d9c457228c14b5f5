//! JSON objects as lists of fields. Messages have few fields, and a list is much faster to fill than a map.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

/// The fields of an object, in their order. Names that are written without escapes are not copied.
#[derive(Debug, Default)]
pub(super) struct Object<'a>(Vec<(Cow<'a, str>, Value)>);

impl<'a> Object<'a> {
    fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|(known, _)| known == name)
    }

    /// Adds a field. The last one of several with the same name counts.
    fn insert(&mut self, name: Cow<'a, str>, value: Value) {
        match self.position(&name) {
            Some(index) => self.0[index].1 = value,
            None => self.0.push((name, value)),
        }
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.insert(Cow::Owned(name.to_owned()), value);
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.position(name).map(|index| &self.0[index].1)
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.position(name).map(|index| self.0.remove(index).1)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Value> {
        self.0.iter().map(|(_, value)| value)
    }
}

impl From<Map<String, Value>> for Object<'_> {
    fn from(map: Map<String, Value>) -> Self {
        Self(map.into_iter().map(|(name, value)| (Cow::Owned(name), value)).collect())
    }
}

impl From<Object<'_>> for Map<String, Value> {
    fn from(object: Object<'_>) -> Self {
        object.0.into_iter().map(|(name, value)| (name.into_owned(), value)).collect()
    }
}

/// The value of `payload`.
#[derive(Debug)]
pub(super) enum Payload<'a> {
    Object(Object<'a>),
    Other(Value),
}

impl From<Value> for Payload<'_> {
    fn from(value: Value) -> Self {
        match value {
            Value::Object(map) => Self::Object(map.into()),
            other => Self::Other(other),
        }
    }
}

impl From<Payload<'_>> for Value {
    fn from(payload: Payload<'_>) -> Self {
        match payload {
            Payload::Object(object) => Self::Object(object.into()),
            Payload::Other(value) => value,
        }
    }
}

/// A whole message: the fields next to `payload`, and `payload`.
#[derive(Debug, Default)]
pub(super) struct Envelope<'a> {
    pub(super) fields: Object<'a>,
    pub(super) payload: Option<Payload<'a>>,
}

impl From<Map<String, Value>> for Envelope<'_> {
    fn from(map: Map<String, Value>) -> Self {
        let mut fields = Object::from(map);
        let payload = fields.take("payload").map(Payload::from);
        Self { fields, payload }
    }
}

impl<'de> Deserialize<'de> for Envelope<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EnvelopeVisitor;

        impl<'de> Visitor<'de> for EnvelopeVisitor {
            type Value = Envelope<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Envelope<'de>, A::Error> {
                let mut envelope = Envelope::default();
                while let Some(Name(name)) = map.next_key()? {
                    if name == "payload" {
                        envelope.payload = Some(map.next_value()?);
                    } else {
                        envelope.fields.insert(name, map.next_value()?);
                    }
                }
                Ok(envelope)
            }
        }

        deserializer.deserialize_map(EnvelopeVisitor)
    }
}

impl<'de> Deserialize<'de> for Payload<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PayloadVisitor;

        impl<'de> Visitor<'de> for PayloadVisitor {
            type Value = Payload<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Payload<'de>, A::Error> {
                let mut object = Object::default();
                while let Some(Name(name)) = map.next_key()? {
                    object.insert(name, map.next_value()?);
                }
                Ok(Payload::Object(object))
            }
        }

        deserializer.deserialize_map(PayloadVisitor)
    }
}

/// A field name, borrowed if it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;

        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a field name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }

        deserializer.deserialize_str(NameVisitor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::Message;

    /// Any JSON value of a few levels, often with the names that messages use.
    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            prop_oneof![Just("agent.feedback".to_owned()), Just("feat-a".to_owned()), ".{0,8}"]
                .prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 5, |inner| {
            let name = prop_oneof![
                Just("type".to_owned()),
                Just("agent_id".to_owned()),
                Just("payload".to_owned()),
                Just("errors".to_owned()),
                Just("from".to_owned()),
                ".{0,4}",
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((name, inner), 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_text_and_its_value_are_the_same_message_or_the_same_error(value in json()) {
            let text = value.to_string();
            prop_assert_eq!(Message::parse(text.as_bytes()), Message::from_json(value));
        }
    }

    #[test]
    fn of_several_fields_with_one_name_the_last_counts() {
        let text = r#"{"type":"x","type":"agent.feedback","agent_id":"a","payload":1,"p\u0061yload":
            {"from":"b","from":"supervisor","errors":[],"errors":["e"],"more":1,"more":2}}"#;
        let message = Message::parse(text.as_bytes()).unwrap();
        assert_eq!(message.sender().unwrap().as_str(), "supervisor");
        assert_eq!(message.extra().payload.get("more"), Some(&Value::from(2)));
    }
}
