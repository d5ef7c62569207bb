//! The size budget: lines per file and function, fields per struct, arguments per function.
//!
//! A file's production lines are those above its `#[cfg(test)] mod … {`. A function's lines run
//! from `fn` to its closing brace. Arguments include `self`, as clippy counts them; those of a method that a trait
//! requires are counted in the trait. Two arguments in one tuple are two arguments: they get names in a struct.

use super::Finding;
use super::files::File;
use super::scan::{Token, mask, tokens};

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;
const FIELDS_MAX: usize = 15;
const RAW_FIELDS_MAX: usize = 22;
const ARGUMENTS_MAX: usize = 5;

pub(crate) fn check(file: &File) -> Vec<Finding> {
    let Some(source) = file.rust() else {
        return Vec::new();
    };
    let masked = mask(source);
    let tokens = tokens(&masked);
    let mut findings = Vec::new();
    let lines = production_lines(source, &tokens);
    if lines > FILE_LINES_MAX {
        let what =
            format!("{lines} production lines, limit {FILE_LINES_MAX}; split the file by role");
        findings.push(Finding::new(&file.path, 1, what));
    }
    let mut asked_for = 0;
    for (at, token) in tokens.iter().enumerate() {
        let from = &tokens[at..];
        let whats = match token.text {
            "impl" => {
                asked_for = asked_for.max(at + trait_impl(from).unwrap_or_default());
                continue;
            }
            "fn" => function(from)
                .map(|found| found.complaints(at < asked_for))
                .unwrap_or_default(),
            "struct" => fields(from)
                .and_then(|fields| fields.complaint())
                .into_iter()
                .collect(),
            _ => continue,
        };
        findings.extend(
            whats
                .into_iter()
                .map(|what| Finding::new(&file.path, token.line, what)),
        );
    }
    findings
}

/// Lines above the inline test module, or all of them.
fn production_lines(source: &str, tokens: &[Token<'_>]) -> usize {
    const OPENING: [&str; 8] = ["#", "[", "cfg", "(", "test", ")", "]", "mod"];
    let opens_tests = |window: &&[Token<'_>]| {
        window
            .iter()
            .map(|token| token.text)
            .take(OPENING.len())
            .eq(OPENING)
            && window.last().is_some_and(|token| token.text == "{")
    };
    let tests = tokens.windows(OPENING.len() + 2).find(opens_tests);
    tests.map_or(source.lines().count(), |window| window[0].line - 1)
}

struct Function<'a> {
    name: &'a str,
    lines: usize,
    arguments: usize,
    /// Arguments that are tuple patterns.
    tuples: usize,
}

impl Function<'_> {
    /// `is_asked_for`: the signature is that of a trait.
    fn complaints(&self, is_asked_for: bool) -> Vec<String> {
        let Self {
            name,
            lines,
            arguments,
            tuples,
        } = self;
        let mut whats = Vec::new();
        if *lines > FUNCTION_LINES_MAX {
            let limit = FUNCTION_LINES_MAX;
            whats.push(format!(
                "`{name}` has {lines} lines, limit {limit}; name its steps"
            ));
        }
        if *arguments > ARGUMENTS_MAX && !is_asked_for {
            let limit = ARGUMENTS_MAX;
            whats.push(format!(
                "`{name}` takes {arguments} arguments, limit {limit}; pass a struct"
            ));
        }
        if *tuples > 0 && !is_asked_for {
            whats.push(format!(
                "`{name}` packs arguments in a tuple; pass a struct"
            ));
        }
        whats
    }
}

/// The end of the implementation whose `impl` comes first, if it is that of a trait.
fn trait_impl(from: &[Token<'_>]) -> Option<usize> {
    let open = from
        .iter()
        .position(|token| matches!(token.text, "{" | ";"))?;
    let is_for = |pair: &[Token<'_>]| pair[0].text == "for" && pair[1].text != "<";
    let is_trait = from[..=open].windows(2).any(is_for);
    if is_trait { closing(from, open) } else { None }
}

/// Measures the function whose `fn` comes first, unless it is a pointer type or a macro's pattern.
fn function<'a>(from: &[Token<'a>]) -> Option<Function<'a>> {
    let name = from.get(1).filter(|token| is_name(token.text))?.text;
    let open = skip_generics(from, 2);
    if from.get(open)?.text != "(" {
        return None;
    }
    let close = closing(from, open)?;
    let inside = &from[open + 1..close];
    let end = body_end(from, close + 1)?;
    Some(Function {
        name,
        lines: from[end].line - from[0].line + 1,
        arguments: count_items(inside),
        tuples: count_tuples(inside),
    })
}

/// Arguments that are patterns in parentheses, except those before `in`, which proptest draws.
fn count_tuples(inside: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    let mut is_first = true;
    let mut count = 0;
    for (at, token) in inside.iter().enumerate() {
        let is_tuple = is_first && depth == 0 && token.text == "(";
        let end = closing(inside, at).filter(|_| is_tuple);
        let after = end.and_then(|end| inside.get(end + 1));
        count += usize::from(after.is_some_and(|token| token.text == ":"));
        is_first &= matches!(token.text, "&" | "mut");
        match token.text {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            ">" if !ends_arrow(inside, at) => depth = depth.saturating_sub(1),
            "," if depth == 0 => is_first = true,
            _ => {}
        }
    }
    count
}

struct Fields<'a> {
    name: &'a str,
    count: usize,
}

/// The name and field count of the struct whose keyword comes first.
fn fields<'a>(from: &[Token<'a>]) -> Option<Fields<'a>> {
    let name = from.get(1).filter(|token| is_name(token.text))?.text;
    let mut open = skip_generics(from, 2);
    if from.get(open)?.text == "where" {
        open += from[open..]
            .iter()
            .position(|token| matches!(token.text, "{" | ";"))?;
    }
    let count = match from[open].text {
        "{" | "(" => count_items(&from[open + 1..closing(from, open)?]),
        _ => 0,
    };
    Some(Fields { name, count })
}

impl Fields<'_> {
    fn complaint(&self) -> Option<String> {
        let Self { name, count } = self;
        // Structs that mirror a file have its fields.
        let max = if name.starts_with("Raw") {
            RAW_FIELDS_MAX
        } else {
            FIELDS_MAX
        };
        (*count > max).then(|| {
            format!("`{name}` has {count} fields, limit {max}; group those that change together")
        })
    }
}

/// The index of the body's closing brace, or of the semicolon of a function without a body.
fn body_end(from: &[Token<'_>], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        match from.get(at)?.text {
            ";" => return Some(at),
            "{" => return closing(from, at),
            "(" | "[" => at = closing(from, at)? + 1,
            _ => at += 1,
        }
    }
}

/// Steps over `<…>` at `at`, if it is there.
fn skip_generics(from: &[Token<'_>], at: usize) -> usize {
    if from.get(at).is_none_or(|token| token.text != "<") {
        return at;
    }
    let mut depth = 0_usize;
    let mut here = at;
    while here < from.len() {
        depth = match from[here].text {
            "<" => depth + 1,
            ">" if !ends_arrow(from, here) => depth - 1,
            _ => depth,
        };
        here += 1;
        if depth == 0 {
            break;
        }
    }
    here
}

/// The index of the bracket that closes the one at `open`.
fn closing(from: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in from.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Comma-separated items, ignoring commas inside brackets.
fn count_items(inside: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    let mut commas = 0;
    for (at, token) in inside.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            ">" if !ends_arrow(inside, at) => depth = depth.saturating_sub(1),
            "," if depth == 0 => commas += 1,
            _ => {}
        }
    }
    match inside.last() {
        None => 0,
        Some(last) => commas + usize::from(last.text != ","),
    }
}

fn ends_arrow(from: &[Token<'_>], at: usize) -> bool {
    at > 0 && matches!(from[at - 1].text, "-" | "=")
}

fn is_name(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn measure(source: &str) -> (usize, usize) {
        let masked = mask(source);
        let all = tokens(&masked);
        let at = all.iter().position(|token| token.text == "fn").unwrap();
        let found = function(&all[at..]).unwrap();
        (found.lines, found.arguments)
    }

    #[track_caller]
    fn count_fields(source: &str) -> usize {
        let masked = mask(source);
        let all = tokens(&masked);
        let at = all.iter().position(|token| token.text == "struct").unwrap();
        fields(&all[at..]).unwrap().count
    }

    #[test]
    fn counts_arguments_past_generics_and_closures() {
        assert_eq!(measure("fn a() {}").1, 0);
        assert_eq!(measure("fn a(&mut self, b: u8,) {}").1, 2);
        assert_eq!(
            measure("fn a<F: Fn(u8, u8) -> u8, const N: usize>(f: F, n: [u8; N]) {}").1,
            2
        );
        assert_eq!(
            measure("fn a(m: Map<K, Vec<V>>, f: impl Fn(A, B) -> C, (x, y): P) {}").1,
            3
        );
        assert_eq!(
            measure("fn a(#[cfg(any(x, y))] b: u8, c: fn(u8, u8) -> u8);").1,
            2
        );
    }

    #[test]
    fn arguments_in_tuples_are_named() {
        let tuples = |source: &str| {
            let masked = mask(source);
            function(&tokens(&masked)).unwrap().tuples
        };
        assert_eq!(tuples("fn a(b: (u8, u8), c: impl Fn((u8, u8))) {}"), 0);
        assert_eq!(tuples("fn a<T: Fn(u8)>((b, c): (u8, u8)) {}"), 1);
        assert_eq!(tuples("fn a((b, c) in pairs()) {}"), 0);
        assert_eq!(tuples("fn a(&self, &(b, c): &(u8, u8), (d, _): E) {}"), 2);
    }

    #[test]
    fn arguments_that_a_trait_asks_for_are_its_business() {
        let function = "fn f(a: A, b: A, c: A, d: A, e: A, f: A) {}";
        let complaints = |text: String| {
            let file = File {
                path: "a.rs".to_owned(),
                size: text.len(),
                text: Some(text),
            };
            check(&file).len()
        };
        assert_eq!(complaints(format!("impl<T> Of for T {{ {function} }}")), 0);
        for ours in [
            function.to_owned(),
            format!("impl<T> T where for<'a> T: Of<'a> {{ {function} }}"),
            format!("impl Of for T {{}} {function}"),
            format!("trait Of {{ {function} }}"),
        ] {
            assert_eq!(complaints(ours.clone()), 1, "{ours}");
        }
    }

    #[test]
    fn counts_lines_to_the_closing_brace() {
        assert_eq!(
            measure("fn a() -> [u8; 4] {\n  '}';\n  \"}\";\n  // }\n}\nfn b() {}").0,
            5
        );
        assert_eq!(
            measure("fn a()\nwhere\n  T: Into<[u8; 3]>,\n{\n  { }\n}").0,
            6
        );
        assert_eq!(
            measure("trait T {\n  fn a(\n    self,\n  );\n  fn b() {}\n}").0,
            3
        );
    }

    #[test]
    fn pointer_types_and_macro_patterns_are_no_functions() {
        let masked = mask("type F = fn(u8); macro_rules! m { ($n:ident) => { fn $n() {} } }");
        let all = tokens(&masked);
        let at = |nth| {
            all.iter()
                .enumerate()
                .filter(|(_, t)| t.text == "fn")
                .nth(nth)
                .unwrap()
                .0
        };
        assert!(function(&all[at(0)..]).is_none());
        assert!(function(&all[at(1)..]).is_none());
    }

    #[test]
    fn counts_fields_of_every_kind_of_struct() {
        assert_eq!(count_fields("struct A;"), 0);
        assert_eq!(count_fields("struct A {}"), 0);
        assert_eq!(count_fields("struct A(u8, Map<K, V>);"), 2);
        assert_eq!(
            count_fields("struct A<'a, T> where T: B<C> { a: &'a T, b: fn(u8, u8) -> u8 }"),
            2
        );
        assert_eq!(
            count_fields("struct A { /* x, */ #[doc = \",\"] a: (u8, u8), b: [u8; 2], }"),
            2
        );
    }

    #[test]
    fn production_lines_stop_at_the_inline_tests() {
        let lines = |source: &str| production_lines(source, &tokens(&mask(source)));
        assert_eq!(lines("a\nb\n\n#[cfg(test)]\nmod tests {\n x\n}\n"), 3);
        assert_eq!(lines("#[cfg(test)]\nmod fixture;\nb\n"), 3);
        assert_eq!(lines("// #[cfg(test)] mod tests {\nb\n"), 2);
    }

    #[test]
    fn each_limit_is_inclusive() {
        let function = |lines: usize| format!("fn a() {{\n{}}}\n", "x;\n".repeat(lines - 2));
        assert!(check(&File::of("a.rs", &function(FUNCTION_LINES_MAX))).is_empty());
        assert_eq!(
            check(&File::of("a.rs", &function(FUNCTION_LINES_MAX + 1))).len(),
            1
        );
        assert!(check(&File::of("a.rs", &"x\n".repeat(FILE_LINES_MAX))).is_empty());
        assert_eq!(
            check(&File::of("a.rs", &"x\n".repeat(FILE_LINES_MAX + 1))).len(),
            1
        );
        assert_eq!(
            check(&File::of(
                "a.rs",
                "fn a(b: B, c: C, d: D, e: E, f: F, g: G) {}"
            ))
            .len(),
            1
        );
    }
}
