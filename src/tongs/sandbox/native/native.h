/* The fork server, its supervisors and their payloads, compiled.
 *
 * The same programs as the Python files of the same names one folder up, which run where this one
 * could not be built: what each function is for, and why, is written there. All decisions are made
 * in Tongs; here is only done what a message says. One thread, no allocation that is given back:
 * every process here is short-lived, or holds little.
 */
#ifndef TONGS_NATIVE_H
#define TONGS_NATIVE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/types.h>

/* wire.c: values as `wire.py` packs them. A reader that found something else is `bad` for good. */

struct text {
    const char *at; /* a NUL follows */
    size_t size;
};

struct reader {
    const char *at, *end;
    int bad;
};

int64_t wire_number(struct reader *from);
struct text wire_text(struct reader *from);
/* A text without a NUL in it: the kernel would read less than Tongs has checked. */
struct text wire_path(struct reader *from);
size_t wire_list(struct reader *from);
/* Texts as the kernel wants arguments and variables. */
char **wire_words(struct reader *from);

void *fresh(size_t count, size_t size);
void *larger(void *old, size_t count, size_t size);

/* packets.c */

#define MOST_DESCRIPTORS 6

struct packet {
    struct text data; /* no address: the other end is gone */
    char *memory;     /* what holds it */
    int descriptors[MOST_DESCRIPTORS];
    int count;
};

int send_packet(int to, const char *data, size_t size, int descriptor);
struct packet receive_packet(int from);
/* The first byte of what comes next, which stays there; 0 at the end. `whole` where it is all. */
char peek_packet(int from, int *whole);

/* The data of a jail. */

enum kind { BIND, OVERLAY, FOLDER, PLAIN_FILE, LINK, PIN, PROTECT, HIDE, PROC };

struct step {
    enum kind kind;
    struct text source, target;
    int64_t number; /* flags or a mode */
    dev_t device;
    ino_t inode;
};

struct rule {
    struct text path;
    uint64_t mask;
    dev_t device;
    ino_t inode;
};

struct jail {
    int64_t namespaces;
    struct step *view;
    size_t steps;
    int64_t size;
    struct text ruleset; /* the attribute of the Landlock rules; empty without Landlock */
    uint64_t file_mask, self_mask;
    int64_t restrict_flags;
    struct rule *rules;
    size_t rule_count;
    struct text filter;
    struct text files;
    int proxy;
    int64_t memory, processes; /* watched; 0 where nobody has to look */
};

/* confine.c */

/* What is being done, for the report of a failure. */
extern const char *step;
/* Say on the channel that `step` failed with errno, and end. */
noreturn void failed(void);
/* The result, unless it is an error. */
long must(long result);

void write_file(const char *path, const char *data, size_t size);
int make_world(const struct jail *jail, uid_t user, gid_t group);
void give_up_privileges(const struct jail *jail);
void lock_ahead(const struct jail *jail, int ruleset);
void lock_files(const struct jail *jail, int ruleset);
int listen_inside(void);

/* mounts.c */

int opened(const char *path, dev_t device, ino_t inode);
void enter_root(const struct jail *jail);

/* tree.c */

struct pids {
    pid_t *at;
    size_t count, room;
};

void add_pid(struct pids *to, pid_t pid);
int has_pid(const struct pids *in, pid_t pid);
/* Reads a whole file into memory that it reuses; empty where it cannot be read. */
struct text whole_file(const char *path);
void numbered(const char *folder, struct pids *found);
void descendants(const struct pids *roots, struct pids *found);
/* What was waited for is told to `ended`. */
typedef void (*on_end)(pid_t pid, int status);
int reap(on_end ended);
void kill_namespace(on_end ended);
void kill_tree(const struct pids *spare, on_end ended);

/* watchdog.c */

void watch(int64_t memory, int64_t processes, int in_namespace);
int watch_wait(void);
/* The name of the limit that is exceeded, or nothing. */
const char *watch_check(void);
void take_precedence(pid_t pid);

/* payload.c */

noreturn void wait_and_become(const struct jail *jail, int ruleset, int take);

/* supervisor.c */

/* Where a supervisor and its payloads have the channel. */
#define CHANNEL 3
#define KILL 'K'

pid_t start_supervisor(const struct jail *jail, int channel, char **groups);
void say(const char *message);
extern char *arguments;
extern size_t arguments_size;

#endif
