//! Enums whose values have names that users type.

/// An enum whose values have names that users type: parsing suggests the nearest one. A value may be spelled otherwise, too, and be
/// shown `as` another word. Documents hold the name.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $name:ident, $what:literal { $($(#[$doc:meta])* $variant:ident = $text:literal $(as $shown:literal)? $(| $other:literal)*,)+ }) => {
        $crate::typed! {
            $(#[$meta])*
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            $name, $what {
                $($(#[$doc])* #[cfg_attr(feature = "schema", schemars(rename = $text))] $variant = $text $(as $shown)? $(| $other)*,)+
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

/// The same, of which documents hold none.
#[macro_export]
macro_rules! typed {
    ($(#[$meta:meta])* $name:ident, $what:literal { $($(#[$doc:meta])* $variant:ident = $text:literal $(as $shown:literal)? $(| $other:literal)*,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// Every value, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name in flags, jobs, the protocol and documents.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The name that people are shown.
            pub const fn shown(self) -> &'static str {
                match self { $(Self::$variant => $crate::first_of!($($shown,)? $text)),+ }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::ModelError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text $(| $shown)? $(| $other)* => Ok(Self::$variant),)+
                    _ => Err($crate::ModelError::unknown($what, text, Self::ALL.iter().map(|known| known.shown()))),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

/// The first of these.
#[macro_export]
#[doc(hidden)]
macro_rules! first_of {
    ($first:literal $(, $rest:literal)*) => {
        $first
    };
}
