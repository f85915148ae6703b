/* Finding, killing and reaping whatever a payload has started. */
#include "native.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void add_pid(struct pids *to, pid_t pid) {
    if (to->count == to->room) {
        to->room = to->room ? to->room * 2 : 64;
        to->at = larger(to->at, to->room, sizeof *to->at);
    }
    to->at[to->count++] = pid;
}

int has_pid(const struct pids *in, pid_t pid) {
    for (size_t i = 0; i < in->count; i++)
        if (in->at[i] == pid)
            return 1;
    return 0;
}

struct text whole_file(const char *path) {
    static char *data;
    static size_t room;
    size_t size = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return (struct text){"", 0};
    for (;;) {
        if (room - size < 4096) {
            room = room ? room * 2 : 16384;
            data = larger(data, room, 1);
        }
        ssize_t got = read(file, data + size, room - size - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        size += (size_t)got;
    }
    close(file);
    data[size] = 0;
    return (struct text){data, size};
}

void numbered(const char *folder, struct pids *found) {
    DIR *listed = opendir(folder);
    struct dirent *entry;
    if (!listed)
        return; /* it is gone, or just going */
    while ((entry = readdir(listed)))
        if (isdigit((unsigned char)entry->d_name[0]))
            add_pid(found, atoi(entry->d_name));
    closedir(listed);
}

/* For kernels built without the list of children: every process, by its parent. */
static void scanned_children(pid_t pid, struct pids *found) {
    struct pids all = {0};
    char path[64];
    numbered("/proc", &all);
    for (size_t i = 0; i < all.count; i++) {
        snprintf(path, sizeof path, "/proc/%d/stat", all.at[i]);
        /* The name before it may hold spaces and brackets of its own. */
        const char *bracket = strrchr(whole_file(path).at, ')');
        int parent;
        if (bracket && sscanf(bracket + 1, " %*c %d", &parent) == 1 && parent == pid)
            add_pid(found, all.at[i]);
    }
    free(all.at);
}

static int has_lists(void) {
    static int known = -1;
    if (known < 0) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/task/%d/children", getpid(), getpid());
        known = access(path, F_OK) == 0;
    }
    return known;
}

static void children_of(pid_t pid, struct pids *found) {
    if (!has_lists()) {
        scanned_children(pid, found);
        return;
    }
    char path[64];
    struct pids threads = {0};
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    /* A child belongs to the thread that forked it. */
    numbered(path, &threads);
    for (size_t i = 0; i < threads.count; i++) {
        snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, threads.at[i]);
        char *rest = (char *)whole_file(path).at, *end;
        for (long child; (child = strtol(rest, &end, 10)) > 0; rest = end)
            add_pid(found, (pid_t)child);
    }
    free(threads.at);
}

/* One bit for each number that a kernel can give; most of them are never touched. */
#define MOST_PIDS (1 << 22)

static unsigned char *no_marks(void) {
    unsigned char *marks = calloc(MOST_PIDS / 8 + 1, 1);
    if (!marks)
        _exit(1);
    return marks;
}

static int is_marked(const unsigned char *marks, pid_t pid) {
    return pid <= 0 || pid > MOST_PIDS || marks[pid / 8] & (1 << pid % 8);
}

static int is_new(unsigned char *marks, pid_t pid) {
    if (is_marked(marks, pid))
        return 0;
    marks[pid / 8] = (unsigned char)(marks[pid / 8] | 1 << pid % 8);
    return 1;
}

void descendants(const struct pids *roots, struct pids *found) {
    unsigned char *seen = no_marks();
    struct pids pending = {0};
    for (size_t i = 0; i < roots->count; i++)
        add_pid(&pending, roots->at[i]);
    while (pending.count) {
        pid_t pid = pending.at[--pending.count];
        if (is_new(seen, pid)) {
            add_pid(found, pid);
            children_of(pid, &pending);
        }
    }
    free(pending.at);
    free(seen);
}

int reap(on_end ended) {
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid <= 0)
            return pid < 0;
        ended(pid, status);
    }
}

void kill_namespace(on_end ended) {
    for (;;) {
        int status;
        kill(-1, SIGKILL);
        pid_t pid = waitpid(-1, &status, 0);
        if (pid < 0 && errno != EINTR)
            return;
        if (pid > 0)
            ended(pid, status);
    }
}

static struct pids ours(const struct pids *spare) {
    struct pids children = {0}, left = {0};
    children_of(getpid(), &children);
    for (size_t i = 0; i < children.count; i++)
        if (!has_pid(spare, children.at[i]))
            add_pid(&left, children.at[i]);
    free(children.at);
    return left;
}

/* Stop what is not stopped yet; how many that were. */
static size_t stop_more(const struct pids *spare, unsigned char *stopped, struct pids *all) {
    struct pids roots = ours(spare), found = {0};
    size_t before = all->count;
    descendants(&roots, &found);
    for (size_t i = 0; i < found.count; i++)
        if (is_new(stopped, found.at[i])) {
            kill(found.at[i], SIGSTOP);
            add_pid(all, found.at[i]);
        }
    free(roots.at);
    free(found.at);
    return all->count - before;
}

/* Bury what is over already, or every look would be longer than the one before. A number that was
 * buried can be given to another process, so it is no longer one of the stopped. */
static void bury_some(const struct pids *spare, unsigned char *stopped, struct pids *all, on_end ended) {
    struct pids roots = ours(spare);
    size_t kept = 0;
    for (size_t i = 0; i < roots.count; i++) {
        pid_t pid = roots.at[i];
        int status;
        if (waitpid(pid, &status, WNOHANG) > 0) {
            ended(pid, status);
            stopped[pid / 8] = (unsigned char)(stopped[pid / 8] & ~(1 << pid % 8));
        }
    }
    for (size_t i = 0; i < all->count; i++)
        if (is_marked(stopped, all->at[i]))
            all->at[kept++] = all->at[i];
    all->count = kept;
    free(roots.at);
}

/* Everything is stopped before anything is killed, since a process that sees its child die could
 * start another. */
static void kill_found(const struct pids *spare, on_end ended) {
    unsigned char *stopped = no_marks();
    struct pids all = {0};
    /* From the top each time: an orphan of a process that just ended is a child of this one. */
    while (stop_more(spare, stopped, &all))
        bury_some(spare, stopped, &all, ended);
    for (size_t i = 0; i < all.count; i++)
        kill(all.at[i], SIGKILL);
    struct pids roots = ours(spare);
    for (size_t i = 0; i < roots.count; i++) {
        int status;
        /* One that was born meanwhile has not been killed: it is the next round's. */
        if (is_marked(stopped, roots.at[i]) && waitpid(roots.at[i], &status, 0) > 0)
            ended(roots.at[i], status);
    }
    free(roots.at);
    free(all.at);
    free(stopped);
}

void kill_tree(const struct pids *spare, on_end ended) {
    for (;;) {
        if (!spare->count && reap(ended))
            return;
        struct pids left = ours(spare);
        size_t count = left.count;
        free(left.at);
        if (count) {
            kill_found(spare, ended);
        } else if (spare->count) {
            return;
        } else {
            /* The kernel's list can miss a child while another one exits; look again shortly. */
            poll(NULL, 0, 5);
        }
    }
}
