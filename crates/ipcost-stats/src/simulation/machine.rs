//! Machines that disturb measurements in known ways.

use crate::random::Random;

/// A kind of disturbance. Standard deviations are of logarithmic costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// Independent normal noise of 5 % on every batch.
    Independent,
    /// Processes differ from start to start by 5 %, batches of one process by 1 %.
    BetweenEpochs,
    /// The machine's speed wanders: AR(1) over batches with coefficient 0.6, 10 %.
    Wandering06,
    /// The same with coefficient 0.9.
    Wandering09,
    /// The contrast itself wanders: AR(1) over epochs with coefficient 0.3, 5 %.
    Contrast03,
    /// The same with coefficient 0.6.
    Contrast06,
    /// The same with coefficient 0.9.
    Contrast09,
    /// The contrast wanders with coefficient 0.9 by 5 %, hidden under independent noise of 5 % on every batch.
    Hidden09,
    /// Batches are delayed by exponential times, 10 % on average.
    Skewed,
    /// Batches are disturbed by Student's t with 1.5 degrees of freedom: no variance exists.
    HeavyTailed,
    /// One process in four starts in a mode that costs twice as much.
    Bimodal,
    /// Something interferes with every third batch and makes it 30 % costlier.
    Periodic,
    /// The machine grows slower by 0.2 % with every batch.
    Drift,
}

impl Noise {
    /// Those under which the guarantee holds, with their names in tables: any disturbance of the machine.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Independent, "independent"),
        (Self::BetweenEpochs, "between epochs"),
        (Self::Wandering06, "machine AR(1) 0.6"),
        (Self::Wandering09, "machine AR(1) 0.9"),
        (Self::Skewed, "skewed"),
        (Self::HeavyTailed, "heavy tails"),
        (Self::Bimodal, "two modes"),
        (Self::Periodic, "periodic"),
        (Self::Drift, "drift"),
    ];

    /// One under which it is kept all the same: the ratio itself wanders a little.
    pub const SLIGHT: (Self, &'static str) = (Self::Contrast03, "contrast AR(1) 0.3");

    /// The ones under which it holds from [`EPOCHS_TO_NOTICE`](super::EPOCHS_TO_NOTICE) on: the ratio itself wanders.
    pub const LATER: [(Self, &'static str); 1] = [(Self::Contrast06, "contrast AR(1) 0.6")];

    /// Those without a guarantee: over one campaign, a contrast that wanders slowly looks just like one with another
    /// value. The first triggers a warning.
    pub const BEYOND: [(Self, &'static str); 2] =
        [(Self::Contrast09, "contrast AR(1) 0.9"), (Self::Hidden09, "hidden AR(1) 0.9")];
}

/// A process of a cell: its cost above others of its kind.
#[derive(Debug, Clone, Copy)]
pub struct SimulatedProcess(f64);

/// A machine on which time passes batch by batch.
#[derive(Debug, Clone)]
pub struct SimulatedMachine {
    noise: Noise,
    random: Random,
    time: u64,
    /// The wandering component, in standard deviations.
    state: f64,
}

impl SimulatedMachine {
    /// A machine at a random point of its history.
    pub fn new(noise: Noise, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let state = random.normal();
        let time = random.below(1000);
        Self { noise, random, time, state }
    }

    pub fn start_process(&mut self) -> SimulatedProcess {
        SimulatedProcess(match self.noise {
            Noise::BetweenEpochs => 0.05 * self.random.normal(),
            Noise::Bimodal if self.random.below(4) == 0 => 2f64.ln(),
            _ => 0.0,
        })
    }

    /// The logarithmic cost of a process's next batch, without the cell's own cost.
    pub fn batch(&mut self, process: SimulatedProcess) -> f64 {
        self.time += 1;
        let SimulatedProcess(effect) = process;
        let normal = self.random.normal();
        effect
            + match self.noise {
                Noise::Independent | Noise::Hidden09 => 0.05 * normal,
                Noise::Contrast03 | Noise::Contrast06 | Noise::Contrast09 => 0.003 * normal,
                Noise::BetweenEpochs => 0.01 * normal,
                Noise::Wandering06 => 0.1 * self.wander(0.6) + 0.02 * normal,
                Noise::Wandering09 => 0.1 * self.wander(0.9) + 0.02 * normal,
                Noise::Skewed => (1.0 - 0.1 * (1.0 - self.random.unit()).ln()).ln() + 0.005 * normal,
                Noise::HeavyTailed => 0.02 * self.student(1.5),
                Noise::Bimodal => 0.03 * normal,
                Noise::Periodic => {
                    0.02 * normal + if self.time.is_multiple_of(3) { 1.3f64.ln() } else { 0.0 }
                }
                Noise::Drift => 0.02 * normal + 0.002 * self.time as f64,
            }
    }

    /// The deviation of the coming epoch's contrast from its true value.
    pub fn contrast(&mut self) -> f64 {
        match self.noise {
            Noise::Contrast03 => 0.05 * self.wander(0.3),
            Noise::Contrast06 => 0.05 * self.wander(0.6),
            Noise::Contrast09 | Noise::Hidden09 => 0.05 * self.wander(0.9),
            _ => 0.0,
        }
    }

    fn wander(&mut self, coefficient: f64) -> f64 {
        self.state =
            coefficient * self.state + (1.0 - coefficient * coefficient).sqrt() * self.random.normal();
        self.state
    }

    /// Student's t by Bailey's polar method ("Polar generation of random variates with the t-distribution",
    /// Math. Comp. 62, 1994).
    fn student(&mut self, freedom: f64) -> f64 {
        loop {
            let (u, v) = (2.0 * self.random.unit() - 1.0, 2.0 * self.random.unit() - 1.0);
            let w = u * u + v * v;
            if w > 0.0 && w <= 1.0 {
                return u * (freedom * (w.powf(-2.0 / freedom) - 1.0) / w).sqrt();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wanders_is_correlated_as_it_says() {
        for (noise, coefficient) in
            [(Noise::Contrast03, 0.3), (Noise::Contrast06, 0.6), (Noise::Contrast09, 0.9)]
        {
            let mut machine = SimulatedMachine::new(noise, 1);
            let values: Vec<f64> = (0..20_000).map(|_| machine.contrast()).collect();
            let found = crate::serial_correlation(&values);
            assert!((found - coefficient).abs() < 0.02, "{found}");
        }
    }

    #[test]
    fn heavy_tails_are_heavy() {
        let mut machine = SimulatedMachine::new(Noise::HeavyTailed, 1);
        let process = machine.start_process();
        let far = (0..10_000).filter(|_| machine.batch(process).abs() > 0.02 * 10.0).count();
        assert!((100..1_000).contains(&far), "{far} of 10 000 beyond ten scales");
    }
}
