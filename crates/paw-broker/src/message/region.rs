//! The files of an intent, and their regions.

use std::fmt;

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::{Map, Value};

use super::MessageError;
use super::fields::{Fields, kind};

/// A file that an agent is about to change: the whole file, or some regions of it.
#[derive(Debug, Clone, PartialEq)]
pub struct IntentFile {
    pub path: String,
    /// Empty: the whole file.
    pub regions: Vec<Region>,
    pub extra: Map<String, Value>,
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Region {
    Function { name: String },
    Class { name: String },
    Block { anchor: String },
    Range { start_line: u64, end_line: u64 },
}

impl IntentFile {
    pub fn whole(path: impl Into<String>) -> Self {
        Self { path: path.into(), regions: Vec::new(), extra: Map::new() }
    }

    pub(super) fn parse(index: usize, value: Value) -> Result<Self, MessageError> {
        let at = |name: &str| format!("payload.files[{index}]{name}");
        let blank = |name: &str| MessageError::field(at(name), "must not be blank");
        match value {
            Value::String(path) if path.trim().is_empty() => Err(blank("")),
            Value::String(path) => Ok(Self::whole(path)),
            Value::Object(map) => {
                let mut fields = Fields::new(map, "payload.files[].");
                let path = fields.require_text("path")?;
                let regions = fields
                    .find_list("regions")?
                    .into_iter()
                    .map(|region| Region::parse(&at(".regions"), region))
                    .collect::<Result<_, _>>()?;
                Ok(Self { path, regions, extra: fields.rest() })
            }
            other => {
                Err(MessageError::field(at(""), format!("must be a path or an object, not {}", kind(&other))))
            }
        }
    }
}

/// A plain path if there are no regions and no extra fields.
impl Serialize for IntentFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.regions.is_empty() && self.extra.is_empty() {
            return self.path.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("path", &self.path)?;
        map.serialize_entry("regions", &self.regions)?;
        for (name, value) in &self.extra {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl Region {
    fn parse(at: &str, value: Value) -> Result<Self, MessageError> {
        let Value::Object(map) = value else {
            return Err(MessageError::field(at, format!("must hold objects, not {}", kind(&value))));
        };
        let mut fields = Fields::new(map, "payload.files[].regions[].");
        let kind = fields.require_text("kind")?;
        match kind.as_str() {
            "function" => Ok(Self::Function { name: fields.require_text("name")? }),
            "class" => Ok(Self::Class { name: fields.require_text("name")? }),
            "block" => Ok(Self::Block { anchor: fields.require_text("anchor")? }),
            "range" => {
                let mut line = |name: &str| match fields.find_number(name)? {
                    Some(line) if line > 0 => Ok(line),
                    _ => Err(MessageError::field(fields.path(name), "must be a line number, from 1")),
                };
                let (start_line, end_line) = (line("start_line")?, line("end_line")?);
                if start_line > end_line {
                    return Err(MessageError::field(at, "has a range that ends before it starts"));
                }
                Ok(Self::Range { start_line, end_line })
            }
            _ => Err(MessageError::field(
                at,
                format!(
                    "has the unknown kind '{}': expected one of function, class, block, range",
                    super::fields::shown(&kind)
                ),
            )),
        }
    }
}

/// `function parse`, `range 3-9`.
impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Function { name } => write!(f, "function {name}"),
            Self::Class { name } => write!(f, "class {name}"),
            Self::Block { anchor } => write!(f, "block {anchor}"),
            Self::Range { start_line, end_line } => write!(f, "range {start_line}-{end_line}"),
        }
    }
}
