/* The public keys that may connect, each bound to one node name: a folder with one file NODE.pub for each node
 * ("keys/nodes/n1.pub"). A key that stands under two names is an error that names both files. */
#ifndef SYNOP_KEY_SET_H
#define SYNOP_KEY_SET_H

#include <stddef.h>
#include <stdint.h>

#include "synop/error.h"
#include "synop/frame.h"
#include "synop/keys.h"

struct key_set;

struct key_set *key_set_create (void);
void key_set_destroy (struct key_set *set);

/* Reads the folder again. A file that cannot be read or understood leaves its node out (fail closed: never an old
 * key), and `error` names it: -1 then, though all good files are taken. A folder that cannot be read, or that others
 * can write to, leaves the set as it was. */
int key_set_load (struct key_set *set, const char *folder, struct error *error);
int key_set_add (struct key_set *set, const char *node, const uint8_t key[KEY_SIZE], struct error *error);

size_t key_set_count (const struct key_set *set);
/* The node's name, or NULL. Any number of threads may call it during a load. The text is valid until `set` is
 * destroyed. */
const char *key_set_node (const struct key_set *set, const uint8_t key[KEY_SIZE]);
/* Changes with each load, so that cached results can be recognised as old. */
uint64_t key_set_generation (const struct key_set *set);
/* Calls `each` for every node in order of names. */
void key_set_each (const struct key_set *set,
                   void (*each) (void *context, const char *node, const uint8_t key[KEY_SIZE]), void *context);

#endif
