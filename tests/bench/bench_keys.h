/* Keys of many simulated agents, made from one random seed in a file, so that only public keys need files. */
#ifndef SYNOP_BENCH_KEYS_H
#define SYNOP_BENCH_KEYS_H

#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/keys.h"

#define BENCH_SEED_SIZE 32

static inline void
bench_fail (const char *what, const char *why)
{
  fprintf (stderr, "bench: %s: %s\n", what, why);
  exit (1);
}

static inline void
bench_node_name (char *name, size_t size, unsigned index)
{
  snprintf (name, size, "sim%05u", index);
}

static inline void
bench_keys (struct key_pair *keys, const uint8_t seed[BENCH_SEED_SIZE], uint32_t index)
{
  crypto_generichash (keys->secret_key, KEY_SIZE, (const unsigned char *) &index, sizeof index, seed, BENCH_SEED_SIZE);
  crypto_scalarmult_base (keys->public_key, keys->secret_key);
}

static inline void
bench_seed_read (const char *folder, uint8_t seed[BENCH_SEED_SIZE])
{
  char path[4096];
  FILE *file;

  snprintf (path, sizeof path, "%s/sim.seed", folder);
  file = fopen (path, "re");
  if (!file || fread (seed, 1, BENCH_SEED_SIZE, file) != BENCH_SEED_SIZE)
    bench_fail (path, "cannot be read");
  fclose (file);
}

#endif
