/* Samples as CloudWatch has them: values that are folded, forms and their limits, lines in the embedded metric format; what its
 * answers mean; keys from files and roles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "common/send/aws.h"
#include "common/send/cloudwatch_answer.h"
#include "common/send/cloudwatch_private.h"
#include "synop/memory.h"

#define MINUTE_S INT64_C (1795372140) /* 2026-11-22T18:29:00Z */
#define SERIES_MAX 1200

/* Series with a label each, of one node. */
struct scene {
  struct metric_family public[2];
  struct send_family family[2];
  struct send_series series[SERIES_MAX];
  struct send_label labels[SERIES_MAX][40];
  struct send_symbol *node, *symbols[8];
  struct send_sample *samples;
  size_t count;
  struct cloudwatch_fold fold;
};

static struct send_symbol *
symbol (const char *text)
{
  struct send_symbol *made = memory_new (1, sizeof *made + strlen (text) + 1);

  made->length = (uint32_t) strlen (text);
  memcpy (made->text, text, made->length);
  return made;
}

enum { NAME, INSTANCE, JOB, GPU, OURS, ZERO };

/* Family 0: "load_bytes" with the labels __name__, gpu, instance and job; family 1: "Space/GPU Usage", in percent. */
static struct scene *
begin (void)
{
  static const char *const texts[] = { "__name__", "instance", "job", "gpu", "ours", "0" };
  struct scene *scene = memory_new (1, sizeof *scene);

  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    scene->symbols[i] = symbol (texts[i]);
  scene->public[0] = (struct metric_family){ "load_bytes", "", FAMILY_GAUGE, false, UNIT_NONE };
  scene->public[1] = (struct metric_family){ "Space/GPU Usage", "", FAMILY_GAUGE, true, UNIT_PERCENT };
  scene->node = symbol ("n1");
  scene->samples = memory_new (20000, sizeof *scene->samples);
  for (size_t i = 0; i < SERIES_MAX; i++) {
    struct send_series *series = &scene->series[i];
    scene->family[i % 2].public = &scene->public[i % 2];
    series->family = &scene->family[i % 2];
    series->labels = scene->labels[i];
    series->labels[0] = (struct send_label){ scene->symbols[NAME], scene->symbols[OURS] };
    series->labels[1] = (struct send_label){ scene->symbols[GPU], scene->symbols[ZERO] };
    series->labels[2] = (struct send_label){ scene->symbols[INSTANCE], NULL };
    series->labels[3] = (struct send_label){ scene->symbols[JOB], scene->symbols[OURS] };
    series->label_count = 4;
    series->instance = 2;
  }
  return scene;
}

static void
end (struct scene *scene)
{
  for (size_t i = 0; i < sizeof scene->symbols / sizeof scene->symbols[0]; i++)
    free (scene->symbols[i]);
  free (scene->node);
  free (scene->samples);
  cloudwatch_fold_free (&scene->fold);
  free (scene);
}

static void
add (struct scene *scene, size_t series, double value, int64_t second)
{
  struct send_sample *sample = &scene->samples[scene->count++];

  *sample =
      (struct send_sample){ &scene->series[series], scene->node, value, (MINUTE_S + second) * 1000 + 7, 0, false };
}

static void
fold (struct scene *scene, int64_t resolution_s)
{
  cloudwatch_fold (&scene->fold, scene->samples, scene->count, resolution_s, MINUTE_S - 100);
}

/* ---- the fold ---- */

static void
test_values_of_a_minute_are_one (void **state)
{
  struct scene *scene = begin ();

  (void) state;
  for (int64_t i = 0; i < 120; i++)
    add (scene, 0, (double) (i % 3), i);
  fold (scene, 60);
  assert_int_equal (scene->fold.metric_count, 2);
  for (size_t i = 0; i < 2; i++) {
    const struct cloudwatch_metric *metric = &scene->fold.metrics[i];
    assert_int_equal (metric->time_s, MINUTE_S + 60 * (int64_t) i);
    assert_int_equal (metric->count, 3);
    assert_int_equal (metric->samples, 60);
    assert_true (scene->fold.counts[metric->values] == 20);
  }
  fold (scene, 1);
  assert_int_equal (scene->fold.metric_count, 120);
  end (scene);
}

static void
test_no_more_than_150_values (void **state)
{
  struct scene *scene = begin ();

  (void) state;
  for (size_t i = 0; i < 400; i++)
    add (scene, 0, (double) (i % 200), 3);
  fold (scene, 60);
  assert_int_equal (scene->fold.metrics[0].count, CLOUDWATCH_VALUES_MAX);
  for (size_t i = 0, samples = 0; i < scene->fold.metric_count; i++) {
    samples += scene->fold.metrics[i].samples;
    assert_in_range (scene->fold.metrics[i].count, 1, CLOUDWATCH_VALUES_MAX);
    assert_true (i + 1 < scene->fold.metric_count || samples == 400);
  }
  end (scene);
}

static void
test_what_it_does_not_take_is_counted (void **state)
{
  struct scene *scene = begin ();

  (void) state;
  add (scene, 0, 1, -99);
  add (scene, 0, 1, -101);
  add (scene, 0, (double) NAN, 0);
  add (scene, 0, (double) INFINITY, 0);
  add (scene, 0, -0x1.1p360, 0);
  add (scene, 0, -0x1p360, 0);
  for (size_t i = 4; i < 33; i++)
    scene->labels[2][i] = (struct send_label){ scene->symbols[GPU], scene->symbols[ZERO] };
  scene->series[2].label_count = 32;
  add (scene, 2, 1, 0); /* 30 */
  scene->series[4].label_count = 33;
  memcpy (scene->labels[4], scene->labels[2], sizeof scene->labels[2]);
  add (scene, 4, 1, 0);
  fold (scene, 60);
  assert_int_equal (scene->fold.old, 1);
  assert_int_equal (scene->fold.unfit, 4);
  assert_int_equal (scene->fold.metric_count, 3);
  end (scene);
}

/* ---- names ---- */

static void
test_names_and_units (void **state)
{
  static const struct {
    struct metric_family family;
    const char *namespace, *name, *unit;
  } cases[] = {
    { { "a_seconds_total", "", FAMILY_COUNTER, false, UNIT_NONE }, "", "a_seconds_total", "Seconds" },
    { { "a_bytes_per_second", "", FAMILY_GAUGE, false, UNIT_NONE }, "", "a_bytes_per_second", "Bytes/Second" },
    { { "a_ratio", "", FAMILY_GAUGE, false, UNIT_PERCENT }, "", "a_ratio", "" },
    { { "DCGM_FI_DEV_GPU_UTIL", "", FAMILY_GAUGE, false, UNIT_PERCENT }, "", "DCGM_FI_DEV_GPU_UTIL", "Percent" },
    { { "A/B/C d", "", FAMILY_GAUGE, true, UNIT_WATTS }, "A/B", "C d", "" },
    { { "C d", "", FAMILY_GAUGE, true, UNIT_BITS_PER_SECOND }, "", "C d", "Bits/Second" },
  };

  (void) state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct cloudwatch_name name;
    cloudwatch_name (&cases[i].family, &name);
    assert_string_equal (name.namespace, cases[i].namespace);
    assert_string_equal (name.name, cases[i].name);
    assert_string_equal (name.unit, cases[i].unit);
  }
}

/* The node's name is one, unless a name in quotes says which instance it is. */
static void
test_dimensions (void **state)
{
  struct cloudwatch_dimension dimensions[CLOUDWATCH_DIMENSIONS_MAX];
  struct send_symbol *id = symbol ("InstanceId");
  struct scene *scene = begin ();

  (void) state;
  assert_int_equal (cloudwatch_dimensions (&scene->series[1], scene->node, dimensions), 2);
  assert_string_equal (dimensions[1].name, "instance");
  assert_string_equal (dimensions[1].value, "n1");
  for (size_t i = 0; i < 2; i++)
    scene->labels[i][3] = (struct send_label){ id, scene->symbols[OURS] };
  assert_int_equal (cloudwatch_dimensions (&scene->series[1], scene->node, dimensions), 2);
  assert_string_equal (dimensions[1].name, "InstanceId");
  assert_int_equal (cloudwatch_dimensions (&scene->series[0], scene->node, dimensions), 3);
  free (id);
  end (scene);
}

/* ---- forms ---- */

static const struct cloudwatch_form form = { "syn op", 1 };

static void
test_form (void **state)
{
  struct scene *scene = begin ();
  struct buffer body = { 0 };

  (void) state;
  free (scene->symbols[ZERO]);
  scene->symbols[ZERO] = symbol ("a&\xc3\xa9");
  scene->labels[0][1].value = scene->symbols[ZERO];
  add (scene, 0, 1.5, 1);
  add (scene, 0, 1.5, 1);
  add (scene, 0, 2, 1);
  fold (scene, 1);
  assert_int_equal (cloudwatch_put_form (&body, &form, &scene->fold, 0, 5), 1);
  assert_string_equal (buffer_text (&body),
                       "Action=PutMetricData&Version=2010-08-01&Namespace=syn%20op"
                       "&MetricData.member.1.MetricName=load_bytes"
                       "&MetricData.member.1.Timestamp=2026-11-22T18%3A29%3A01Z&MetricData.member.1.Unit=Bytes"
                       "&MetricData.member.1.StorageResolution=1&MetricData.member.1.Dimensions.member.1.Name=gpu"
                       "&MetricData.member.1.Dimensions.member.1.Value=a%26%3F%3F"
                       "&MetricData.member.1.Dimensions.member.2.Name=instance"
                       "&MetricData.member.1.Dimensions.member.2.Value=n1"
                       "&MetricData.member.1.Values.member.1=1.5&MetricData.member.1.Counts.member.1=2"
                       "&MetricData.member.1.Values.member.2=2&MetricData.member.1.Counts.member.2=1");
  buffer_free (&body);
  end (scene);
}

static void
test_requests_are_within_the_limits (void **state)
{
  struct scene *scene = begin ();
  struct buffer body = { 0 };
  size_t at = 0, requests = 0;

  (void) state;
  for (size_t i = 0; i < SERIES_MAX; i++)
    for (int64_t second = 0; second < (i % 2 ? 1 : 12); second++)
      add (scene, i, (double) (i * 1000) + (double) second / 7, second);
  fold (scene, 60);
  assert_int_equal (scene->fold.metric_count, SERIES_MAX);
  while (at < scene->fold.metric_count) {
    size_t count = cloudwatch_put_form (&body, &form, &scene->fold, at, SIZE_MAX);
    assert_in_range (count, 1, CLOUDWATCH_METRICS_MAX);
    assert_in_range (body.length, 1, CLOUDWATCH_BYTES_MAX);
    for (size_t i = at; i < at + count; i++) /* of one namespace */
      assert_ptr_equal (scene->fold.metrics[i].series->family, scene->fold.metrics[at].series->family);
    at += count;
    requests++;
  }
  assert_int_equal (requests, 2);
  assert_int_equal (cloudwatch_put_form (&body, &form, &scene->fold, 0, 3), 3);
  scene->count = 0;
  for (size_t i = 0; i < SERIES_MAX; i += 2)
    for (int64_t value = 0; value < 30; value++)
      add (scene, i, (double) value / 7, 0);
  fold (scene, 60);
  at = cloudwatch_put_form (&body, &form, &scene->fold, 0, SIZE_MAX);
  assert_in_range (at, 100, 599);
  assert_in_range (body.length, CLOUDWATCH_BYTES_MAX - 20000, CLOUDWATCH_BYTES_MAX);
  buffer_free (&body);
  end (scene);
}

/* ---- lines ---- */

/* What of both families is of one instant stands in lines of its own namespace, at most 100 values each. */
static void
test_lines (void **state)
{
  struct scene *scene = begin ();
  struct buffer lines = { 0 };
  size_t count = 0, values = 0;

  (void) state;
  for (int64_t i = 0; i < 120; i++)
    add (scene, 0, (double) (i % 2), 0);
  add (scene, 1, 50, 0);
  add (scene, 1, 60, 1);
  fold (scene, 1);
  cloudwatch_put_emf (&lines, &form, &scene->fold);
  for (const char *at = buffer_text (&lines), *newline; (newline = strchr (at, '\n')); at = newline + 1, count++) {
    json_t *line = json_loadb (at, (size_t) (newline - at), JSON_REJECT_DUPLICATES, NULL);
    json_t *head = json_object_get (line, "_aws");
    json_t *about = json_array_get (json_object_get (head, "CloudWatchMetrics"), 0);
    json_t *metric = json_array_get (json_object_get (about, "Metrics"), 0), *list;
    const char *name = json_string_value (json_object_get (metric, "Name"));
    assert_int_equal (json_array_size (json_object_get (about, "Metrics")), 1);
    assert_int_equal (json_integer_value (json_object_get (metric, "StorageResolution")), 1);
    list = json_object_get (line, name);
    assert_in_range (json_array_size (list), 1, 100);
    values += json_array_size (list);
    assert_string_equal (json_string_value (json_object_get (about, "Namespace")),
                         strcmp (name, "GPU Usage") == 0 ? "Space" : "syn op");
    assert_true (json_integer_value (json_object_get (head, "Timestamp")) / 1000 - MINUTE_S <= 1);
    assert_string_equal (json_string_value (json_object_get (line, "instance")), "n1");
    json_decref (line);
  }
  assert_int_equal (count, 4);
  assert_int_equal (values, 122);
  buffer_free (&lines);
  end (scene);
}

/* ---- answers ---- */

static void
test_answers (void **state)
{
  static const struct {
    long status;
    const char *code;
    int64_t skew_s;
    enum cloudwatch_judgement judgement;
    const char *words;
  } cases[] = {
    { 200, "", 0, CLOUDWATCH_TAKEN, "" },
    { 400, "InvalidParameterValue", 0, CLOUDWATCH_REFUSED, "InvalidParameterValue: why" },
    { 400, "", 0, CLOUDWATCH_REFUSED, "" },
    { 413, "", 0, CLOUDWATCH_REFUSED, "" },
    { 400, "Throttling", 0, CLOUDWATCH_AGAIN, "(why)" },
    { 400, "ThrottlingException", 0, CLOUDWATCH_AGAIN, "fewer requests" },
    { 429, "", 0, CLOUDWATCH_AGAIN, "" },
    { 503, "", 0, CLOUDWATCH_AGAIN, "" },
    { 301, "", 0, CLOUDWATCH_AGAIN, "" },
    { 403, "", 0, CLOUDWATCH_KEYS, "" },
    { 403, "ExpiredToken", 0, CLOUDWATCH_KEYS, "the keys have ended" },
    { 403, "SignatureDoesNotMatch", 100, CLOUDWATCH_KEYS, "the secret key is not that of the access key" },
    { 403, "SignatureDoesNotMatch", 301, CLOUDWATCH_AGAIN, "this host's clock is 301 s ahead of AWS'" },
    { 400, "RequestExpired", -9000, CLOUDWATCH_AGAIN, "this host's clock is 9000 s behind AWS'" },
    { 403, "RequestTimeTooSkewed", -301, CLOUDWATCH_AGAIN, "clock is 301 s behind" },
    { 403, "AccessDenied", 0, CLOUDWATCH_KEYS, "cloudwatch:PutMetricData" },
  };

  (void) state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct send_answer answer = { .status = cases[i].status, .date_s = 1000000 };
    if (*cases[i].code)
      answer.length = (size_t) snprintf (answer.body, sizeof answer.body,
                                         "<ErrorResponse>\n<Error><Type>Sender</Type><Code>%s</Code><Message>why"
                                         "</Message></Error></ErrorResponse>",
                                         cases[i].code);
    assert_int_equal (cloudwatch_judge_answer (&answer, 1000000 + cases[i].skew_s), cases[i].judgement);
    assert_non_null (strstr (answer.text, cases[i].words));
  }
}

/* Whatever its bytes are. */
static void
test_answers_that_are_cut (void **state)
{
  static const char whole[] = "<Code>Thr\x1bottling</Code><Message>Rate exceeded</Message>";

  (void) state;
  for (size_t length = 0; length < sizeof whole; length++) {
    struct send_answer answer = { .status = 400, .length = length };
    memcpy (answer.body, whole, length);
    cloudwatch_judge_answer (&answer, 0);
    assert_null (strchr (answer.text, '\x1b'));
  }
}

/* ---- keys ---- */

static void
test_profiles (void **state)
{
  static const char text[] = "# of us\n[default]\naws_access_key_id=AK\naws_secret_access_key = s/e+c=ret\n\n"
                             "[other]\naws_access_key_id = B\naws_secret_access_key = C\naws_session_token = D\n"
                             "[half]\naws_access_key_id = B\n";
  struct aws_keys keys = { .expires_s = 0 };
  struct error error;

  (void) state;
  assert_int_equal (aws_read_profile (text, "default", &keys, &error), 1);
  assert_string_equal (keys.id, "AK");
  assert_string_equal (keys.secret, "s/e+c=ret");
  assert_string_equal (keys.token, "");
  assert_int_equal (aws_read_profile (text, "other", &keys, &error), 1);
  assert_string_equal (keys.token, "D");
  assert_int_equal (aws_read_profile (text, "none", &keys, &error), 0);
  keys = (struct aws_keys){ .expires_s = 0 };
  assert_int_equal (aws_read_profile (text, "half", &keys, &error), -1);
  assert_string_equal (error.text, "[half] has no aws_access_key_id and aws_secret_access_key");
  assert_int_equal (aws_read_profile ("[a]\nnonsense\n", "a", &keys, &error), -1);
  assert_string_equal (error.text, "line 2 is none of [PROFILE] and NAME = VALUE");
}

static void
test_roles (void **state)
{
  struct aws_keys keys = { .expires_s = 0 };
  struct error error;

  (void) state;
  assert_int_equal (aws_read_role ("{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\",\"Token\":\"T\",\"Expiration\":"
                                   "\"2026-11-22T18:29:00Z\",\"Code\":\"Success\"}",
                                   &keys, &error),
                    1);
  assert_int_equal (keys.expires_s, MINUTE_S);
  assert_string_equal (keys.token, "T");
  keys = (struct aws_keys){ .expires_s = 0 };
  assert_int_equal (aws_read_role ("{\"Code\":\"AssumeRoleUnauthorizedAccess\",\"Message\":\"no\"}", &keys, &error),
                    -1);
  assert_string_equal (error.text, "it gives no keys: no");
  assert_int_equal (aws_read_role ("<html>", &keys, &error), -1);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_values_of_a_minute_are_one),
    cmocka_unit_test (test_no_more_than_150_values),
    cmocka_unit_test (test_what_it_does_not_take_is_counted),
    cmocka_unit_test (test_names_and_units),
    cmocka_unit_test (test_dimensions),
    cmocka_unit_test (test_form),
    cmocka_unit_test (test_requests_are_within_the_limits),
    cmocka_unit_test (test_lines),
    cmocka_unit_test (test_answers),
    cmocka_unit_test (test_answers_that_are_cut),
    cmocka_unit_test (test_profiles),
    cmocka_unit_test (test_roles),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
