/* Who we are to AWS: keys, and the region, from where its own tools have them too.
 *
 *   keys     environment        AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
 *            shared file        AWS_SHARED_CREDENTIALS_FILE, else ~/.aws/credentials: the section of the profile
 *            container's role   AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI, with AWS_CONTAINER_AUTHORIZATION_TOKEN(_FILE)
 *            instance's role    IMDSv2, at AWS_EC2_METADATA_SERVICE_ENDPOINT or 169.254.169.254
 *   region   the option, AWS_REGION, AWS_DEFAULT_REGION, the instance's
 *
 * The first that there is. Keys of roles are kept, and renewed 5 minutes before they end; the file is read each time. */
#ifndef SYNOP_COMMON_AWS_H
#define SYNOP_COMMON_AWS_H

#include <stdbool.h>
#include <stdint.h>

#include "synop/error.h"

struct aws_options {
  const char *region, *profile, *credentials_file; /* "": as above */
};

struct aws_keys {
  char id[160], secret[256], token[8192]; /* token "": none */
  int64_t expires_s;                      /* since 1970; 0: never */
};

struct aws;

struct aws *aws_create (const struct aws_options *options); /* which stay until it is destroyed */
void aws_destroy (struct aws *aws);
/* Valid until the next call. NULL and error: there are none, and where was looked. May wait 6 s for a role's. */
const struct aws_keys *aws_keys (struct aws *aws, int64_t now_s, struct error *error);
void aws_forget (struct aws *aws); /* AWS did not take the keys: a role's are asked for anew */
const char *aws_region (struct aws *aws, struct error *error);

/* ---- for tests ---- */

/* Of the section of that name, in the text of a shared file: 1, 0 when there is none, -1 and error. */
int aws_read_profile (const char *text, const char *profile, struct aws_keys *keys, struct error *error);
/* Of what a role's service answers. */
int aws_read_role (const char *text, struct aws_keys *keys, struct error *error);

#endif
