//! Sockets: binding them, accepting connections, handing each to its door, and closing all of it in good order.
