/* Documents of jobs: their words, their curves, gnuplot as a child, and whole documents of the jobs of job_stage.h. With
 * `--draw FOLDER NAME...` it only writes the documents of these, for tests/system/test_report_pictures.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "aggregator/report/gnuplot.h"
#include "aggregator/report/job_curve.h"
#include "aggregator/report/job_document.h"
#include "aggregator/report/job_plot.h"
#include "aggregator/report/job_report_write.h"
#include "aggregator/report/job_sheet.h"
#include "aggregator/report/job_words.h"
#include "tests/unit/aggregator/report/job_stage.h"
#include "tests/unit/test_folder.h"

/* ---- words ---- */

static void
test_values (void **state)
{
  static const struct {
    double value;
    const char *unit, *text;
  } rows[] = {
    { 0, "B", "0 B" },
    { 1023, "B", "1023 B" },
    { 1024, "B", "1.00 KiB" },
    { 13207024435.0, "B", "12.3 GiB" },
    { 1024, "B/s", "1.00 KiB/s" },
    { 2.5e9, "B/s", "2.33 GiB/s" },
    { 87.24, "%", "87.2 %" },
    { 1234, "W", "1.23 kW" },
    { 7199, "s", "7199 s" },
    { 7200, "s", "2.00 h" },
    { 9.999, "%", "10.0 %" },
    { 99.96, "%", "100 %" },
    { 3, "", "3.00" },
    { -4, "%", "-4.00 %" },
    { 1e300, "B", "8.88e+284 PiB" },
  };

  (void) state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    assert_string_equal (words_value (rows[i].value, rows[i].unit).text, rows[i].text);
  assert_string_equal (words_value (nan (""), "B").text, "-");
  assert_string_equal (words_duration (10).text, "10.0 s");
  assert_string_equal (words_duration (59.97).text, "1 min 0 s");
  assert_string_equal (words_duration (5025).text, "1 h 23 min 45 s");
  assert_string_equal (words_duration (864060).text, "10 d 0 h 1 min");
  assert_string_equal (words_duration (HUGE_VAL).text, "-");
  assert_string_equal (words_duration (1e300).text, "-");
}

static void
test_clean (void **state)
{
  struct buffer made = { 0 };

  (void) state;
  assert_string_equal (words_short ("n1", 8).text, "n1");
  assert_string_equal (words_short ("", 8).text, "");
  assert_string_equal (words_short ("a\nb\x7f\xff\xe2\x80\xae!", 20).text, "a\xef\xbf\xbd"
                                                                           "b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd!");
  assert_string_equal (words_short ("rack-0001.cluster-0002", 9).text, "rack\xe2\x80\xa6"
                                                                       "0002");
  words_add (&made, "\xc3\xa4\xc3\xb6\xc3\xbc", 3); /* three characters are three, whatever their bytes */
  assert_int_equal (made.length, 6);
  buffer_free (&made);
}

static void
check_nodes (const char *const *names, size_t count, size_t limit, const char *expected)
{
  struct job_node nodes[16];
  struct job_report report = { .nodes = nodes, .node_count = count };
  struct buffer made = { 0 };

  for (size_t i = 0; i < count; i++)
    nodes[i] = (struct job_node){ .name = names[i] };
  words_nodes (&made, &report, NULL, limit);
  buffer_add (&made, "", 1);
  assert_string_equal (made.data, expected);
  buffer_free (&made);
}

static void
test_node_lists (void **state)
{
  static const char *const plain[] = { "n1", "n2", "n3", "n5", "n6", "n10" };
  static const char *const padded[] = { "n08", "n09", "n10", "n011" };
  static const char *const sites[] = { "n1.a", "n2.a", "n2.b", "login", "x99999999999999999999", "7" };

  (void) state;
  check_nodes (plain, 6, 999, "n[1-3,5,6,10]");
  check_nodes (plain, 1, 999, "n1");
  check_nodes (padded, 4, 999, "n[08-10],n011");
  check_nodes (sites, 6, 999, "n[1,2].a,n2.b,login,x99999999999999999999,7");
  check_nodes (sites, 6, 4, "n[1,2].a and 4 more");
  check_nodes (NULL, 0, 999, "");
}

/* ---- curves ---- */

static size_t
count_of (const struct buffer *text, const char *what)
{
  size_t count = 0;
  const char *at = text->data, *end = text->data + text->length;

  while (at && (at = memmem (at, (size_t) (end - at), what, strlen (what)))) {
    at += strlen (what);
    count++;
  }
  return count;
}

static void
test_curves (void **state)
{
  float bins[12], made[12];
  const float *columns[] = { made };
  struct job_gap gap = { 65 * NS_PER_S, 75 * NS_PER_S };
  struct job_node node = { .gaps = &gap, .gap_count = 1 };
  struct job_report report = { .bins = 12, .bin_ns = 10 * NS_PER_S };
  struct buffer text = { 0 };

  (void) state;
  for (size_t i = 0; i < 12; i++)
    bins[i] = i % 2 ? nanf ("") : (float) i;
  /* Every second bin has a sample: those between are filled, unless a gap lies there. */
  curve_fill (&report, NULL, bins, made);
  for (size_t i = 0; i < 12; i++)
    assert_float_equal (made[i], i == 11 ? 10 : (double) i, 1e-6);
  curve_fill (&report, &node, bins, made);
  assert_true (isnan (made[7]));
  assert_false (isnan (made[5]));
  assert_true (curve_put (&text, &report, columns, 1, 2));
  assert_int_equal (count_of (&text, "\n\n"), 1);
  assert_non_null (
      memmem (text.data, text.length, "65 3\n70 3\n\n80 4\n85 4\n", 21)); /* to the edges, over the divisor */
  /* Samples that are missing stay blank, without a gap that says so. */
  for (size_t i = 0; i < 12; i++)
    bins[i] = i >= 4 && i < 8 ? nanf ("") : 1;
  curve_fill (&report, NULL, bins, made);
  for (size_t i = 0; i < 12; i++)
    assert_true (isnan (made[i]) == (i >= 4 && i < 8));
  buffer_clear (&text);
  curve_fill (&report, NULL, NULL, made);
  assert_false (curve_put (&text, &report, columns, 1, 1));
  assert_memory_equal (text.data, "NaN NaN\n", text.length);
  report.bins = 1;
  bins[0] = 5;
  curve_fill (&report, NULL, bins, made);
  buffer_clear (&text);
  assert_true (curve_put (&text, &report, columns, 1, 1));
  assert_memory_equal (text.data, "0 5\n5 5\n10 5\n", text.length); /* one bin alone is a line still */
  buffer_free (&text);
}

static void
test_band_and_gaps (void **state)
{
  struct job_report *report = stage_report (&stages[0].stage);
  struct curve_band band;
  bool *gaps = curve_gaps (report);
  size_t gap_bins = 0, chosen[4];

  (void) state;
  curve_band_init (&band, report, JOB_CPU_USAGE, NULL);
  for (size_t i = 50; i < report->bins; i++) {
    assert_true (band.minimum[i] < 40 && band.mean[i] > 80 && band.mean[i] < 95 && band.maximum[i] > 90);
    gap_bins += gaps[i];
  }
  assert_int_equal (gap_bins, report->bins / 4);
  assert_true (gaps[150] && gaps[299] && !gaps[149] && !gaps[300]);
  assert_int_equal (plot_farthest (report, JOB_CPU_USAGE, chosen, 4), 4);
  assert_int_equal (chosen[0], 6);
  free (gaps);
  curve_band_free (&band);
  stage_free (report);
}

/* ---- gnuplot ---- */

struct desk {
  char folder[TEST_FOLDER_SIZE];
  char *path; /* the PATH that there was */
};

static int
make_desk (void **state)
{
  struct desk *desk = memory_new (1, sizeof *desk);

  test_folder_make (desk->folder);
  desk->path = memory_string (getenv ("PATH"));
  *state = desk;
  return 0;
}

static int
clear_desk (void **state)
{
  struct desk *desk = *state;

  setenv ("PATH", desk->path, 1);
  test_folder_remove (desk->folder);
  free (desk->path);
  free (desk);
  return 0;
}

/* From here on gnuplot is this shell script; NULL: there is none. */
static void
play_gnuplot (struct desk *desk, const char *script)
{
  char *file = memory_format ("%s/gnuplot", desk->folder);
  char *path = script ? memory_format ("%s:%s", desk->folder, desk->path) : memory_string (desk->folder);
  FILE *out;

  unlink (file);
  if (script) {
    out = fopen (file, "w");
    assert_non_null (out);
    fprintf (out, "#!/bin/sh\n%s\n", script);
    fclose (out);
    chmod (file, 0755);
  }
  setenv ("PATH", path, 1);
  free (path);
  free (file);
}

/* What goes wrong when it draws `script`. */
static const char *
failure (const char *script, size_t times, int64_t limit_ns)
{
  static struct error error;
  struct buffer in = { 0 }, out = { 0 };
  int64_t begin = clock_monotonic ();

  error.text[0] = '\0';
  for (size_t i = 0; i < times; i++)
    buffer_add_string (&in, script);
  assert_int_equal (gnuplot_run (&in, limit_ns, &out, &error), -1);
  assert_true (clock_monotonic () - begin < 60 * NS_PER_S);
  assert_null (strchr (error.text, '\n'));
  buffer_free (&in);
  buffer_free (&out);
  return error.text;
}

static void
test_gnuplot_fails (void **state)
{
  struct desk *desk = *state;
  const char *said;

  said = failure ("set terminal svg\nplot nonsense(x)\n", 1, GNUPLOT_LIMIT);
  assert_non_null (strstr (said, "gnuplot failed: "));
  assert_non_null (strstr (said, "undefined function: nonsense"));
  assert_string_equal (failure ("x = 1\n", 1, GNUPLOT_LIMIT), "gnuplot drew nothing");
  play_gnuplot (desk, NULL);
  said = failure ("", 1, GNUPLOT_LIMIT);
  assert_non_null (strstr (said, "not installed"));
  assert_non_null (strstr (said, "gnuplot-nox"));
  play_gnuplot (desk, "exit 3");
  assert_string_equal (failure ("0123456789\n", 100000, GNUPLOT_LIMIT), "gnuplot failed");
  play_gnuplot (desk, "echo partly; echo 'no font' >&2; kill -SEGV $$");
  said = failure ("x\n", 100000, GNUPLOT_LIMIT);
  assert_non_null (strstr (said, "gnuplot died of signal 11"));
  assert_non_null (strstr (said, "no font"));
  play_gnuplot (desk, "head -c 3000000 /dev/zero | tr '\\0' '\\n' >&2; head -c 3000000 /dev/zero >&2; exit 1");
  assert_non_null (strstr (failure ("x\n", 100000, GNUPLOT_LIMIT), "gnuplot failed"));
}

static void
test_gnuplot_hangs (void **state)
{
  struct desk *desk = *state;
  char *mark = memory_format ("%s/pids", desk->folder), *script;
  int first = 0, second = 0;
  FILE *pids;

  /* One that says nothing; one that has closed its outputs, with a child of its own. */
  script = memory_format ("echo $$ > %s; exec sleep 1000", mark);
  play_gnuplot (desk, script);
  free (script);
  assert_string_equal (failure ("x\n", 100000, 300 * NS_PER_MS), "gnuplot did not end within 0.3 s");
  script = memory_format ("sleep 1000 & echo $$ $! > %s; exec >/dev/null 2>&1; wait", mark);
  play_gnuplot (desk, script);
  free (script);
  assert_string_equal (failure ("x\n", 1, 1500 * NS_PER_MS), "gnuplot did not end within 1.5 s");
  pids = fopen (mark, "r");
  if (pids) { /* a machine may be too busy for it to have come so far */
    assert_int_equal (fscanf (pids, "%d %d", &first, &second), 2);
    fclose (pids);
    assert_int_equal (kill (first, 0), -1);
    for (int i = 0; i < 60000 && kill (second, 0) == 0; i++) {
      char path[32], text[64] = { 0 };
      int fd;
      snprintf (path, sizeof path, "/proc/%d/stat", second);
      fd = open (path, O_RDONLY);
      if (fd < 0 || read (fd, text, sizeof text - 1) <= 0 || strstr (text, ") Z"))
        second = INT32_MAX;
      if (fd >= 0)
        close (fd);
      usleep (1000);
    }
    assert_int_equal (kill (second, 0), -1);
  }
  free (mark);
}

static void
test_quote (void **state)
{
  struct buffer made = { 0 };

  (void) state;
  gnuplot_quote (&made, "n1 \"'`$(id)\\n@{1\n", 99);
  buffer_add (&made, "", 1);
  assert_string_equal (made.data, "\"n1 \\42\\47\\140\\44(id)\\134n\\100\\173\".\"1\xef\xbf\xbd\"");
  buffer_free (&made);
}

/* ---- documents ---- */

static struct buffer
read_file (const char *path)
{
  struct buffer made = { 0 };
  FILE *in = fopen (path, "r");

  assert_non_null (in);
  do
    made.length += fread (buffer_reserve (&made, 65536), 1, 65536, in);
  while (!feof (in));
  fclose (in);
  return made;
}

/* As on terminals of 80 and 120 columns. */
static int
draw_text (const char *folder, const char *name, const struct job_report *report)
{
  int result = 0;

  for (size_t width = 80; width <= 120; width += 40) {
    const struct job_look look = { width, width == 80, false };
    struct buffer text = { 0 };
    struct error error;
    char *path = memory_format ("%s/%s-%zu.txt", folder, name, width);
    job_report_text (report, &look, &text);
    result |= document_write (path, &text, &error);
    buffer_free (&text);
    free (path);
  }
  return result;
}

static int
draw (const char *folder, const char *name)
{
  char *pdf = memory_format ("%s/%s.pdf", folder, name), *html = memory_format ("%s/%s.html", folder, name);
  struct error error = { "there is no such stage" };
  int result = -1;

  for (size_t i = 0; i < STAGES; i++)
    if (strcmp (stages[i].name, name) == 0) {
      struct job_report *report = stage_report (&stages[i].stage);
      result = job_report_pdf (report, pdf, &error);
      if (result == 0)
        result = job_report_html (report, html, &error);
      if (result == 0)
        result = draw_text (folder, name, report);
      stage_free (report);
    }
  if (result < 0)
    fprintf (stderr, "%s: %s\n", name, error.text);
  free (html);
  free (pdf);
  return result;
}

/* Each identifier once in a page, and nothing that is run or fetched. */
static void
check_html (const struct buffer *html)
{
  char *text = memory_copy (html->data, html->length);
  static const char *const never[] = { "<script",     "<img",    "javascript:",   "href='http",
                                       "href=\"http", "@import", "<title>Gnuplot" };

  for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
    assert_null (strcasestr (text, never[i]));
  assert_non_null (strstr (text, "</html>\n"));
  assert_int_equal (count_of (html, "<svg"), count_of (html, "</svg>"));
  for (const char *at = text; (at = strstr (at, " id='")); at++) {
    char id[40];
    snprintf (id, sizeof id, "%.*s", (int) strcspn (at + 5, "'") + 6, at);
    assert_int_equal (count_of (html, id), 1);
  }
  free (text);
}

static void
test_documents (void **state)
{
  static const char *const names[] = { "one",    "short",    "empty",     "none",     "bin",        "sparse", "gpus",
                                       "single", "roof-one", "roof-bare", "roof-odd", "roof-odder", "hostile" };
  struct desk *desk = *state;
  char *path, *before = getcwd (NULL, 0);
  struct buffer made;

  assert_int_equal (chdir (desk->folder), 0);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    assert_int_equal (draw (desk->folder, names[i]), 0);
    path = memory_format ("%s/%s.pdf", desk->folder, names[i]);
    made = read_file (path);
    assert_memory_equal (made.data, "%PDF-", 5);
    buffer_free (&made);
    free (path);
    path = memory_format ("%s/%s.html", desk->folder, names[i]);
    made = read_file (path);
    check_html (&made);
    buffer_free (&made);
    free (path);
  }
  assert_int_equal (access ("pwned", F_OK), -1);
  assert_int_equal (chdir (before), 0);
  free (before);
}

/* A document that is there stays, whole, until there is another one. */
static void
test_documents_fail (void **state)
{
  struct desk *desk = *state;
  struct job_report *report = stage_report (&stages[3].stage);
  char *pdf = memory_format ("%s/old.pdf", desk->folder), *nowhere = memory_format ("%s/no/x.pdf", desk->folder);
  char *html = memory_format ("%s/new.html", desk->folder);
  struct buffer left, old = { 0 };
  struct error error;

  buffer_add_string (&old, "an old one");
  assert_int_equal (document_write (pdf, &old, &error), 0);
  assert_int_equal (job_report_pdf (report, nowhere, &error), -1);
  assert_non_null (strstr (error.text, nowhere));
  assert_non_null (strstr (error.text, "No such file or directory"));
  assert_int_equal (job_report_html (report, nowhere, &error), -1);
  assert_int_equal (document_write ("/dev/full", &old, &error), -1);
  assert_non_null (strstr (error.text, "No space left"));
  play_gnuplot (desk, "echo 'line 0: unknown or ambiguous terminal name' >&2; exit 1");
  assert_int_equal (job_report_pdf (report, pdf, &error), -1);
  assert_non_null (strstr (error.text, pdf));
  assert_non_null (strstr (error.text, "unknown or ambiguous terminal name"));
  assert_int_equal (job_report_html (report, html, &error), 0); /* without gnuplot */
  left = read_file (pdf);
  assert_int_equal (left.length, old.length);
  buffer_free (&left);
  buffer_free (&old);
  free (nowhere);
  free (html);
  free (pdf);
  stage_free (report);
}

static void
check_title (size_t stage, const char *expected)
{
  struct job_report *report = stage_report (&stages[stage].stage);
  struct buffer title = { 0 };

  plot_overview_title (&title, report);
  buffer_add (&title, "", 1);
  assert_string_equal (title.data, expected);
  buffer_free (&title);
  stage_free (report);
}

static void
test_titles (void **state)
{
  (void) state;
  check_title (0, "n7 was slow: CPU use 32.5 %, the others 94.0 %");
  check_title (1, "CPU use of n1: mean 93.5 %");
  check_title (2, "node0617 was slow: CPU use 32.5 %, the others 94.1 %");
  check_title (3, "CPU use of 3 nodes: mean 84.5 %, from 81.7 % to 86.6 %; no node stands out");
  check_title (5, "No samples of this job");
  check_title (6, "No samples of this job");
}

static const char *
fact (const struct sheet_facts *facts, const char *name)
{
  for (size_t i = 0; i < facts->count; i++)
    if (strcmp (facts->list[i].name, name) == 0)
      return facts->list[i].value;
  return "";
}

static void
test_sheets (void **state)
{
  struct job_report *report = stage_report (&stages[0].stage);
  struct sheet_facts facts;
  struct sheet_table table;

  (void) state;
  setenv ("TZ", "Europe/Berlin", 1);
  tzset ();
  report->nodes[8].lost = true;
  sheet_facts_init (&facts, report);
  assert_string_equal (fact (&facts, "Nodes"), "12: n[1-12]");
  assert_string_equal (fact (&facts, "Started"), "2026-11-21 15:32:07 CET");
  assert_string_equal (fact (&facts, "Ended"), "2026-11-21 16:55:52 CET, as the scheduler announced");
  assert_string_equal (fact (&facts, "Duration"), "1 h 23 min 45 s");
  assert_string_equal (fact (&facts, "Gaps"),
                       "1 on 1 of 12 nodes, 20 min 56 s together: n4 15:53:03 to 16:13:59 (20 min 56 s)");
  assert_string_equal (fact (&facts, "Lost nodes"), "n9, silent while the job ran");
  assert_string_equal (fact (&facts, "Peak memory"), "11.2 GiB on n7");
  sheet_facts_free (&facts);
  sheet_nodes_init (&table, report);
  assert_int_equal (table.row_count, 12);
  assert_true (table.marked[6]);
  assert_false (table.marked[5]);
  assert_string_equal (table.cells[8 * table.column_count], "n9 (lost)");
  assert_string_equal (table.columns[3].head, "CPU use");
  assert_string_equal (table.cells[6 * table.column_count + 3], "32.5");
  assert_string_equal (table.columns[5].head, "Peak");
  assert_string_equal (table.columns[5].unit, "GiB");
  sheet_table_free (&table);
  unsetenv ("TZ");
  tzset ();
  stage_free (report);
}

int
main (int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_values),
    cmocka_unit_test (test_clean),
    cmocka_unit_test (test_node_lists),
    cmocka_unit_test (test_curves),
    cmocka_unit_test (test_band_and_gaps),
    cmocka_unit_test_setup_teardown (test_gnuplot_fails, make_desk, clear_desk),
    cmocka_unit_test_setup_teardown (test_gnuplot_hangs, make_desk, clear_desk),
    cmocka_unit_test (test_quote),
    cmocka_unit_test_setup_teardown (test_documents, make_desk, clear_desk),
    cmocka_unit_test_setup_teardown (test_documents_fail, make_desk, clear_desk),
    cmocka_unit_test (test_titles),
    cmocka_unit_test (test_sheets),
  };

  if (argc > 2 && strcmp (argv[1], "--draw") == 0) {
    for (int i = 3; i < argc; i++)
      if (draw (argv[2], argv[i]) < 0)
        return 1;
    return 0;
  }
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
