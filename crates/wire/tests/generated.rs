//! The code and the descriptors that are committed are those that the files in `proto/` make.
//!
//! `cargo xtask proto` writes them. Not here: what messages mean, and whether others write the same bytes (`envoy`).

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use prost::Message;
use prost_build::{Config, Module};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet};

/// Fields that are strings in the files and bytes in Rust: clients choose them, and Envoy sends what is no UTF-8 as it
/// is.
const BYTES: &[&str] = &[
    ".envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry.key",
    ".envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry.value",
    ".envoy.service.auth.v3.AttributeContext.HttpRequest.HeadersEntry.value",
    ".envoy.service.auth.v3.AttributeContext.HttpRequest.path",
    ".envoy.service.auth.v3.AttributeContext.HttpRequest.host",
    ".envoy.service.auth.v3.AttributeContext.HttpRequest.body",
    ".envoy.service.rate_limit_quota.v3.BucketId.BucketEntry.value",
];

/// Enumerations that are plain numbers in Rust.
const NUMBERS: &[&str] = &[
    ".envoy.config.core.v3.SocketAddress.Protocol",
    ".envoy.type.v3.StatusCode",
    ".google.protobuf.NullValue",
];

/// Types that are others in Rust: three enumerations of units have the same numbers, and prost gives integers the
/// encoding of wrappers.
const OTHERS: &[(&str, &str)] = &[
    (".envoy.type.v3.RateLimitUnit", "crate::rls::Unit"),
    (
        ".ratelimit.config.ratelimit.v3.RateLimitUnit",
        "crate::rls::Unit",
    ),
    (".google.protobuf.UInt32Value", "u32"),
    (".google.protobuf.UInt64Value", "u64"),
];

/// The form in JSON that messages have here.
#[derive(Clone, Copy, PartialEq)]
enum Json {
    /// Proto-JSON that is read.
    Read,
    /// Proto-JSON that is written: zero values are left out.
    Write,
    /// Gubernator's, both ways: names in snake case, zero values included.
    Gubernator,
}

impl Json {
    fn of(message: &str) -> Option<Self> {
        const RESPONSE: &str = ".envoy.service.ratelimit.v3.RateLimitResponse";
        match message {
            ".envoy.service.ratelimit.v3.RateLimitRequest" => Some(Self::Read),
            ".envoy.config.core.v3.HeaderValue" => Some(Self::Write),
            name if name.ends_with(".Quota") => None,
            name if name.starts_with(RESPONSE) => Some(Self::Write),
            name if name.starts_with(".envoy.extensions.common.ratelimit.v3.") => Some(Self::Read),
            name if name.starts_with(".pb.gubernator.") => Some(Self::Gubernator),
            _ => None,
        }
    }

    /// Attributes of a message.
    const fn derives(self) -> &'static str {
        match self {
            Self::Read => {
                "#[derive(serde::Deserialize)] #[serde(default, rename_all = \"camelCase\", deny_unknown_fields)]"
            }
            Self::Write => "#[derive(serde::Serialize)] #[serde(rename_all = \"camelCase\")]",
            Self::Gubernator => "#[derive(serde::Serialize, serde::Deserialize)] #[serde(default)]",
        }
    }

    /// The attribute of a field, by its type.
    fn attribute(self, field: &FieldDescriptorProto) -> Option<String> {
        let kind = field.type_name().rsplit('.').next().unwrap_or_default();
        let optional = field.proto3_optional();
        // How it is read, how it is written, and when it is left out.
        let (read, write, empty) = match (field.r#type(), kind) {
            (Type::Message, "Quota") => return Some("#[serde(skip)]".to_owned()),
            (Type::Message, "MetadataEntry") => ("nullable", "", ""),
            (Type::Message, "UInt64Value") => ("optional_number", "", ""),
            (Type::Message, _) if field.label() == Label::Repeated => {
                ("list::<{ MAX }, _, _>", "", "Vec::is_empty")
            }
            (Type::Message, _) => ("", "", "Option::is_none"),
            (Type::Enum, _) => (
                "enumeration::<_, KIND>",
                "name::<_, KIND>",
                "crate::json::is_zero",
            ),
            (Type::Int64, _) if optional => ("optional_number", "optional_text", "Option::is_none"),
            (Type::Int64, _) => ("number", "text", ""),
            (Type::Uint32, _) => ("number", "", "crate::json::is_zero"),
            (Type::String, _) => ("nullable", "", "String::is_empty"),
            (Type::Bytes, _) => ("text_bytes", "base64", "Vec::is_empty"),
            _ => ("", "", ""),
        };
        let mut parts = Vec::new();
        if self != Self::Write && field.name() != field.json_name() {
            let is_camel = self == Self::Read;
            let alias = if is_camel {
                field.name()
            } else {
                field.json_name()
            };
            parts.push(format!("alias = \"{alias}\""));
        }
        if self != Self::Write && !read.is_empty() {
            parts.push(format!("deserialize_with = \"crate::json::{read}\""));
        }
        if self != Self::Read && !write.is_empty() {
            parts.push(format!("serialize_with = \"crate::json::{write}\""));
        }
        if (self == Self::Write || optional) && !empty.is_empty() {
            parts.push(format!("skip_serializing_if = \"{empty}\""));
        }
        let (max, module) = match self {
            Self::Gubernator => ("crate::gubernator::REQUESTS_MAX", "crate::gubernator::"),
            Self::Read | Self::Write => ("crate::rls::LIST_MAX", "crate::rls::"),
        };
        let kind = format!("{module}{}", kind.replace("RateLimitUnit", "Unit"));
        let parts = parts.join(", ").replace("MAX", max).replace("KIND", &kind);
        (!parts.is_empty()).then(|| format!("#[serde({parts})]"))
    }
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Every file, each after those it uses.
fn descriptors() -> FileDescriptorSet {
    let root = here("proto");
    let mut folders = vec![root.clone()];
    let mut files = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path);
            }
        }
    }
    let mut set = protox::compile(files, [root]).unwrap();
    for file in &mut set.file {
        file.source_code_info = None;
    }
    set
}

/// Gives fields the types that they have in Rust, and says what becomes of them in JSON.
fn prepare(message: &mut DescriptorProto, scope: &str, config: &mut Config) {
    let name = format!("{scope}.{}", message.name());
    let json = Json::of(&name);
    if let Some(json) = json {
        config.message_attribute(&name[1..], json.derives()); // With its dot it would match what is nested too.
    }
    drop_numbers(&mut message.enum_type, &name);
    for field in &mut message.field {
        let path = format!("{name}.{}", field.name());
        if BYTES.contains(&&*path) {
            field.set_type(Type::Bytes);
        } else if NUMBERS.contains(&field.type_name()) {
            field.set_type(Type::Int32);
            field.type_name = None;
        }
        if let Some(attribute) = json.and_then(|json| json.attribute(field)) {
            config.field_attribute(path, attribute);
        }
    }
    for nested in &mut message.nested_type {
        prepare(nested, &name, config);
    }
}

fn drop_numbers(enums: &mut Vec<EnumDescriptorProto>, scope: &str) {
    enums.retain(|found| !NUMBERS.contains(&&*format!("{scope}.{}", found.name())));
}

/// The code of each package, by the names that lead to its module.
fn packages(set: FileDescriptorSet) -> BTreeMap<Vec<String>, String> {
    let mut config = Config::new();
    config.compile_well_known_types();
    config.btree_map(["."]);
    config.bytes([".tollgate.v1.CheckRequest.key"]);
    config.disable_comments(["."]);
    config.message_attribute("BucketId", "#[derive(Eq, Hash, PartialOrd, Ord)]");
    for (path, rust) in OTHERS {
        config.extern_path(*path, *rust);
    }
    let mut requests = Vec::new();
    for mut file in set.file {
        let scope = format!(".{}", file.package());
        drop_numbers(&mut file.enum_type, &scope);
        for message in &mut file.message_type {
            prepare(message, &scope, &mut config);
        }
        requests.push((Module::from_protobuf_package_name(file.package()), file));
    }
    let code = config.generate(requests).unwrap().into_iter();
    code.map(|(module, code)| (module.parts().map(str::to_owned).collect(), code))
        .collect()
}

/// The modules inside `above`, each in the module that its package names.
fn modules(packages: &BTreeMap<Vec<String>, String>, above: &[String], out: &mut String) {
    let below = packages
        .keys()
        .filter_map(|path| path.strip_prefix(above)?.first());
    for name in below.collect::<BTreeSet<_>>() {
        let path = [above, std::slice::from_ref(name)].concat();
        if packages.contains_key(&path) {
            writeln!(out, "pub mod {name};").unwrap();
        } else {
            writeln!(out, "pub mod {name} {{").unwrap();
            modules(packages, &path, out);
            out.push_str("}\n");
        }
    }
}

/// What is committed: the path of each file and what is in it.
fn generate() -> BTreeMap<PathBuf, Vec<u8>> {
    let set = descriptors();
    let bytes = set.encode_to_vec();
    let packages = packages(set);
    let mut index = "//! Messages of `proto/`, by package; what fields mean is said there. Made by `cargo xtask proto`; do not \
                     edit.\n\n"
        .to_owned();
    modules(&packages, &[], &mut index);
    let root = here("src/generated");
    let mut files = BTreeMap::from([
        (root.join("descriptors.bin"), bytes),
        (root.join("mod.rs"), formatted(&index)),
    ]);
    for (path, code) in packages {
        let package = path.join(".").replace("r#", "");
        let code = format!(
            "//! Messages of `{package}`. Made by `cargo xtask proto`; do not edit.\n\n{code}"
        );
        let file = root.join(package.replace('.', "/")).with_extension("rs");
        files.insert(file, formatted(&code));
    }
    files
}

/// Code as `cargo fmt` would have it, with names as short as the prelude allows, and without what every file would
/// repeat.
fn formatted(code: &str) -> Vec<u8> {
    let is_said = |line: &&str| !line.trim_start().starts_with("///") && !line.starts_with("// ");
    let mut code: String = code
        .lines()
        .filter(is_said)
        .flat_map(|line| [line, "\n"])
        .collect();
    for long in [
        "::prost::alloc::string::",
        "::prost::alloc::vec::",
        "::core::option::",
        "::prost::alloc::boxed::",
    ] {
        code = code.replace(long, "");
    }
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = rustfmt.stdin.take().unwrap();
    input.write_all(code.as_bytes()).unwrap();
    drop(input);
    let output = rustfmt.wait_with_output().unwrap();
    assert!(output.status.success(), "rustfmt refuses {code}");
    output.stdout
}

#[test]
fn the_code_and_the_descriptors_are_what_the_files_make() {
    for (path, made) in generate() {
        let committed = fs::read(&path).unwrap_or_default();
        let path = path.display();
        assert!(
            committed == made,
            "{path} is not what proto/ makes: run `cargo xtask proto`"
        );
    }
}

#[test]
#[ignore = "writes the code; `cargo xtask proto` runs it"]
fn write() {
    let _ = fs::remove_dir_all(here("src/generated"));
    for (path, made) in generate() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, made).unwrap();
    }
}
