package main

import "time"

// stamping is an operation whose message carries from when it counts.
type stamping interface {
	operateSince(sinceNs uint64) error
}

// keeping is how one worker keeps a schedule. Its loop only notes the time; what follows from that is found after the
// batch.
type keeping struct {
	schedule  *schedule
	operation operation
	// stamping is the operation, if its messages are stamped; nil otherwise.
	stamping stamping
	beganNs  uint64
	begunNs  []uint64
	endedNs  []uint64
}

func newKeeping(operation operation, schedule *schedule) *keeping {
	ops := len(schedule.momentsNs)
	stamping, _ := operation.(stamping)
	return &keeping{
		schedule:  schedule,
		operation: operation,
		stamping:  stamping,
		begunNs:   make([]uint64, ops),
		endedNs:   make([]uint64, ops),
	}
}

// run does the operations, each when its time has come.
func (k *keeping) run() (report, error) {
	began := time.Now()
	err := k.repeat()
	return report{began: began, ended: time.Now(), keeping: k}, err
}

func (k *keeping) repeat() error {
	isOpen := k.schedule.isOpen
	k.beganNs = monotonicNs()
	from := k.beganNs
	for index, moment := range k.schedule.momentsNs {
		due := from + moment
		begun := sleepUntil(due)
		var err error
		switch {
		case k.stamping == nil:
			err = k.operation.operate()
		case isOpen:
			err = k.stamping.operateSince(due)
		default:
			err = k.stamping.operateSince(begun)
		}
		ended := monotonicNs()
		if err != nil {
			return inOperation(uint64(index), uint64(len(k.begunNs)), err)
		}
		k.begunNs[index], k.endedNs[index] = begun, ended
		if !isOpen {
			from = ended
		}
	}
	return nil
}

// sleepUntil sleeps until a moment and returns the time then. It returns at once if that has passed.
func sleepUntil(dueNs uint64) uint64 {
	now := monotonicNs()
	for now < dueNs {
		time.Sleep(time.Duration(dueNs - now))
		now = monotonicNs()
	}
	return now
}

// tell adds what follows from the times to a report.
func (k *keeping) tell(report *report) {
	report.measures = measures{}
	if k.schedule.isOpen {
		report.measures["queued"], report.measures["unsent"] = k.backlog()
	}
	report.lateNs = k.lateNs()
	if k.stamping != nil {
		// Only the server sees when a message arrives.
		report.sendNs = k.tookNs(false)
		return
	}
	report.latencyNs = k.tookNs(k.schedule.isOpen)
	report.measures.addOperations(report.latencyNs)
}

// dueNs is when an operation was to begin.
func (k *keeping) dueNs(index int) uint64 {
	from := k.beganNs
	if !k.schedule.isOpen && index > 0 {
		from = k.endedNs[index-1]
	}
	return from + k.schedule.momentsNs[index]
}

// lateNs is how late the operations began that had to wait.
func (k *keeping) lateNs() []uint64 {
	late := make([]uint64, 0, len(k.begunNs))
	for index, begun := range k.begunNs {
		if k.schedule.isOpen || k.schedule.momentsNs[index] > 0 {
			late = append(late, begun-k.dueNs(index))
		}
	}
	return late
}

// tookNs is how long the operations took that count, either from when they were due or from when they began.
func (k *keeping) tookNs(sinceDue bool) []uint64 {
	var took []uint64
	first := firstCounted(uint64(len(k.endedNs)), k.schedule.isOpen)
	for index := int(first); index < len(k.endedNs); index++ {
		since := k.begunNs[index]
		if sinceDue {
			since = k.dueNs(index)
		}
		took = append(took, k.endedNs[index]-since)
	}
	return took
}

// firstCounted is the first operation of a batch whose time counts. At a rate, no queue has formed before it.
func firstCounted(ops uint64, isOpen bool) uint64 {
	if isOpen {
		return firstRecorded(ops)
	}
	return 0
}

// backlog is how far the operations fell behind their rate: for each that began, how many more were due, added up; and
// how many had not begun when the last one was due, without that one.
func (k *keeping) backlog() (queued, unsent uint64) {
	moments := k.schedule.momentsNs
	last := len(moments) - 1
	arrived := 0
	for index, begun := range k.begunNs {
		passed := begun - k.beganNs
		for arrived <= last && moments[arrived] <= passed {
			arrived++
		}
		// No operation begins before it is due, so it has itself arrived.
		queued += uint64(arrived - index - 1)
		if index < last && moments[last] < passed {
			unsent++
		}
	}
	return queued, unsent
}
