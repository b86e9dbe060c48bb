//! What else is done to the machine during a self-test.

use std::fmt::Display;
use std::time::{Duration, Instant};

use ipcost_lab::LabError;
use ipcost_lab::lab::own_command;
use ipcost_sys::process::{PeerProcess, Spawn};
use ipcost_sys::quota::Quota;

use super::Noise;

/// The quota with which `--noise quota` holds the measurement back, in processors.
const QUOTA_CORES: f64 = 0.5;

/// What else is done to the machine; it ends when this is dropped.
pub(super) enum Disturbance {
    Nothing,
    Hogs { _processes: Vec<PeerProcess> },
    Quota { _quota: Quota },
}

impl Disturbance {
    pub fn start(noise: Noise) -> Result<Self, LabError> {
        let failed = |what: &str, error: &dyn Display| LabError::Failed(format!("{what}: {error}"));
        Ok(match noise {
            Noise::Quiet => Self::Nothing,
            Noise::Cpu => {
                let command = own_command("hog")?;
                let start = |_| PeerProcess::spawn(Spawn { command: &command, ..Spawn::default() });
                let count = std::thread::available_parallelism().map_or(1, usize::from);
                let processes = (0..count).map(start).collect::<Result<_, _>>();
                let what = "cannot start processes that take the processors";
                Self::Hogs { _processes: processes.map_err(|error| failed(what, &error))? }
            }
            Noise::Quota => {
                let what = "cannot set a CPU quota here; it takes root and a writable control group with the cpu controller";
                Self::Quota { _quota: Quota::impose(QUOTA_CORES).map_err(|error| failed(what, &error))? }
            }
        })
    }
}

/// Takes a processor in bursts, for ever: what `--noise cpu` starts.
pub fn hog() -> ! {
    let mut random = ipcost_stats::Random::new(u64::from(std::process::id()));
    let mut burst = || Duration::from_millis(10 + random.below(190));
    loop {
        let until = Instant::now() + burst();
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        std::thread::sleep(burst());
    }
}
