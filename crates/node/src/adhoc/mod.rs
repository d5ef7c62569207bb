//! Policies that requests describe themselves, and their cells.
