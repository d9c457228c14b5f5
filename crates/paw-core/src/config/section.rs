//! One declaration per section: `section!` generates the struct, its `Default` and the table of its keys.
//!
//! Parsing, warnings about unknown keys, the generated file and the documentation all use that table, so the documented
//! default is always the real one. Each key starts with a word for its kind:
//!
//! | word | the field | if the key is not set |
//! |---|---|---|
//! | `default key: T = value` | `T` | the value |
//! | `optional key: T = example` | `Option<T>` | `None`; the example is shown in the generated file |
//! | `fallback key: T = value` | `Option<T>` and a method `key()` | `None`, and the value from the method |
//! | `required key: T = example` | `T`, in an `entry!` only | an error |
//! | `section key: S` | `S` | `S::default()` |
//! | `maybe key: S` | `Option<S>` | `None` |
//! | `entries key: E = "name"` | a map from name to `E` | no entries |

/// The description of a key.
#[derive(Debug)]
pub struct ConfigKey {
    pub name: &'static str,
    pub shape: KeyShape,
    pub(super) help: &'static [&'static str],
}

/// The kind of value of a key.
#[derive(Debug)]
pub enum KeyShape {
    /// A value, with its default or an example.
    Value { sample: fn() -> toml::Value, is_default: bool },
    /// A section: `[broker]`.
    Section(&'static [ConfigKey]),
    /// A section per name: `[clis.<name>]`.
    Entries { example: &'static str, keys: &'static [ConfigKey] },
}

impl ConfigKey {
    /// One line of help.
    pub fn help(&self) -> String {
        self.help.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
    }
}

pub(super) fn sample(value: impl serde::Serialize) -> toml::Value {
    toml::Value::try_from(value).unwrap_or_else(|_| toml::Value::String(String::new()))
}

/// A section whose keys are all optional.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $name:ident {$(
            $(#[doc = $help:literal])+
            $form:ident $key:ident $(as $rename:literal)? : $ty:ty $(= $sample:expr)?
        ),+ $(,)?}
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub struct $name {$(
            $(#[doc = $help])+
            $(#[serde(rename = $rename)])?
            pub $key: $crate::config::section::key!(type $form $ty),
        )+}

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $crate::config::section::key!(initial $form $ty $(= $sample)?),)+ }
            }
        }

        impl $name {
            $crate::config::section::key!(table $([$($help)+] $form $key $($rename)? : $ty $(= $sample)?),+);
            $($crate::config::section::key!(method $form $key: $ty $(= $sample)?);)+
        }
    };
}

/// A section per name, such as `[clis.<name>]`, with required keys.
macro_rules! entry {
    (
        $(#[doc = $about:literal])+
        $name:ident {$(
            $(#[doc = $help:literal])+
            $form:ident $key:ident: $ty:ty = $sample:expr
        ),+ $(,)?}
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $name {$(
            $(#[doc = $help])+
            pub $key: $crate::config::section::key!(type $form $ty),
        )+}

        impl $name {
            $crate::config::section::key!(table $([$($help)+] $form $key: $ty = $sample),+);
        }
    };
}

/// The generated parts of a key, selected by its word.
macro_rules! key {
    (type default $ty:ty) => { $ty };
    (type required $ty:ty) => { $ty };
    (type optional $ty:ty) => { Option<$ty> };
    (type fallback $ty:ty) => { Option<$ty> };
    (type section $ty:ty) => { $ty };
    (type maybe $ty:ty) => { Option<$ty> };
    (type entries $ty:ty) => { std::collections::BTreeMap<String, $ty> };

    (initial default $ty:ty = $sample:expr) => { $sample };
    (initial optional $ty:ty = $sample:expr) => { None };
    (initial fallback $ty:ty = $sample:expr) => { None };
    (initial section $ty:ty) => { <$ty>::default() };
    (initial maybe $ty:ty) => { None };
    (initial entries $ty:ty = $sample:expr) => { std::collections::BTreeMap::new() };

    (table $([$($help:literal)+] $form:ident $key:ident $($rename:literal)? : $ty:ty $(= $sample:expr)?),+) => {
        /// Every key of this table, in the order of the generated file.
        pub const KEYS: &'static [$crate::config::section::ConfigKey] = &[$(
            $crate::config::section::ConfigKey {
                name: $crate::config::section::key!(name $key $($rename)?),
                shape: $crate::config::section::key!(shape $form $ty $(= $sample)?),
                help: &[$($help),+],
            },
        )+];
    };

    (name $key:ident) => { stringify!($key) };
    (name $key:ident $rename:literal) => { $rename };

    (shape default $ty:ty = $sample:expr) => {
        $crate::config::section::KeyShape::Value {
            sample: || { let value: $ty = $sample; $crate::config::section::sample(&value) },
            is_default: true,
        }
    };
    (shape fallback $ty:ty = $sample:expr) => { $crate::config::section::key!(shape default $ty = $sample) };
    (shape optional $ty:ty = $sample:expr) => {
        $crate::config::section::KeyShape::Value {
            sample: || $crate::config::section::sample($sample),
            is_default: false,
        }
    };
    (shape required $ty:ty = $sample:expr) => { $crate::config::section::key!(shape optional $ty = $sample) };
    (shape section $ty:ty) => { $crate::config::section::KeyShape::Section(<$ty>::KEYS) };
    (shape maybe $ty:ty) => { $crate::config::section::KeyShape::Section(<$ty>::KEYS) };
    (shape entries $ty:ty = $sample:expr) => {
        $crate::config::section::KeyShape::Entries { example: $sample, keys: <$ty>::KEYS }
    };

    (method fallback $key:ident: $ty:ty = $sample:expr) => {
        #[doc = concat!("`", stringify!($key), "`, or its default if it is not set.")]
        pub fn $key(&self) -> $ty {
            self.$key.clone().unwrap_or_else(|| $sample)
        }
    };
    (method $other:ident $key:ident: $ty:ty $(= $sample:expr)?) => {};
}

/// A fixed set of words, each with its spelling in the file.
macro_rules! choice {
    (
        $(#[doc = $about:literal])+
        $name:ident {$(
            $(#[doc = $help:literal])*
            $variant:ident = $text:literal
        ),+ $(,)?}
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {$(
            $(#[doc = $help])*
            #[serde(rename = $text)]
            $variant,
        )+}

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word as it is written in the file.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

pub(super) use {choice, entry, key, section};
