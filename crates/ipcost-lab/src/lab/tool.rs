//! The program that records name.

use std::sync::OnceLock;

use ipcost_model::Tool;

static TOOL: OnceLock<Tool> = OnceLock::new();

/// Names the build in every record from now on. Only the binary knows its build; the first call counts.
pub fn set_tool(tool: Tool) {
    let _ = TOOL.set(tool);
}

/// The program, with its build if that was set.
pub fn tool() -> Tool {
    TOOL.get().cloned().unwrap_or_else(|| Tool::of_version(env!("CARGO_PKG_VERSION")))
}
