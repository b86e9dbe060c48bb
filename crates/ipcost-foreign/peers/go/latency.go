package main

import (
	"slices"
	"time"
)

// roomForLatencies is a worker's initial capacity for latencies: more than a usual batch has.
const roomForLatencies = 1 << 18

// firstRecorded is the first operation of a batch whose latency is recorded. The first tenth, which includes the cost
// of starting the loop, is not; in a batch of fewer than ten operations all are.
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

// spacedRanks sorts the values; if there are more than most, it keeps most evenly spaced ranks that include the
// largest.
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
