package main

import (
	"encoding/json"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// report is one worker's results.
type report struct {
	began, ended time.Time
	// sentAt is when the last send returned; client of stream only.
	sentAt    time.Time
	latencyNs []uint64
	// lateNs and sendNs are how late operations began and how long sends took, where a pace is kept.
	lateNs, sendNs []uint64
	measures       measures
	// keeping adds to the others after the batch; nil without a pace.
	keeping *keeping
	retries uint64
}

// worker is one worker of a cell in one role.
type worker interface {
	work(order order) (report, error)
}

// crew is the workers of a peer.
type crew []worker

// newClientCrew sets up a client: it opens the connections, except in connect.
func newClientCrew(transport transport, address json.RawMessage, cell *cell) (crew, effective, error) {
	var became effective
	crew := make(crew, cell.Concurrency)
	for index := range crew {
		client, err := transport.reach(address, cell, index)
		if err != nil {
			return nil, nil, err
		}
		if cell.Pattern == patternConnect {
			crew[index] = newConnectClient(client, cell)
			continue
		}
		channel, err := client.connect()
		if err != nil {
			return nil, nil, err
		}
		became = client.effective()
		if cell.Pattern == patternRr {
			crew[index] = newRrClient(channel, cell)
		} else {
			crew[index] = newStreamClient(channel, cell)
		}
	}
	return crew, became, nil
}

// newChannelCrew waits until every worker of a server has its channel.
func newChannelCrew(server server, cell *cell) (crew, error) {
	crew := make(crew, cell.Concurrency)
	for index := range crew {
		channel, err := server.accept()
		if err != nil {
			return nil, err
		}
		if cell.Pattern == patternRr {
			crew[index] = newRrServer(channel, cell)
		} else {
			crew[index] = newStreamServer(channel, cell)
		}
	}
	return crew, nil
}

// newListenerCrew sets up a server of connect, whose workers share a listener and the count of remaining connections.
func newListenerCrew(server server, cell *cell, unclaimed *atomic.Int64) crew {
	crew := make(crew, cell.Concurrency)
	for index := range crew {
		crew[index] = newConnectServer(server, cell, unclaimed)
	}
	return crew
}

// together is what a batch took, all workers together.
type together struct {
	wallNs                    int64
	sentNs                    *int64
	usage                     usage
	latencyNs, lateNs, sendNs []uint64
	measures                  measures
	retries                   uint64
}

// run runs each worker's order: one in this goroutine, several in separate goroutines.
func (c crew) run(orders []order) (together, error) {
	before := ownUsage()
	reports, err := c.reports(orders)
	if err != nil {
		return together{}, err
	}
	used := ownUsage().since(before)
	all := putTogether(reports)
	all.usage = used
	return all, nil
}

func (c crew) reports(orders []order) ([]report, error) {
	if len(c) == 1 {
		only, err := c[0].work(orders[0])
		return []report{only}, err
	}
	type outcome struct {
		report report
		err    error
	}
	outcomes := make(chan outcome, len(c))
	for index := range c {
		go func(worker worker, order order) {
			report, err := worker.work(order)
			outcomes <- outcome{report, err}
		}(c[index], orders[index])
	}
	reports := make([]report, 0, len(c))
	for range c {
		// The first failure ends the batch: the other workers may wait for the other side for ever.
		outcome := <-outcomes
		if outcome.err != nil {
			return nil, outcome.err
		}
		reports = append(reports, outcome.report)
	}
	return reports, nil
}

func putTogether(reports []report) together {
	all := together{measures: measures{}}
	began, ended, sentAt := reports[0].began, reports[0].ended, reports[0].sentAt
	for _, report := range reports {
		if report.keeping != nil {
			report.keeping.tell(&report)
		}
		began = earlier(began, report.began)
		ended = later(ended, report.ended)
		sentAt = later(sentAt, report.sentAt)
		all.latencyNs = append(all.latencyNs, report.latencyNs...)
		all.lateNs = append(all.lateNs, report.lateNs...)
		all.sendNs = append(all.sendNs, report.sendNs...)
		for name, value := range report.measures {
			all.measures[name] += value
		}
		all.retries += report.retries
	}
	all.wallNs = ended.Sub(began).Nanoseconds()
	if !sentAt.IsZero() {
		sentNs := sentAt.Sub(began).Nanoseconds()
		all.sentNs = &sentNs
	}
	return all
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (t together) done(id, ops uint64) doneMessage {
	return doneMessage{
		Type:      "done",
		ID:        id,
		Ops:       ops,
		WallNs:    t.wallNs,
		SentNs:    t.sentNs,
		Usage:     t.usage,
		LatencyNs: spacedRanks(t.latencyNs, maxLatencyValues),
		LateNs:    spacedRanks(t.lateNs, maxLatencyValues),
		SendNs:    spacedRanks(t.sendNs, maxLatencyValues),
		Measures:  t.measures,
		Retries:   t.retries,
	}
}

// checkTotal refuses a batch whose operations or bytes overflow a counter.
func checkTotal(ops uint64, cell *cell) error {
	if ops > math.MaxInt64/cell.Size {
		return fmt.Errorf("protocol: %d operations of %d bytes are too many", ops, cell.Size)
	}
	return nil
}
