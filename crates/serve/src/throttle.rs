//! Decisions by policies that requests describe themselves: the throttle commands.
