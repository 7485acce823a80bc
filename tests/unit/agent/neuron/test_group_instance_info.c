/* instance_info: what the firmware tells, and what the metadata service adds when it may be asked. */
#include "tests/unit/agent/sampler_test.h"

#include "agent/neuron/imds.h"
#include "synop/clock.h"
#include "tests/unit/agent/neuron/metadata_server.h"

#define DMI "/sys/class/dmi/id"

static void
write_ec2 (const struct scratch *scratch)
{
  scratch_write (scratch, DMI "/sys_vendor", "Amazon EC2\n");
  scratch_write (scratch, DMI "/product_name", "p4d.24xlarge\n");
  scratch_write (scratch, DMI "/board_asset_tag", "i-0123456789abcdef0\n");
}

static void
write_azure (const struct scratch *scratch)
{
  scratch_write (scratch, DMI "/sys_vendor", "Microsoft Corporation\n");
  scratch_write (scratch, DMI "/product_name", "Virtual Machine\n");
  scratch_write (scratch, DMI "/chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77\n");
  scratch_write (scratch, DMI "/product_uuid", "02AAB8A4-74EF-476E-8182-F6D2BA4166A6\n");
}

static void
test_ec2 (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  write_ec2 (&scratch);
  sampled_open (&sampled, &sampler_instance_info, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "");
  assert_text (&sampled, NULL, "cloud", "aws");
  assert_text (&sampled, NULL, "instance_id", "i-0123456789abcdef0");
  assert_text (&sampled, NULL, "instance_type", "p4d.24xlarge");
  assert_missing (&sampled, NULL, "ami_id");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_ec2_on_xen (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, DMI "/sys_vendor", "Xen\n");
  scratch_write (&scratch, DMI "/product_name", "HVM domU\n");
  scratch_write (&scratch, "/sys/hypervisor/uuid", "ec2e1916-9099-7caf-fd21-012345abcdef\n");
  sampled_open (&sampled, &sampler_instance_info, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_text (&sampled, NULL, "cloud", "aws");
  assert_missing (&sampled, NULL, "instance_id");
  assert_missing (&sampled, NULL, "instance_type");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_azure (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  write_azure (&scratch);
  sampled_open (&sampled, &sampler_instance_info, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_text (&sampled, NULL, "cloud", "azure");
  assert_text (&sampled, NULL, "instance_id", "02aab8a4-74ef-476e-8182-f6d2ba4166a6");
  assert_missing (&sampled, NULL, "instance_type");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* A machine of one's own, and one of the same vendor that is no instance. */
static void
test_no_cloud (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  sampled_open (&sampled, &sampler_instance_info, scratch.root);
  for (int i = 0; i < 2; i++) {
    assert_int_equal (sampled_again (&sampled), 0);
    assert_string_equal (sampled.table.error, "");
    for (size_t metric = 0; metric < sampler_instance_info.group->metric_count; metric++)
      assert_int_equal (table_get (&sampled.table, TABLE_NODE, metric)->type, VALUE_MISSING);
    scratch_write (&scratch, DMI "/sys_vendor", "Microsoft Corporation\n");
    scratch_write (&scratch, DMI "/product_name", "Surface\n");
    scratch_write (&scratch, DMI "/chassis_asset_tag", "0\n");
  }
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
sample_with_service (struct sampled *sampled, const struct scratch *scratch, void (*answer) (int, const char *),
                     unsigned *requests)
{
  struct metadata_server server;
  char ini[200];

  metadata_server_start (&server, answer);
  snprintf (ini, sizeof ini, "[instance]\nmetadata = imds\nendpoint = %s\n", server.endpoint);
  sampled->ini = ini;
  sampled_open (sampled, &sampler_instance_info, scratch->root);
  assert_int_equal (sampled_again (sampled), 0);
  metadata_server_stop (&server);
  *requests = server.requests;
}

static void
test_metadata_service (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };
  unsigned requests;

  (void) state;
  scratch_init (&scratch);
  sample_with_service (&sampled, &scratch, answer_as_azure, &requests); /* the firmware tells nothing: both are tried */
  assert_string_equal (sampled.table.error, "");
  assert_text (&sampled, NULL, "cloud", "azure");
  assert_text (&sampled, NULL, "instance_type", "Standard_ND96isr_H100_v5");
  sampled_close (&sampled);

  write_ec2 (&scratch);
  sample_with_service (&sampled, &scratch, answer_as_aws, &requests);
  assert_string_equal (sampled.table.error, "");
  assert_text (&sampled, NULL, "cloud", "aws");
  assert_text (&sampled, NULL, "ami_id", "ami-0abcdef1234567890");
  assert_text (&sampled, NULL, "instance_id", "i-0fedcba9876543210");
  assert_text (&sampled, NULL, "instance_type", "p5.48xlarge");
  assert_text (&sampled, NULL, "availability_zone", "us-east-2c");
  assert_text (&sampled, NULL, "region", "us-east-2");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
answer_never (int connection, const char *request)
{
  char byte;

  (void) request;
  while (recv (connection, &byte, 1, 0) > 0)
    ;
}

/* What the firmware told stays, with an error beside it. */
static void
test_service_that_hangs (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };
  int64_t before = clock_monotonic ();
  unsigned requests;

  (void) state;
  scratch_init (&scratch);
  write_ec2 (&scratch);
  sample_with_service (&sampled, &scratch, answer_never, &requests);
  assert_true (clock_monotonic () - before < 60 * NS_PER_S);
  assert_string_equal (sampled.table.error, "metadata service: timed out");
  assert_text (&sampled, NULL, "cloud", "aws");
  assert_text (&sampled, NULL, "instance_id", "i-0123456789abcdef0");
  assert_missing (&sampled, NULL, "ami_id");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_service_is_not_asked_unless_allowed (void **state)
{
  struct metadata_server server;
  struct scratch scratch;
  struct sampled sampled = { 0 };
  char ini[200];

  (void) state;
  scratch_init (&scratch);
  write_ec2 (&scratch);
  metadata_server_start (&server, answer_as_aws);
  snprintf (ini, sizeof ini, "[instance]\nendpoint = %s\n", server.endpoint);
  sampled.ini = ini;
  sampled_open (&sampled, &sampler_instance_info, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  metadata_server_stop (&server);
  assert_int_equal (server.requests, 0);
  assert_missing (&sampled, NULL, "ami_id");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* The service that every machine has knows this one, not the one that was recorded. */
static void
test_service_of_a_recorded_machine (void **state)
{
  struct sampled sampled = { .ini = "[instance]\nmetadata = imds\n" };
  struct scratch scratch;

  (void) state;
  scratch_init (&scratch);
  write_ec2 (&scratch);
  sampled_open (&sampled, &sampler_instance_info, scratch.root);
  assert_false (sampled_may_block (&sampled));
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error,
                       "the metadata service is not queried under --root: it describes this machine");
  assert_text (&sampled, NULL, "cloud", "aws");
  assert_missing (&sampled, NULL, "ami_id");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_may_block_when_the_service_may_be_asked (void **state)
{
  (void) state;
  for (int allowed = 0; allowed < 2; allowed++) {
    struct sampled sampled = { .ini = allowed ? "[instance]\nendpoint = http://127.0.0.1:1\nmetadata = imds\n"
                                              : "[instance]\nendpoint = http://127.0.0.1:1\n" };

    sampled_open (&sampled, &sampler_instance_info, "/nonexistent");
    assert_int_equal (sampled_may_block (&sampled), allowed);
    sampled_close (&sampled);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_ec2),
    cmocka_unit_test (test_ec2_on_xen),
    cmocka_unit_test (test_azure),
    cmocka_unit_test (test_no_cloud),
    cmocka_unit_test (test_metadata_service),
    cmocka_unit_test (test_service_that_hangs),
    cmocka_unit_test (test_service_is_not_asked_unless_allowed),
    cmocka_unit_test (test_service_of_a_recorded_machine),
    cmocka_unit_test (test_may_block_when_the_service_may_be_asked),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
