/* What receivers answer to senders, and what AWS' services beside a host say of keys: any bytes. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/send/otlp.h"
#include "common/send/aws.h"
#include "common/send/cloudwatch_answer.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
check_text (const char *text)
{
  for (; *text; text++)
    if ((unsigned char) *text < ' ' || *text == 0x7f)
      abort ();
}

static void
check_answers (const char *bytes, size_t size)
{
  struct send_answer answer = { .status = 400, .date_s = 1 };
  struct otlp_partial partial;
  char message[100];

  answer.length = size < sizeof answer.body ? size : sizeof answer.body;
  if (answer.length)
    memcpy (answer.body, bytes, answer.length);
  cloudwatch_judge_answer (&answer, 1000);
  check_text (answer.text);
  otlp_read_partial (bytes, size, &partial);
  check_text (partial.message);
  otlp_read_status (bytes, size, message, sizeof message);
  check_text (message);
}

static void
check_keys (const char *text)
{
  struct aws_keys keys = { .expires_s = 0 };

  if (aws_read_profile (text, "default", &keys, NULL) > 0 && (!*keys.id || !*keys.secret))
    abort ();
  keys = (struct aws_keys){ .expires_s = 0 };
  if (aws_read_role (text, &keys, NULL) > 0 && (!*keys.id || !*keys.secret))
    abort ();
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  char *text = malloc (size + 1);

  if (!text)
    return 0;
  if (size)
    memcpy (text, data, size);
  text[size] = '\0';
  check_answers (text, size);
  check_keys (text);
  free (text);
  return 0;
}
