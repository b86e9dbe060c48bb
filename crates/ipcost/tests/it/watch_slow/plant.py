"""A server and a client over a Unix socket, of which one request in 200 is slow for a known reason. Times of plants go to a file."""
import os, signal, socket, sys, threading, time

kind, path, over = sys.argv[1], sys.argv[2], sys.argv[3]
EACH, LASTS = 200, 5e-3
address = path if over == "unix" else ("127.0.0.1", int(path.rsplit(".", 1)[1]))
family = socket.AF_UNIX if over == "unix" else socket.AF_INET
times = open(path + ".times", "a", buffering=1)


def burn(seconds):
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        pass


def note(began):
    times.write(f"{time.monotonic() - began}\n")


def group(share):
    """A control group that holds this process to a share of a processor, in either version."""
    for base in ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup"):
        own = f"{base}/plant-{os.getpid()}"
        try:
            if os.path.exists(f"{base}/cgroup.controllers"):
                open(f"{base}/cgroup.subtree_control", "w").write("+cpu")
            os.mkdir(own)
            if os.path.exists(f"{own}/cpu.max"):
                open(f"{own}/cpu.max", "w").write(f"{int(share * 1e5)} 100000")
            else:
                open(f"{own}/cpu.cfs_quota_us", "w").write(str(int(share * 1e5)))
            open(f"{own}/cgroup.procs", "w").write(str(os.getpid()))
            return own
        except OSError:
            pass
    return None


def one_server(listener):
    """Serves its connections one after the other, as Redis does."""
    import select
    poll, open_ones = select.epoll(), {}
    poll.register(listener, select.EPOLLIN)
    while True:
        for number, _ in poll.poll():
            if number == listener.fileno():
                connection = listener.accept()[0]
                open_ones[connection.fileno()] = connection
                poll.register(connection, select.EPOLLIN)
                continue
            data = open_ones[number].recv(100)
            if not data:
                open_ones.pop(number).close()
                continue
            if data[0] == 7:
                began = time.monotonic()
                burn(LASTS)
                note(began)
            open_ones[number].sendall(data)


def upstream(listener):
    """Answers HTTP, a thread each connection."""
    count = [0]

    def serve(connection):
        while connection.recv(4096):
            count[0] += 1
            if count[0] % EACH == 0:
                began = time.monotonic()
                time.sleep(LASTS)
                note(began)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


def server(listener):
    if kind == "upstream":
        return upstream(listener)
    if kind == "queued":
        return one_server(listener)
    connection, file = listener.accept()[0], os.open(path + ".data", os.O_CREAT | os.O_WRONLY)
    data, lock, asked, held = bytes(1 << 18), threading.Lock(), threading.Semaphore(0), threading.Event()

    def holder():
        while True:
            asked.acquire()
            with lock:
                held.set()
                time.sleep(LASTS)

    threading.Thread(target=holder, daemon=True).start()
    count = 0
    while True:
        request = connection.recv(100)
        if not request:
            return
        count += 1
        began = time.monotonic()
        if kind == "fdatasync":
            os.pwrite(file, data, count % EACH * len(data))
        if kind == "throttled":
            burn(4e-4)
        if count % EACH == 0:
            began = time.monotonic()
            if kind == "fdatasync":
                os.fdatasync(file)
            elif kind == "computing":
                burn(LASTS)
            elif kind == "sleeping":
                time.sleep(LASTS)
            elif kind == "lock":
                held.clear()
                asked.release()
                held.wait()
                began = time.monotonic()
                with lock:
                    pass
            note(began)
        connection.sendall(request)


def client(byte, per_second):
    for _ in range(100):
        try:
            connection = socket.socket(family)
            connection.connect(address)
            break
        except OSError:
            time.sleep(0.05)
    while True:
        connection.sendall(bytes([byte]))
        if not connection.recv(100):
            return
        time.sleep(1 / per_second)


listener = socket.socket(family)
if over == "tcp":
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(address)
listener.listen(8)
children = []


def child(run):
    process = os.fork()
    if process == 0:
        try:
            run()
        finally:
            os._exit(0)
    children.append(process)
    return process


def serve():
    if kind == "throttled" and group(0.2) is None:
        print("no group", flush=True)
    if kind == "ready":
        os.sched_setaffinity(0, {0})
    server(listener)


def hog():
    os.sched_setaffinity(0, {0})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    while True:
        time.sleep(0.1)
        began = time.monotonic()
        burn(LASTS)
        note(began)


def stopper(whom):
    while True:
        time.sleep(0.3)
        os.kill(whom, signal.SIGSTOP)
        began = time.monotonic()
        time.sleep(0.05)
        os.kill(whom, signal.SIGCONT)
        note(began)


serving = child(serve)
if kind == "queued":
    child(lambda: client(7, 10))
if kind == "ready":
    child(hog)
if kind == "stopped":
    child(lambda: stopper(serving))
if kind != "upstream":
    child(lambda: client(1, 2000))
print("ready", flush=True)
# Until the test ends it.
sys.stdin.read()
for process in children:
    os.kill(process, signal.SIGCONT)
    os.kill(process, signal.SIGKILL)
for process in children:
    os.waitpid(process, 0)
for base in ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup"):
    try:
        os.rmdir(f"{base}/plant-{serving}")
    except OSError:
        pass
