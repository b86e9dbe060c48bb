//! What this user may do, where the system is not asked.

use ipcost_model::facts::PermissionFacts;

/// Nothing is known.
pub fn permissions() -> PermissionFacts {
    PermissionFacts::default()
}
