/* The supervisor of one session, which makes its world and starts its payloads. */
#include "native.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME "tongs-call"
#define IDLE 60000

char *arguments;
size_t arguments_size;

static const struct jail *jail;
static int woken;
static int ruleset;
static pid_t payload;
static int status;
static int over;
static int dismissed;

/* What happened among the signals (which are taken in), the channel and the link. */
enum { ON_CHANNEL = 1, ON_LINK = 2, ON_SIGNAL = 4 };

static int events(short of_channel, int link, int timeout) {
    struct pollfd watched[] = {{woken, POLLIN, 0}, {CHANNEL, of_channel, 0}, {link, POLLIN, 0}};
    int happened = 0;
    if (poll(watched, 3, timeout) <= 0)
        return 0;
    if (watched[0].revents) {
        struct signalfd_siginfo signals[16];
        ssize_t size = read(woken, signals, sizeof signals);
        for (size_t i = 0; size > 0 && i < (size_t)size / sizeof *signals; i++)
            dismissed |= signals[i].ssi_signo == SIGTERM;
        happened |= ON_SIGNAL;
    }
    if (watched[1].revents)
        happened |= ON_CHANNEL;
    if (watched[2].revents)
        happened |= ON_LINK;
    return happened;
}

static void try_writing(const char *path, const char *data) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file >= 0 && write(file, data, strlen(data)) < 0)
        errno = 0; /* it does without */
    close(file);
}

/* Make the world. What has to be handed to Tongs: the listening socket of a proxy, or -1. */
static int prepare(uid_t user, gid_t group, char **groups) {
    setsid();
    prctl(PR_SET_NAME, NAME, 0, 0, 0);
    memset(arguments, 0, arguments_size);
    /* When memory runs out, a tool goes before what people work with. */
    try_writing("/proc/self/oom_score_adj", "1000");
    step = "cgroup";
    for (; *groups; groups++)
        write_file(*groups, "0", 1);
    ruleset = make_world(jail, user, group);
    int proxy = jail->proxy ? listen_inside() : -1;
    give_up_privileges(jail);
    step = "supervise";
    if (jail->namespaces) {
        /* The kernel ends a namespace with its first process, so there is nothing to do first. */
        must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
        must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
    } else {
        must(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
        must(prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0));
    }
    sigset_t heard;
    sigemptyset(&heard);
    sigaddset(&heard, SIGCHLD);
    sigaddset(&heard, SIGTERM);
    woken = (int)must(signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK));
    /* Whoever started this process may be gone already. What matters is that Tongs is there. */
    if (events(0, -1, 0) & ON_CHANNEL)
        _exit(1);
    return proxy;
}

/* A payload that reads the next request; a descriptor that says when it has one. */
static int fork_payload(void) {
    int link[2];
    step = "supervise";
    must(pipe2(link, O_CLOEXEC));
    over = 0;
    payload = (pid_t)must(fork());
    if (payload == 0) {
        close(link[0]);
        close(woken);
        wait_and_become(jail, ruleset, link[1]);
    }
    close(link[1]);
    return link[0];
}

/* Whether the payload got a request; else it is dead, or nobody wants this session. */
static int is_taken(int link) {
    char byte;
    int taken = 0;
    while (!dismissed) {
        int happened = events(0, link, IDLE);
        if (happened & ON_LINK) {
            taken = read(link, &byte, 1) == 1;
            break;
        }
        if (!happened || happened & ON_CHANNEL)
            break;
    }
    close(link);
    return taken;
}

/* Whether another request is there; it is left for the payload to read. */
static int is_wanted(void) {
    while (!dismissed) {
        if (events(POLLIN, -1, -1) & ON_CHANNEL) {
            int whole;
            char first = peek_packet(CHANNEL, &whole);
            if (!first)
                return 0;
            if (first != KILL || !whole)
                return 1;
            receive_packet(CHANNEL); /* it came when the payload was over already */
        }
    }
    return 0;
}

static void note_end(pid_t pid, int how) {
    if (pid == payload) {
        status = how;
        over = 1;
    }
}

/* Wait until the payload is over or has to go, and in this case say why. */
static const char *wait_for_payload(void) {
    int watched = jail->memory || jail->processes;
    int happened = 0;
    if (watched)
        watch(jail->memory, jail->processes, jail->namespaces != 0);
    for (;;) {
        reap(note_end);
        if (over)
            return "";
        /* An order to kill, or Tongs is gone; it sends nothing else meanwhile. */
        if (happened & ON_CHANNEL || dismissed)
            return "ordered";
        /* By the clock: signals that keep coming must not keep it from looking. */
        if (watched && !watch_wait()) {
            const char *exceeded = watch_check();
            if (*exceeded)
                return exceeded;
        }
        happened = events(POLLIN, -1, watched ? watch_wait() : -1);
    }
}

static void kill_all(void) {
    static const struct pids nobody;
    if (jail->namespaces)
        kill_namespace(note_end);
    else
        kill_tree(&nobody, note_end);
}

/* Wait for the end of the payload, end all it has left, and report. */
static void attend(void) {
    char message[64];
    const char *reason = wait_for_payload();
    kill_all();
    snprintf(message, sizeof message, "E %d %s", status, reason);
    say(message);
}

static noreturn void serve(uid_t user, gid_t group, char **groups) {
    int proxy = prepare(user, group, groups);
    int link = fork_payload();
    send_packet(CHANNEL, "R", 1, proxy);
    if (proxy >= 0)
        close(proxy);
    if (is_taken(link)) {
        attend();
        while (is_wanted() && is_taken(fork_payload()))
            attend();
    }
    kill_all();
    _exit(0);
}

pid_t start_supervisor(const struct jail *of, int channel, char **groups) {
    uid_t user = geteuid();
    gid_t group = getegid();
    pid_t pid = (pid_t)syscall(SYS_clone, of->namespaces | SIGCHLD, 0, 0, 0, 0);
    if (pid < 0) {
        char message[64];
        snprintf(message, sizeof message, "F namespaces %d", errno);
        send_packet(channel, message, strlen(message), -1);
        return 0;
    }
    if (pid == 0) {
        if (dup3(channel, CHANNEL, O_CLOEXEC) < 0 || syscall(SYS_close_range, CHANNEL + 1, ~0U, 0) < 0)
            _exit(1);
        jail = of;
        serve(user, group, groups);
    }
    if (user == 0 && (of->memory || of->processes))
        /* The kernel does not count the processes of root, so the watchdog must not be outrun. */
        take_precedence(pid);
    return pid;
}
