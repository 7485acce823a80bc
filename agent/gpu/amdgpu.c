/* The list of the node's AMD GPUs; see amdgpu.h, and amdgpu_files.c for what is read of each.
 *
 *   /sys/class/drm/card1/device/uevent    "DRIVER=amdgpu\nPCI_ID=1002:740F\nPCI_SLOT_NAME=0000:63:00.0\n..."
 *   .../unique_id, product_name, serial_number, vbios_version    empty or absent where the driver does not know
 *
 * The kernel keeps all of these in memory: reading them queries no GPU, and wakes none that is suspended. Beside the cards
 * there are folders of connectors (card1-DP-1), and cards of other drivers. A GPU is identified by its unique_id, else by
 * its PCI address. */
#include "agent/gpu/amdgpu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/gpu/gpu_metrics.h"
#include "agent/source/facts.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define FOLDER "/sys/class/drm"
#define LIST_PERIOD (60 * NS_PER_S)
#define LOST_PERIOD (10 * NS_PER_S) /* when a GPU that gave values does not any more */
#define CARDS_MAX 256

struct amdgpu_state {
  char *root;
  pthread_rwlock_t lock; /* for struct amdgpus and `listed_ns`; workers read during their samples */
  int64_t listed_ns;
  atomic_bool lost; /* a GPU was, since the list was made */

  int64_t check_ns; /* this and the rest: of the sampling thread */
  bool present;
};

struct amdgpus *
amdgpus_create (const char *root)
{
  struct amdgpus *amdgpus = memory_new (1, sizeof *amdgpus);
  struct amdgpu_state *state = memory_new (1, sizeof *state);

  state->root = memory_string (root);
  pthread_rwlock_init (&state->lock, NULL);
  state->check_ns = INT64_MIN;
  amdgpus->state = state;
  return amdgpus;
}

void
amdgpus_destroy (struct amdgpus *amdgpus)
{
  if (!amdgpus)
    return;
  for (size_t i = 0; i < amdgpus->count; i++)
    amdgpu_files_destroy (amdgpus->list[i].files);
  pthread_rwlock_destroy (&amdgpus->state->lock);
  free (amdgpus->state->root);
  free (amdgpus->state);
  free (amdgpus->list);
  free (amdgpus);
}

/* ---- cards ---- */

static bool
is_card (const char *name)
{
  size_t length = strlen ("card");

  return strlen (name) < 16 && name[length] && name[length + strspn (name + length, "0123456789")] == '\0';
}

/* Whether the card is an AMD GPU with its driver. Sets its folder, bus_id, and a name made of its number ("AMD 0x740f"). */
static bool
card_find (const char *root, const char *name, struct amdgpu *card)
{
  struct buffer text = { 0 };
  struct reader reader;
  struct scan rest, line, id;
  bool driver = false, vendor = false;

  *card = (struct amdgpu){ .label = "" };
  if (!is_card (name))
    return false;
  snprintf (card->folder, sizeof card->folder, FOLDER "/%.16s/device", name);
  reader_init (&reader, root, "%s/uevent", card->folder);
  reader_read (&reader, &text);
  reader_free (&reader);
  for (rest = scan_buffer (&text); scan_line (&rest, &line);)
    if (scan_prefix (&line, "DRIVER="))
      driver = scan_length (&line) == 6 && memcmp (line.at, "amdgpu", 6) == 0;
    else if (scan_prefix (&line, "PCI_ID=1002:"))
      vendor = scan_word (&line, &id);
    else if (scan_prefix (&line, "PCI_SLOT_NAME="))
      snprintf (card->bus_id, sizeof card->bus_id, "%.*s", (int) scan_length (&line), line.at);
  if (driver && vendor)
    snprintf (card->name, sizeof card->name, "AMD 0x%04lx", strtoul (id.at, NULL, 16));
  buffer_free (&text);
  return driver && vendor && card->bus_id[0];
}

static void
card_describe (const char *root, struct amdgpu *card)
{
  char text[AMDGPU_TEXT - 8];

  if (fact_text (text, sizeof text, root, "%s/unique_id", card->folder) && strspn (text, "0") != strlen (text))
    snprintf (card->uuid, sizeof card->uuid, "GPU-%s", text);
  if (fact_text (text, sizeof text, root, "%s/product_name", card->folder))
    snprintf (card->name, sizeof card->name, "%s", text);
  fact_text (card->serial, sizeof card->serial, root, "%s/serial_number", card->folder);
  fact_text (card->vbios, sizeof card->vbios, root, "%s/vbios_version", card->folder);
}

bool
amdgpus_exist (const char *root)
{
  struct names names = { 0 };
  struct amdgpu card;
  bool exist = false;

  names_read (&names, "card", root, FOLDER);
  for (size_t i = 0; i < names.count && !exist; i++)
    exist = card_find (root, names.list[i], &card);
  names_free (&names);
  return exist;
}

bool
amdgpus_may_block (struct amdgpus *amdgpus)
{
  struct amdgpu_state *state = amdgpus->state;
  int64_t now_ns = clock_monotonic ();

  if (!state->present && now_ns >= state->check_ns) {
    state->check_ns = now_ns + LIST_PERIOD;
    state->present = amdgpus_exist (state->root);
  }
  return state->present;
}

/* ---- the list ---- */

static int
cards_compare (const void *one, const void *other)
{
  return strcmp (((const struct amdgpu *) one)->bus_id, ((const struct amdgpu *) other)->bus_id);
}

/* The GPU of the old list that this one is: the one with its unique_id, or of two with the same one that at its address. */
static struct amdgpu *
known_find (struct amdgpus *amdgpus, const bool *found, size_t known, const struct amdgpu *card)
{
  struct amdgpu *same = NULL;

  for (size_t i = 0; i < known; i++) {
    struct amdgpu *gpu = &amdgpus->list[i];
    bool same_place = strcmp (gpu->bus_id, card->bus_id) == 0;

    if (found[i] || (gpu->uuid[0] && card->uuid[0] ? strcmp (gpu->uuid, card->uuid) != 0 : !same_place))
      continue;
    if (same_place)
      return gpu;
    if (!same)
      same = gpu;
  }
  return same;
}

/* Looks its files up anew, since folders of sensors get other numbers when the driver is loaded again. */
static void
gpu_update (const struct amdgpus *amdgpus, struct amdgpu *gpu, struct amdgpu *card)
{
  memcpy (card->label, gpu->label, sizeof card->label);
  if (!card->uuid[0])
    memcpy (card->uuid, gpu->uuid, sizeof card->uuid);
  amdgpu_files_destroy (gpu->files);
  card->files = amdgpu_files_create (amdgpus->state->root, card->folder);
  *gpu = *card;
}

static struct amdgpu *
gpu_add (struct amdgpus *amdgpus)
{
  struct amdgpu *gpu;

  amdgpus->list = memory_resize (amdgpus->list, amdgpus->count + 1, sizeof *amdgpus->list);
  gpu = &amdgpus->list[amdgpus->count];
  *gpu = (struct amdgpu){ .label = "" };
  snprintf (gpu->label, sizeof gpu->label, "amd%zu", amdgpus->count++);
  return gpu;
}

static void
driver_describe (struct amdgpus *amdgpus)
{
  char version[64];

  fact_text (version, sizeof version, amdgpus->state->root, "/sys/module/amdgpu/version");
  snprintf (amdgpus->driver, sizeof amdgpus->driver, "amdgpu%s%s", version[0] ? " " : "", version);
}

/* To be called with the lock held for writing. */
static void
list (struct amdgpus *amdgpus)
{
  const char *root = amdgpus->state->root;
  struct names names = { 0 };
  struct amdgpu *cards;
  bool found[CARDS_MAX] = { false };
  size_t count = 0, known = amdgpus->count;

  names_read (&names, "card", root, FOLDER);
  cards = memory_new (names.count, sizeof *cards);
  for (size_t i = 0; i < names.count; i++)
    if (card_find (root, names.list[i], &cards[count]))
      card_describe (root, &cards[count++]);
  names_free (&names);
  if (count > 1)
    qsort (cards, count, sizeof *cards, cards_compare);
  for (size_t i = 0; i < count; i++) {
    struct amdgpu *gpu = known_find (amdgpus, found, known, &cards[i]);

    if (gpu)
      found[gpu - amdgpus->list] = true;
    else if (amdgpus->count < CARDS_MAX)
      gpu = gpu_add (amdgpus);
    if (gpu)
      gpu_update (amdgpus, gpu, &cards[i]);
  }
  for (size_t i = 0; i < known; i++)
    if (!found[i]) {
      amdgpu_files_destroy (amdgpus->list[i].files);
      amdgpus->list[i].files = NULL;
    }
  free (cards);
  driver_describe (amdgpus);
  amdgpus->listing++;
}

void
amdgpus_begin (struct amdgpus *amdgpus)
{
  struct amdgpu_state *state = amdgpus->state;

  if (pthread_rwlock_trywrlock (&state->lock) == 0) {
    int64_t now_ns = clock_monotonic ();

    if (amdgpus->listing == 0 || now_ns - state->listed_ns >= (state->lost ? LOST_PERIOD : LIST_PERIOD)) {
      list (amdgpus);
      state->listed_ns = now_ns;
      state->lost = false;
    }
    pthread_rwlock_unlock (&state->lock);
  }
  pthread_rwlock_rdlock (&state->lock);
}

void
amdgpus_end (struct amdgpus *amdgpus)
{
  pthread_rwlock_unlock (&amdgpus->state->lock);
}

/* ---- a sample ---- */

static void
add_error (struct table *table, const char *label, const char *text)
{
  size_t length = strlen (table->error);

  snprintf (table->error + length, sizeof table->error - length, "%sGPU %s: %s", length ? "; " : "", label, text);
}

int
amdgpus_sample (struct amdgpus *amdgpus, struct table *table)
{
  int result = 0;

  for (size_t i = 0; i < amdgpus->count; i++) {
    struct amdgpu *gpu = &amdgpus->list[i];
    size_t row = table_add_row (table, gpu->label, strlen (gpu->label));
    const char *text = "missing";
    bool fine = false;

    if (row == SIZE_MAX)
      return -1;
    if (gpu->files)
      text = amdgpu_files_read (gpu->files, table, row, &fine);
    table_set_text (table, row, STATE, text, strlen (text));
    if (fine)
      continue;
    if (gpu->files && !amdgpu_files_exist (gpu->files))
      amdgpus->state->lost = true;
    add_error (table, gpu->label, text);
    result = -1;
  }
  return result;
}
