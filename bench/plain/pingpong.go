// Ping-pong as in published programs: SIZE bytes and a newline there, "ok" back, ROUNDS times on one connection
// between two processes. The server reads into a buffer of BUFFER bytes until the data read ends in a newline.
//
//	pingpong unix|tcp|fifo SIZE BUFFER ROUNDS
//
// prints `wall`, the nanoseconds of a round. Buffers begin at random places within a page. The server runs on the processor SERVER_CPU, if that is set.
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// Untimed rounds before the timed ones, like the shorter runs of `go test -bench`.
const warming = 500

type pair struct {
	io.Reader
	io.Writer
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func serve(connection io.ReadWriter, buffer []byte) {
	for {
		count, err := connection.Read(buffer)
		if err != nil {
			return
		}
		if buffer[count-1] == '\n' {
			must(connection.Write([]byte("ok")))
		}
	}
}

// placed makes a buffer that begins at a random multiple of 16 within a page: costs depend on it.
func placed(size int) []byte {
	const page = 4096
	memory := make([]byte, size+2*page)
	start := page - int(uintptr(unsafe.Pointer(&memory[0]))%page) + 16*rand.IntN(page/16)
	return memory[start : start+size]
}

func play(connection io.ReadWriter, size, rounds int) {
	message := placed(size + 1)
	copy(message, bytes.Repeat([]byte("a"), size))
	message[size] = '\n'
	reply := make([]byte, 2)
	for range rounds {
		must(connection.Write(message))
		must(io.ReadFull(connection, reply))
	}
}

// The server's side: the other process, which gets listeners and FIFOs by name.
func server(network, where string, buffer int) {
	if network == "fifo" {
		there := must(os.OpenFile(where+".there", os.O_RDONLY, 0))
		back := must(os.OpenFile(where+".back", os.O_WRONLY, 0))
		serve(pair{there, back}, placed(buffer))
		return
	}
	listener := must(net.Listen(network, where))
	fmt.Println(listener.Addr())
	serve(must(listener.Accept()), placed(buffer))
}

func main() {
	log.SetFlags(0)
	args := os.Args[1:]
	if len(args) == 4 && args[0] == "server" {
		server(args[1], args[2], must(strconv.Atoi(args[3])))
		return
	}
	if len(args) != 4 {
		log.Fatal("usage: pingpong unix|tcp|fifo SIZE BUFFER ROUNDS")
	}
	network, size, rounds := args[0], must(strconv.Atoi(args[1])), must(strconv.Atoi(args[3]))
	dir := must(os.MkdirTemp("", "pingpong"))
	defer os.RemoveAll(dir)
	where := filepath.Join(dir, "s")
	if network == "tcp" {
		where = "127.0.0.1:0"
	}
	if network == "fifo" {
		for _, name := range []string{".there", ".back"} {
			if err := syscall.Mkfifo(where+name, 0o600); err != nil {
				log.Fatal(err)
			}
		}
	}
	words := []string{must(os.Executable()), "server", network, where, args[2]}
	if cpu := os.Getenv("SERVER_CPU"); cpu != "" {
		words = append([]string{"taskset", "-c", cpu}, words...)
	}
	command := exec.Command(words[0], words[1:]...)
	command.Stderr = os.Stderr
	output := must(command.StdoutPipe())
	if err := command.Start(); err != nil {
		log.Fatal(err)
	}
	var connection io.ReadWriter
	var end func() error
	if network == "fifo" {
		there := must(os.OpenFile(where+".there", os.O_WRONLY, 0))
		back := must(os.OpenFile(where+".back", os.O_RDONLY, 0))
		connection, end = pair{back, there}, there.Close
	} else {
		var address string
		must(fmt.Fscanln(output, &address))
		dialled := must(net.Dial(network, address))
		connection, end = dialled, dialled.Close
	}
	play(connection, size, warming)
	began := time.Now()
	play(connection, size, rounds)
	took := time.Since(began)
	if err := end(); err != nil {
		log.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("wall %f\n", float64(took.Nanoseconds())/float64(rounds))
}
