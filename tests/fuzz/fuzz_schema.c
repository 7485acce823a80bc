/* Fuzzes the reader of schemas. What was read is declared anew, and must come out as a schema that is read again: the
 * rules of reading and of declaring are the same. Links libcommon. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "synop/schema.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct error error = { "" };
  struct schema *schema = schema_read (data, size, &error);

  if (schema == NULL) {
    if (error.text[0] == 0)
      abort ();
    return 0;
  }

  struct schema *again = schema_create (schema->groups, schema->group_count); /* aborts when a rule is broken */

  if (again->group_count != schema->group_count)
    abort ();
  schema_destroy (again);
  schema_destroy (schema);
  return 0;
}
