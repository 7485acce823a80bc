/* See cloudwatch_answer.h. An error is
 *
 *   <ErrorResponse xmlns="..."><Error><Type>Sender</Type><Code>Throttling</Code><Message>Rate exceeded</Message></Error>...
 *
 * whose Code says what it means; the status is 400 of much that is to be tried again. */
#include "common/send/cloudwatch_answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SKEW_S 300 /* what AWS takes a clock to be off is 5 minutes */

struct meaning {
  const char *code; /* what it begins with */
  enum cloudwatch_judgement judgement;
  const char *hint;
};

static const struct meaning meanings[] = {
  { "Throttl", CLOUDWATCH_AGAIN, "fewer requests: a longer period, fewer series, or a higher quota" },
  { "RequestLimitExceeded", CLOUDWATCH_AGAIN, "fewer requests: a longer period, fewer series, or a higher quota" },
  { "LimitExceeded", CLOUDWATCH_AGAIN, "fewer requests: a longer period, fewer series, or a higher quota" },
  { "RequestTimeTooSkewed", CLOUDWATCH_AGAIN, "" },
  { "RequestExpired", CLOUDWATCH_AGAIN, "" },
  { "ExpiredToken", CLOUDWATCH_KEYS, "the keys have ended" },
  { "InvalidClientTokenId", CLOUDWATCH_KEYS, "AWS does not know the access key" },
  { "UnrecognizedClient", CLOUDWATCH_KEYS, "AWS does not know the access key" },
  { "SignatureDoesNotMatch", CLOUDWATCH_KEYS, "the secret key is not that of the access key" },
  { "IncompleteSignature", CLOUDWATCH_KEYS, "" },
  { "MissingAuthenticationToken", CLOUDWATCH_KEYS, "" },
  { "AccessDenied", CLOUDWATCH_KEYS, "the keys need the permission cloudwatch:PutMetricData" },
  { "NotAuthorized", CLOUDWATCH_KEYS, "the keys need the permission cloudwatch:PutMetricData" },
  { "OptInRequired", CLOUDWATCH_KEYS, "" },
  { "ServiceUnavailable", CLOUDWATCH_AGAIN, "" },
  { "InternalFailure", CLOUDWATCH_AGAIN, "" },
  { "InternalService", CLOUDWATCH_AGAIN, "" },
};

/* What stands in an element; "": it is not there. */
static void
find_element (const char *body, size_t length, const char *name, char *text, size_t size)
{
  char open[32];
  const char *from, *to;
  int shown;

  *text = '\0';
  snprintf (open, sizeof open, "<%s>", name);
  from = memmem (body, length, open, strlen (open));
  if (!from)
    return;
  from += strlen (open);
  to = memchr (from, '<', length - (size_t) (from - body));
  shown = (int) ((to ? to : body + length) - from);
  snprintf (text, size, "%.*s", shown, from);
  for (char *at = text; *at; at++)
    if ((unsigned char) *at < ' ' || *at == 0x7f)
      *at = ' ';
}

static enum cloudwatch_judgement
judge_status (long status)
{
  if (status == 403)
    return CLOUDWATCH_KEYS;
  return status < 400 || status >= 500 || status == 404 || status == 408 || status == 429 ? CLOUDWATCH_AGAIN
                                                                                          : CLOUDWATCH_REFUSED;
}

static bool
is_of_time (const char *code)
{
  return strncmp (code, "RequestTimeTooSkewed", 20) == 0 || strncmp (code, "RequestExpired", 14) == 0 ||
         strncmp (code, "SignatureDoesNotMatch", 21) == 0;
}

enum cloudwatch_judgement
cloudwatch_judge_answer (struct send_answer *answer, int64_t now_s)
{
  enum cloudwatch_judgement judgement = judge_status (answer->status);
  int64_t skew_s = answer->date_s ? now_s - answer->date_s : 0;
  char code[48], message[160], hint[96] = "";

  if (answer->status >= 200 && answer->status < 300)
    return CLOUDWATCH_TAKEN;
  find_element (answer->body, answer->length, "Code", code, sizeof code);
  find_element (answer->body, answer->length, "Message", message, sizeof message);
  if (!*code)
    return judgement;
  for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
    if (strncmp (code, meanings[i].code, strlen (meanings[i].code)) == 0) {
      judgement = meanings[i].judgement;
      snprintf (hint, sizeof hint, "%s", meanings[i].hint);
      break;
    }
  if (is_of_time (code) && (skew_s > SKEW_S || skew_s < -SKEW_S)) {
    judgement = CLOUDWATCH_AGAIN;
    snprintf (hint, sizeof hint, "this host's clock is %" PRId64 " s %s AWS', and is to be set right",
              skew_s < 0 ? -skew_s : skew_s, skew_s < 0 ? "behind" : "ahead of");
  }
  if (*hint)
    snprintf (answer->text, sizeof answer->text, "%s: %s (%.90s)", code, hint, message);
  else
    snprintf (answer->text, sizeof answer->text, "%s: %s", code, message);
  return judgement;
}
