package main

import (
	"bytes"
	"slices"
	"testing"
)

func TestEveryByteOfThePayloadCounts(t *testing.T) {
	buffer := make([]byte, 600)
	fill(buffer, 300, false)
	if buffer[0] != 49 || buffer[201] != 250 || buffer[202] != 0 {
		t.Fatalf("message 300 begins with %d and has %d, %d", buffer[0], buffer[201], buffer[202])
	}
	if err := check(buffer[400:], 300, 400, false); err != nil {
		t.Fatal(err)
	}
	buffer[599] ^= 1
	if err := check(buffer, 300, 0, false); err == nil {
		t.Fatal("a wrong byte was not found")
	}
}

func TestNewlinesOnlyEndMessages(t *testing.T) {
	buffer := make([]byte, 1000)
	fill(buffer, 7, true)
	if bytes.IndexByte(buffer, '\n') >= 0 || bytes.IndexByte(buffer, newlineStandIn) != 3 {
		t.Fatalf("%v", buffer[:20])
	}
	if err := check(buffer, 7, 0, true); err != nil {
		t.Fatal(err)
	}
}

func TestAStreamIsCheckedAcrossMessages(t *testing.T) {
	server := &streamServer{size: 10}
	stream := make([]byte, 30)
	for message := uint64(0); message < 3; message++ {
		fill(stream[message*10:][:10], message, false)
	}
	if err := server.checkStream(stream[7:26], 7); err != nil {
		t.Fatal(err)
	}
	stream[25] ^= 1
	if err := server.checkStream(stream[7:26], 7); err == nil {
		t.Fatal("a wrong byte was not found")
	}
}

type nothing struct{}

func (nothing) operate() error              { return nil }
func (nothing) operateChecked(uint64) error { return nil }

func TestTheFirstTenthIsNotRecordedAndOneAlwaysIs(t *testing.T) {
	for ops, kept := range map[uint64]int{1: 1, 9: 9, 10: 9, 25: 23, 1000: 900} {
		if latencies, err := repeatMetered(nothing{}, ops); err != nil || len(latencies) != kept {
			t.Errorf("of %d: %d, %v", ops, len(latencies), err)
		}
	}
}

func TestLatenciesAreKeptByRankWithTheLargest(t *testing.T) {
	for _, test := range []struct {
		values []uint64
		most   int
		kept   []uint64
	}{
		{[]uint64{5, 3, 5, 1}, 10, []uint64{1, 3, 5, 5}},
		{[]uint64{7, 6, 5, 4, 3, 2, 1}, 3, []uint64{3, 5, 7}},
		{nil, 3, nil},
	} {
		if kept := spacedRanks(test.values, test.most); !slices.Equal(kept, test.kept) {
			t.Errorf("of %v at most %d: %v", test.values, test.most, kept)
		}
	}
}
