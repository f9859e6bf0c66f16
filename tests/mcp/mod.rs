//! The MCP server, through the binary: by hand on the wire, and through clients of others.

mod clients;
mod lifetime;
mod lines;
mod order;
mod protocol;
mod real_tree;
mod served;
mod wire;
