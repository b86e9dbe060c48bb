package main

import "math"

// pace is when the operations of a cell begin.
type pace struct {
	// isOpen is whether they are due at a rate, answered or not; otherwise each follows a pause.
	isOpen bool
	// random is whether pauses or gaps are drawn; otherwise all are the same.
	random bool
	// inStep is whether even arrivals come to all workers at the same moments.
	inStep bool
	// intervalNs is the mean pause, or the mean gap between the operations of one worker.
	intervalNs float64
	workers    uint64
}

// paceOf is a cell's pace; nil if its operations follow one another at once.
func paceOf(cell *cell) *pace {
	arrivals := cell.Options.Arrivals
	switch {
	case cell.Options.Rate != nil:
		return &pace{
			isOpen:     true,
			random:     orElse(arrivals, "poisson") != arrivalsConstant && orElse(arrivals, "poisson") != arrivalsInStep,
			inStep:     orElse(arrivals, "poisson") == arrivalsInStep,
			intervalNs: float64(cell.Concurrency) * 1e9 / float64(*cell.Options.Rate),
			workers:    cell.Concurrency,
		}
	case cell.Options.Think != nil:
		return &pace{
			random:     orElse(arrivals, arrivalsConstant) != arrivalsConstant,
			intervalNs: float64(*cell.Options.Think),
			workers:    cell.Concurrency,
		}
	}
	return nil
}

// schedule is the pace of one worker in one batch.
type schedule struct {
	isOpen bool
	// momentsNs has for each operation its pause, or when it is due after the begin.
	momentsNs []uint64
}

// schedule draws the moments of a worker, counted from 0.
func (p *pace) schedule(ops, seed, worker uint64) *schedule {
	moments := make([]uint64, ops)
	if p.isOpen && p.random {
		// Arrivals are drawn for all workers, and each takes its own.
		draws, due := newDraws(seed, 0), 0.0
		for arrival := uint64(0); arrival < ops*p.workers; arrival++ {
			due += draws.exponential() * p.intervalNs / float64(p.workers)
			if arrival%p.workers == worker {
				moments[arrival/p.workers] = uint64(due)
			}
		}
		return &schedule{isOpen: true, momentsNs: moments}
	}
	draws := newDraws(seed, worker)
	// Even arrivals of several workers take turns, or come in step.
	first := float64(worker+1) / float64(p.workers)
	if p.inStep {
		first = 1
	}
	for index := range moments {
		switch {
		case p.isOpen:
			moments[index] = uint64((first + float64(index)) * p.intervalNs)
		case p.random:
			moments[index] = uint64(draws.exponential() * p.intervalNs)
		default:
			moments[index] = uint64(p.intervalNs)
		}
	}
	return &schedule{isOpen: p.isOpen, momentsNs: moments}
}

// draws is SplitMix64, from which every peer takes the same random times.
type draws uint64

func newDraws(seed, worker uint64) draws {
	return draws(seed + (worker+1)*0xD1B54A32D192ED03)
}

// exponential draws an exponential number of mean 1.
func (d *draws) exponential() float64 {
	*d += 0x9E3779B97F4A7C15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	z ^= z >> 31
	return -math.Log(1 - float64(z>>11)/(1<<53))
}
