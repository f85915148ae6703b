"""Numbers of the system calls that the sandbox makes or refuses, by architecture.

Plain data, cheap to import: the processes outside the Tongs process read it without the package.
"""

from __future__ import annotations

# How the kernel names an architecture to a filter: the ELF machine, 64 bits, little-endian.
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# name, x86_64, aarch64; `-` where an architecture never had the call.
_DIFFERING = """
acct                163  89
add_key             248 217
adjtimex            159 171
bind                 49 200
bpf                 321 280
capget              125  90
capset              126  91
chmod                90   -
chown                92   -
chroot              161  51
clock_adjtime       305 266
clock_settime       227 112
clone                56 220
delete_module       176 106
dup3                292  24
execve               59 221
execveat            322 281
exit                 60  93
exit_group          231  94
fanotify_init       300 262
fanotify_mark       301 263
fchdir               81  50
fchmod               91  52
fchmodat            268  53
fchown               93  55
fchownat            260  54
fcntl                72  25
finit_module        313 273
fremovexattr        199  16
fsetxattr           190   7
futimesat           261   -
getpid               39 172
getppid             110 173
gettid              186 178
init_module         175 105
inotify_add_watch   254  27
ioctl                16  29
ioperm              173   -
iopl                172   -
ioprio_set          251  30
kcmp                312 272
kexec_file_load     320 294
kexec_load          246 104
keyctl              250 219
kill                 62 129
lchown               94   -
lookup_dcookie      212  18
lremovexattr        198  15
lsetxattr           189   6
memfd_create        319 279
migrate_pages       256 238
mknodat             259  33
modify_ldt          154   -
mount               165  40
move_pages          279 239
mq_getsetattr       245 185
mq_notify           244 184
mq_open             240 180
mq_timedreceive     243 183
mq_timedsend        242 182
mq_unlink           241 181
msgctl               71 187
msgget               68 186
msgrcv               70 188
msgsnd               69 189
name_to_handle_at   303 264
nfsservctl          180  42
open                  2   -
open_by_handle_at   304 265
openat              257  56
perf_event_open     298 241
personality         135  92
pivot_root          155  41
prctl               157 167
prlimit64           302 261
process_vm_readv    310 270
process_vm_writev   311 271
ptrace              101 117
quotactl            179  60
reboot              169 142
removexattr         197  14
renameat2           316 276
request_key         249 218
sched_setaffinity   203 122
sched_setattr       314 274
sched_setparam      142 118
sched_setscheduler  144 119
seccomp             317 277
semctl               66 191
semget               64 190
semop                65 193
semtimedop          220 192
setdomainname       171 162
setgroups           116 159
sethostname         170 161
setns               308 268
setpriority         141 140
setresgid           119 149
setresuid           117 147
setsid              112 157
settimeofday        164 170
setxattr            188   5
shmat                30 196
shmctl               31 195
shmdt                67 197
shmget               29 194
socket               41 198
socketpair           53 199
statx               332 291
swapoff             168 225
swapon              167 224
syslog              103 116
tgkill              234 131
truncate             76  45
umount2             166  39
unshare             272  97
userfaultfd         323 282
utime               132   -
utimensat           280  88
utimes              235   -
vhangup             153  58
wait4                61 260
waitid              247  95
"""

# From here on a new call gets the same number everywhere.
_FIRST_SHARED = 424
_SHARED = """
pidfd_send_signal io_uring_setup io_uring_enter io_uring_register
open_tree move_mount fsopen fsconfig fsmount fspick pidfd_open clone3 close_range openat2
pidfd_getfd faccessat2 process_madvise epoll_pwait2 mount_setattr quotactl_fd
landlock_create_ruleset landlock_add_rule landlock_restrict_self
memfd_secret process_mrelease futex_waitv set_mempolicy_home_node
cachestat fchmodat2 map_shadow_stack futex_wake futex_wait futex_requeue
statmount listmount lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal
setxattrat getxattrat listxattrat removexattrat open_tree_attr file_getattr file_setattr
"""


def _tables() -> dict[str, dict[str, int]]:
    shared = {name: _FIRST_SHARED + place for place, name in enumerate(_SHARED.split())}
    x86_64, aarch64 = dict(shared), dict(shared)
    for row in _DIFFERING.strip().splitlines():
        name, *numbers = row.split()
        for table, number in zip((x86_64, aarch64), numbers, strict=True):
            if number != "-":
                table[name] = int(number)
    return {"x86_64": x86_64, "aarch64": aarch64}


# By `os.uname().machine`, then by name.
NUMBERS: dict[str, dict[str, int]] = _tables()

# The newest call of these lists, file_setattr of Linux 6.17. What a later kernel adds was never
# looked at: a call may do in a new way what an older one is refused for.
NEWEST = max(NUMBERS["x86_64"].values())
