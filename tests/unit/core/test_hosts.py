"""Host lists: how an entry is written, what it matches, and which addresses are barred."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tongs.core import hosts
from tongs.core.hosts import Entry, Range, address_problem, allowed, granted, parse, parse_grant


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("api.github.com", Entry("api.github.com", False, (80, 443))),
        ("API.GitHub.com.", Entry("api.github.com", False, (80, 443))),
        ("*.example.org:443", Entry("example.org", True, (443,))),
        ("example.org:*", Entry("example.org", False, None)),
        ("localhost:8080", Entry("localhost", False, (8080,))),
        ("my_host.example.org", Entry("my_host.example.org", False, (80, 443))),
        ("bücher.example", Entry("xn--bcher-kva.example", False, (80, 443))),
        ("BÜCHER.example", Entry("xn--bcher-kva.example", False, (80, 443))),
        ("xn--bcher-kva.example", Entry("xn--bcher-kva.example", False, (80, 443))),
        ("93.184.216.34", Entry("93.184.216.34", False, (80, 443))),
        ("[2606:4700:0::1]", Entry("2606:4700::1", False, (80, 443))),
        ("[2606:4700::ABCD]:8443", Entry("2606:4700::abcd", False, (8443,))),
        ("a" * 63 + ".example", Entry("a" * 63 + ".example", False, (80, 443))),
    ],
)
def test_an_entry_is_read_into_its_one_spelling(text: str, entry: Entry) -> None:
    read = parse(text)

    assert (read.host, read.subdomains, read.ports) == (entry.host, entry.subdomains, entry.ports)
    assert parse(str(read)) == read


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "missing"),
        (".", "missing"),
        (":80", "missing"),
        ("*", "network: true"),
        ("*.", "missing"),
        ("*.*.example.org", "first label"),
        ("a.*.example.org", "first label"),
        ("*example.org", "first label"),
        ("api*.example.org", "first label"),
        ("https://example.org", "https://"),
        ("example.org/path", "path"),
        ("example.org?x", "path"),
        ("example.org\\x", "path"),
        ("user@example.org", "user name"),
        ("example.org:0", "1 to 65535"),
        ("example.org:65536", "1 to 65535"),
        ("example.org:", "1 to 65535"),
        ("example.org:080", "1 to 65535"),
        ("example.org:²", "1 to 65535"),
        ("example.org:80:80", "brackets"),
        ("exa mple.org", "letters"),
        ("example.org\n", "letters"),
        ("example.org\0", "letters"),
        ("exämple.org\ud800", "xn--"),
        ("example..org", "label is missing"),
        (".example.org", "label is missing"),
        ("-a.example.org", "starts nor ends"),
        ("a-.example.org", "starts nor ends"),
        ("a" * 64 + ".org", "63"),
        ("a." * 127 + "org", "253"),
        ("a." * 126 + "ab", "253"),
        ("ä" * 300, "253"),
        ("straße.example", "xn--"),
        ("℀.example", "letters"),
        ("::1", "brackets"),
        ("[::1", "brackets"),
        ("[127.0.0.1]", "brackets"),
        ("[::1]80", "brackets"),
        ("[fe80::1%eth0]", "brackets"),
        ("*.127.0.0.1", "no subdomains"),
        ("*.[::1]", "brackets"),
        ("127.1", "four decimal"),
        ("0x7f.1", "four decimal"),
        ("2130706433", "four decimal"),
        ("0177.0.0.1", "four decimal"),
        ("127.0.0.01", "four decimal"),
        ("256.1.1.1", "four decimal"),
    ],
)
def test_an_entry_that_is_no_host_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match="is no host: ") as refused:
        parse(text)

    assert reason in str(refused.value)
    assert str(refused.value).isprintable()


def test_an_empty_list_lets_nothing_through() -> None:
    assert not allowed([], "example.org", 443)
    assert not granted([], "example.org", "127.0.0.1")


@pytest.mark.parametrize(
    ("entry", "host", "port", "matches"),
    [
        ("example.org", "example.org", 443, True),
        ("example.org", "example.org", 80, True),
        ("example.org", "example.org", 22, False),
        ("example.org", "www.example.org", 443, False),
        ("example.org", "example.org.evil.test", 443, False),
        ("example.org:8080", "example.org", 8080, True),
        ("example.org:8080", "example.org", 443, False),
        ("example.org:*", "example.org", 22, True),
        ("*.example.org", "www.example.org", 443, True),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "evilexample.org", 443, False),
        ("*.example.org:443", "www.example.org", 80, False),
        ("93.184.216.34", "93.184.216.34", 443, True),
        ("[2606:4700::1]", "2606:4700::1", 443, True),
        ("[2606:4700::1]", "2606:4700::2", 443, False),
    ],
)
def test_an_entry_matches_its_own_names_and_ports(
    entry: str, host: str, port: int, matches: bool
) -> None:
    assert allowed([parse("other.test"), parse(entry)], host, port) is matches


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("10.0.0.1", "private"),
        ("100.64.0.1", "shared"),
        ("100.100.100.200", "shared"),
        ("127.0.0.1", "loopback"),
        ("127.255.255.255", "loopback"),
        ("168.63.129.16", "a cloud's metadata service"),
        ("169.254.169.254", "link-local"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.0.0.192", "reserved"),
        ("192.0.2.1", "reserved"),
        ("192.168.1.1", "private"),
        ("198.18.0.1", "reserved"),
        ("224.0.0.1", "multicast"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "reserved"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("::127.0.0.1", "reserved"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:a9fe:a9fe", "link-local"),
        ("::ffff:0:127.0.0.1", "reserved"),
        ("64:ff9b::7f00:1", "loopback: 127.0.0.1 is inside it"),
        ("64:ff9b:1::7f00:1", "reserved"),
        ("2002:a00:1::1", "private: 10.0.0.1 is inside it"),
        ("2001::1", "reserved"),
        ("2001:db8::1", "reserved"),
        ("3fff::1", "reserved"),
        ("fc00::1", "private"),
        ("fd00:ec2::254", "private"),
        ("fe80::1", "link-local"),
        ("fe80::1%lo", "link-local"),
        ("fec0::1", "private"),
        ("ff02::1", "multicast"),
        ("5f00::1", "reserved"),
        ("100::1", "reserved"),
    ],
)
def test_an_address_that_is_not_public_has_a_problem(address: str, problem: str) -> None:
    assert address_problem(address) == problem


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.17",
        "172.15.255.255",
        "172.32.0.0",
        "223.255.255.255",
        "2606:4700::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::1",
    ],
)
def test_a_public_address_has_no_problem(address: str) -> None:
    assert address_problem(address) == ""


@pytest.mark.parametrize("text", ["", "localhost", "127.1", "1.2.3.4.5", "::g", "\0", "1.2.3.4\n"])
def test_only_an_address_can_be_judged(text: str) -> None:
    with pytest.raises(ValueError, match="is no address"):
        address_problem(text)


def test_a_metadata_service_is_barred_by_its_name_too() -> None:
    assert hosts.name_problem("metadata.google.internal") != ""
    assert hosts.name_problem("metadata.example.org") == ""


@pytest.mark.parametrize(
    ("text", "grant"),
    [
        ("localhost", Entry("localhost", False, (80, 443))),
        ("*.corp.example", Entry("corp.example", True, (80, 443))),
        ("127.0.0.1", Range("127.0.0.1", 32)),
        ("10.0.0.0/8", Range("10.0.0.0", 8)),
        ("0.0.0.0/0", Range("0.0.0.0", 0)),
        ("::1", Range("::1", 128)),
        ("[::1]", Range("::1", 128)),
        ("fd00::/8", Range("fd00::", 8)),
    ],
)
def test_a_grant_is_a_name_an_address_or_a_range(text: str, grant: Entry | Range) -> None:
    assert parse_grant(text) == grant
    assert parse_grant(str(grant)) == grant


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("localhost:80", "must not name a port"),
        ("127.0.0.1:80", "must not name a port"),
        ("10.0.0.1/8", "starts at 10.0.0.0"),
        ("fd00::1/8", "starts at fd00::"),
        ("10.0.0.0/33", "up to 32"),
        ("10.0.0.0/", "up to 32"),
        ("10.0.0.0/-1", "up to 32"),
        ("::/129", "up to 128"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("localhost/8", "path"),
        ("", "missing"),
    ],
)
def test_a_grant_that_cannot_be_read_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match="`") as refused:
        parse_grant(text)

    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("grant", "host", "address", "covers"),
    [
        ("localhost", "localhost", "127.0.0.1", True),
        ("localhost", "other.test", "127.0.0.1", False),
        ("*.corp.example", "db.corp.example", "10.1.2.3", True),
        ("127.0.0.1", "localhost", "127.0.0.1", True),
        ("127.0.0.1", "localhost", "127.0.0.2", False),
        ("127.0.0.1", "localhost", "::1", False),
        ("10.0.0.0/8", "db.test", "10.255.0.1", True),
        ("10.0.0.0/8", "db.test", "11.0.0.1", False),
        ("10.0.0.0/8", "db.test", "::ffff:10.0.0.1", True),
        ("10.0.0.0/8", "db.test", "64:ff9b::a00:1", False),
        ("0.0.0.0/0", "db.test", "::1", False),
        ("fd00::/8", "db.test", "fd12::1", True),
        ("fe80::/10", "db.test", "fe80::1%lo", True),
        ("10.0.0.0/8", "db.test", "", False),
    ],
)
def test_a_grant_covers_what_it_names(grant: str, host: str, address: str, covers: bool) -> None:
    assert granted([parse_grant("other.example"), parse_grant(grant)], host, address) is covers


def test_equal_entries_are_one_in_a_set() -> None:
    same = {parse("A.example"), parse("a.example."), parse_grant("10.0.0.0/8")}

    assert same == {parse("a.example"), parse_grant("10.0.0.0/8")}
    assert repr(parse("A.example")) == "a.example"
    assert repr(parse_grant("10.0.0.0/8")) == "10.0.0.0/8"
    assert parse("a.example") != parse_grant("10.0.0.0/8") != "10.0.0.0/8"


def test_it_loads_nothing_that_is_slow_to_load() -> None:
    script = "import sys; sys.path.append(sys.argv[1]); import hosts; print(*sys.modules)"
    folder = str(Path(hosts.__file__).parent)
    command = [sys.executable, "-I", "-S", "-c", script, folder]

    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    assert not {"socket", "enum", "re", "ipaddress", "typing", "encodings.idna"} & set(loaded)
