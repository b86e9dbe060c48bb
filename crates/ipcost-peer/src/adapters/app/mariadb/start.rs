//! A private MariaDB or MySQL.

use std::fs;
use std::path::{Path, PathBuf};

use sha1::{Digest, Sha1};

use super::super::kind::{Setup, Started, address_of};
use crate::PeerError;
use crate::adapters::system;

/// The user of a private server, and its database.
pub(super) const USER: &str = "ipcost";
/// The table that the typical request reads; the user may read it and do nothing else.
const CONTENT: &str = "CREATE DATABASE ipcost;
CREATE TABLE ipcost.typical (id INT PRIMARY KEY, name VARCHAR(40), value VARCHAR(200)) ENGINE=InnoDB;
INSERT INTO ipcost.typical WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < 1000) SELECT id, CONCAT('name ', id), REPEAT('v', 100) FROM n;
";
/// The user in MariaDB's tables: before a server has read them at its start, it knows no `CREATE USER`. No other user can come
/// in; the one that the tables bring is locked.
const RIGHTS: &str = r#"INSERT INTO mysql.global_priv VALUES ('%', 'ipcost', '{"access": 0, "plugin": "mysql_native_password", "authentication_string": "HASH"}');
INSERT INTO mysql.db (Host, Db, User, Select_priv) VALUES ('%', 'ipcost', 'ipcost', 'Y');
"#;
/// The same for MySQL.
const USERS: &str = "CREATE USER ipcost IDENTIFIED BY 'SECRET';
GRANT SELECT ON ipcost.* TO ipcost;
ALTER USER root@localhost ACCOUNT LOCK;
";
/// A server of its own with one user, who comes in over both sockets the same way and may read one table.
pub(super) fn start(setup: &Setup<'_>) -> Result<Started, PeerError> {
    let (dir, data) = (setup.room.display(), setup.data()?);
    let tables = tables(setup.program);
    let mut common = vec![
        // First: no settings of the machine apply.
        "--no-defaults".to_owned(),
        format!("--datadir={}", data.display()),
        format!("--tmpdir={dir}"),
        format!("--secure-file-priv={dir}"),
        "--skip-log-bin".to_owned(),
        // Small files are made faster, and nothing need outlast a crash of the machine. What one of both does not know, it
        // leaves.
        "--loose-innodb-log-file-size=4M".to_owned(),
        "--innodb-buffer-pool-size=16M".to_owned(),
        "--innodb-flush-method=nosync".to_owned(),
        "--loose-sync-frm=0".to_owned(),
        "--loose-debug-no-sync".to_owned(),
    ];
    if tables.is_none() {
        // MySQL listens on a third socket unless told not to, and making keys takes it seconds.
        common.extend(
            ["--loose-mysqlx=OFF", "--loose-tls-version=", "--loose-auto-generate-certs=OFF"]
                .map(str::to_owned),
        );
        common.extend(
            ["caching-sha2-password", "sha256-password"]
                .map(|name| format!("--loose-{name}-auto-generate-rsa-keys=OFF")),
        );
    }
    let content = match setup.settings.rows {
        Some(rows) => CONTENT.to_owned() + &of_sysbench(rows),
        None => CONTENT.to_owned(),
    };
    setup.make_once(|| {
        let Some(tables) = &tables else {
            let users = USERS.replace("SECRET", setup.secret);
            let script = setup.file("tables.sql", format!("{content}{users}").as_bytes())?;
            let script = format!("--init-file={}", script.display());
            let own = ["--initialize-insecure".to_owned(), script];
            return setup.run(setup.program, &[&common[..], &own].concat(), None);
        };
        let tables =
            fs::read_to_string(tables).map_err(system(format!("cannot read {}", tables.display())))?;
        let rights = RIGHTS.replace("HASH", &hash(setup.secret));
        let script = format!("CREATE DATABASE mysql;\nUSE mysql;\n{tables}\n{rights}{content}");
        let script = setup.file("tables.sql", script.as_bytes())?;
        // It fails at the first statement that does.
        let own = ["--bootstrap".to_owned()];
        setup.run(setup.program, &[&common[..], &own].concat(), Some(&script))
    })?;
    common.extend([
        format!("--socket={}", setup.socket.display()),
        format!("--pid-file={dir}/pid"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--port={}", setup.port),
        "--skip-name-resolve".to_owned(),
        "--loose-ssl=0".to_owned(),
        "--max-connections=300".to_owned(),
    ]);
    Ok(Started { arguments: common, unix: address_of(setup.socket), ..Started::default() })
}

/// A password as the server keeps it for `mysql_native_password`.
fn hash(password: &str) -> String {
    let twice = Sha1::digest(Sha1::digest(password));
    twice.iter().fold("*".to_owned(), |text, byte| format!("{text}{byte:02X}"))
}

/// The table that sysbench's point selects read, with so many rows.
fn of_sysbench(rows: u32) -> String {
    format!(
        "CREATE TABLE ipcost.sbtest1 (id INT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL) ENGINE=InnoDB;
SET SESSION max_recursive_iterations = {rows};
INSERT INTO ipcost.sbtest1 WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < {rows}) SELECT id, id, REPEAT('c', 119), REPEAT('p', 59) FROM n;
"
    )
}

/// The statements with which MariaDB's own installer makes the tables of rights, next to the program.
fn tables(program: &Path) -> Option<PathBuf> {
    let prefix = program.parent()?.parent()?;
    let places = ["share/mysql", "share/mariadb", "share"].map(|place| prefix.join(place));
    let names = ["mysql_system_tables.sql", "mariadb_system_tables.sql"];
    places.iter().flat_map(|place| names.map(|name| place.join(name))).find(|path| path.is_file())
}
