/* Packets with descriptors between Tongs, the fork server, supervisors and payloads. */
#include "native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define INLINE (16 * 1024)
#define HERE 'i'
#define BESIDE 'f'

int send_packet(int to, const char *data, size_t size, int descriptor) {
    char letter = HERE;
    struct iovec parts[] = {{&letter, 1}, {(void *)data, size}};
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control;
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (descriptor >= 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.room;
        message.msg_controllen = sizeof control.room;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
    }
    return sendmsg(to, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static void take_descriptors(struct msghdr *message, struct packet *packet) {
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count && packet->count < MOST_DESCRIPTORS; i++)
            memcpy(&packet->descriptors[packet->count++], CMSG_DATA(header) + i * sizeof(int), sizeof(int));
    }
}

static struct text memory_file(int descriptor) {
    struct stat facts;
    struct text text = {NULL, 0};
    if (fstat(descriptor, &facts) == 0) {
        char *data = fresh((size_t)facts.st_size + 1, 1);
        size_t done = 0;
        ssize_t got;
        while (done < (size_t)facts.st_size &&
               (got = pread(descriptor, data + done, (size_t)facts.st_size - done, (off_t)done)) > 0)
            done += (size_t)got;
        text = (struct text){data, done};
    }
    close(descriptor);
    return text;
}

/* A reset is said once, by an end that closed with something unread. What it wrote comes next. */
static int is_passing(void) {
    return errno == EINTR || errno == ECONNRESET;
}

struct packet receive_packet(int from) {
    struct packet packet = {.count = 0};
    char *data = packet.memory = larger(NULL, INLINE + 2, 1);
    struct iovec part = {data, INLINE + 1};
    union {
        char room[CMSG_SPACE(sizeof(int) * MOST_DESCRIPTORS)];
        struct cmsghdr aligned;
    } control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    ssize_t size;
    do
        size = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
    while (size < 0 && is_passing());
    if (size <= 0)
        return packet;
    take_descriptors(&message, &packet);
    if (data[0] == BESIDE && packet.count) {
        free(data);
        packet.data = memory_file(packet.descriptors[--packet.count]);
        packet.memory = (char *)packet.data.at;
    } else
        packet.data = (struct text){data + 1, (size_t)size - 1};
    return packet;
}

char peek_packet(int from, int *whole) {
    char data[3];
    ssize_t size;
    do
        size = recv(from, data, sizeof data, MSG_PEEK);
    while (size < 0 && is_passing());
    *whole = size == 2;
    return size <= 0 ? 0 : size == 1 || data[0] != HERE ? BESIDE : data[1];
}
