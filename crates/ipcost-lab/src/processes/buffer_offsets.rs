//! Where buffers begin in an epoch: drawn, since a program's allocator decides it and nothing in a program's source does.
//!
//! Mytkowicz, Diwan, Hauswirth and Sweeney, "Producing wrong data without doing anything obviously wrong!" (ASPLOS 2009);
//! Curtsinger and Berger, "Stabilizer: statistically sound performance evaluation" (ASPLOS 2013).

use ipcost_model::{BufferLayout, Offsets, Options, PAGE_BYTES, fixed_offset};
use ipcost_stats::Random;

/// Allocators place buffers at multiples of this many bytes.
const STEP_BYTES: u16 = 16;
/// Rings begin in a cache line of their own.
const LINE_BYTES: u16 = 64;

/// The layout that all cells of an epoch share.
pub(super) struct DrawnOffsets {
    client: Offsets,
    server: Offsets,
    ring_offset: u16,
}

impl DrawnOffsets {
    /// Draws a layout. Epochs count from 1; those before them, which calibrate, are told apart by how often processes
    /// were started.
    pub(super) fn of(seed: u64, epoch: u32, starts: u32) -> Self {
        let number = if epoch > 0 { u64::from(epoch) } else { u64::from(starts) << 32 };
        // A sequence of its own: orders do not depend on it.
        let mut random = Random::new(Random::new(seed ^ 0x6c61_796f_7574).next_u64() ^ number);
        let mut place = |step: u16| random.below(PAGE_BYTES / u64::from(step)) as u16 * step;
        let mut offsets = || Offsets { send_offset: place(STEP_BYTES), recv_offset: place(STEP_BYTES) };
        let (client, server) = (offsets(), offsets());
        Self { client, server, ring_offset: place(LINE_BYTES) }
    }

    /// A cell's layout: as its options fix it, otherwise as drawn.
    pub(super) fn of_cell(&self, options: &Options) -> BufferLayout {
        BufferLayout {
            client: Some(self.client.fixed_by(options)),
            server: Some(self.server.fixed_by(options)),
            ring_offset: Some(fixed_offset(options.ring_offset()).unwrap_or(self.ring_offset)),
        }
    }
}

#[cfg(test)]
mod tests {
    use ipcost_model::OptionValue;

    use super::*;

    #[test]
    fn every_place_is_drawn_and_the_same_seed_draws_the_same() {
        let drawn = |epoch| DrawnOffsets::of(7, epoch, 0).of_cell(&Options::default());
        assert_eq!(drawn(3), drawn(3));
        let places: Vec<[u16; 4]> = (1..=4000)
            .map(|epoch| {
                let layout = drawn(epoch);
                let (client, server) = (layout.client.unwrap(), layout.server.unwrap());
                [client.send_offset, client.recv_offset, server.send_offset, server.recv_offset]
            })
            .collect();
        for side in 0..4 {
            let mut seen: Vec<u16> = places.iter().map(|places| places[side]).collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen, (0..256).map(|step| step * 16).collect::<Vec<u16>>());
        }
        // Drawn apart from each other: the distance of two is as often below half a page as above.
        let near = places.iter().filter(|places| (places[3] + 4096 - places[0]) % 4096 < 2048).count();
        assert!((1800..2200).contains(&near), "{near}");
    }

    #[test]
    fn options_fix_a_place_and_pilots_differ() {
        let mut options = Options::default();
        options.set("recv_offset", OptionValue::Int(5)).unwrap();
        let layout = DrawnOffsets::of(1, 1, 0).of_cell(&options);
        assert_eq!((layout.client.unwrap().recv_offset, layout.server.unwrap().recv_offset), (5, 5));
        let pilot = |starts| DrawnOffsets::of(1, 0, starts).of_cell(&options);
        assert_ne!(pilot(1), pilot(2));
    }
}
