//! Laws of the rule, on cells alone.
