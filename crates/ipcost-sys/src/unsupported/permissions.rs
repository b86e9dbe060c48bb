//! This user's permissions: not queried here.

use ipcost_model::facts::PermissionFacts;

pub fn permissions() -> PermissionFacts {
    PermissionFacts::default()
}
