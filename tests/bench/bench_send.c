/* What a sender costs alone, of a stored history that is sent from its begin:
 *
 *   bench_send FILE URL PERIOD_MS [1]      one JSON object on standard output; 1: remote write 1.0, else 2.0
 *
 * Whoever runs it answers at URL. The time is CPU of the whole process, which does nothing else; under valgrind
 * --tool=callgrind its instructions are counted, which others' load does not change. */
#include <curl/curl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aggregator/send/sender.h"
#include "synop/clock.h"

#define LOOK_US 2000

static int64_t
cpu_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void
from_the_begin (const char *path)
{
  static const char set[] =
      "CREATE TABLE IF NOT EXISTS cursors (name TEXT PRIMARY KEY, chunk INTEGER NOT NULL, until INTEGER NOT NULL,"
      " time INTEGER NOT NULL, part INTEGER NOT NULL, event INTEGER NOT NULL) WITHOUT ROWID;"
      "INSERT OR REPLACE INTO cursors VALUES ('bench', 0, 0, 0, 0, 0)";
  sqlite3 *file;

  if (sqlite3_open_v2 (path, &file, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
      sqlite3_exec (file, set, NULL, NULL, NULL) != SQLITE_OK) {
    fprintf (stderr, "%s: %s\n", path, sqlite3_errmsg (file));
    exit (1);
  }
  sqlite3_close (file);
}

static void
take (void *context, const char *name, const void *before, const void *now)
{
  (void) name;
  (void) before;
  *(const struct send_options **) context = now;
}

/* A section [send bench], as it would stand in a file. */
static const struct send_options *
configure (const char *url, const char *period_ms, bool first)
{
  static const struct config_type *const types[] = { &send_config_type, NULL };
  static const struct option none[] = { { .section = "" } };
  struct config *config = config_create (none, 0, NULL, NULL);
  const struct send_options *options = NULL;
  struct buffer text = { 0 };
  struct error error;

  buffer_printf (&text, "[send bench]\nurl = %s\nperiod = %sms\nprotocol = %s\ntimeout = 60s\nretry = 1s\n", url,
                 period_ms, first ? "1.0" : "2.0");
  config_add_types (config, types, false);
  if (config_read_text (config, "bench", buffer_text (&text), &error) < 0) {
    fprintf (stderr, "%s\n", error.text);
    exit (2);
  }
  config_own (config, &send_config_type, take, &options);
  buffer_free (&text);
  return options; /* until the program ends */
}

int
main (int count, char **arguments)
{
  const struct send_options *options;
  struct sender_counts counts = { 0 };
  struct sender *sender;
  int64_t began_ns;

  if (count < 4) {
    fprintf (stderr, "usage: bench_send FILE URL PERIOD_MS [1]\n");
    return 2;
  }
  options = configure (arguments[2], arguments[3], count > 4 && strcmp (arguments[4], "1") == 0);
  curl_global_init (CURL_GLOBAL_DEFAULT);
  from_the_begin (arguments[1]);
  began_ns = cpu_ns ();
  sender = sender_create ("bench", options, arguments[1]);
  while (!counts.live || counts.waiting) {
    usleep (LOOK_US);
    sender_count (sender, &counts);
  }
  printf ("{\"samples\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"requests\":%" PRIu64 ",\"us\":%.4f}\n", counts.sent,
          counts.dropped, counts.requests,
          (double) (cpu_ns () - began_ns) / 1e3 / (double) (counts.sent ? counts.sent : 1));
  sender_destroy (sender);
  curl_global_cleanup ();
  return 0;
}
