/* The fork server: a small process that forks supervisors for a process that must not fork itself. */
#include "native.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where the socket is on which Tongs asks for supervisors. */
#define REQUESTS 3

/* Of what this program was built; `tools` and tests look for it in the file. */
#ifndef SOURCES
#define SOURCES "unknown"
#endif
const char built_from[] = "tongs built from " SOURCES;

static struct pids running;
static int somebody_died;

static void forget(pid_t pid, int status) {
    for (size_t i = 0; i < running.count; i++)
        if (running.at[i] == pid) {
            running.at[i] = running.at[--running.count];
            break;
        }
    somebody_died |= status != 0;
}

static void bury(void) {
    somebody_died = 0;
    reap(forget);
    if (somebody_died)
        kill_tree(&running, forget);
}

/* End them all, and wait for it here: orphans would become somebody else's to bury. */
static noreturn void dismiss(void) {
    static const struct pids nobody;
    for (size_t i = 0; i < running.count; i++)
        kill(running.at[i], SIGTERM);
    /* With whatever one of them was just starting. */
    kill_tree(&nobody, forget);
    _exit(0);
}

static struct step *read_view(struct reader *from, size_t *count) {
    *count = wire_list(from) / 6;
    struct step *view = fresh(*count, sizeof *view);
    for (size_t i = 0; i < *count; i++) {
        view[i].kind = (enum kind)wire_number(from);
        view[i].source = view[i].kind == PLAIN_FILE ? wire_text(from) : wire_path(from);
        view[i].target = wire_path(from);
        view[i].number = wire_number(from);
        view[i].device = (dev_t)wire_number(from);
        view[i].inode = (ino_t)wire_number(from);
    }
    return view;
}

static void read_rules(struct reader *from, struct jail *jail) {
    size_t count = wire_list(from) / 4;
    jail->rules = larger(jail->rules, jail->rule_count + count, sizeof *jail->rules);
    for (; count; count--) {
        struct rule *rule = &jail->rules[jail->rule_count++];
        rule->path = wire_path(from);
        rule->mask = (uint64_t)wire_number(from);
        rule->device = (dev_t)wire_number(from);
        rule->inode = (ino_t)wire_number(from);
    }
}

static struct jail read_jail(struct reader *from) {
    struct jail jail = {0};
    if (wire_list(from) != 13)
        from->bad = 1;
    jail.namespaces = wire_number(from);
    jail.view = read_view(from, &jail.steps);
    jail.size = wire_number(from);
    jail.ruleset = wire_text(from);
    jail.file_mask = (uint64_t)wire_number(from);
    jail.self_mask = (uint64_t)wire_number(from);
    jail.restrict_flags = wire_number(from);
    read_rules(from, &jail);
    jail.filter = wire_text(from);
    jail.files = wire_path(from);
    jail.proxy = wire_number(from) != 0;
    jail.memory = wire_number(from);
    jail.processes = wire_number(from);
    return jail;
}

/* A request: the walls, further rules of this very call, and the cgroups to enter. */
static void answer(const struct packet *packet) {
    struct reader from = {packet->data.at, packet->data.at + packet->data.size, 0};
    if (wire_list(&from) != 3)
        from.bad = 1;
    struct jail jail = read_jail(&from);
    read_rules(&from, &jail);
    char **groups = wire_words(&from);
    /* What cannot be read is not done, and the channel, closed, tells so. */
    if (!from.bad && packet->count == 1) {
        pid_t pid = start_supervisor(&jail, packet->descriptors[0], groups);
        if (pid > 0)
            add_pid(&running, pid);
    }
    free(jail.view);
    free(jail.rules);
    free(groups);
}

static noreturn void serve(void) {
    sigset_t all, children;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    /* Tongs ignores some, which its tools must not. */
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    int woken = signalfd(-1, &children, SFD_CLOEXEC);
    struct pollfd watched[] = {{woken, POLLIN, 0}, {REQUESTS, POLLIN, 0}};
    if (woken < 0)
        _exit(1);
    for (;;) {
        if (poll(watched, 2, -1) < 0)
            continue;
        if (watched[0].revents) {
            struct signalfd_siginfo signals[64];
            if (read(woken, signals, sizeof signals) > 0)
                bury();
        }
        if (watched[1].revents) {
            struct packet packet = receive_packet(REQUESTS);
            if (!packet.data.at)
                dismiss();
            answer(&packet);
            for (int i = 0; i < packet.count; i++)
                close(packet.descriptors[i]);
            free(packet.memory);
        }
    }
}

int main(int count, char **words) {
    if (!count || fcntl(REQUESTS, F_SETFD, FD_CLOEXEC) < 0)
        return 2;
    arguments = words[0];
    arguments_size = (size_t)(words[count - 1] + strlen(words[count - 1]) - words[0]);
    if (chdir("/") < 0 || syscall(SYS_close_range, REQUESTS + 1, ~0U, 0) < 0)
        return 1;
    setsid();
    /* What a killed supervisor leaves behind comes here to be killed. */
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    serve();
}
