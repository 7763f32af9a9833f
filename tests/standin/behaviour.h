/* How a stand-in library behaves: values, errors, delays, hangs and crashes, read from a file of lines.
 *
 * The file is named by the environment variable BEHAVIOUR_FILE of the library that includes this header, a file to
 * which every call is noted by BEHAVIOUR_TRACE. Every line is a word, then its arguments, separated by single blanks:
 *
 *     count 8                              how many boards there are
 *     lock                                 one lock for all calls: a call that hangs holds up every other call
 *     renumber                             from the second start on, boards are numbered in reverse
 *     value BOARD KEY TEXT                 what is answered; TEXT may be "error CODE"
 *     process BOARD KIND PID BYTES NAME    KIND is C, G or M
 *     error BOARD FUNCTION CODE
 *     delay BOARD FUNCTION SECONDS
 *     hang BOARD FUNCTION 0
 *     crash BOARD FUNCTION SIGNAL
 *     lost BOARD * CALLS                   after so many calls the board is lost
 *
 * BOARD is a number, "*" for every board, or "-" for calls that concern none. FUNCTION is a pattern as in a shell.
 * A later line beats an earlier one. Who writes these files: the builders in Python beside this header. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ALL_BOARDS (-1)
#define NO_BOARD (-2)
#define UNKNOWN_BOARD (-3)
#define MAX_BOARDS 64

enum kind { ERROR, DELAY, HANG, CRASH, LOST };

struct value { int board; char *key; char *text; };
struct rule { enum kind kind; int board; char *function; double amount; };
struct process { int board; char kind; unsigned pid; unsigned long long bytes; char *name; };

static struct value values[8192];
static struct rule rules[1024];
static struct process processes[1024];
static int value_count, rule_count, process_count, board_count, one_lock, renumbered, trace = -1;
static int calls_of_board[MAX_BOARDS];
static pthread_mutex_t all_calls = PTHREAD_MUTEX_INITIALIZER;

static void refuse(int line, const char *text)
{
    fprintf(stderr, "stand-in: line %d is not understood: %s\n", line, text);
    _exit(70);
}

static int board_of(const char *text)
{
    return strcmp(text, "*") == 0 ? ALL_BOARDS : strcmp(text, "-") == 0 ? NO_BOARD : atoi(text);
}

static int is_rule(const char *word, enum kind *kind)
{
    static const char *const words[] = {"error", "delay", "hang", "crash", "lost"};
    for (int i = 0; i < 5; i++)
        if (strcmp(word, words[i]) == 0)
            return *kind = (enum kind)i, 1;
    return 0;
}

static void read_line(int number, const char *line)
{
    char word[32] = "", board[16] = "", first[128] = "", rest[1024] = "";
    enum kind kind;
    int words = sscanf(line, "%31s %15s %127s %1023[^\n]", word, board, first, rest);
    if (words == 2 && strcmp(word, "count") == 0 && atoi(board) <= MAX_BOARDS)
        board_count = atoi(board);
    else if (words == 1 && strcmp(word, "lock") == 0)
        one_lock = 1;
    else if (words == 1 && strcmp(word, "renumber") == 0)
        renumbered = 1;
    else if (words >= 3 && strcmp(word, "value") == 0 && value_count < 8192)
        values[value_count++] = (struct value){board_of(board), strdup(first), strdup(rest)};
    else if (words == 4 && strcmp(word, "process") == 0 && process_count < 1024) {
        struct process process = {board_of(board), first[0], 0, 0, malloc(1024)};
        if (sscanf(rest, "%u %llu %1023[^\n]", &process.pid, &process.bytes, process.name) != 3)
            refuse(number, line);
        processes[process_count++] = process;
    } else if (words == 4 && is_rule(word, &kind) && rule_count < 1024)
        rules[rule_count++] = (struct rule){kind, board_of(board), strdup(first), atof(rest)};
    else
        refuse(number, line);
}

__attribute__((constructor)) static void read_behaviour(void)
{
    char line[2048];
    const char *path = getenv(BEHAVIOUR_FILE);
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file)
        fprintf(stderr, "stand-in: %s names no file that can be read\n", BEHAVIOUR_FILE), _exit(70);
    for (int number = 1; fgets(line, sizeof line, file); number++)
        if (line[0] != '\n')
            read_line(number, line);
    fclose(file);
    if (getenv(BEHAVIOUR_TRACE))
        trace = open(getenv(BEHAVIOUR_TRACE), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
}

/* One write per call and no buffer, so that the calls of a process that is killed are known too. */
static void note(const char *function, int board)
{
    char line[256];
    struct timespec now;
    if (trace < 0)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int length = snprintf(line, sizeof line, "%d %ld %lld.%09ld %d %s\n", getpid(), syscall(SYS_gettid),
                          (long long)now.tv_sec, now.tv_nsec, board < 0 ? -1 : board, function);
    if (write(trace, line, (size_t)length) != length)
        _exit(70);
}

static void wait_seconds(double seconds)
{
    struct timespec rest = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&rest, &rest) != 0)
        ;
}

static int concerns(const struct rule *rule, const char *function, int board)
{
    int here = rule->board == board || (rule->board == ALL_BOARDS && board >= 0);
    return here && fnmatch(rule->function, function, 0) == 0;
}

/* What a call ends with before it has an answer: the code of an error, or `fine`. */
static int suffer(const char *function, int board, int fine, int lost)
{
    int code = fine;
    int calls = board >= 0 ? __atomic_fetch_add(&calls_of_board[board], 1, __ATOMIC_RELAXED) : 0;
    for (int i = 0; i < rule_count; i++) {
        const struct rule *rule = &rules[i];
        if (!concerns(rule, function, board))
            continue;
        if (rule->kind == DELAY)
            wait_seconds(rule->amount);
        else if (rule->kind == ERROR)
            code = (int)rule->amount;
        else if (rule->kind == LOST && calls >= (int)rule->amount)
            return lost;
        else if (rule->kind == HANG)
            while (1)
                pause();
        else if (rule->kind == CRASH)
            signal((int)rule->amount, SIG_DFL), raise((int)rule->amount);
    }
    return code;
}

static int enter(const char *function, int board, int fine, int lost)
{
    note(function, board);
    if (one_lock)
        pthread_mutex_lock(&all_calls);
    return suffer(function, board, fine, lost);
}

static void leave(int *code)
{
    (void)code;
    if (one_lock)
        pthread_mutex_unlock(&all_calls);
}

static inline const char *text_of(int board, const char *key)
{
    for (int i = value_count - 1; i >= 0; i--)
        if ((values[i].board == board || (values[i].board == ALL_BOARDS && board >= 0)) && !strcmp(values[i].key, key))
            return values[i].text;
    return NULL;
}
