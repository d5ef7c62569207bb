//! From the tables to `google.protobuf` descriptors, as far as reflection needs them.

use super::shape::{Enum, Field, File, Kind, Many, Message, Service};

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct FileDescriptorSet {
    #[prost(message, repeated, tag = "1")]
    pub(super) file: Vec<FileDescriptor>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct FileDescriptor {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    package: Option<String>,
    #[prost(string, repeated, tag = "3")]
    dependency: Vec<String>,
    #[prost(message, repeated, tag = "4")]
    message_type: Vec<Descriptor>,
    #[prost(message, repeated, tag = "5")]
    enum_type: Vec<EnumDescriptor>,
    #[prost(message, repeated, tag = "6")]
    service: Vec<ServiceDescriptor>,
    #[prost(string, optional, tag = "12")]
    syntax: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Descriptor {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(message, repeated, tag = "2")]
    field: Vec<FieldDescriptor>,
    #[prost(message, repeated, tag = "3")]
    nested_type: Vec<Descriptor>,
    #[prost(message, repeated, tag = "4")]
    enum_type: Vec<EnumDescriptor>,
    #[prost(message, optional, tag = "7")]
    options: Option<MessageOptions>,
    #[prost(message, repeated, tag = "8")]
    oneof_decl: Vec<Named>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct MessageOptions {
    #[prost(bool, optional, tag = "7")]
    map_entry: Option<bool>,
}

/// A `OneofDescriptorProto`.
#[derive(Clone, PartialEq, prost::Message)]
struct Named {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct FieldDescriptor {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(int32, optional, tag = "3")]
    number: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    label: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    kind: Option<i32>,
    #[prost(string, optional, tag = "6")]
    type_name: Option<String>,
    #[prost(int32, optional, tag = "9")]
    oneof_index: Option<i32>,
    #[prost(string, optional, tag = "10")]
    json_name: Option<String>,
    #[prost(bool, optional, tag = "17")]
    proto3_optional: Option<bool>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct EnumDescriptor {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(message, repeated, tag = "2")]
    value: Vec<EnumValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct EnumValue {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(int32, optional, tag = "2")]
    number: Option<i32>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ServiceDescriptor {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(message, repeated, tag = "2")]
    method: Vec<MethodDescriptor>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct MethodDescriptor {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    input_type: Option<String>,
    #[prost(string, optional, tag = "3")]
    output_type: Option<String>,
    #[prost(bool, optional, tag = "5")]
    client_streaming: Option<bool>,
    #[prost(bool, optional, tag = "6")]
    server_streaming: Option<bool>,
}

/// Describes a file.
pub(super) fn file(file: &File) -> FileDescriptor {
    let package = format!(".{}", file.package);
    let messages = file.messages.iter();
    let services = file.services.iter().map(|found| service(found, None));
    let streams = file.streams.iter().map(|found| service(found, Some(true)));
    FileDescriptor {
        name: text(file.path),
        package: text(file.package),
        dependency: file.uses.iter().map(|&path| path.to_owned()).collect(),
        message_type: messages
            .map(|message| describe(message, &package))
            .collect(),
        enum_type: file.enums.iter().map(enumeration).collect(),
        service: services.chain(streams).collect(),
        syntax: text("proto3"),
    }
}

/// Describes a message that is defined inside `scope`.
fn describe(message: &Message, scope: &str) -> Descriptor {
    let inside = format!("{scope}.{}", message.name);
    let nested = message.messages.iter();
    let mut descriptor = Descriptor {
        name: text(message.name),
        nested_type: nested.map(|nested| describe(nested, &inside)).collect(),
        enum_type: message.enums.iter().map(enumeration).collect(),
        ..Descriptor::default()
    };
    for field in message.fields {
        let described = describe_field(field, &inside, &mut descriptor);
        descriptor.field.push(described);
    }
    descriptor
}

/// Describes a field; what it needs beside itself is added to its message.
fn describe_field(field: &Field, inside: &str, message: &mut Descriptor) -> FieldDescriptor {
    let mut described = plain(field.name, field.number, field.kind);
    match field.many {
        Many::One => {}
        Many::List => described.label = Some(LABEL_REPEATED),
        Many::Map => {
            let entry = format!("{}Entry", camel(field.name, true));
            described.label = Some(LABEL_REPEATED);
            described.kind = Some(TYPE_MESSAGE);
            described.type_name = Some(format!("{inside}.{entry}"));
            message.nested_type.push(map_entry(entry, field.kind));
        }
        Many::Choice(name) => described.oneof_index = Some(oneof(message, name)),
        Many::Maybe => {
            described.proto3_optional = Some(true);
            described.oneof_index = Some(oneof(message, &format!("_{}", field.name)));
        }
    }
    described
}

fn plain(name: &str, number: i32, kind: Kind) -> FieldDescriptor {
    let (kind, type_name) = match kind {
        Kind::Double => (1, None),
        Kind::Int64 => (3, None),
        Kind::Uint64 => (4, None),
        Kind::Int32 => (5, None),
        Kind::Bool => (8, None),
        Kind::Text => (9, None),
        Kind::Of(name) => (TYPE_MESSAGE, text(name)),
        Kind::Bytes => (12, None),
        Kind::Uint32 => (13, None),
        Kind::Enum(name) => (14, text(name)),
    };
    FieldDescriptor {
        name: text(name),
        number: Some(number),
        label: Some(LABEL_OPTIONAL),
        kind: Some(kind),
        type_name,
        json_name: Some(camel(name, false)),
        ..FieldDescriptor::default()
    }
}

fn map_entry(name: String, kind: Kind) -> Descriptor {
    Descriptor {
        name: Some(name),
        field: vec![plain("key", 1, Kind::Text), plain("value", 2, kind)],
        options: Some(MessageOptions {
            map_entry: Some(true),
        }),
        ..Descriptor::default()
    }
}

/// The place of a choice among those of its message, where it is added if it is missing.
fn oneof(message: &mut Descriptor, name: &str) -> i32 {
    let known = &mut message.oneof_decl;
    let found = known
        .iter()
        .position(|known| known.name.as_deref() == Some(name));
    let place = found.unwrap_or(known.len());
    if found.is_none() {
        known.push(Named { name: text(name) });
    }
    // A message has few fields.
    i32::try_from(place).unwrap_or(i32::MAX)
}

fn enumeration(Enum(name, values): &Enum) -> EnumDescriptor {
    let value = |&(name, number): &(&str, i32)| EnumValue {
        name: text(name),
        number: Some(number),
    };
    EnumDescriptor {
        name: text(name),
        value: values.iter().map(value).collect(),
    }
}

fn service(Service(name, methods): &Service, streams: Option<bool>) -> ServiceDescriptor {
    let method = |&(name, input, output): &(&str, &str, &str)| MethodDescriptor {
        name: text(name),
        input_type: text(input),
        output_type: text(output),
        client_streaming: streams,
        server_streaming: streams,
    };
    ServiceDescriptor {
        name: text(name),
        method: methods.iter().map(method).collect(),
    }
}

#[allow(clippy::unnecessary_wraps)] // Every string of a descriptor is optional.
fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// A name in snake case, as JSON and map entries have it.
fn camel(name: &str, mut upper: bool) -> String {
    let mut out = String::with_capacity(name.len());
    for letter in name.chars() {
        if letter == '_' {
            upper = true;
            continue;
        }
        out.push(if upper {
            letter.to_ascii_uppercase()
        } else {
            letter
        });
        upper = false;
    }
    out
}

const LABEL_OPTIONAL: i32 = 1;
const LABEL_REPEATED: i32 = 3;
const TYPE_MESSAGE: i32 = 11;
