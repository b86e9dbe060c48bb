//! Ping-pong as in published Rust programs: four bytes there and back between a producer and the consumer that it
//! starts, over standard input and output, TCP, UDP, or shared memory that both poll. Over pipes a newline follows.
//!
//! ```text
//! pingpong pipe|tcp|tcp-nodelay|udp|shm ROUNDS
//! ```
//!
//! prints `wall`, the nanoseconds of a round. The consumer runs on the processor SERVER_CPU, if that is set.

use std::env;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

const SIZE: usize = 4;
/// Untimed rounds before the timed ones.
const WARMING: u64 = 500;

unsafe extern "C" {
    fn mmap(place: *mut u8, length: usize, access: i32, flags: i32, file: i32, offset: i64) -> *mut u8;
}

/// Two events of two bytes, the producer's and the consumer's, and the message behind them. The side that waits for
/// the other's event polls with compare-and-exchange, which also resets it.
struct Shared(*mut u8);

const PRODUCER: usize = 1;
const CONSUMER: usize = 3;
const MESSAGE: usize = 4;

impl Shared {
    fn open(path: &str) -> Self {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap();
        file.set_len(4096).unwrap();
        // Read and write, shared: as in `mmap(2)` on Linux.
        let place = unsafe { mmap(std::ptr::null_mut(), 4096, 3, 1, file.as_raw_fd(), 0) };
        assert!(place as isize != -1, "no shared memory");
        Self(place)
    }

    fn event(&self, of: usize) -> &AtomicU8 {
        unsafe { &*self.0.add(of).cast() }
    }

    fn wait_for(&self, of: usize) {
        while self.event(of).compare_exchange(1, 0, Ordering::AcqRel, Ordering::Relaxed).is_err() {}
    }

    fn put(&self, message: &[u8; SIZE], own: usize) {
        self.event(own).store(0, Ordering::Relaxed);
        unsafe { self.0.add(MESSAGE).cast::<[u8; SIZE]>().write_volatile(*message) };
        self.event(own).store(1, Ordering::Release);
    }

    fn get(&self) -> [u8; SIZE] {
        unsafe { self.0.add(MESSAGE).cast::<[u8; SIZE]>().read_volatile() }
    }
}

/// This program again as the consumer, on its own processor.
fn consumer(words: &[&str]) -> Child {
    let own = env::current_exe().unwrap();
    let mut command = match env::var("SERVER_CPU") {
        Ok(cpu) if !cpu.is_empty() => {
            let mut command = Command::new("taskset");
            command.args(["-c", &cpu]).arg(own);
            command
        }
        _ => Command::new(own),
    };
    command.arg("consumer").args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

fn consume(kind: &str, place: &str) {
    let mut message = [0; SIZE];
    match kind {
        "pipe" => {
            let mut message = [0; SIZE + 1];
            let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
            while input.read_exact(&mut message).is_ok() {
                output.write_all(&message).unwrap();
                output.flush().unwrap();
            }
        }
        "tcp" | "tcp-nodelay" => {
            let mut stream = TcpStream::connect(place).unwrap();
            stream.set_nodelay(kind == "tcp-nodelay").unwrap();
            while stream.read_exact(&mut message).is_ok() {
                stream.write_all(&message).unwrap();
            }
        }
        "udp" => {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            println!("{}", socket.local_addr().unwrap().port());
            socket.connect(place).unwrap();
            while socket.recv(&mut message).unwrap() == SIZE {
                socket.send(&message).unwrap();
            }
        }
        _ => {
            let shared = Shared::open(place);
            loop {
                shared.wait_for(PRODUCER);
                let message = shared.get();
                if message == [0; SIZE] {
                    return;
                }
                shared.put(&message, CONSUMER);
            }
        }
    }
}

/// The time of a round, nanoseconds.
fn time(rounds: u64, mut round: impl FnMut()) -> f64 {
    (0..WARMING).for_each(|_| round());
    let began = Instant::now();
    (0..rounds).for_each(|_| round());
    began.elapsed().as_nanos() as f64 / rounds as f64
}

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (kind, rounds) = match words[..] {
        ["consumer", kind, place] => return consume(kind, place),
        [kind, rounds] => (kind, rounds.parse().unwrap()),
        _ => panic!("pingpong pipe|tcp|tcp-nodelay|udp|shm ROUNDS"),
    };
    let (message, mut reply) = (*b"ping", [0; SIZE]);
    let (wall, mut child) = match kind {
        "pipe" => {
            let mut child = consumer(&[kind, ""]);
            let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
            let mut line = [0; SIZE + 1];
            let wall = time(rounds, || {
                to.write_all(b"ping\n").unwrap();
                from.read_exact(&mut line).unwrap();
            });
            reply.copy_from_slice(&line[..SIZE]);
            (wall, child)
        }
        "tcp" | "tcp-nodelay" => {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let child = consumer(&[kind, &listener.local_addr().unwrap().to_string()]);
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_nodelay(kind == "tcp-nodelay").unwrap();
            let wall = time(rounds, || {
                stream.write_all(&message).unwrap();
                stream.read_exact(&mut reply).unwrap();
            });
            (wall, child)
        }
        "udp" => {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let mut child = consumer(&[kind, &socket.local_addr().unwrap().to_string()]);
            let mut port = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
            socket.connect(format!("127.0.0.1:{}", port.trim())).unwrap();
            let wall = time(rounds, || {
                socket.send(&message).unwrap();
                socket.recv(&mut reply).unwrap();
            });
            socket.send(&[]).unwrap();
            (wall, child)
        }
        _ => {
            let path = format!("/dev/shm/plain-pingpong-{}", std::process::id());
            let shared = Shared::open(&path);
            let child = consumer(&["shm", &path]);
            let wall = time(rounds, || {
                shared.put(&message, PRODUCER);
                shared.wait_for(CONSUMER);
                reply = shared.get();
            });
            shared.put(&[0; SIZE], PRODUCER);
            std::fs::remove_file(&path).unwrap();
            (wall, child)
        }
    };
    assert!(child.wait().unwrap().success() && reply == message);
    println!("wall {wall}");
}
