/* instance_info: which cloud instance this node is, if it is one. Sent once a session.
 *
 * The firmware's facts are free of cost, in /sys/class/dmi/id:
 *
 *             sys_vendor            product_name      board_asset_tag       chassis_asset_tag
 *   EC2       Amazon EC2            p4d.24xlarge      i-0123456789abcdef0   Amazon EC2
 *   EC2, Xen  Xen                   HVM domU                                              (product_uuid: "ec2...")
 *   Azure     Microsoft Corporation Virtual Machine                         7783-7084-3265-9085-8269-3286-77
 *
 * product_uuid is Azure's id of the machine (root alone can read it). The image, and what is missing, only the metadata
 * service knows: it is queried if the configuration says so, in a worker's thread, and its facts are preferred. Facts that
 * are still missing are taken from neuron-monitor, where it runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/neuron/imds.h"
#include "agent/neuron/neuron.h"
#include "agent/sampling/sampler.h"
#include "agent/source/facts.h"
#include "synop/clock.h"
#include "synop/config.h"
#include "synop/memory.h"

#define METADATA_PATIENCE (1 * NS_PER_S)
#define NEURON_PATIENCE (15 * NS_PER_S) /* its first report */
#define AZURE_ASSET_TAG "7783-7084-3265-9085-8269-3286-77"

#define FACT(NAME, HELP)                                                                                               \
  {                                                                                                                    \
    NAME, TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE, .help = HELP                                                     \
  }

static const struct metric metrics[] = {
  FACT ("cloud", "Cloud that the node is in: aws or azure."),
  FACT ("instance_id", "Id of the instance."),
  FACT ("instance_type", "Type of the instance."),
  FACT ("ami_id", "Image that it was started from: an AMI, or an Azure image."),
  FACT ("availability_zone", "Availability zone."),
  FACT ("region", "Region."),
};

static const struct group group = {
  .name = "instance_info",
  .section = "",
  .row = "",
  .rows_name = "",
  .fold_name = "",
  .flags = GROUP_ONCE,
  .help = "Which cloud instance the node is.",
  GROUP_METRICS (metrics),
};

struct instance_options {
  int metadata; /* 1: imds */
  char *endpoint;
};

static int
check_endpoint (const char *value, struct error *error)
{
  if (strncmp (value, "http://", 7) != 0 || !value[7])
    return error_set (error, "\"%s\" is not understood; expected http://HOST or http://HOST:PORT", value);
  return 0;
}

static const char *const metadata_choices[] = { "off", "imds", NULL };

static const struct option option_rows[] = {
  { "instance", "metadata", "instance-metadata", OPTION_CHOICE, offsetof (struct instance_options, metadata), "off",
    .choices = metadata_choices,
    .help = "imds: query the cloud's metadata service for facts about this instance, once a session." },
  { "instance", "endpoint", "instance-endpoint", OPTION_TEXT, offsetof (struct instance_options, endpoint),
    IMDS_ENDPOINT, .check = check_endpoint, .help = "The address of the metadata service." },
};
static const struct own_options own_options = OWN_OPTIONS (option_rows, struct instance_options);

enum cloud { CLOUD_NONE, CLOUD_AWS, CLOUD_AZURE };

struct instance {
  char *root, *endpoint; /* copies: see worker.h */
  bool metadata;
  bool of_another; /* a recorded machine, which the service does not know: it is not queried */
  struct neuron *neuron;
  bool by_neuron; /* facts of neuron-monitor are used too */
};

static void *
instance_open (const struct sampler_context *context)
{
  const struct instance_options *options = context_options (context, &own_options);
  struct instance *instance = memory_new (1, sizeof *instance);

  instance->root = memory_string (context->root);
  instance->endpoint = memory_string (options->endpoint);
  instance->metadata = options->metadata == 1;
  instance->of_another = instance->metadata && instance->root[0] && strcmp (instance->endpoint, IMDS_ENDPOINT) == 0;
  instance->metadata = instance->metadata && !instance->of_another;
  instance->neuron = service_take (context, &service_neuron);
  return instance;
}

static bool
instance_may_block (void *state)
{
  struct instance *instance = state;

  instance->by_neuron = neuron_source (instance->neuron, false) == NEURON_BY_MONITOR;
  return instance->metadata || instance->by_neuron;
}

static enum cloud
dmi_read (const char *root, struct imds_facts *facts)
{
  char vendor[64], chassis[64], uuid[64], text[IMDS_TEXT_SIZE];

  fact_text (vendor, sizeof vendor, root, "/sys/class/dmi/id/sys_vendor");
  fact_text (chassis, sizeof chassis, root, "/sys/class/dmi/id/chassis_asset_tag");
  if (!fact_text (uuid, sizeof uuid, root, "/sys/class/dmi/id/product_uuid"))
    fact_text (uuid, sizeof uuid, root, "/sys/hypervisor/uuid");

  if (strcmp (vendor, "Amazon EC2") == 0) {
    if (fact_text (text, sizeof text, root, "/sys/class/dmi/id/board_asset_tag") && strncmp (text, "i-", 2) == 0)
      strcpy (facts->instance_id, text);
    fact_text (facts->instance_type, sizeof facts->instance_type, root, "/sys/class/dmi/id/product_name");
    return CLOUD_AWS;
  }
  if (strcmp (vendor, "Xen") == 0 && strncasecmp (uuid, "ec2", 3) == 0)
    return CLOUD_AWS;
  if (strcmp (vendor, "Microsoft Corporation") == 0 && strcmp (chassis, AZURE_ASSET_TAG) == 0) {
    for (size_t i = 0; uuid[i] && i < sizeof uuid - 1; i++)
      facts->instance_id[i] = (char) (uuid[i] >= 'A' && uuid[i] <= 'Z' ? uuid[i] | 32 : uuid[i]);
    return CLOUD_AZURE;
  }
  return CLOUD_NONE;
}

/* Fills a missing fact from `more`. */
static void
facts_fill (char *text, const char *more)
{
  if (!text[0])
    strcpy (text, more);
}

/* Tries both if the firmware names none. Returns the cloud that answered, or the one that the firmware names. */
static enum cloud
metadata_query (const struct instance *instance, enum cloud cloud, struct imds_facts *facts, struct error *error)
{
  int64_t now = clock_monotonic (), deadline = now + METADATA_PATIENCE;
  struct imds_facts answered = { 0 };
  int rc = -1;

  if (cloud != CLOUD_AZURE)
    rc = imds_query_aws (instance->endpoint, cloud == CLOUD_AWS ? deadline : now + METADATA_PATIENCE / 2, &answered,
                         error);
  if (cloud == CLOUD_NONE && rc == 0)
    cloud = CLOUD_AWS;
  else if (cloud != CLOUD_AWS)
    rc = imds_query_azure (instance->endpoint, deadline, &answered, error);
  if (cloud == CLOUD_NONE && rc == 0)
    cloud = CLOUD_AZURE;
  if (rc == 0)
    error->text[0] = '\0';

  facts_fill (answered.instance_id, facts->instance_id);
  facts_fill (answered.instance_type, facts->instance_type);
  *facts = answered;
  return cloud;
}

static int
instance_sample (void *state, struct table *table)
{
  static const char *const clouds[] = { [CLOUD_NONE] = "", [CLOUD_AWS] = "aws", [CLOUD_AZURE] = "azure" };
  const struct instance *instance = state;
  struct imds_facts facts = { 0 };
  struct error error = { "" };
  enum cloud cloud = dmi_read (instance->root, &facts);

  if (instance->metadata)
    cloud = metadata_query (instance, cloud, &facts, &error);
  else if (instance->of_another)
    error_set (&error, "the metadata service is not queried under --root: it describes this machine");
  if (instance->by_neuron)
    neuron_instance (instance->neuron, clock_monotonic () + NEURON_PATIENCE, &facts);
  if (cloud == CLOUD_NONE && strncmp (facts.instance_id, "i-", 2) == 0)
    cloud = CLOUD_AWS; /* no other cloud has Neuron */
  snprintf (table->error, sizeof table->error, "%.*s", (int) sizeof table->error - 1, error.text);
  fact_set_text (table, "cloud", clouds[cloud]);
  fact_set_text (table, "instance_id", facts.instance_id);
  fact_set_text (table, "instance_type", facts.instance_type);
  fact_set_text (table, "ami_id", facts.image_id);
  fact_set_text (table, "availability_zone", facts.availability_zone);
  fact_set_text (table, "region", facts.region);
  return 0;
}

static void
instance_close (void *state)
{
  struct instance *instance = state;

  service_leave (instance->neuron);
  free (instance->root);
  free (instance->endpoint);
  free (instance);
}

const struct sampler sampler_instance_info = { &group,          instance_may_block, instance_open,
                                               instance_sample, instance_close,     .options = &own_options };
