package main

import "time"

// clockBegan is from when time.Since counts in this process.
var clockBegan = time.Now()

// clockOffsetNs is what CLOCK_MONOTONIC showed then, once shareClock has found it.
var clockOffsetNs uint64

// monotonicNs reads the monotonic clock. After shareClock it counts from the same moment in all processes.
func monotonicNs() uint64 {
	return clockOffsetNs + uint64(time.Since(clockBegan))
}
