#include "CBenchmark.h"

#include <stdlib.h>

typedef struct {
    uint64_t deadline;
    uint32_t entry;
} element;

struct bench_heap {
    uint32_t count;
    element *elements;
    uint32_t *positions;
};

bench_heap *bench_heap_new(uint32_t capacity) {
    bench_heap *heap = malloc(sizeof *heap);
    heap->count = 0;
    heap->elements = malloc(capacity * sizeof *heap->elements);
    heap->positions = malloc(capacity * sizeof *heap->positions);
    return heap;
}

void bench_heap_free(bench_heap *heap) {
    free(heap->positions);
    free(heap->elements);
    free(heap);
}

static void place(bench_heap *heap, element moved, uint32_t position) {
    heap->elements[position] = moved;
    heap->positions[moved.entry] = position;
}

static void up(bench_heap *heap, element moved, uint32_t position) {
    while (position > 0) {
        uint32_t parent = (position - 1) / 4;
        if (heap->elements[parent].deadline <= moved.deadline) break;
        place(heap, heap->elements[parent], position);
        position = parent;
    }
    place(heap, moved, position);
}

static void down(bench_heap *heap, element moved, uint32_t position) {
    for (;;) {
        uint32_t first = 4 * position + 1;
        if (first >= heap->count) break;
        uint32_t end = first + 4 < heap->count ? first + 4 : heap->count;
        uint32_t least = first;
        for (uint32_t child = first + 1; child < end; child++)
            if (heap->elements[child].deadline < heap->elements[least].deadline) least = child;
        if (heap->elements[least].deadline >= moved.deadline) break;
        place(heap, heap->elements[least], position);
        position = least;
    }
    place(heap, moved, position);
}

static void settle(bench_heap *heap, element moved, uint32_t position) {
    if (position > 0 && moved.deadline < heap->elements[(position - 1) / 4].deadline)
        up(heap, moved, position);
    else
        down(heap, moved, position);
}

void bench_heap_push(bench_heap *heap, uint32_t entry, uint64_t deadline) {
    up(heap, (element){deadline, entry}, heap->count++);
}

void bench_heap_move(bench_heap *heap, uint32_t entry, uint64_t deadline) {
    settle(heap, (element){deadline, entry}, heap->positions[entry]);
}

void bench_heap_remove(bench_heap *heap, uint32_t entry) {
    uint32_t position = heap->positions[entry];
    element last = heap->elements[--heap->count];
    if (position < heap->count) settle(heap, last, position);
}

uint32_t bench_heap_due(const bench_heap *heap, uint64_t now) {
    return heap->count > 0 && heap->elements[0].deadline <= now ? heap->elements[0].entry : UINT32_MAX;
}

uint64_t bench_heap_deadline(const bench_heap *heap, uint32_t entry) {
    return heap->elements[heap->positions[entry]].deadline;
}
