package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDrawsAreThoseOfEveryPeer(t *testing.T) {
	one, other := newDraws(42, 0), newDraws(42, 1)
	found := []float64{one.exponential(), one.exponential(), other.exponential()}
	// docs/contributing/control-protocol.md names these.
	for index, wanted := range []float64{1.8559180694583175, 0.03750100939329999, 0.4576345973053771} {
		if math.Abs(found[index]-wanted) > 1e-12 {
			t.Errorf("%v, not %v", found[index], wanted)
		}
	}
}

func TestArrivalsComeAtTheRate(t *testing.T) {
	moments := func(options string, ops, worker uint64) []uint64 {
		return paceOf(twoWorkers(t, options)).schedule(ops, 7, worker).momentsNs
	}
	even := `"rate":1000,"arrivals":"constant"`
	if one, other := moments(even, 3, 0), moments(even, 3, 1); !slices.Equal(one, []uint64{1e6, 3e6, 5e6}) ||
		!slices.Equal(other, []uint64{2e6, 4e6, 6e6}) {
		t.Errorf("%v %v", one, other)
	}
	// Two workers share 20 000 a second, so 20 000 of one of them take two seconds.
	random := moments(`"rate":20000`, 20_000, 0)
	if last := float64(random[len(random)-1]); math.Abs(last-2e9) > 1e8 || !slices.IsSorted(random) {
		t.Errorf("the last is due after %v ns", last)
	}
	if pauses := moments(`"think":5`, 2, 0); !slices.Equal(pauses, []uint64{5, 5}) {
		t.Errorf("%v", pauses)
	}
	if pauses := moments(`"think":1000000,"arrivals":"exponential"`, 2, 0); pauses[0] == pauses[1] {
		t.Errorf("%v", pauses)
	}
}

func TestOptionsOfPaceThatContradictAreRefused(t *testing.T) {
	for _, options := range []string{
		`"think":1,"rate":1`, `"arrivals":"constant"`, `"rate":0`, `"think":60000000001`, `"rate":1,"arrivals":"often"`,
	} {
		if err := paced8Bytes(options).check(roleClient); err == nil {
			t.Errorf("%s was taken", options)
		}
	}
	short := paced8Bytes(`"think":0`)
	must(t, short.check(roleServer))
	short.Size = 7
	if err := short.check(roleServer); err == nil || !strings.Contains(err.Error(), "at least 8 bytes") {
		t.Errorf("%v", err)
	}
}

// pausing is an operation that takes a while at first.
type pausing struct {
	nothing
	pause time.Duration
}

func (p *pausing) operate() error {
	time.Sleep(p.pause)
	p.pause = 0
	return nil
}

func TestWhatBeginsLateCountsFromWhenItWasDue(t *testing.T) {
	// One operation every 0.1 ms; the others are due by the time the first, which takes 5 ms, has ended.
	schedule := &schedule{isOpen: true}
	for operation := uint64(0); operation < 10; operation++ {
		schedule.momentsNs = append(schedule.momentsNs, operation*100_000)
	}
	report := keep(t, &pausing{pause: 5 * time.Millisecond}, schedule)
	// The first tenth is left out.
	if report.measures["operations"] != 9 || report.measures["operations_ns"] < 9*4_000_000 {
		t.Errorf("%v", report.measures)
	}
	// Of the first it depends on this machine how many are due when it begins.
	if report.measures["queued"] < 8*9/2 || report.measures["unsent"] < 8 {
		t.Errorf("%v", report.measures)
	}
	if len(report.latencyNs) != 9 || len(report.lateNs) != 10 || slices.Max(report.lateNs) < 4_000_000 {
		t.Errorf("%v %v", report.latencyNs, report.lateNs)
	}
}

func TestTheBacklogIsWhatIsDueAndHasNotBegun(t *testing.T) {
	keeping := keeping{
		schedule: &schedule{isOpen: true, momentsNs: []uint64{10, 20, 30, 40}},
		beganNs:  100,
		// The first is on time. The second is late: two more are due. The third begins just after the last was due.
		begunNs: []uint64{110, 140, 141, 142},
	}
	if queued, unsent := keeping.backlog(); queued != 3 || unsent != 1 {
		t.Errorf("%d, %d", queued, unsent)
	}
}

func TestPausesAreNoPartOfOperations(t *testing.T) {
	pause := uint64(2 * time.Millisecond)
	began := time.Now()
	report := keep(t, nothing{}, &schedule{momentsNs: []uint64{pause, 0, pause, pause}})
	if time.Since(began) < 6*time.Millisecond {
		t.Error("it did not sleep")
	}
	if slices.Min(report.latencyNs) >= pause || len(report.latencyNs) != 4 || len(report.lateNs) != 3 {
		t.Errorf("%v %v", report.latencyNs, report.lateNs)
	}
	if _, queues := report.measures["queued"]; queues || report.measures["operations"] != 4 {
		t.Errorf("%v", report.measures)
	}
}

func keep(t *testing.T, operation operation, schedule *schedule) report {
	t.Helper()
	report, err := newKeeping(operation, schedule).run()
	must(t, err)
	report.keeping.tell(&report)
	return report
}

func TestStampsArriveInAnyParts(t *testing.T) {
	const size, messages = 20, 5
	clockOffsetNs = 1 << 40
	defer func() { clockOffsetNs = 0 }()
	for part := 1; part <= 2*size+1; part++ {
		sent := monotonicNs()
		var stream []byte
		for message := uint64(0); message < messages; message++ {
			stream = binary.NativeEndian.AppendUint64(stream, sent-message*1_000_000_000)
			stream = append(stream, make([]byte, size-stampBytes)...)
		}
		arrivals := newArrivals(size, messages)
		for offset := 0; offset < len(stream); offset += part {
			must(t, arrivals.note(stream[offset:min(offset+part, len(stream))], uint64(offset)))
		}
		for message, took := range arrivals.tookNs {
			if took/1_000_000_000 != uint64(message) {
				t.Errorf("in parts of %d: %v", part, arrivals.tookNs)
			}
		}
		if len(arrivals.tookNs) != messages {
			t.Errorf("in parts of %d: %v", part, arrivals.tookNs)
		}
	}
	later := binary.NativeEndian.AppendUint64(nil, monotonicNs()+1_000_000_000)
	if err := newArrivals(stampBytes, 1).note(later, 0); err == nil {
		t.Error("a message from the future was taken")
	}
}

func TestAStreamAtAPaceIsTimedByItsServer(t *testing.T) {
	for _, options := range []string{`"rate":20000`, `"think":0,"touch":"every-byte"`, `"think":10000,"recv_buffer":7`} {
		cell := testCell(t, patternStream, options)
		near, far := net.Pipe()
		client, server := newStreamClient(near, cell), newStreamServer(far, cell)
		schedule := paceOf(cell).schedule(100, 42, 0)
		served := make(chan report)
		go func() {
			report, err := server.work(order{ops: 100, kind: paced})
			if err != nil {
				t.Error(err)
			}
			served <- report
		}()
		sent, err := client.work(order{ops: 100, kind: paced, schedule: schedule})
		must(t, err)
		received, all := <-served, putTogether([]report{sent})
		counted := 100
		if schedule.isOpen {
			counted = 90
		}
		if len(received.latencyNs) != counted || received.measures["operations"] != uint64(counted) ||
			received.measures["operations_ns"] == 0 {
			t.Errorf("%s: the server tells %v of %d", options, received.measures, len(received.latencyNs))
		}
		if len(all.sendNs) != counted || all.latencyNs != nil || all.sentNs == nil || *all.sentNs > all.wallNs {
			t.Errorf("%s: the client tells %+v", options, all)
		}
	}
}

func TestTheSharedClockKeepsItsPace(t *testing.T) {
	before := monotonicNs()
	if err := shareClock(); err != nil {
		t.Skip(err)
	}
	defer func() { clockOffsetNs = 0 }()
	if offset := clockOffsetNs; monotonicNs() < before+offset || shareClock() != nil ||
		math.Abs(float64(clockOffsetNs)-float64(offset)) > 1e6 {
		t.Errorf("%d, then %d", offset, clockOffsetNs)
	}
}

func TestOnlyASeedMakesABatchKeepItsPace(t *testing.T) {
	cell := paced8Bytes(`"think":0`)
	for _, test := range []struct {
		role, pattern, message string
		kind                   kind
	}{
		{roleClient, patternRr, `{"type":"batch","seed":0}`, paced},
		{roleClient, patternStream, `{"type":"batch","latency":true,"seed":7}`, paced},
		{roleServer, patternStream, `{"type":"batch","seed":7}`, paced},
		{roleServer, patternRr, `{"type":"batch","seed":7}`, timed},
		{roleClient, patternRr, `{"type":"batch"}`, timed},
		{roleClient, patternRr, `{"type":"verify","seed":7}`, verified},
	} {
		cell.Pattern = test.pattern
		session := session{role: test.role, cell: cell}
		var message fromEngine
		must(t, json.Unmarshal([]byte(test.message), &message))
		message.Ops = 5
		if found := session.orders(&message)[0]; found.kind != test.kind ||
			(found.schedule != nil) != (found.kind == paced && test.role == roleClient) {
			t.Errorf("%+v: %+v", test, found)
		}
	}
}

// paced8Bytes is a cell of a stream with messages as long as a stamp.
func paced8Bytes(options string) *cell {
	cell := cell{Pattern: patternStream, Size: stampBytes, Concurrency: 1, SpeaksFirst: roleClient}
	if err := json.Unmarshal([]byte(fmt.Sprintf("{%s}", options)), &cell.Options); err != nil {
		panic(err)
	}
	return &cell
}

func twoWorkers(t *testing.T, options string) *cell {
	cell := testCell(t, patternRr, options)
	cell.Concurrency = 2
	return cell
}
