"""What real programs write when a wall stops them, and what is read out of it.

The texts are what bash, coreutils, curl, git, java, node, perl, python, rust, ssh and wget wrote
without a network (a namespace of its own, or a refused `socket`), on a read-only mount, and in
front of a closed folder.
"""

from __future__ import annotations

import pytest

from tongs.policy.symptoms import Ending, Symptoms, symptoms

PYTHON_SOCKET = """\
Traceback (most recent call last):
  File "<string>", line 1, in <module>
  File "/usr/lib/python3.11/socket.py", line 836, in create_connection
    sock = socket(af, socktype, proto)
PermissionError: [Errno 1] Operation not permitted
"""
NODE_FETCH = """\
TypeError: fetch failed
    at node:internal/deps/undici/undici:14976:13 {
  [cause]: Error: getaddrinfo EAI_AGAIN example.org
      at GetAddrInfoReqWrap.onlookupall [as oncomplete] (node:dns:122:26) {
    errno: -3001,
    code: 'EAI_AGAIN',
    syscall: 'getaddrinfo',
    hostname: 'example.org'
  }
}
"""
REQUESTS = (
    "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='example.org', port=8443): Max"
    ' retries exceeded with url: /x (Caused by NameResolutionError("HTTPSConnection('
    "host='example.org', port=8443): Failed to resolve 'example.org' ([Errno -3] Temporary failure"
    ' in name resolution)"))'
)
RUST = (
    "called `Result::unwrap()` on an `Err` value: Custom { kind: Uncategorized, error: "
    '"failed to lookup address information: Temporary failure in name resolution" }'
)


@pytest.mark.parametrize(
    ("stderr", "hosts"),
    [
        ("curl: (6) Could not resolve host: api.example.org", ["api.example.org"]),
        (
            (
                "curl: (7) Failed to connect to 192.0.2.7 port 8080 after 0 ms: Couldn't connect to"
                " server"
            ),
            ["192.0.2.7:8080"],
        ),
        ("curl: (56) CONNECT tunnel failed, response 403", []),
        ("curl: (56) Received HTTP code 403 from proxy after CONNECT", []),
        ("wget: unable to resolve host address ‘example.org’", ["example.org"]),
        ("Proxy tunneling failed: ForbiddenUnable to establish SSL connection.", []),
        (
            (
                "Cloning into 'b'...\nfatal: unable to access 'https://example.org/a/b.git/':"
                " Could not resolve host: example.org"
            ),
            ["example.org"],
        ),
        (
            (
                "fatal: unable to access 'https://git.example.org:8443/a/b.git/':"
                " CONNECT tunnel failed, response 403"
            ),
            ["git.example.org:8443"],
        ),
        ("ssh: Could not resolve hostname h: Temporary failure in name resolution", []),
        ("ssh: connect to host 192.0.2.7 port 22: Network is unreachable", []),
        ("URLError: <urlopen error [Errno -3] Temporary failure in name resolution>", []),
        ("urllib.error.URLError: <urlopen error Tunnel connection failed: 403 Forbidden>", []),
        ("socket.gaierror: [Errno -2] Name or service not known", []),
        ("OSError: [Errno 101] Network is unreachable", []),
        ("ConnectionRefusedError: [Errno 111] Connection refused", []),
        (PYTHON_SOCKET, []),
        (REQUESTS, ["example.org:8443"]),
        (NODE_FETCH, ["example.org"]),
        ("Error: getaddrinfo ENOTFOUND api.example.org", ["api.example.org"]),
        ("Error: connect ENETUNREACH 192.0.2.7:443 - Local (0.0.0.0:0)", ["192.0.2.7"]),
        ("Error: connect ECONNREFUSED 127.0.0.1:8000", ["127.0.0.1:8000"]),
        ("Error: connect EPERM 192.0.2.7:443 - Local (undefined:undefined)", ["192.0.2.7"]),
        ("IO::Socket::INET: Bad hostname 'example.org:80' Invalid argument", ["example.org"]),
        ("bash: line 1: example.org: Temporary failure in name resolution", ["example.org"]),
        ("bash: line 1: /dev/tcp/192.0.2.7/81: Network is unreachable", ["192.0.2.7:81"]),
        ("bash: line 1: /dev/tcp/192.0.2.7/80: Operation not permitted", ["192.0.2.7"]),
        ("bash: socket: Operation not permitted", []),
        (
            (
                'Exception in thread "main" java.net.UnknownHostException: example.org\n'
                "\tat java.base/sun.nio.ch.NioSocketImpl.connect(NioSocketImpl.java:567)"
            ),
            ["example.org"],
        ),
        ('Exception in thread "main" java.net.SocketException: Operation not permitted', []),
        (RUST, []),
        ("dial tcp: lookup api.example.org on 192.0.2.1:53: no such host", ["api.example.org"]),
        ("ping: socket: Operation not permitted", []),
    ],
)
def test_network_that_is_off_is_recognised(stderr: str, hosts: list[str]) -> None:
    found = symptoms(Ending(stderr, 1))

    assert found == Symptoms(network=True, hosts=tuple(hosts))


@pytest.mark.parametrize("code", [6, 7])
def test_silent_curl_tells_by_its_exit_code(code: int) -> None:
    assert symptoms(Ending("\n", code)) == Symptoms(network=True)
    assert symptoms(Ending("no such city\n", code)) == Symptoms()


@pytest.mark.parametrize(
    ("stderr", "path"),
    [
        ("cp: cannot create regular file '/p/f': Read-only file system", "/p/f"),
        ("mkdir: cannot create directory ‘/p/new’: Read-only file system", "/p/new"),
        ("mkdir: cannot create directory ‘/p/new’: Permission denied", "/p/new"),
        ("touch: cannot touch 'out/f': Read-only file system", "out/f"),
        ("rm: cannot remove '/p/f': Permission denied", "/p/f"),
        ("ln: failed to create symbolic link '/p/l': Permission denied", "/p/l"),
        ("tee: /p/f: Read-only file system", "/p/f"),
        ("sed: couldn't open temporary file /p/sedSy2qDW: Read-only file system", "/p/sedSy2qDW"),
        ("chmod: changing permissions of '/p/f': Read-only file system", "/p/f"),
        ("mkfifo: cannot create fifo '/p/f': Operation not permitted", "/p/f"),
        ("fatal: cannot mkdir f: Permission denied", "f"),
        ("bash: line 1: /p/f: Read-only file system", "/p/f"),
        ("bash: line 1: out/f: Read-only file system", "out/f"),
        ("/run/tongs/t.script: line 1: out/f: Read-only file system", "out/f"),
        ("/run/tongs/t.script: line 12: /p/f: Read-only file system", "/p/f"),
        ("/run/tongs/t.script: 1: cannot create f: Permission denied", "f"),
        ("/run/tongs/t.script:3: read-only file system: /p/f", "/p/f"),
        ("sh: 1: cannot create /p/f: Permission denied", "/p/f"),
        ("sh: 1: cannot create f: Read-only file system", "f"),
        ("tar: /p/x.tar: Cannot open: Read-only file system", "/p/x.tar"),
        ("tar: x.tar: Cannot open: Read-only file system", "x.tar"),
        ("/p/.git: Read-only file system", "/p/.git"),
        ("mv: cannot move 'a.txt' to '/p/f': Permission denied", "/p/f"),
        ("OSError: [Errno 30] Read-only file system: '/p/f'", "/p/f"),
        ("Error: EROFS: read-only file system, open '/p/f'", "/p/f"),
        ("Error: EROFS: read-only file system, copyfile 'a.txt' -> '/p/f'", "/p/f"),
        ("Error: EACCES: permission denied, mkdir '/p/new'", "/p/new"),
        ("cannot open /p/f: Read-only file system at /q/x.pl line 1.", "/p/f"),
        (
            (
                'Exception in thread "main" java.io.FileNotFoundException: /p/f'
                " (Read-only file system)\n\tat java.base/java.io.FileOutputStream.open0(Native)"
            ),
            "/p/f",
        ),
        ("open /p/f: read-only file system", "/p/f"),
    ],
)
def test_path_that_cannot_be_written_is_read_out(stderr: str, path: str) -> None:
    assert symptoms(Ending(stderr, 1)) == Symptoms(unwritable=(path,))


@pytest.mark.parametrize(
    ("stderr", "path"),
    [
        ("cat: /p/f: Permission denied", "/p/f"),
        ("cat: '/p/with space/f': Permission denied", "/p/with space/f"),
        ("ls: cannot open directory '/p': Permission denied", "/p"),
        ("head: cannot open '/p/f' for reading: Permission denied", "/p/f"),
        ("dd: failed to open '/p/f': Permission denied", "/p/f"),
        ("bash: line 1: cd: /p: Permission denied", "/p"),
        ("/run/tongs/t.script: line 1: f.json: Permission denied", "f.json"),
        ("/run/tongs/t.script: line 1: cd: /p: Permission denied", "/p"),
        ("/run/tongs/t.script:cd:7: permission denied: /p", "/p"),
        ("timeout: failed to run command ‘/p/f’: Permission denied", "/p/f"),
        ("PermissionError: [Errno 13] Permission denied: '/p/f'", "/p/f"),
        ("PermissionError: [Errno 13] Permission denied: 'a.txt' -> '/p/f'", "/p/f"),
        ("python3: can't open file '/p/f': [Errno 13] Permission denied", "/p/f"),
        ("Error: EACCES: permission denied, open '/p/f'", "/p/f"),
        ("fatal: cannot change to '/p': Permission denied", "/p"),
        ("jq: error: Could not open file /p/f: Permission denied", "/p/f"),
        ('Error: unable to open database "/p/f": unable to open database file', "/p/f"),
        ("awk: cannot open /p/f (Permission denied)", "/p/f"),
        ("make: *** /p: Permission denied.  Stop.", "/p"),
    ],
)
def test_path_that_was_refused_is_read_out(stderr: str, path: str) -> None:
    assert symptoms(Ending(stderr, 1)) == Symptoms(refused=(path,))


@pytest.mark.parametrize(
    ("stderr", "path"),
    [
        ("cat: /home/me/f: No such file or directory", "/home/me/f"),
        ("cat: ~/f: No such file or directory", "~/f"),
        ("cat: a.txt: No such file or directory", "a.txt"),
        ("/run/tongs/t.script: line 2: a/b.txt: No such file or directory", "a/b.txt"),
        ("/run/tongs/t.script: 2: cannot open a.txt: No such file", "a.txt"),
        ("ls: cannot access '/home/me': No such file or directory", "/home/me"),
        ("cp: cannot stat '/home/me/f': No such file or directory", "/home/me/f"),
        ("find: ‘/home/me’: No such file or directory", "/home/me"),
        ("/opt/bin/python3: can't open file '/h/f': [Errno 2] No such file or directory", "/h/f"),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/h/f'", "/h/f"),
        ("Error: ENOENT: no such file or directory, open '/h/f'", "/h/f"),
        ("Error: Cannot find module '/h/f'", "/h/f"),
        ("curl: (37) Couldn't open file /h/f", "/h/f"),
        ("fatal: cannot change to '/h': No such file or directory", "/h"),
        ("open /h/f: no such file or directory", "/h/f"),
    ],
)
def test_path_that_was_not_there_is_read_out(stderr: str, path: str) -> None:
    assert symptoms(Ending(stderr, 1)) == Symptoms(missing=(path,))


@pytest.mark.parametrize(
    "stderr",
    [
        "cp: cannot create regular file '/h/f': No such file or directory",
        "touch: cannot touch '/h/f': No such file or directory",
        "/run/tongs/t.script: 1: cannot create /h/f: Directory nonexistent",
        "Error: ENOENT: no such file or directory, copyfile 'a.txt' -> '/h/f'",
    ],
)
def test_path_whose_folder_was_not_there_is_read_out(stderr: str) -> None:
    assert symptoms(Ending(stderr, 1)) == Symptoms(unmade=("/h/f",))


PYTHON_UTIME = """\
Traceback (most recent call last):
  File "/usr/lib/python3.11/shutil.py", line 376, in copystat
    lookup("utime")(dst, ns=(st.st_atime_ns, st.st_mtime_ns),
PermissionError: [Errno 1] Operation not permitted
"""
TAR_UTIME = """\
tar: a/b: Cannot utime: Operation not permitted
tar: a/b: Cannot change mode to rw-r--r--: Operation not permitted
tar: Exiting with failure status due to previous errors
"""
NODE_UTIME = """\
Error: EPERM: operation not permitted, utime '/t/x'
    at Object.utimesSync (node:fs:2059:11) {
  errno: -1,
  code: 'EPERM',
  syscall: 'utime',
  path: '/t/x'
}
"""


@pytest.mark.parametrize(
    ("stderr", "paths"),
    [
        ("chmod: changing permissions of '/p/f': Operation not permitted", ["/p/f"]),
        ("chown: changing ownership of 'f': Operation not permitted", ["f"]),
        ("touch: setting times of '/t/x': Operation not permitted", ["/t/x"]),
        ("cp: preserving times for '/t/x': Operation not permitted", ["/t/x"]),
        ("install: setting permissions for ‘/t/k’: Operation not permitted", ["/t/k"]),
        ("error: chmod on /t/config.lock failed: Operation not permitted", ["/t/config.lock"]),
        (PYTHON_UTIME, []),
        (TAR_UTIME, []),
        (NODE_UTIME, ["/t/x"]),
    ],
)
def test_modes_and_times_that_were_not_to_be_changed_are_recognised(
    stderr: str, paths: list[str]
) -> None:
    assert symptoms(Ending(stderr, 1)) == Symptoms(barred=tuple(paths), metadata=True)


@pytest.mark.parametrize(
    "stderr",
    [
        "gzip: /t/s.gz: Operation not permitted",
        "PermissionError: [Errno 1] Operation not permitted: '/t/s.gz'",
    ],
)
def test_path_with_which_something_was_not_permitted_is_read_out(stderr: str) -> None:
    assert symptoms(Ending(stderr, 1)) == Symptoms(barred=("/t/s.gz",))


def test_limit_that_is_known_leaves_nothing_to_guess() -> None:
    ending = Ending("curl: (6) Could not resolve host: a.org", signal=9, exceeded="processes")

    assert symptoms(ending) == Symptoms(limits=("processes",))


@pytest.mark.parametrize(
    "stderr",
    [
        (
            "Cannot connect to the Docker daemon at unix:///var/run/docker.sock."
            " Is the docker daemon running?"
        ),
        (
            "permission denied while trying to connect: dial unix /var/run/docker.sock: socket:"
            " operation not permitted"
        ),
        "Error: connect ENOENT /var/run/x.sock",
        'could not connect to server: is it accepting connections on Unix domain socket "/s"?',
    ],
)
def test_unix_socket_is_no_matter_of_the_network_or_of_files(stderr: str) -> None:
    assert symptoms(Ending(stderr, 1)) == Symptoms(unix_sockets=True)


@pytest.mark.parametrize(
    ("stderr", "exit_code", "signal", "limits"),
    [
        ("Traceback (most recent call last):\nMemoryError", 1, None, ["memory"]),
        ("# Fatal process OOM in Failed to reserve virtual memory", 133, None, ["memory"]),
        ("Could not reserve enough space for code cache (245760K)", 1, None, ["memory"]),
        ("Out of memory!\npanic: fold_constants", 12, None, ["memory"]),
        ("bash: xrealloc: cannot allocate 15937536 bytes", 2, None, ["memory"]),
        ("OSError: [Errno 12] Cannot allocate memory", 1, None, ["memory"]),
        ("bash: line 1: 30555 Killed                  python3 x.py", 137, None, ["memory"]),
        ("", None, 9, ["memory"]),
        ("bash: fork: retry: Resource temporarily unavailable", 254, None, ["processes"]),
        ("RuntimeError: can't start new thread", 1, None, ["processes"]),
        ("BlockingIOError: [Errno 11] Resource temporarily unavailable", 1, None, ["processes"]),
        ("Error: spawn sleep EAGAIN", 1, None, ["processes"]),
        ("bash: line 1:  6358 File size limit exceeded dd of=x", 153, None, ["file_size"]),
        ("OSError: [Errno 27] File too large", 1, None, ["file_size"]),
        ("", None, 25, ["file_size"]),
        ("OSError: [Errno 24] Too many open files", 1, None, ["open_files"]),
        ("", None, 24, ["cpu"]),
        ("", 152, None, ["cpu"]),
        ("", None, 15, []),
        ("", 1, None, []),
    ],
)
def test_limit_that_was_reached_is_recognised(
    stderr: str, exit_code: int | None, signal: int | None, limits: list[str]
) -> None:
    assert symptoms(Ending(stderr, exit_code, signal)) == Symptoms(limits=tuple(limits))


@pytest.mark.parametrize(
    "stderr",
    [
        "",
        "error: 3 tests failed",
        "Traceback (most recent call last):\nValueError: bad 'x'",
        "/p/run: line 1: frobnicate: command not found",
        "thread 'main' panicked: Os { code: 30, message: \"Read-only file system\" }",
        "permission denied",
        "OSError: [Errno 30] Read-only file system: '/p/\x1b[2J\u202e'",
        f"cat: /{'x' * 300}: Permission denied",
        "parse error: Invalid literal at line 2, column 0",
    ],
)
def test_other_failures_point_at_nothing(stderr: str) -> None:
    assert symptoms(Ending(stderr, 1)) == Symptoms()


def test_only_the_last_few_of_many_are_kept() -> None:
    lines = [f"cat: /h/{number}: Permission denied" for number in range(1000)]

    assert symptoms(Ending("\n".join(lines), 1)).refused == ("/h/997", "/h/998", "/h/999")


def test_hostile_text_takes_no_time() -> None:
    for text in ("'" * 10**6, "a:" * 10**6, "/" * 10**6, "read-only file system '" * 10**5):
        assert not symptoms(Ending(text, 1)).network
