// The C parts of the benchmarks: a bare heap, the allocator's figures, and the floors of the scenes.

#ifndef C_BENCHMARK_H
#define C_BENCHMARK_H

#include <stddef.h>
#include <stdint.h>

// A 4-ary heap of deadlines that knows the position of each entry: the minimum work of a timer queue.
typedef struct bench_heap bench_heap;

bench_heap *bench_heap_new(uint32_t capacity);
void bench_heap_free(bench_heap *heap);
void bench_heap_push(bench_heap *heap, uint32_t entry, uint64_t deadline);
void bench_heap_move(bench_heap *heap, uint32_t entry, uint64_t deadline);
void bench_heap_remove(bench_heap *heap, uint32_t entry);
// The earliest entry if it is due, else UINT32_MAX. It stays in the heap.
uint32_t bench_heap_due(const bench_heap *heap, uint64_t now);
uint64_t bench_heap_deadline(const bench_heap *heap, uint32_t entry);

// Bytes in use, as the allocator counts them.
size_t bench_allocated(void);
// The process's resident bytes.
size_t bench_resident(void);
// Gives the allocator's free pages back to the system.
void bench_trim(void);

// Nanoseconds of the monotonic clock.
uint64_t bench_now(void);
// Sets a timerfd of that clock for an instant.
void bench_set(int descriptor, uint64_t instant);

// The floor of timers with a tolerance: a heap by last instants, a timerfd, and a function to call for each tick. The
// timerfd is set to the first last instant, and a round takes all timers that are due. One thread; no handle, lock or
// target. Does not return.
void bench_tolerant_loop(const uint64_t *periods, uint32_t count, uint64_t tolerance, void (*handler)(void));

// The floor of idle time-outs: a hash table of structures under a mutex, and a thread with a heap and a timerfd. To
// postpone a time-out only stores its new instant; the thread moves it in the heap when the old one has come. All have
// one length, and nothing is called when one passes. It lives as long as the process.
typedef struct bench_timeouts bench_timeouts;

bench_timeouts *bench_timeouts_new(uint32_t keys, uint64_t timeout);
void bench_timeouts_refresh(bench_timeouts *timeouts, uint64_t key);

#endif
