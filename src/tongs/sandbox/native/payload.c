/* The process that becomes the program of a tool: told what to run, then locked in. */
#include "native.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CLOSE_ON_EXEC 4 /* CLOSE_RANGE_CLOEXEC, which older headers lack */

/* The request, with its standard descriptors in place. */
static struct reader awaited(int take) {
    struct packet packet;
    do
        packet = receive_packet(CHANNEL);
    while (packet.data.at && packet.data.size == 1 && *packet.data.at == KILL);
    if (!packet.data.at)
        _exit(0);
    must(write(take, "", 1));
    close(take);
    must(send_packet(CHANNEL, "A", 1, -1));
    for (int target = 0; target < packet.count; target++)
        must(dup2(packet.descriptors[target], target));
    return (struct reader){packet.data.at, packet.data.at + packet.data.size, 0};
}

/* A new file that its owner may read and, where it has a #! line, run. */
static void put(struct text folder, struct text name, struct text data) {
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%s/%s", folder.at, name.at);
    if (size < 0 || (size_t)size >= sizeof path) {
        errno = ENAMETOOLONG;
        failed();
    }
    if (unlink(path) && errno != ENOENT)
        failed();
    int file = (int)must(open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0500));
    while (data.size) {
        size_t written = (size_t)must(write(file, data.at, data.size));
        data.at += written;
        data.size -= written;
    }
    close(file);
}

/* Set a resource limit, never above what this process was itself given. */
static void lower(int limit, rlim_t value) {
    struct rlimit given;
    must(getrlimit(limit, &given));
    if (given.rlim_max != RLIM_INFINITY && given.rlim_max < value)
        value = given.rlim_max;
    given.rlim_cur = given.rlim_max = value;
    must(setrlimit(limit, &given));
}

struct request {
    char **words, **environment, **candidates;
    struct text cwd;
    /* Pairs: a resource and its limit, a name and the data of a file. */
    int64_t *limits;
    struct text *files;
    size_t limit_count, file_count;
};

static struct request parsed(struct reader from) {
    struct request request;
    if (wire_list(&from) != 6)
        from.bad = 1;
    request.words = wire_words(&from);
    request.environment = wire_words(&from);
    request.candidates = wire_words(&from);
    request.cwd = wire_path(&from);
    request.limit_count = wire_list(&from);
    request.limits = fresh(request.limit_count, sizeof *request.limits);
    for (size_t i = 0; i < request.limit_count; i++)
        request.limits[i] = wire_number(&from);
    request.file_count = wire_list(&from);
    request.files = fresh(request.file_count, sizeof *request.files);
    for (size_t i = 0; i < request.file_count; i++)
        request.files[i] = i % 2 ? wire_text(&from) : wire_path(&from);
    if (from.bad) {
        errno = EPROTO;
        failed();
    }
    return request;
}

/* As execvpe: the first candidate that can run; else the most telling error. */
static noreturn void execute(const struct request *request) {
    int telling = ENOENT;
    sigset_t none;
    sigemptyset(&none);
    must(sigprocmask(SIG_SETMASK, &none, NULL));
    for (char **path = request->candidates; *path; path++) {
        execve(*path, request->words, request->environment);
        if (errno == EACCES || errno == ELOOP)
            telling = EACCES;
        else if (errno != ENOENT && errno != ENOTDIR)
            failed();
    }
    errno = telling;
    failed();
}

noreturn void wait_and_become(const struct jail *jail, int ruleset, int take) {
    step = "supervise";
    pid_t supervisor = getppid();
    must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
    if (getppid() != supervisor)
        _exit(127);
    setsid();
    lock_ahead(jail, ruleset);
    step = "supervise";
    struct request request = parsed(awaited(take));
    for (size_t i = 0; i + 1 < request.file_count; i += 2)
        put(jail->files, request.files[i], request.files[i + 1]);
    step = "directory";
    must(chdir(request.cwd.at));
    if (ruleset >= 0 && jail->files.size)
        lock_files(jail, ruleset);
    step = "limits";
    for (size_t i = 0; i + 1 < request.limit_count; i += 2)
        lower((int)request.limits[i], (rlim_t)request.limits[i + 1]);
    /* Nothing of ours survives the start of the program, whatever is open here. */
    must(syscall(SYS_close_range, 3, ~0U, CLOSE_ON_EXEC));
    step = "start";
    execute(&request);
}
