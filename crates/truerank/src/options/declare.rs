//! The declaration of options.

/// Declares a struct of options: each with its doc comment, which is its help, its type and its default, and, after commas,
/// what else is known of it (the methods of `Field`).
///
/// After the struct, `flatten { name: Type }` adds the options of other structs, and `beside { name: Type = default }` adds
/// values that are no options, such as tables that were read.
macro_rules! options {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $field:ident: $type:ty = $default:expr $(, $key:ident($($argument:expr),*))*;
            )*
        }
        $(flatten { $($(#[doc = $flat_doc:literal])* $flat:ident: $flat_type:ty),+ $(,)? })?
        $(beside { $($(#[doc = $beside_doc:literal])* $beside:ident: $beside_type:ty = $beside_default:expr),+ $(,)? })?
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone)]
        pub struct $name {
            $(
                $(#[doc = $doc])*
                #[doc = concat!("\nDefault: `", stringify!($default), "`.")]
                pub $field: $type,
            )*
            $($($(#[doc = $flat_doc])* pub $flat: $flat_type,)+)?
            $($($(#[doc = $beside_doc])* pub $beside: $beside_type,)+)?
        }

        impl Default for $name {
            fn default() -> Self {
                $name {
                    $($field: $default,)*
                    $($($flat: <$flat_type>::default(),)+)?
                    $($($beside: $beside_default,)+)?
                }
            }
        }

        #[allow(clippy::allow_attributes, dead_code)]
        impl $name {
            /// All defaults.
            pub fn new() -> Self {
                Self::default()
            }

            $(
                $(#[doc = $doc])*
                #[doc = concat!("\nDefault: `", stringify!($default), "`.")]
                pub fn $field(mut self, value: <$type as $crate::options::OptionValue>::Given) -> Self {
                    self.$field = $crate::options::OptionValue::given(value);
                    self
                }
            )*
            $($(
                $(#[doc = $flat_doc])*
                pub fn $flat(mut self, options: $flat_type) -> Self {
                    self.$flat = options;
                    self
                }
            )+)?
            $($(
                $(#[doc = $beside_doc])*
                pub fn $beside(mut self, value: $beside_type) -> Self {
                    self.$beside = value;
                    self
                }
            )+)?
        }

        impl $crate::options::Options for $name {
            fn fields() -> Vec<$crate::options::Field> {
                #[allow(unused_variables)]
                let default = Self::default();
                #[allow(unused_mut)]
                let mut fields: Vec<$crate::options::Field> = vec![$(
                    $crate::options::Field::new::<$type>(
                        stringify!($field),
                        concat!($($doc, "\n"),*),
                        &default.$field,
                    )$(.$key($($argument),*))*,
                )*];
                $($(fields.extend(<$flat_type as $crate::options::Options>::fields());)+)?
                fields
            }

            #[allow(unused_variables)]
            fn set(&mut self, name: &str, texts: &[String]) -> $crate::Result<()> {
                $(
                    if name == stringify!($field) {
                        self.$field = <$type as $crate::options::OptionValue>::from_texts(texts)
                            .map_err(|finding| $crate::Error::option_as(name, finding))?;
                        return Ok(());
                    }
                )*
                $($(
                    if <$flat_type as $crate::options::Options>::fields().iter().any(|field| field.name == name) {
                        return $crate::options::Options::set(&mut self.$flat, name, texts);
                    }
                )+)?
                let known: Vec<&str> = Self::fields().iter().map(|field| field.name).collect();
                let known = $crate::options::listed(&known);
                Err($crate::Error::parameter(format!("there is no option '{name}'; there is {known}")))
            }

            #[allow(unused_variables)]
            fn get(&self, name: &str) -> Vec<String> {
                $(
                    if name == stringify!($field) {
                        return $crate::options::OptionValue::to_texts(&self.$field);
                    }
                )*
                $($(
                    if <$flat_type as $crate::options::Options>::fields().iter().any(|field| field.name == name) {
                        return $crate::options::Options::get(&self.$flat, name);
                    }
                )+)?
                Vec::new()
            }
        }
    };
}
pub(crate) use options;
