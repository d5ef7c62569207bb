//! A whole server: started, reloaded, stopped.
