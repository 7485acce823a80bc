/* XIDs; see gpu_events.h. */
#include "agent/gpu/gpu_events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/gpu/gpu.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/log.h"
#include "synop/memory.h"

#define RECORDS_MAX 1024 /* in one sample; the rest waits for the next */
#define RECORD_SIZE 8192 /* the kernel's longest */
#define LINE_PERIOD (60 * NS_PER_S)

struct gpu_events {
  char *kmsg;
  int fd; /* -1: not needed, or cannot be opened */
  bool tried;
  struct nvml_event_set *set; /* NULL: none */
};

struct gpu_events *
gpu_events_create (const char *root)
{
  struct gpu_events *events = memory_new (1, sizeof *events);

  events->kmsg = memory_format ("%s/dev/kmsg", root);
  events->fd = -1;
  return events;
}

void
gpu_events_destroy (struct gpu_events *events)
{
  file_close (&events->fd);
  free (events->kmsg);
  free (events);
}

void
gpu_events_stop (struct gpu_events *events, const struct nvml *nvml)
{
  if (events->set)
    NVML_CALL (nvml, event_set_free, events->set);
  events->set = NULL;
}

static bool
request_events (const struct gpu_events *events, const struct nvml *nvml, struct gpu *gpu)
{
  uint64_t types = 0;

  return events->set && gpu->handle && !gpu->parent && NVML_CALL (nvml, event_types, gpu->handle, &types) == NVML_OK &&
         types & NVML_EVENT_XID &&
         NVML_CALL (nvml, event_register, gpu->handle, NVML_EVENT_XID, events->set) == NVML_OK;
}

/* Reads from the end of the log on: XIDs of before the start of the agent are not reported. */
static void
open_log (struct gpu_events *events)
{
  if (events->tried)
    return;
  events->tried = true;
  events->fd = open (events->kmsg, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (events->fd < 0)
    log_info ("XIDs of GPUs cannot be counted: the driver gives no events, and %s: %s", events->kmsg, strerror (errno));
  else
    lseek (events->fd, 0, SEEK_END);
}

void
gpu_events_start (struct gpu_events *events, struct gpus *gpus)
{
  struct nvml *nvml = &gpus->nvml;

  gpu_events_stop (events, nvml);
  if (!nvml->event_wait || NVML_CALL (nvml, event_set_create, &events->set) != NVML_OK)
    events->set = NULL;
  for (size_t i = 0; i < gpus->count; i++) {
    gpus->list[i].events = request_events (events, nvml, &gpus->list[i]);
    if (!gpus->list[i].events && !gpus->list[i].parent)
      open_log (events);
  }
}

/* Repetitions of the GPU's last XID are only counted. Each other number goes into the next line. */
static void
count_xid (struct gpu *gpu, uint64_t xid)
{
  struct xid_line *line = &gpu->xid_line;
  bool known = gpu->xids > 0 && gpu->xid == xid;

  for (size_t i = 0; i < line->count; i++)
    known = known || line->numbers[i] == xid;
  if (!known && line->count < XID_LINE_MAX)
    line->numbers[line->count++] = (uint32_t) xid;
  gpu->xids++;
  gpu->xid = xid;
}

/* Logs a line each minute at most, with all since: "GPU 0 (0000:3B:00.0): XID 31, 79 (1000 times since the last line)". */
static void
log_xids (struct gpu *gpu, int64_t now_ns)
{
  struct xid_line *line = &gpu->xid_line;
  uint64_t times = gpu->xids - line->xids;
  char text[XID_LINE_MAX * 12], more[64] = "";
  size_t length = 0;

  if (line->count == 0 || (line->xids > 0 && now_ns - line->logged_ns < LINE_PERIOD))
    return;
  for (size_t i = 0; i < line->count; i++)
    length += (size_t) snprintf (text + length, sizeof text - length, "%s%u", i ? ", " : "", line->numbers[i]);
  if (times > line->count)
    snprintf (more, sizeof more, " (%llu times%s)", (unsigned long long) times,
              line->xids > 0 ? " since the last line" : "");
  log_warning ("GPU %s (%s): XID %s%s", gpu->label, gpu->bus_id, text, more);
  *line = (struct xid_line){ .logged_ns = now_ns, .xids = gpu->xids };
}

static void
take_events (struct gpu_events *events, struct gpus *gpus)
{
  struct nvml_event event;

  for (size_t i = 0; events->set && i < RECORDS_MAX; i++) {
    event = (struct nvml_event){ 0 };
    if (gpus->nvml.event_wait (events->set, &event, 0) != NVML_OK)
      return;
    for (size_t j = 0; j < gpus->count; j++)
      if (event.type & NVML_EVENT_XID && event.data <= UINT32_MAX && gpus->list[j].handle == event.device)
        count_xid (&gpus->list[j], event.data);
  }
}

/* Takes a number in base 16, and the character behind it. */
static bool
take_hex (const char **at, const char *end, uint32_t *value, char behind)
{
  uint64_t number = 0;
  const char *begin = *at;

  for (; *at < end; (*at)++) {
    char c = **at;
    unsigned digit;

    if (c >= '0' && c <= '9')
      digit = (unsigned) (c - '0');
    else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
      digit = (unsigned) ((c | 0x20) - 'a') + 10;
    else
      break;
    number = number * 16 + digit;
    if (number > UINT32_MAX)
      return false;
  }
  *value = (uint32_t) number;
  return *at > begin && *at < end && *(*at)++ == behind;
}

bool
xid_parse (struct xid_record *record, const char *text, size_t length)
{
  static const char head[] = "NVRM: Xid (";
  const char *at = memmem (text, length, head, strlen (head)), *end = text + length;
  uint64_t xid = 0;

  if (!at)
    return false;
  at += strlen (head);
  if (end - at > 4 && memcmp (at, "PCI:", 4) == 0)
    at += 4;
  if (!take_hex (&at, end, &record->domain, ':') || !take_hex (&at, end, &record->bus, ':'))
    return false;
  if (!take_hex (&at, end, &record->slot, ')')) { /* "3b:00.0)", of no known driver, is accepted too */
    if (at[-1] != '.')
      return false;
    while (at < end && *at++ != ')')
      continue;
  }
  while (at < end && (*at == ':' || *at == ' '))
    at++;
  if (at == end || *at < '0' || *at > '9')
    return false;
  for (; at < end && *at >= '0' && *at <= '9' && xid < UINT32_MAX; at++)
    xid = xid * 10 + (uint64_t) (*at - '0');
  record->xid = (uint32_t) xid;
  return xid <= UINT32_MAX;
}

static void
take_record (struct gpus *gpus, const char *text, size_t length)
{
  struct xid_record record;

  if (!xid_parse (&record, text, length))
    return;
  for (size_t i = 0; i < gpus->count; i++) {
    struct gpu *gpu = &gpus->list[i];

    if (!gpu->events && !gpu->parent && gpu->bus_id[0] && gpu->domain == record.domain && gpu->bus == record.bus &&
        gpu->slot == record.slot)
      count_xid (gpu, record.xid);
  }
}

/* The kernel gives one record for each read; a recorded log is a file of lines, and gives many. */
static void
take_log (struct gpu_events *events, struct gpus *gpus)
{
  char text[RECORD_SIZE];
  ssize_t length;

  for (size_t i = 0; events->fd >= 0 && i < RECORDS_MAX; i++) {
    const char *at = text;

    length = read (events->fd, text, sizeof text);
    if (length < 0 && (errno == EPIPE || errno == EINTR)) /* EPIPE: it has overwritten unread records */
      continue;
    if (length <= 0)
      return;
    while (at < text + length) {
      const char *newline = memchr (at, '\n', (size_t) (text + length - at));
      const char *end = newline ? newline : text + length;

      take_record (gpus, at, (size_t) (end - at));
      at = end + 1;
    }
  }
}

void
gpu_events_take (struct gpu_events *events, struct gpus *gpus)
{
  int64_t now_ns = clock_monotonic ();

  take_events (events, gpus);
  take_log (events, gpus);
  for (size_t i = 0; i < gpus->count; i++)
    log_xids (&gpus->list[i], now_ns);
}
