/* Values as `wire.py` packs them: a letter, then a number, or a length and what it counts. */
#include "native.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *larger(void *old, size_t count, size_t size) {
    void *made = reallocarray(old, count ? count : 1, size);
    if (!made)
        _exit(1);
    return made;
}

void *fresh(size_t count, size_t size) {
    void *made = larger(NULL, count, size);
    memset(made, 0, (count ? count : 1) * size);
    return made;
}

static const char *taken(struct reader *from, char letter, size_t size) {
    if (!from->bad && (size_t)(from->end - from->at) > size && *from->at == letter) {
        const char *at = from->at + 1;
        from->at = at + size;
        return at;
    }
    from->bad = 1;
    return NULL;
}

int64_t wire_number(struct reader *from) {
    int64_t number = 0;
    const char *at = taken(from, 'i', sizeof number);
    if (at)
        memcpy(&number, at, sizeof number);
    return number;
}

static uint32_t length(struct reader *from, char letter) {
    uint32_t size = 0;
    const char *at = taken(from, letter, sizeof size);
    if (at)
        memcpy(&size, at, sizeof size);
    return size;
}

struct text wire_text(struct reader *from) {
    uint32_t size = length(from, 'b');
    struct text text = {from->at, size};
    if (from->bad || (size_t)(from->end - from->at) <= size || from->at[size]) {
        from->bad = 1;
        return (struct text){"", 0};
    }
    from->at += size + 1;
    return text;
}

struct text wire_path(struct reader *from) {
    struct text text = wire_text(from);
    if (memchr(text.at, 0, text.size))
        from->bad = 1;
    return text;
}

size_t wire_list(struct reader *from) {
    uint32_t count = length(from, 'l');
    /* No value takes less than a letter and a length: nobody is made to allocate without end. */
    if (from->bad || count > (size_t)(from->end - from->at) / 5) {
        from->bad = 1;
        return 0;
    }
    return count;
}

char **wire_words(struct reader *from) {
    size_t count = wire_list(from);
    char **words = fresh(count + 1, sizeof *words);
    for (size_t i = 0; i < count; i++)
        words[i] = (char *)wire_path(from).at;
    return words;
}
