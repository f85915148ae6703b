/* The walls around a payload, put up step by step. A step that fails is named, and nothing runs. */
#include "native.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROXY_PORT 3128
#define RULE_PATH_BENEATH 1

/* Of linux/landlock.h, which older systems do not have. */
struct path_beneath {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

const char *step = "supervise";

void say(const char *message) {
    send_packet(CHANNEL, message, strlen(message), -1);
}

noreturn void failed(void) {
    char message[64];
    snprintf(message, sizeof message, "F %s %d", step, errno);
    say(message);
    _exit(127);
}

long must(long result) {
    if (result < 0)
        failed();
    return result;
}

void write_file(const char *path, const char *data, size_t size) {
    int file = (int)must(open(path, O_WRONLY | O_CLOEXEC));
    must(write(file, data, size));
    close(file);
}

static void map_identity(const char *path, unsigned number) {
    char line[32];
    int size = snprintf(line, sizeof line, "%u %u 1", number, number);
    write_file(path, line, (size_t)size);
}

static void add_rule(int ruleset, const struct jail *jail, const struct rule *rule) {
    int place;
    if (rule->inode)
        place = opened(rule->path.at, rule->device, rule->inode);
    else {
        place = open(rule->path.at, O_PATH | O_CLOEXEC);
        if (place < 0 && errno == ENOENT)
            return; /* a system folder that this system does not have */
        must(place);
    }
    struct stat facts;
    must(fstat(place, &facts));
    struct path_beneath added = {S_ISDIR(facts.st_mode) ? rule->mask : rule->mask & jail->file_mask, place};
    must(syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &added, 0));
    close(place);
}

int make_world(const struct jail *jail, uid_t user, gid_t group) {
    if (jail->namespaces) {
        step = "identity";
        write_file("/proc/self/setgroups", "deny", 4);
        map_identity("/proc/self/uid_map", user);
        map_identity("/proc/self/gid_map", group);
        step = "namespaces";
        /* Only now, so that the call's own cgroup is the root of what it can see. */
        must(unshare(CLONE_NEWCGROUP));
        step = "root";
        enter_root(jail);
    }
    if (!jail->ruleset.size)
        return -1;
    step = "landlock";
    int ruleset = (int)must(syscall(SYS_landlock_create_ruleset, jail->ruleset.at, jail->ruleset.size, 0));
    for (size_t i = 0; i < jail->rule_count; i++)
        add_rule(ruleset, jail, &jail->rules[i]);
    return ruleset;
}

void give_up_privileges(const struct jail *jail) {
    step = "privileges";
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (jail->filter.size) {
        struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
        struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0, 0, 0}};
        must(syscall(SYS_capset, &header, none));
        must(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0));
    }
}

void lock_files(const struct jail *jail, int ruleset) {
    static const char *const of_itself[] = {"status", "stat",   "statm",  "maps",      "cmdline", "comm",
                                            "limits", "cgroup", "mounts", "mountinfo", "fd"};
    step = "landlock";
    if (!jail->namespaces)
        /* Of the shared /proc only what is about this very process, and not its `net`. */
        for (size_t i = 0; i < sizeof of_itself / sizeof *of_itself; i++) {
            char path[32];
            int size = snprintf(path, sizeof path, "/proc/self/%s", of_itself[i]);
            struct rule rule = {.path = {path, (size_t)size}, .mask = jail->self_mask};
            add_rule(ruleset, jail, &rule);
        }
    must(syscall(SYS_landlock_restrict_self, ruleset, jail->restrict_flags));
}

void lock_ahead(const struct jail *jail, int ruleset) {
    if (ruleset >= 0 && !jail->files.size)
        lock_files(jail, ruleset);
    if (jail->filter.size) {
        step = "filter";
        struct sock_fprog program = {
            (unsigned short)(jail->filter.size / sizeof(struct sock_filter)), (struct sock_filter *)jail->filter.at};
        must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
    }
}

int listen_inside(void) {
    step = "proxy";
    int listening = (int)must(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    struct ifreq device = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    must(ioctl(listening, SIOCSIFFLAGS, &device));
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(PROXY_PORT), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    must(bind(listening, (struct sockaddr *)&address, sizeof address));
    must(listen(listening, 128));
    return listening;
}
