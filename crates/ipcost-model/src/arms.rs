//! The two arms of a run that asks whether a setting, a library or a build changes anything.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::ModelError;
use crate::job::duration;
use crate::named;

named! {
    /// One of two arms.
    ArmName, "arm" {
        /// What is compared with.
        A = "a",
        /// What is compared.
        B = "b",
    }
}

impl ArmName {
    /// The same as a title.
    pub fn title(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }
}

/// Two states of the machine, or two ways to start the peers. Every cell is measured in both, epoch by epoch in random
/// order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Arms {
    /// What is compared with.
    pub a: Arm,
    /// What is compared.
    pub b: Arm,
    /// A shell command that puts the machine back as it was, run at the end, also if the run is killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restore: Option<String>,
    /// Files that hold the state and are written back as they were: of /proc/sys, /sys or /proc.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
    /// How long to wait after a command, before peers start; default none.
    #[serde(skip_serializing_if = "Option::is_none", with = "duration")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub settle: Option<Duration>,
    /// How long a command may take; default 10 seconds.
    #[serde(skip_serializing_if = "Option::is_none", with = "duration")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub command_timeout: Option<Duration>,
}

impl Arms {
    /// How long a command may take if nothing else is asked.
    pub const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

    pub fn arm(&self, name: ArmName) -> &Arm {
        match name {
            ArmName::A => &self.a,
            ArmName::B => &self.b,
        }
    }

    /// Whether the two can differ at all, and their commands can be started.
    pub fn check(&self) -> Result<(), ModelError> {
        if self.a == self.b {
            let what = if self.a == Arm::default() {
                "nothing distinguishes the two arms"
            } else {
                "the two arms are the same"
            };
            return Err(ModelError::SameArms(what));
        }
        let empty = |arm: &Arm| {
            arm.command.as_ref().is_some_and(|command| command.trim().is_empty())
                || arm.exec.first().is_some_and(String::is_empty)
                || arm.peers.values().any(|command| command.first().is_none_or(String::is_empty))
        };
        for name in ArmName::ALL {
            if empty(self.arm(*name)) {
                return Err(ModelError::EmptyCommand(format!("arm {}", name.title())));
            }
            let invalid = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
            if let Some(wrong) = self.arm(*name).env.keys().find(invalid) {
                return Err(ModelError::VariableName(wrong.clone()));
            }
        }
        Ok(())
    }

    /// Whether commands change the state of the machine.
    pub fn change_the_machine(&self) -> bool {
        self.a.command.is_some() || self.b.command.is_some()
    }
}

/// What distinguishes an arm.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Arm {
    /// A shell command that puts the machine into its state, run before each of its epochs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Environment variables of its peers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// A program with arguments that starts its peers, such as taskset: the peer's command follows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exec: Vec<String>,
    /// Commands of peers that are others in this arm, by the name that cells have for them: the program, then its arguments.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub peers: BTreeMap<String, Vec<String>>,
}

impl Arm {
    /// What it is, in short; empty if nothing distinguishes it.
    pub fn words(&self) -> String {
        let env = self.env.iter().map(|(name, value)| format!("{name}={value}"));
        let exec = (!self.exec.is_empty()).then(|| self.exec.join(" "));
        let peers = self.peers.iter().map(|(name, command)| format!("peer {name}: {}", command.join(" ")));
        let all: Vec<String> = self.command.iter().cloned().chain(env).chain(exec).chain(peers).collect();
        all.join("; ")
    }
}

/// What the commands of two arms changed, as the document has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmsRecord {
    /// Files of the kernel that hold settings.
    pub settings: Vec<ArmSetting>,
    /// Whether the machine was put back as it was.
    pub restored: bool,
}

/// What a file of the kernel held.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmSetting {
    /// Its path.
    pub path: String,
    /// Before the run.
    pub before: String,
    /// In arm A; null if that was never entered.
    pub a: Option<String>,
    /// In arm B.
    pub b: Option<String>,
}
