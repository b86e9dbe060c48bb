package main

import (
	"slices"
	"time"
)

// roomForLatencies is how many latencies a worker has room for from the start: more than a usual batch has.
const roomForLatencies = 1 << 18

// firstRecorded is the first operation of a batch whose latency is recorded. The first tenth holds what starting the
// loop costs; of a batch with fewer than ten operations all are recorded.
func firstRecorded(ops uint64) uint64 {
	return ops / 10
}

// repeatMetered does the operations with the clock read around each.
func repeatMetered(operation operation, ops uint64) ([]uint64, error) {
	latencyNs := make([]uint64, 0, min(ops, roomForLatencies))
	first := firstRecorded(ops)
	for done := uint64(0); done < ops; done++ {
		began := time.Now()
		if err := operation.operate(); err != nil {
			return nil, inOperation(done, ops, err)
		}
		latency := time.Since(began)
		if done >= first {
			latencyNs = append(latencyNs, uint64(latency))
		}
	}
	return latencyNs, nil
}

// spacedRanks sorts the values; where there are more than most, it keeps as many evenly spaced ranks of them, the
// largest among them.
func spacedRanks(values []uint64, most int) []uint64 {
	slices.Sort(values)
	if len(values) <= most {
		return values
	}
	kept := make([]uint64, most)
	for index := range kept {
		// The rank, counted from 1, is (index + 1) * len / most, rounded up.
		kept[index] = values[((index+1)*len(values)+most-1)/most-1]
	}
	return kept
}
