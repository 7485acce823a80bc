/* A history of made-up nodes, with all that befalls counters. */
#ifndef SYNOP_BENCH_MADE_NODES_H
#define SYNOP_BENCH_MADE_NODES_H

#include <stddef.h>
#include <stdint.h>

/* The exit code of a program. */
int made_nodes (const char *path, uint64_t seed, size_t nodes, size_t frames);

#endif
