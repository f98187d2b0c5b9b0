// The C parts of the benchmarks: a bare heap, the allocator's figures, a loop over a timer descriptor, and a spin.

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

// Reads a timerfd with an interval, once for each tick, until `ticks` have passed.
void bench_timerfd_loop(uint64_t period, uint64_t ticks);

// Spins. The kernel ends this process with its parent.
void bench_spin_until_parent_ends(void);
// The same, in so many processes of a new session, which the kernel may schedule as one group (sched(7), autogroup).
void bench_spin_in_own_session(int processes);

#endif
