package main

import (
	"bufio"
	"bytes"
	"io"
	"time"
)

// maxLineBytes is the longest line that either side may write.
const maxLineBytes = 4 << 20

// farewell is how long running work may continue when the input ends.
const farewell = 500 * time.Millisecond

// controlInput reads lines of standard input in its own goroutine, and only when asked: while a batch runs, nothing
// else waits in this process.
type controlInput struct {
	asks  chan struct{}
	lines chan controlLine
	// asked: a line is on its way.
	asked bool
	// exit ends the process, with a status.
	exit func(int)
}

// controlLine is one line without its newline, or the reason for its absence.
type controlLine struct {
	text []byte
	err  error
}

func newControlInput(input io.Reader, exit func(int)) *controlInput {
	control := &controlInput{asks: make(chan struct{}, 1), lines: make(chan controlLine, 1), exit: exit}
	go control.read(input)
	return control
}

// ask starts waiting for a line. From here on the end of input ends this process, whatever it waits for.
func (c *controlInput) ask() {
	if !c.asked {
		c.asked = true
		c.asks <- struct{}{}
	}
}

// next returns the next line; its error is io.EOF at the end of input.
func (c *controlInput) next() ([]byte, error) {
	c.ask()
	line := <-c.lines
	c.asked = false
	return line.text, line.err
}

func (c *controlInput) read(input io.Reader) {
	scanner := bufio.NewScanner(input)
	scanner.Buffer(nil, maxLineBytes+1)
	scanner.Split(wholeLines)
	for range c.asks {
		if !scanner.Scan() {
			break
		}
		c.lines <- controlLine{text: bytes.Clone(scanner.Bytes())}
	}
	if err := scanner.Err(); err != nil {
		c.lines <- controlLine{err: err}
		return
	}
	c.lines <- controlLine{err: io.EOF}
	time.Sleep(farewell)
	c.exit(0)
}

// wholeLines splits at newlines; it drops what follows the last one, since its writer died while writing it.
func wholeLines(data []byte, _ bool) (advance int, line []byte, err error) {
	if end := bytes.IndexByte(data, '\n'); end >= 0 {
		return end + 1, data[:end], nil
	}
	return 0, nil, nil
}
