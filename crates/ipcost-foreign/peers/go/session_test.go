package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// converse runs a session over these lines and returns all but the first of its answers.
func converse(t *testing.T, lines ...string) (answers []string, status int) {
	t.Helper()
	var input strings.Builder
	for _, line := range lines {
		input.WriteString(line + "\n")
	}
	var output bytes.Buffer
	doNotExit := func(int) {}
	session := session{input: newControlInput(strings.NewReader(input.String()), doNotExit), output: &output}
	status = session.run()
	said := strings.Split(strings.TrimSpace(output.String()), "\n")
	if !strings.HasPrefix(said[0], `{"type":"hello","protocol":1,`) {
		t.Fatalf("began with %s", said[0])
	}
	return said[1:], status
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func prepareLine(role, cell, address string) string {
	return fmt.Sprintf(`{"type":"prepare","role":%q,"cell":%s,"address":%s}`, role, cell, address)
}

const (
	usualCell = `{"pattern":"rr","transport":"tcp","size":1,"reply":1,"concurrency":2,"speaks_first":"client","options":{}}`
	anyPort   = `{"host":"127.0.0.1","port":0}`
)

func TestWhatMakesNoSenseIsAnsweredWithAnErrorInOneLine(t *testing.T) {
	changed := func(old, new string) string {
		return prepareLine(roleServer, strings.Replace(usualCell, old, new, 1), anyPort)
	}
	prepared := prepareLine(roleServer, usualCell, anyPort)
	for name, lines := range map[string][]string{
		"rubbish":           {"rubbish"},
		"unknown message":   {`{"type":"dance"}`},
		"batch too early":   {`{"type":"batch","id":1,"ops":2}`},
		"prepared twice":    {prepared, prepared},
		"no operations":     {prepared, `{"type":"batch","id":1,"ops":0}`},
		"unequal shares":    {prepared, `{"type":"batch","id":1,"ops":3}`},
		"unknown role":      {prepareLine("referee", usualCell, anyPort)},
		"unknown transport": {changed("tcp", "carrier-pigeon")},
		"unknown pattern":   {changed("rr", "gossip")},
		"unknown option":    {changed("{}", `{"tcp_nodelya":true}`)},
		"wrong value":       {changed("{}", `{"framing":"newlin"}`)},
		"offset too large":  {changed("{}", `{"send_offset":4096}`)},
		"negative offset":   {changed("{}", `{"recv_offset":-1}`)},
		"half an offset":    {changed("{}", `{"recv_offset":1.5}`)},
		"no size":           {changed(`"size":1`, `"size":0`)},
		"not loopback":      {prepareLine(roleServer, usualCell, `{"host":"192.0.2.1","port":0}`)},
		"processes": {prepareLine(roleClient, strings.Replace(usualCell, "{}", `{"workers":"processes"}`, 1),
			anyPort)},
	} {
		t.Run(name, func(t *testing.T) {
			answers, status := converse(t, lines...)
			last := answers[len(answers)-1]
			if status != 1 || !strings.HasPrefix(last, `{"type":"error","message":"`) {
				t.Fatalf("status %d after %q", status, answers)
			}
		})
	}
}

func TestTheEndOfInputAndStopEndInGoodOrder(t *testing.T) {
	prepared := prepareLine(roleServer, usualCell, anyPort)
	for _, lines := range [][]string{nil, {`{"type":"stop"}`}, {prepared}, {prepared, `{"type":"stop","new":1}`}} {
		answers, status := converse(t, lines...)
		if status != 0 || strings.Contains(strings.Join(answers, ""), "error") {
			t.Errorf("status %d after %q", status, answers)
		}
	}
}
