/* Samples to Amazon CloudWatch: PutMetricData, signed; or lines in its embedded metric format. For senders of both programs: what
 * is posted, and what the answers mean; the sender posts (send_http.h), waits and counts.
 *
 * The samples at hand are folded once, and go in as many requests as they take: of one namespace each, within the limits. What
 * CloudWatch refuses is halved until what is wrong is alone, and dropped. */
#ifndef SYNOP_CLOUDWATCH_H
#define SYNOP_CLOUDWATCH_H

#include "synop/config.h"
#include "synop/send_http.h"
#include "synop/send_series.h"

#define CLOUDWATCH_NAMES "gpumon"
#define CLOUDWATCH_PERIOD "10s" /* of samples, as gpumon's */

struct cloudwatch_options {
  char *namespace, *allow, *region, *profile, *credentials_file;
  int resolution;
};

/* Seconds whose values are one datum. */
int64_t cloudwatch_resolution (const struct cloudwatch_options *options);
/* -1 and error: they do not go together with these sets of names. */
int cloudwatch_check (const struct cloudwatch_options *options, const char *names, struct error *error);

struct cloudwatch;

/* `url` "": the service of the region. Both stay. */
struct cloudwatch *cloudwatch_create (const struct cloudwatch_options *options, const char *url);
void cloudwatch_destroy (struct cloudwatch *cloudwatch);
/* Each series costs money: those of a set that is made for CloudWatch, and what the option allows. A send_cache's `wants`. */
bool cloudwatch_wants (void *cloudwatch, const struct send_series *series);

/* A request of the samples, or of what is left of them after SEND_ANOTHER; it is for all of them. Its body stays empty when nothing
 * is left. */
void cloudwatch_pack (struct cloudwatch *cloudwatch, const struct send_sample *samples, size_t count,
                      struct send_request *request);
/* Before each try: keys, region. -1: answer.text says why there are none. */
int cloudwatch_prepare (struct cloudwatch *cloudwatch, struct send_request *request, struct send_answer *answer);
/* The answer: of the last request SEND_TAKEN, or SEND_PART with answer.taken and the reason. */
enum send_verdict cloudwatch_judge (struct cloudwatch *cloudwatch, struct send_answer *answer);

/* All of them as lines in the embedded metric format. */
void cloudwatch_put_lines (struct cloudwatch *cloudwatch, const struct send_sample *samples, size_t count,
                           struct buffer *lines);
/* They were taken: SEND_TAKEN or SEND_PART, as cloudwatch_judge. */
enum send_verdict cloudwatch_lines_taken (struct cloudwatch *cloudwatch, struct send_answer *answer);

/* Their rows: FLAG of a key is its flag, AT of a member its offset, OF stands before each help. */
#define CLOUDWATCH_OPTIONS(SECTION, FLAG, AT, RELOAD, OF)                                                              \
  { SECTION,                                                                                                           \
    "namespace",                                                                                                       \
    FLAG ("namespace"),                                                                                                \
    OPTION_TEXT,                                                                                                       \
    AT (namespace),                                                                                                    \
    "synop",                                                                                                           \
    .check = cloudwatch_check_namespace,                                                                               \
    .reload = RELOAD,                                                                                                  \
    .help = OF "the namespace of metrics whose name says none." },                                                     \
      { SECTION,                                                                                                       \
        "allow",                                                                                                       \
        FLAG ("allow"),                                                                                                \
        OPTION_LIST,                                                                                                   \
        AT (allow),                                                                                                    \
        .check = globs_list_check,                                                                                     \
        .reload = RELOAD,                                                                                              \
        .help = OF "patterns of names that are sent, since each series costs money. Names in quotes in a names "       \
                   "file always are." },                                                                               \
      { SECTION,                                                                                                       \
        "resolution",                                                                                                  \
        FLAG ("resolution"),                                                                                           \
        OPTION_CHOICE,                                                                                                 \
        AT (resolution),                                                                                               \
        "60",                                                                                                          \
        .choices = cloudwatch_resolutions,                                                                             \
        .reload = RELOAD,                                                                                              \
        .help = OF "seconds whose values are one datum: 60, or 1 as high resolution has it." },                        \
      { SECTION,                                                                                                       \
        "region",                                                                                                      \
        FLAG ("region"),                                                                                               \
        OPTION_TEXT,                                                                                                   \
        AT (region),                                                                                                   \
        .reload = RELOAD,                                                                                              \
        .help = OF "AWS' region. Empty: AWS_REGION, or that of the instance." },                                       \
      { SECTION,                                                                                                       \
        "profile",                                                                                                     \
        FLAG ("profile"),                                                                                              \
        OPTION_TEXT,                                                                                                   \
        AT (profile),                                                                                                  \
        .reload = RELOAD,                                                                                              \
        .help = OF "section of the credentials file. Empty: AWS_PROFILE, or default." },                               \
  {                                                                                                                    \
    SECTION, "credentials_file", FLAG ("credentials-file"), OPTION_PATH, AT (credentials_file),                        \
        .reload = RELOAD,                                                                                              \
        .help = OF "file with keys, as ~/.aws/credentials. Empty: the environment, that file, the container's "        \
                   "or the instance's role."                                                                           \
  }

extern const char *const cloudwatch_resolutions[];
int cloudwatch_check_namespace (const char *value, struct error *error);

#endif
