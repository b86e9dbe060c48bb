package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
)

func TestHelloListsEveryOptionThatACellMaySet(t *testing.T) {
	names := hello().Options
	for _, name := range []string{"framing", "tcp_nodelay", "spread_sources", "send_offset", "recv_offset", "touch"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is missing in %v", name, names)
		}
	}
	for _, name := range names {
		var options options
		must(t, json.Unmarshal([]byte(fmt.Sprintf(`{%q:null}`, name)), &options))
	}
}

func TestBuffersBeginWhereTheCellAsks(t *testing.T) {
	for _, offset := range []uint64{0, 1, 16, 4095} {
		other := (offset + 100) % pageBytes
		for _, framing := range []string{"length", "newline"} {
			cell := testCell(t, patternRr, `"framing":%q,"send_offset":%d,"recv_offset":%d`, framing, offset, other)
			var no atomic.Int64
			rrClient, rrServer := newRrClient(nil, cell), newRrServer(nil, cell)
			connectClient, connectServer := newConnectClient(nil, cell), newConnectServer(nil, cell, &no)
			streamClient, streamServer := newStreamClient(nil, cell), newStreamServer(nil, cell)
			for buffer, wanted := range map[*[]byte]uint64{
				&rrClient.request: offset, &rrServer.reply: offset, &streamClient.message: offset,
				&connectClient.request: offset, &connectServer.reply: offset,
				&rrClient.reply: other, &rrServer.request: other, &streamServer.buffer: other,
				&connectClient.reply: other, &connectServer.request: other,
			} {
				if found := startOf(*buffer) % pageBytes; found != wanted {
					t.Errorf("%d bytes begin at %d, not %d", len(*buffer), found, wanted)
				}
			}
		}
	}
}

func TestTouchWritesAndReadsEveryByte(t *testing.T) {
	var touch toucher
	for _, size := range []int{1, 7, 8, 9, 1000} {
		message, before := make([]byte, size), byte(0)
		for times := 0; times < 40; times++ {
			touch.write(message)
			if bytes.Count(message, message[:1]) != size || message[0] == before || message[0] == '\n' {
				t.Fatalf("%d after %d", message, before)
			}
			before = message[0]
		}
		for index := range message {
			sum := touch.sum
			touch.read(message)
			added := touch.sum - sum
			message[index]++
			touch.read(message)
			if touch.sum-sum == 2*added {
				t.Errorf("byte %d of %d was not read", index, size)
			}
		}
	}
}

func TestTouchedBatchesLeaveTheCheckedPayloadRight(t *testing.T) {
	for _, test := range []struct{ pattern, options string }{
		{patternRr, `"framing":"length"`},
		{patternRr, `"framing":"newline"`},
		{patternRr, `"framing":"newline","server_buffer":7`},
		{patternStream, `"recv_buffer":7`},
		{patternConnect, `"closes_first":"server"`},
	} {
		t.Run(test.pattern+test.options, func(t *testing.T) {
			cell := testCell(t, test.pattern, `%s,"send_offset":4095,"recv_offset":1,"touch":"every-byte"`, test.options)
			var unclaimed atomic.Int64
			client, server := workersOn(cell, &unclaimed)
			for _, kind := range []kind{verified, timed, metered, verified} {
				order := order{ops: 300, kind: kind}
				unclaimed.Store(300)
				served := make(chan error)
				go func() {
					_, err := server.work(order)
					served <- err
				}()
				_, err := client.work(order)
				must(t, err)
				must(t, <-served)
			}
			there, back := touchOf(client), touchOf(server)
			if there.written != 600 || back.sum == 0 {
				t.Errorf("%d requests were written; what was read of them adds up to %d", there.written, back.sum)
			}
			if test.pattern != patternStream && (back.written != 600 || there.sum == 0) {
				t.Errorf("%d replies were written; what was read of them adds up to %d", back.written, there.sum)
			}
		})
	}
}

// testCell is a cell with messages of 20 bytes and replies of 30.
func testCell(t *testing.T, pattern, options string, values ...any) *cell {
	t.Helper()
	text := `{"pattern":%q,"transport":"tcp","size":20,"reply":30,"concurrency":1,"speaks_first":"client","options":{%s}}`
	var cell cell
	must(t, json.Unmarshal([]byte(fmt.Sprintf(text, pattern, fmt.Sprintf(options, values...))), &cell))
	must(t, cell.check(roleClient))
	return &cell
}

// workersOn is a client's worker and the server's that it talks to, without sockets.
func workersOn(cell *cell, unclaimed *atomic.Int64) (client, server worker) {
	if cell.Pattern == patternConnect {
		both := meetings(make(chan net.Conn))
		return newConnectClient(both, cell), newConnectServer(both, cell, unclaimed)
	}
	near, far := net.Pipe()
	if cell.Pattern == patternRr {
		return newRrClient(near, cell), newRrServer(far, cell)
	}
	return newStreamClient(near, cell), newStreamServer(far, cell)
}

func touchOf(of worker) *toucher {
	switch worker := of.(type) {
	case *rrClient:
		return worker.touch
	case *rrServer:
		return worker.touch
	case *streamClient:
		return worker.touch
	case *streamServer:
		return worker.touch
	case *connectClient:
		return worker.touch
	case *connectServer:
		return worker.touch
	}
	return nil
}

// meetings is a client and a server whose connections are within this process.
type meetings chan net.Conn

func (m meetings) address() any         { return nil }
func (m meetings) effective() effective { return nil }
func (m meetings) retries() uint64      { return 0 }

func (m meetings) accept() (channel, error) { return <-m, nil }

func (m meetings) connect() (channel, error) {
	near, far := net.Pipe()
	m <- far
	return near, nil
}
