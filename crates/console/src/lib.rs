//! What the console looks like: plain views in, whole pages out.
//!
//! Each page is a struct of plain data and a function that makes a document of it. Pages work without a script; the
//! script adds what moves. [`assets`] has the one style sheet and the one script, [`editor`] turns forms into documents
//! and back.
//!
//! Deliberately absent: HTTP, sessions, databases, clocks. The server fills in the views.

#![allow(missing_docs, reason = "internal: comments say why, not what")]

pub mod assets;
pub mod chart;
pub mod editor;
pub mod page;
pub mod part;

mod frame;
mod html;
mod moment;
pub mod number;
mod section;
mod url;

pub use frame::{Notice, PageFrame, Right, Theme, TokenRole, Who};
pub use html::{Element, Html, bytes_shown, el};
pub use moment::Moment;
pub use section::Section;
pub use url::Url;

/// The largest page, in bytes. The server leaves rows out until a page fits; only a document being edited is
/// always shown in full.
pub const PAGE_BYTES_MAX: usize = 200_000;
