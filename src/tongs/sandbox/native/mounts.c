/* The private root of a call: what is not put into it does not exist for the call's processes. */
#include "native.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STAGE "/tmp"
#define READ_ONLY 1
#define DEVICE 2
#define HANDLE (O_PATH | O_NOFOLLOW | O_CLOEXEC)

/* Of headers that differ between C libraries. */
#define TREE_CLONE 1
#define FROM_DESCRIPTOR 0x04
#define TO_DESCRIPTOR 0x40
#define RECURSIVE 0x8000
#define ATTRIBUTE_READ_ONLY 1
#define ATTRIBUTE_NO_SUID 2
#define ATTRIBUTE_NO_DEVICES 4

struct attributes {
    uint64_t set, clear, propagation, user_namespace;
};

static int root;
static dev_t root_device;

static struct stat facts_of(int descriptor) {
    struct stat facts;
    must(fstat(descriptor, &facts));
    return facts;
}

int opened(const char *path, dev_t device, ino_t inode) {
    struct open_how how = {
        .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int descriptor = (int)must(syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how));
    struct stat facts = facts_of(descriptor);
    if (facts.st_dev != device || facts.st_ino != inode) {
        errno = ESTALE;
        failed();
    }
    return descriptor;
}

static int source_of(const struct step *shown) {
    if (shown->kind == PROC)
        return (int)must(open("/dev/null", O_PATH | O_CLOEXEC));
    if (shown->kind != BIND && shown->kind != OVERLAY)
        return -1;
    if (!shown->inode)
        return open(shown->source.at, O_PATH | O_CLOEXEC);
    return opened(shown->source.at, shown->device, shown->inode);
}

/* A copy of the mounts at a descriptor, with everything below, not yet attached anywhere. */
static int detached(int source, int64_t flags) {
    int tree = (int)must(
        syscall(SYS_open_tree, source, "", AT_EMPTY_PATH | RECURSIVE | TREE_CLONE | O_CLOEXEC));
    struct attributes changes = {.set = ATTRIBUTE_NO_SUID};
    if (!(flags & DEVICE))
        changes.set |= ATTRIBUTE_NO_DEVICES;
    if (flags & READ_ONLY)
        changes.set |= ATTRIBUTE_READ_ONLY;
    must(syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | RECURSIVE, &changes, sizeof changes));
    return tree;
}

static void attach(int tree, int place) {
    must(syscall(SYS_move_mount, tree, "", place, "", FROM_DESCRIPTOR | TO_DESCRIPTOR));
    close(tree);
    close(place);
}

/* The next name of a path, in `name`; what follows it, NULL where there is none. */
static const char *next_name(const char *path, char name[NAME_MAX + 1]) {
    path += strspn(path, "/");
    size_t size = strcspn(path, "/");
    if (!size)
        return NULL;
    if (size > NAME_MAX) {
        errno = ENAMETOOLONG;
        failed();
    }
    memcpy(name, path, size);
    name[size] = 0;
    return path + size;
}

static int is_last(const char *rest) {
    return !rest[strspn(rest, "/")];
}

/* A descriptor of what is there, through no link; -1 where there is nothing. */
static int existing(const char *target) {
    char name[NAME_MAX + 1];
    int here = (int)must(fcntl(root, F_DUPFD_CLOEXEC, 3));
    while ((target = next_name(target, name))) {
        int inner = openat(here, name, HANDLE);
        if (inner < 0 && errno != ENOENT && errno != ENOTDIR)
            failed();
        close(here);
        if (inner < 0)
            return -1;
        here = inner;
    }
    if (S_ISLNK(facts_of(here).st_mode)) {
        close(here);
        return -1;
    }
    return here;
}

/* A descriptor of the place for a mount, made in our own file system where it is missing.
 * Never made in something that is bound: a link in there could lead anywhere. */
static int place_of(const char *target, int folder) {
    char name[NAME_MAX + 1];
    int here = (int)must(fcntl(root, F_DUPFD_CLOEXEC, 3));
    while ((target = next_name(target, name))) {
        int is_folder = folder || !is_last(target);
        int flags = HANDLE | (is_folder ? O_DIRECTORY : 0);
        int inner = openat(here, name, flags);
        if (inner < 0) {
            if (errno != ENOENT)
                failed();
            if (facts_of(here).st_dev != root_device) {
                errno = ENOENT;
                failed();
            }
            if (is_folder)
                must(mkdirat(here, name, 0755));
            else
                close((int)must(openat(here, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)));
            inner = (int)must(openat(here, name, flags));
        }
        close(here);
        here = inner;
    }
    return here;
}

/* The folder that holds `target`, and its name in there. */
static int parent_of(const char *target, const char **name) {
    char folder[PATH_MAX];
    const char *slash = strrchr(target, '/');
    if (!slash || (size_t)(slash - target) >= sizeof folder) {
        errno = EINVAL;
        failed();
    }
    memcpy(folder, target, (size_t)(slash - target));
    folder[slash - target] = 0;
    *name = slash + 1;
    return place_of(folder, 1);
}

static const char *path_of(int descriptor) {
    static char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return path;
}

static void bind(int source, const struct step *shown) {
    if (source < 0)
        return;
    int tree = detached(source, shown->number);
    attach(tree, place_of(shown->target.at, S_ISDIR(facts_of(source).st_mode)));
}

static void overlay(int source, const struct step *shown) {
    char upper[32], work[32], options[256];
    snprintf(upper, sizeof upper, "run/%d.upper", source);
    snprintf(work, sizeof work, "run/%d.work", source);
    must(mkdir(upper, 0700));
    must(mkdir(work, 0700));
    must(chmod(upper, facts_of(source).st_mode & 07777));
    int place = place_of(shown->target.at, 1);
    snprintf(options, sizeof options,
             "lowerdir=/proc/self/fd/%d,upperdir=" STAGE "/%s,workdir=" STAGE "/%s,userxattr", source, upper, work);
    must(mount("overlay", path_of(place), "overlay", MS_NOSUID | MS_NODEV, options));
    close(place);
}

static void folder(const struct step *shown) {
    int place = place_of(shown->target.at, 1);
    must(chmod(path_of(place), (mode_t)shown->number));
    close(place);
}

static void plain_file(const struct step *shown) {
    const char *name;
    int parent = parent_of(shown->target.at, &name);
    int made = (int)must(openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    must(write(made, shown->source.at, shown->source.size));
    close(made);
    close(parent);
}

static void link_to(const struct step *shown) {
    const char *name;
    int parent = parent_of(shown->target.at, &name);
    must(symlinkat(shown->source.at, parent, name));
    close(parent);
}

static void proc(int source) {
    static const char *const masked[] = {"/proc/keys", "/proc/key-users"};
    close(place_of("/proc", 1));
    must(mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, ""));
    for (size_t i = 0; i < sizeof masked / sizeof *masked; i++) {
        int place = existing(masked[i]);
        if (place >= 0)
            attach(detached(source, DEVICE | READ_ONLY), place);
    }
}

static void on_itself(const struct step *shown, int flags) {
    int place = existing(shown->target.at);
    if (place >= 0)
        attach(detached(place, flags), place);
}

static void hide(const struct step *shown) {
    int place = existing(shown->target.at);
    if (place >= 0) {
        must(mount("tmpfs", path_of(place), "tmpfs", MS_NOSUID | MS_NODEV | MS_RDONLY, "mode=0,nr_inodes=2,size=4k"));
        close(place);
    }
}

static void furnish(int source, const struct step *shown) {
    switch (shown->kind) {
    case BIND:
        bind(source, shown);
        return;
    case OVERLAY:
        overlay(source, shown);
        return;
    case FOLDER:
        folder(shown);
        return;
    case PLAIN_FILE:
        plain_file(shown);
        return;
    case LINK:
        link_to(shown);
        return;
    case PIN:
        on_itself(shown, 0);
        return;
    case PROTECT:
        on_itself(shown, READ_ONLY);
        return;
    case HIDE:
        hide(shown);
        return;
    case PROC:
        proc(source);
        return;
    }
    errno = EINVAL;
    failed();
}

void enter_root(const struct jail *jail) {
    must(mount("none", "/", "", MS_REC | MS_PRIVATE, ""));
    /* Opened before the stage hides a part of the old root. */
    int *sources = fresh(jail->steps, sizeof *sources);
    for (size_t i = 0; i < jail->steps; i++)
        sources[i] = source_of(&jail->view[i]);
    char options[96];
    int64_t files = jail->size >> 14;
    snprintf(options, sizeof options, "mode=0755,nr_inodes=%lld,size=%lld", (long long)(files > 4096 ? files : 4096),
             (long long)jail->size);
    must(mount("tmpfs", STAGE, "tmpfs", MS_NOSUID | MS_NODEV, options));
    must(chdir(STAGE));
    root = (int)must(open(".", HANDLE | O_DIRECTORY));
    root_device = facts_of(root).st_dev;
    for (size_t i = 0; i < jail->steps; i++)
        furnish(sources[i], &jail->view[i]);
    must(syscall(SYS_pivot_root, ".", "."));
    /* The old root lies over the new one now; from here on it is gone for good. */
    must(umount2(".", MNT_DETACH));
    must(chdir("/"));
    /* Nobody may come back by a descriptor of outside. */
    must(syscall(SYS_close_range, CHANNEL + 1, ~0U, 0));
}
