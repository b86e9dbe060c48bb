// Command ipcost-peer-go is an ipcost peer: it plays client or server of one cell and speaks the control protocol
// on its standard input and output.
//
// Its loops do what an ordinary Go program does: blocking calls through package net and os.File, over the runtime's
// poller.
package main

import "os"

func main() {
	session := session{input: newControlInput(os.Stdin, os.Exit), output: os.Stdout}
	os.Exit(session.run())
}
