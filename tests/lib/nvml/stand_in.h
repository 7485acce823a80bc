/* A stand-in for NVIDIA's management library: build/tests/lib/libnvidia-ml.so.1, for faults and scale. It does what a
 * text file says, whose path is in SYNOP_NVML_SCRIPT and which is read again when it has changed. It shares nvml.h with
 * the agent, so it proves nothing about the real library's layout. Lines, of which later ones come first:
 *
 *   gpus 8                    how many there are (default 2)
 *   driver 550.54.15
 *   init 9                    nvmlInit returns that
 *   reload 1                  each new number: the driver was reloaded. Calls return 1 until the library was started
 *                             again, and counters begin anew
 *   name 0 Tesla T4           what that GPU is called; likewise serial and vbios
 *   lost 3                    all calls for that GPU return 15
 *   removed 3                 the same, and after the next start of the library it is not listed
 *   mig 0 2                   that GPU is split into so many instances
 *   error CALL CODE [GPU]     that function ("nvmlDeviceGetPowerUsage", a glob) returns that
 *   blank CALL [GPU]          it returns 0 and sets all bits
 *   slow CALL MICROSECONDS    it takes that long
 *   hang CALL [GPU]           it does not return while the script has that line
 *   value GPU KEY NUMBER      "value 3 power 123000", "value * temperature 40", "value 0:1 memory_used 5"
 *   value GPU uuid NUMBER     the end of its UUID; default its number
 *   field GPU ID NUMBER       a field of nvmlDeviceGetFieldValues; others are not supported
 *   process GPU PID MEMORY    in order; "value GPU sm PERCENT" is the use of each
 *   graphics GPU PID MEMORY   likewise
 *   value GPU many NUMBER     so many processes more, from "value GPU many_base PID" on
 *   value GPU use_time US     the time stamp of their use; default: a microsecond after the one that was asked for
 *   xid GPU NUMBER            an event, given once for each such line that is added; those that nobody took are lost
 *                             with the set of events
 *   no_events                 the driver has none
 */
#ifndef SYNOP_TESTS_STAND_IN_H
#define SYNOP_TESTS_STAND_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/gpu/nvml.h"

#define EXPORT __attribute__ ((visibility ("default")))

struct nvml_device {
  unsigned index;
  int instance;  /* of a MIG device; else -1 */
  unsigned real; /* the GPU, whatever its index is now */
};

/* To be called first by each function: what it has to return; hangs if the script says so. */
int stand_in_call (const char *function, const struct nvml_device *device);
/* True: all bits are to be set. */
bool stand_in_blank (const char *function, const struct nvml_device *device);
/* What the script says of that GPU, or `otherwise`. */
uint64_t stand_in_value (const struct nvml_device *device, const char *key, uint64_t otherwise);
/* Of "field" lines; false: there is none. */
bool stand_in_field (const struct nvml_device *device, uint32_t id, uint64_t *value);
/* The text of the first line that begins with that word and concerns the device; false: there is none. */
bool stand_in_text (const char *word, const struct nvml_device *device, char *text, size_t size);
double stand_in_seconds (void); /* since the driver was loaded */

/* The script's lines that begin with that word and concern the device: the text behind both, one after the other with
 * `at` beginning at 0. NULL: no more. */
const char *stand_in_line (const char *word, const struct nvml_device *device, unsigned *at);

#endif
