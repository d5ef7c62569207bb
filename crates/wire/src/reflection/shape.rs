//! The vocabulary of the tables.

/// A protobuf file.
pub(super) struct File {
    pub(super) path: &'static str,
    pub(super) package: &'static str,
    pub(super) uses: &'static [&'static str],
    pub(super) messages: &'static [Message],
    pub(super) enums: &'static [Enum],
    pub(super) services: &'static [Service],
    /// Services whose methods stream both ways.
    pub(super) streams: &'static [Service],
}

/// A file without anything in it, for struct update.
pub(super) const FILE: File = File {
    path: "",
    package: "",
    uses: &[],
    messages: &[],
    enums: &[],
    services: &[],
    streams: &[],
};

/// A message, with the types defined inside it.
pub(super) struct Message {
    pub(super) name: &'static str,
    pub(super) fields: &'static [Field],
    pub(super) messages: &'static [Message],
    pub(super) enums: &'static [Enum],
}

/// A message that defines no types.
pub(super) const fn message(name: &'static str, fields: &'static [Field]) -> Message {
    Message {
        name,
        fields,
        messages: &[],
        enums: &[],
    }
}

/// An enumeration: its name, and each value's name and number.
pub(super) struct Enum(
    pub(super) &'static str,
    pub(super) &'static [(&'static str, i32)],
);

/// A service: its name, and each method's name, request and response.
pub(super) struct Service(
    pub(super) &'static str,
    pub(super) &'static [(&'static str, &'static str, &'static str)],
);

/// A field.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) number: i32,
    pub(super) kind: Kind,
    pub(super) many: Many,
}

/// How often a field may occur.
#[derive(Clone, Copy)]
pub(super) enum Many {
    /// Once.
    One,
    /// Once, and it shows whether it did.
    Maybe,
    /// Any number of times.
    List,
    /// Any number of times, by a string.
    Map,
    /// At most one of those with the same name.
    Choice(&'static str),
}

/// What a field holds.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Bool,
    Bytes,
    Double,
    Int32,
    Int64,
    Text,
    Uint32,
    Uint64,
    /// A message, by its full name with a leading dot.
    Of(&'static str),
    /// An enumeration, likewise.
    Enum(&'static str),
}

/// A field that occurs once.
pub(super) const fn one(name: &'static str, number: i32, kind: Kind) -> Field {
    Field {
        name,
        number,
        kind,
        many: Many::One,
    }
}

/// A field that occurs any number of times.
pub(super) const fn list(name: &'static str, number: i32, kind: Kind) -> Field {
    let many = Many::List;
    Field {
        many,
        ..one(name, number, kind)
    }
}

/// A map from strings.
pub(super) const fn map(name: &'static str, number: i32, kind: Kind) -> Field {
    let many = Many::Map;
    Field {
        many,
        ..one(name, number, kind)
    }
}

/// One of several, under the name of their choice.
pub(super) const fn choice(of: &'static str, field: Field) -> Field {
    let many = Many::Choice(of);
    Field { many, ..field }
}
