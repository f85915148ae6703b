/* Limits over a whole tree where no cgroup can be written: somebody looks, and says when to kill. */
#include "native.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

static const int pace[] = {20, 50, 100, 200};
#define CALMEST (sizeof pace / sizeof *pace - 1)
#define SLOWEST 500
#define OF_CALM 50
#define OF_GROWING 2
#define FILLED (1024 * 1024)

static struct {
    int64_t memory, processes;
    int in_namespace;
    size_t calm;
    int64_t seen_memory, seen_tasks;
    double due;
} dog;

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1000 + (double)time.tv_nsec / 1e6;
}

void watch(int64_t memory, int64_t processes, int in_namespace) {
    memset(&dog, 0, sizeof dog);
    dog.memory = memory;
    dog.processes = processes;
    dog.in_namespace = in_namespace;
    dog.due = now(CLOCK_MONOTONIC) + pace[0];
}

int watch_wait(void) {
    double left = dog.due - now(CLOCK_MONOTONIC);
    /* Rounded up, or the last part of a millisecond would be waited for by spinning. */
    return left > 0 ? (int)left + 1 : 0;
}

/* Memory files by inode, in a table with open places. */
struct held {
    ino_t inode;
    int64_t bytes;
};
static struct {
    struct held *at;
    size_t room, count;
} files;

static struct held *held(ino_t inode) {
    size_t at = (size_t)(inode * 0x9E3779B97F4A7C15u) & (files.room - 1);
    while (files.at[at].inode && files.at[at].inode != inode)
        at = (at + 1) & (files.room - 1);
    return &files.at[at];
}

static void forget_files(void) {
    free(files.at);
    files.room = 256;
    files.count = 0;
    files.at = fresh(files.room, sizeof *files.at);
}

static void hold(ino_t inode, int64_t bytes) {
    if (files.count * 2 >= files.room) {
        struct held *old = files.at;
        size_t room = files.room;
        files.room *= 2;
        files.at = fresh(files.room, sizeof *files.at);
        for (size_t i = 0; i < room; i++)
            if (old[i].inode)
                *held(old[i].inode) = old[i];
        free(old);
    }
    struct held *place = held(inode);
    files.count += !place->inode;
    *place = (struct held){inode, bytes};
}

static int64_t in_files(void) {
    int64_t total = 0;
    for (size_t i = 0; i < files.room; i++)
        total += files.at[i].bytes;
    return total;
}

/* The device that all memory files and nameless shared mappings lie on; 0 where there is none. */
static dev_t memory_device(void) {
    static int known;
    static dev_t device;
    if (!known) {
        struct stat facts;
        int file = memfd_create("tongs", MFD_CLOEXEC);
        if (file >= 0 && fstat(file, &facts) == 0)
            device = facts.st_dev;
        close(file);
        known = 1;
    }
    return device;
}

static void add_memory_files(pid_t pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *listed = opendir(path);
    struct dirent *entry;
    if (!listed)
        return; /* it is gone, or may not be looked at */
    while ((entry = readdir(listed))) {
        struct stat facts;
        if (entry->d_name[0] != '.' && fstatat(dirfd(listed), entry->d_name, &facts, 0) == 0 &&
            facts.st_dev == memory_device() && facts.st_dev)
            hold(facts.st_ino, facts.st_blocks * 512);
    }
    closedir(listed);
}

/* The number behind a field, or 0. With a line break in front, no chosen name can hold it. */
static int64_t number(const char *text, const char *field) {
    const char *at = strstr(text, field);
    return at ? strtoll(at + strlen(field), NULL, 10) : 0;
}

static int64_t bytes(const char *text, const char *field) {
    return number(text, field) * 1024;
}

static int64_t from_status(pid_t pid, int64_t *tasks) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    const char *status = whole_file(path).at;
    *tasks += number(status, "\nThreads:");
    return bytes(status, "\nRssAnon:") + bytes(status, "\nRssShmem:") + bytes(status, "\nVmSwap:");
}

static int64_t bound(const struct pids *pids, int64_t *tasks) {
    int64_t memory = 0;
    *tasks = 0;
    forget_files();
    for (size_t i = 0; i < pids->count; i++) {
        memory += from_status(pids->at[i], tasks);
        add_memory_files(pids->at[i]);
    }
    return memory + in_files();
}

/* A process's share of what it maps of nameless shared memory: all of it, and of known files. */
static int64_t mapped(pid_t pid, int64_t *counted) {
    char path[64];
    int64_t total = 0;
    int nameless = 0, known = 0;
    *counted = 0;
    snprintf(path, sizeof path, "/proc/%d/smaps", pid);
    for (char *line = (char *)whole_file(path).at, *end; line && *line; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = 0;
        unsigned major, minor;
        unsigned long long inode;
        if (*line < 'A' || *line > 'Z') { /* fields start with a capital letter */
            nameless = sscanf(line, "%*s %*s %*s %x:%x %llu", &major, &minor, &inode) == 3 &&
                       makedev(major, minor) == memory_device();
            known = nameless && held(inode)->inode;
        } else if (nameless) {
            /* A private mapping has pages of its own, too, which belong to no file. */
            int64_t share = 0;
            if (!strncmp(line, "Pss:", 4))
                share = bytes(line, ":");
            else if (!strncmp(line, "Anonymous:", 10))
                share = -bytes(line, ":");
            total += share;
            *counted += known ? share : 0;
        }
    }
    return total;
}

static int64_t usage(const struct pids *pids, int tmpfs) {
    int64_t memory = 0, tasks = 0;
    char path[64];
    struct {
        pid_t pid;
        int64_t bytes;
    } *sharing = fresh(pids->count, sizeof *sharing);
    size_t count = 0;
    forget_files();
    for (size_t i = 0; i < pids->count; i++) {
        int64_t all = from_status(pids->at[i], &tasks);
        snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pids->at[i]);
        const char *rollup = whole_file(path).at;
        if (strstr(rollup, "\nPss_Anon:")) {
            all = bytes(rollup, "\nPss_Anon:") + bytes(rollup, "\nSwapPss:");
            int64_t shared = bytes(rollup, "\nPss_Shmem:");
            if (shared) {
                sharing[count].pid = pids->at[i];
                sharing[count++].bytes = shared;
            }
        }
        memory += all;
        add_memory_files(pids->at[i]);
    }
    memory += in_files();
    /* Only now is every file known that somebody holds open, and that counts whole already. */
    for (size_t i = 0; i < count; i++) {
        int64_t counted, nameless = mapped(sharing[i].pid, &counted);
        memory += (tmpfs ? sharing[i].bytes : nameless) - counted;
    }
    free(sharing);
    return memory;
}

/* Bytes in segments of System V, which outlive whoever has made them. */
static int64_t shared_memory(void) {
    char *line = (char *)whole_file("/proc/sysvipc/shm").at, *end;
    int64_t total = 0;
    int column = -1;
    for (int first = 1; *line; line = end, first = 0) {
        end = line + strcspn(line, "\n");
        if (*end)
            *end++ = 0;
        int at = 0;
        for (char *save, *word = strtok_r(line, " \t", &save); word; word = strtok_r(NULL, " \t", &save), at++) {
            if (first && !strcmp(word, "rss"))
                column = at;
            else if (!first && at == column)
                total += strtoll(word, NULL, 10);
        }
    }
    return total;
}

/* What the call keeps in its private root, which is memory, too. */
static int64_t stored(void) {
    struct statvfs facts;
    if (!dog.in_namespace || statvfs("/", &facts))
        return 0;
    return (int64_t)((facts.f_blocks - facts.f_bfree) * facts.f_frsize) + shared_memory();
}

static void members(struct pids *found) {
    pid_t me = getpid();
    struct pids all = {0};
    if (dog.in_namespace) {
        numbered("/proc", &all);
    } else {
        struct pids roots = {0};
        add_pid(&roots, me);
        descendants(&roots, &all);
        free(roots.at);
    }
    for (size_t i = 0; i < all.count; i++)
        if (all.at[i] != me)
            add_pid(found, all.at[i]);
    free(all.at);
}

/* Look again soon at a tree that grows, seldom at one that does not. */
static void plan(int64_t used, int64_t tasks, double cost) {
    int grown = used - dog.seen_memory > dog.memory / 16;
    int forked = tasks - dog.seen_tasks > dog.processes / 16;
    if (grown || forked)
        dog.calm = 0;
    else if (dog.calm < CALMEST)
        dog.calm++;
    dog.seen_memory = used;
    dog.seen_tasks = tasks;
    /* What is left can be filled in no less than this time. */
    double interval = (double)((dog.memory - used) / FILLED);
    if (interval > pace[dog.calm])
        interval = pace[dog.calm];
    double rest = cost * (dog.calm ? OF_CALM : OF_GROWING);
    if (interval < pace[0])
        interval = pace[0];
    if (interval < rest)
        interval = rest;
    dog.due = now(CLOCK_MONOTONIC) + (interval < SLOWEST ? interval : SLOWEST);
}

const char *watch_check(void) {
    double before = now(CLOCK_PROCESS_CPUTIME_ID);
    struct pids pids = {0};
    const char *exceeded = "";
    int64_t used = 0, tasks = 0;
    /* Without reading a single process, so that a fork bomb cannot hold up its own end. */
    members(&pids);
    if ((int64_t)pids.count > dog.processes) {
        exceeded = "processes";
    } else {
        int64_t extra = stored();
        used = bound(&pids, &tasks) + extra;
        if (used > dog.memory && tasks <= dog.processes)
            used = usage(&pids, !dog.in_namespace) + extra;
        exceeded = tasks > dog.processes ? "processes" : used > dog.memory ? "memory" : "";
    }
    free(pids.at);
    plan(used, tasks, now(CLOCK_PROCESS_CPUTIME_ID) - before);
    return exceeded;
}

void take_precedence(pid_t pid) {
    struct sched_param priority = {.sched_priority = 1};
    sched_setscheduler(pid, SCHED_RR | SCHED_RESET_ON_FORK, &priority);
}
