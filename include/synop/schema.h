/* The descriptions of all groups of an agent, as msgpack, and their hash, by which frames name them.
 *
 *   schema = [1, [group, ...]]
 *   group  = [name, section, row, rows_name, fold_name, flags, help, [metric, ...]]
 *   metric = [name, kind, unit, fold, flags, times, per, help]
 *
 * Names are [a-z0-9_], 1 to 64 bytes, unique among their siblings; a metric's name never equals a key that the report
 * itself writes in its place ("period", "error", rows_name, fold_name). Section, rows_name and fold_name are such names
 * too, or "". No text holds control characters. Unknown flags are ignored, an unknown unit or fold stands for none, an
 * unknown kind is refused. Trailing fields are ignored. */
#ifndef SYNOP_SCHEMA_H
#define SYNOP_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/error.h"
#include "synop/metric.h"

#define SCHEMA_HASH_SIZE 16
#define SCHEMA_BYTES_MAX (256 * 1024)
#define SCHEMA_GROUPS_MAX 128
#define SCHEMA_METRICS_MAX 512 /* of a group */
#define SCHEMA_NAME_MAX 64
#define SCHEMA_HELP_MAX 512

struct schema {
  uint8_t hash[SCHEMA_HASH_SIZE]; /* of the encoded bytes: BLAKE2b-128 */
  size_t group_count;
  const struct group *const *groups;
  struct buffer encoded; /* as on the wire */
  void *memory;          /* private: memory of a schema that was read */
};

/* From declarations, which must outlive it; those that break a rule above end the program with a message. */
struct schema *schema_create (const struct group *const *groups, size_t count);
/* From the wire. NULL and error when it breaks a rule above or a limit. */
struct schema *schema_read (const void *bytes, size_t length, struct error *error);
void schema_destroy (struct schema *schema);

#endif
