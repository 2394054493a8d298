/* System calls that fail when a test says so: preloaded into a process, armed by `arm`, see faults.py.
 *
 * A call counts if it is of an armed group and, for files, names something below the armed folder. The call with the
 * number `first` fails, and all later ones too if `forever`. A call that fails does nothing, except `close`, which closes
 * nevertheless, and a short write, which writes half of its bytes.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SPACE = 1, CHANGE = 2, READ = 4, LOCK = 8, MEMORY = 16, SHORT = 32, STATUS = 64 };

static char folder[4096];
static size_t folder_length;
static int groups, error_number, is_forever;
static long first_failure;
static size_t least_allocation;
static atomic_long calls, failures;
static char failed_call[64];

void arm(const char *path, int which, long first, int forever, int number, size_t least) {
    snprintf(folder, sizeof folder, "%s", path);
    folder_length = strlen(folder);
    error_number = number, is_forever = forever, first_failure = first, least_allocation = least;
    atomic_store(&calls, 0);
    atomic_store(&failures, 0);
    failed_call[0] = 0;
    groups = which;
}

void disarm(void) { groups = 0; }
long counted(void) { return atomic_load(&calls); }
long failed(void) { return atomic_load(&failures); }
const char *first_failed(void) { return failed_call; }

static int strike(const char *name) {
    long number = atomic_fetch_add(&calls, 1) + 1;
    if (number != first_failure && !(is_forever && number > first_failure)) return 0;
    if (atomic_fetch_add(&failures, 1) == 0) snprintf(failed_call, sizeof failed_call, "%s", name);
    errno = error_number;
    return 1;
}

static int below(const char *path) { return path && !strncmp(path, folder, folder_length); }

static int strike_path(int group, const char *name, const char *path) {
    return (groups & group) && below(path) && strike(name);
}

static int strike_file(int group, const char *name, int file) {
    char link[64], path[4096];
    if (!(groups & group) || file < 0) return 0;
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    errno = saved;
    if (length <= 0) return 0;
    path[length] = 0;
    return below(path) && strike(name);
}

/* REAL: the function of the C library that has the same name as this one. */
#define REAL(result, name, parameters) \
    static result(*real) parameters; \
    if (!real) real = (result(*) parameters)dlsym(RTLD_NEXT, #name)

/* ---------------------------------------------------------------- opening */

static int opening_group(int flags) {
    return flags & O_CREAT ? SPACE | CHANGE : (flags & O_ACCMODE) == O_RDONLY ? READ : CHANGE;
}

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(int, name, (const char *, int, ...)); \
        MODE(flags) \
        return strike_path(opening_group(flags), "open", path) ? -1 : real(path, flags, mode); \
    }
#define OPENAT(name) \
    int name(int place, const char *path, int flags, ...) { \
        REAL(int, name, (int, const char *, int, ...)); \
        MODE(flags) \
        return strike_path(opening_group(flags), "open", path) ? -1 : real(place, path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

DIR *opendir(const char *path) {
    REAL(DIR *, opendir, (const char *));
    return strike_path(READ, "opendir", path) ? NULL : real(path);
}

int close(int file) {
    REAL(int, close, (int));
    int fails = strike_file(CHANGE, "close", file);
    int result = real(file);
    if (fails) errno = error_number;
    return fails ? -1 : result;
}

/* ---------------------------------------------------------------- reading and writing */

ssize_t write(int file, const void *data, size_t size) {
    REAL(ssize_t, write, (int, const void *, size_t));
    if (size > 1 && strike_file(SHORT, "write", file)) return real(file, data, size / 2);
    return strike_file(SPACE | CHANGE, "write", file) ? -1 : real(file, data, size);
}

#define PWRITE(name) \
    ssize_t name(int file, const void *data, size_t size, off_t place) { \
        REAL(ssize_t, name, (int, const void *, size_t, off_t)); \
        if (size > 1 && strike_file(SHORT, "pwrite", file)) return real(file, data, size / 2, place); \
        return strike_file(SPACE | CHANGE, "pwrite", file) ? -1 : real(file, data, size, place); \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

ssize_t writev(int file, const struct iovec *parts, int count) {
    REAL(ssize_t, writev, (int, const struct iovec *, int));
    return strike_file(SPACE | CHANGE, "writev", file) ? -1 : real(file, parts, count);
}

#define ON_FILE(result, name, group, parameters, arguments) \
    result name parameters { \
        REAL(result, name, parameters); \
        return strike_file(group, #name, file) ? -1 : real arguments; \
    }
ON_FILE(ssize_t, read, READ, (int file, void *data, size_t size), (file, data, size))
ON_FILE(ssize_t, pread, READ, (int file, void *data, size_t size, off_t place), (file, data, size, place))
ON_FILE(ssize_t, pread64, READ, (int file, void *data, size_t size, off_t place), (file, data, size, place))
ON_FILE(int, fsync, SPACE | CHANGE, (int file), (file))
ON_FILE(int, fdatasync, SPACE | CHANGE, (int file), (file))
ON_FILE(int, ftruncate, SPACE | CHANGE, (int file, off_t size), (file, size))
ON_FILE(int, ftruncate64, SPACE | CHANGE, (int file, off_t size), (file, size))
ON_FILE(int, fchmod, CHANGE, (int file, mode_t mode), (file, mode))
ON_FILE(int, fstat, STATUS, (int file, struct stat *status), (file, status))
ON_FILE(int, fstat64, STATUS, (int file, struct stat64 *status), (file, status))
ON_FILE(int, flock, operation & LOCK_UN ? 0 : LOCK, (int file, int operation), (file, operation))

/* Whether a call takes a lock: to give one up never fails. */
static int takes_lock(int command, const void *argument) {
    return (command == F_SETLK || command == F_SETLKW) && ((const struct flock *)argument)->l_type != F_UNLCK;
}

#define FCNTL(name) \
    int name(int file, int command, ...) { \
        REAL(int, name, (int, int, ...)); \
        va_list rest; \
        va_start(rest, command); \
        void *argument = va_arg(rest, void *); \
        va_end(rest); \
        return takes_lock(command, argument) && strike_file(LOCK, "fcntl", file) ? -1 : real(file, command, argument); \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

#define FALLOCATE(name) \
    int name(int file, off_t start, off_t size) { \
        REAL(int, name, (int, off_t, off_t)); \
        return strike_file(SPACE | CHANGE, #name, file) ? error_number : real(file, start, size); \
    }
FALLOCATE(posix_fallocate)
FALLOCATE(posix_fallocate64)

/* ---------------------------------------------------------------- names */

#define ON_PATH(name, group, parameters, arguments) \
    int name parameters { \
        REAL(int, name, parameters); \
        return strike_path(group, #name, path) ? -1 : real arguments; \
    }
ON_PATH(mkdir, SPACE | CHANGE, (const char *path, mode_t mode), (path, mode))
ON_PATH(mkdirat, SPACE | CHANGE, (int place, const char *path, mode_t mode), (place, path, mode))
ON_PATH(unlink, CHANGE, (const char *path), (path))
ON_PATH(unlinkat, CHANGE, (int place, const char *path, int flags), (place, path, flags))
ON_PATH(rmdir, CHANGE, (const char *path), (path))
ON_PATH(rename, SPACE | CHANGE, (const char *path, const char *to), (path, to))
ON_PATH(renameat, SPACE | CHANGE, (int from, const char *path, int place, const char *to), (from, path, place, to))
ON_PATH(link, SPACE | CHANGE, (const char *path, const char *to), (path, to))
ON_PATH(chmod, CHANGE, (const char *path, mode_t mode), (path, mode))
ON_PATH(stat, STATUS, (const char *path, struct stat *status), (path, status))
ON_PATH(stat64, STATUS, (const char *path, struct stat64 *status), (path, status))
ON_PATH(lstat, STATUS, (const char *path, struct stat *status), (path, status))
ON_PATH(lstat64, STATUS, (const char *path, struct stat64 *status), (path, status))
ON_PATH(fstatat, STATUS, (int place, const char *path, struct stat *status, int flags), (place, path, status, flags))
ON_PATH(fstatat64, STATUS, (int place, const char *path, struct stat64 *status, int flags), (place, path, status, flags))

/* ---------------------------------------------------------------- memory */

static int strike_memory(const char *name, size_t size) {
    return (groups & MEMORY) && size >= least_allocation && strike(name);
}

#define MMAP(name) \
    void *name(void *address, size_t size, int protection, int flags, int file, off_t place) { \
        REAL(void *, name, (void *, size_t, int, int, int, off_t)); \
        if (strike_file(READ, "mmap", file) || strike_memory("mmap", size)) { \
            errno = ENOMEM; \
            return MAP_FAILED; \
        } \
        return real(address, size, protection, flags, file, place); \
    }
MMAP(mmap)
MMAP(mmap64)

/* dlsym allocates, so that the allocator of glibc is called by its own names. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) { return strike_memory("malloc", size) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) {
    return strike_memory("calloc", count * size) ? NULL : __libc_calloc(count, size);
}
void *realloc(void *block, size_t size) { return strike_memory("realloc", size) ? NULL : __libc_realloc(block, size); }
void *aligned_alloc(size_t alignment, size_t size) {
    return strike_memory("aligned_alloc", size) ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void **block, size_t alignment, size_t size) {
    if (strike_memory("posix_memalign", size)) return ENOMEM;
    *block = __libc_memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}
