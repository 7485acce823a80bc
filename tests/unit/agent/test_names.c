/* Recorded machines, sampled by the agent, sent as a frame, read from it, and written as Prometheus has them: promtool finds
 * nothing in any set of names, and each value is that of the frame. */
#include "tests/unit/agent/sampler_test.h"

#include <libgen.h>
#include <math.h>

#include "synop/exposition.h"
#include "synop/frame.h"
#include "synop/memory.h"
#include "synop/naming.h"
#include "synop/series.h"

#define FOLDER "aggregator/names"
#define SETS "node-exporter, dcgm-exporter, moneo, synop"
#define FRAME_NS (INT64_C (1795372187) * 1000000000 + 165569123)

/* A machine's tables as they come out of a frame. */
struct machine {
  struct scratch scratch;
  struct schema *schema;
  struct table *tables;
  struct series_table *shown;
  const struct group **groups;
};

static struct machine machine;

static struct table *
take_table (void *context, size_t group)
{
  (void) context;
  table_begin (&machine.tables[group]);
  return &machine.tables[group];
}

static void
table_done (void *context, size_t group, struct table *table)
{
  (void) context;
  machine.shown[group].table = table;
  machine.shown[group].time_ns = FRAME_NS;
}

/* Through a frame, as it comes from a node. */
static void
tables_send (const struct table *const *tables)
{
  struct frame_header header = { .node = "n1", .session = 1, .sequence = 1, .monotonic_ns = 1, .wall_ns = FRAME_NS };
  struct frame_sink sink = { NULL, take_table, table_done };
  struct buffer frame = { 0 };
  struct error error;

  memcpy (header.schema, machine.schema->hash, sizeof header.schema);
  frame_write (&frame, &header, machine.schema, tables, sampler_count);
  assert_int_equal (frame_read_header (frame.data, frame.length, &header, &error), 0);
  assert_int_equal (frame_read_tables (frame.data, frame.length, &header, machine.schema, &sink, &error), 0);
  buffer_free (&frame);
}

static void
machine_sample (const char *root)
{
  struct sampled *sampled = memory_new (sampler_count, sizeof *sampled);
  const struct table **tables = memory_new (sampler_count, sizeof *tables);
  char self[400] = "";
  struct agent_options *options;

  assert_true (readlink ("/proc/self/exe", self, sizeof self - 1) > 0);
  options = options_for (root, "[gpu]\nlibrary = %s/../lib/libnvidia-ml.so.1\ndcgm = off\n[neuron]\ncommand = off\n",
                         dirname (self));
  for (size_t i = 0; i < sampler_count; i++) {
    sampled[i].options = options;
    sampled_open (&sampled[i], samplers[i], root);
    for (int times = 0; times < 2; times++) {
      if (samplers[i]->may_block)
        sampled_may_block (&sampled[i]);
      sampled_again (&sampled[i]);
    }
    tables[i] = &sampled[i].table;
  }
  tables_send (tables);
  for (size_t i = 0; i < sampler_count; i++)
    sampled_close (&sampled[i]);
  agent_options_destroy (options);
  free (sampled);
  free (tables);
}

/* Every value of every group: `rows` rows that have them all. */
static void
machine_invent (size_t rows)
{
  const struct table **tables = memory_new (sampler_count, sizeof *tables);

  for (size_t i = 0; i < sampler_count; i++) {
    const struct group *group = machine.groups[i];
    struct table *table = memory_new (1, sizeof *table);
    char label[32];

    table_init (table, group);
    for (size_t row = 0; group->rows_name[0] && row < rows; row++) {
      bool pair = strchr (group->row, ':') != NULL || strcmp (group->row, "GPU/process") == 0;
      table_add_row (table, label, (size_t) snprintf (label, sizeof label, pair ? "mlx5_%zu:%zu" : "%zu", row, row));
    }
    for (size_t column = 0; column < group->metric_count; column++)
      for (size_t row = 0; row <= table->rows; row++) {
        bool of_node = (group->metrics[column].flags & METRIC_OF_NODE) != 0;
        size_t at = of_node ? TABLE_NODE : row;
        if (of_node ? row != table->rows : row == table->rows)
          continue;
        if (group->metrics[column].kind == TEXT)
          table_set_text (table, at, column, "a \"text\"\\", strlen ("a \"text\"\\"));
        else if (group->metrics[column].kind == GAUGE && column % 2)
          table_set_real (table, at, column, 12.5 + (double) row);
        else
          table_set_uint (table, at, column, 1000 * column + row);
      }
    tables[i] = table;
  }
  tables_send (tables);
  for (size_t i = 0; i < sampler_count; i++) {
    table_free ((struct table *) tables[i]);
    free ((void *) tables[i]);
  }
  free (tables);
}

static void
machine_begin (void)
{
  char path[128];

  machine = (struct machine){ 0 };
  scratch_init (&machine.scratch);
  scratch_write (&machine.scratch, "/nvml", "gpus 3\nmig 2 2\nprocess 0 1 1000\n");
  snprintf (path, sizeof path, "%s/nvml", machine.scratch.root);
  setenv ("SYNOP_NVML_SCRIPT", path, 1);
  machine.groups = memory_new (sampler_count, sizeof *machine.groups);
  machine.tables = memory_new (sampler_count, sizeof *machine.tables);
  machine.shown = memory_new (sampler_count, sizeof *machine.shown);
  for (size_t i = 0; i < sampler_count; i++) {
    machine.groups[i] = samplers[i]->group;
    table_init (&machine.tables[i], samplers[i]->group);
  }
  machine.schema = schema_create (machine.groups, sampler_count);
}

static void
machine_end (void)
{
  for (size_t i = 0; i < sampler_count; i++)
    table_free (&machine.tables[i]);
  schema_destroy (machine.schema);
  free (machine.groups);
  free (machine.tables);
  free (machine.shown);
  scratch_free (&machine.scratch);
}

static struct naming *
naming_of (const char *sets)
{
  struct naming *naming = naming_create ();
  struct error error;

  if (naming_load (naming, sets, FOLDER, &error) < 0)
    fail_msg ("%s", error.text);
  return naming;
}

/* ---- what promtool says ---- */

/* Foreign names break rules of style that are Prometheus' own: those alone may be found in them. */
#define STYLE "camelCase|_total. suffix|base unit|abbreviated units|should not include type"

static void
check_promtool (const char *sets, enum exposition_format format, const char *ignore)
{
  struct naming *naming = naming_of (sets);
  struct series_node nodes[2] = { { .name = "n1", .tables = machine.shown, .time_ns = FRAME_NS },
                                  { .name = "n2", .tables = machine.shown, .time_ns = FRAME_NS } };
  struct exposition exposition;
  struct buffer text = { 0 };
  char command[700];

  if (system ("command -v promtool >/dev/null") != 0) {
    print_message ("# skipped: there is no promtool\n");
    skip ();
  }
  nodes[0].plan = nodes[1].plan = naming_plan (naming, machine.schema);
  exposition_begin (&exposition, format, true, naming, nodes, 2);
  while (exposition_next (&exposition, &text, text.length + 1000))
    continue;
  exposition_end (&text, format);
  assert_true (text.length > 0);
  scratch_write_bytes (&machine.scratch, "/text", text.data, text.length);
  snprintf (command, sizeof command,
            "cd '%s' && promtool check metrics <text >found 2>&1; grep -vE '%s' found; ! grep -qvE '%s' found",
            machine.scratch.root, ignore, ignore);
  if (system (command) != 0)
    fail_msg ("promtool found something in %s", sets);
  buffer_free (&text);
  naming_destroy (naming);
}

static void
test_promtool_finds_nothing (void **state)
{
  static const char *const roots[] = {
    ROOT_SMALL,
    ROOT_ODD,
    "tests/roots/infiniband",
    "tests/roots/thermal",
    "tests/roots/amdgpu",
    "tests/roots/hwmon",
    "tests/roots/jobs/v2",
    "tests/roots/devices",
  };

  (void) state;
  for (size_t i = 0; i <= sizeof roots / sizeof roots[0]; i++) {
    machine_begin ();
    if (i < sizeof roots / sizeof roots[0])
      machine_sample (roots[i]);
    else
      machine_invent (3);
    check_promtool ("synop", EXPOSITION_TEXT, "^$");
    check_promtool ("node-exporter", EXPOSITION_TEXT, STYLE);
    check_promtool ("dcgm-exporter, synop", EXPOSITION_TEXT, STYLE);
    check_promtool ("moneo, synop", EXPOSITION_TEXT, STYLE);
    check_promtool (SETS, EXPOSITION_TEXT, STYLE);
    machine_end ();
  }
}

/* ---- values ---- */

static double
unit_factor (enum metric_unit unit)
{
  return unit == UNIT_PERCENT ? 0.01 : unit == UNIT_BITS_PER_SECOND ? 0.125 : 1;
}

struct sum {
  size_t count;
  double total;
};

static struct sum
sum_of_table (size_t group, size_t column)
{
  const struct metric *metric = &machine.groups[group]->metrics[column];
  bool of_node = (metric->flags & METRIC_OF_NODE) != 0;
  const struct table *table = &machine.tables[group];
  struct sum sum = { 0, 0 };

  for (size_t row = 0; row < (of_node ? 1 : table->rows); row++) {
    const struct value *value = table_get (table, of_node ? TABLE_NODE : row, column);
    if (value->type == VALUE_MISSING)
      continue;
    sum.count++;
    sum.total += value_number (value) * (metric->times ? metric->times : 1) / (metric->per ? metric->per : 1) *
                 unit_factor (metric->unit);
  }
  return sum;
}

/* The series of a metric: their family has its help, and begins with its group's name; those of the node have no label. */
static struct sum
sum_of_series (const struct naming *naming, const struct series_node *node, const struct group *group,
               const struct metric *metric)
{
  bool of_node = (metric->flags & METRIC_OF_NODE) != 0;
  struct series_label labels[SERIES_LABELS_MAX];
  struct buffer texts = { 0 };
  struct sum sum = { 0, 0 };
  struct series_walk walk;
  struct series series;
  char begin[100], reserved[100]; /* as names of the aggregator's own begin, in any group's place */

  snprintf (begin, sizeof begin, "synop_%s_", group->name);
  snprintf (reserved, sizeof reserved, "synop_group_%s_", group->name);
  series_begin (&walk, naming, node, 1);
  while (series_next (&walk, &series))
    if ((strncmp (series.family->name, begin, strlen (begin)) == 0 ||
         strncmp (series.family->name, reserved, strlen (reserved)) == 0) &&
        strcmp (series.family->help, metric->help) == 0 &&
        (series.family->type == FAMILY_COUNTER) == (metric->kind == COUNTER) &&
        (series_labels (&series, labels, &texts) == 0) == of_node) {
      sum.count++;
      sum.total += series_number (&series);
    }
  buffer_free (&texts);
  return sum;
}

/* By the rule each number of a frame is one series, with that value. */
static void
test_all_values_of_a_frame_are_there (void **state)
{
  struct naming *naming = naming_of ("synop");
  struct series_node node = { .name = "n1", .time_ns = FRAME_NS };
  size_t values = 0;

  (void) state;
  machine_begin ();
  machine_sample (ROOT_SMALL);
  node.tables = machine.shown;
  node.plan = naming_plan (naming, machine.schema);
  for (size_t i = 0; i < sampler_count; i++)
    for (size_t column = 0; column < machine.groups[i]->metric_count; column++) {
      const struct metric *metric = &machine.groups[i]->metrics[column];
      struct sum expected = sum_of_table (i, column), sum;
      if (metric->kind == TEXT)
        continue;
      sum = sum_of_series (naming, &node, machine.groups[i], metric);
      if (sum.count != expected.count || fabs (sum.total - expected.total) > 1e-9 * fabs (expected.total))
        fail_msg ("%s.%s: %zu series, %.17g; expected %zu, %.17g", machine.groups[i]->name, metric->name, sum.count,
                  sum.total, expected.count, expected.total);
      values += sum.count;
    }
  assert_in_range (values, 300, 10000);
  naming_destroy (naming);
  machine_end ();
}

static char *
text_of (const char *root, const char *sets)
{
  struct naming *naming = naming_of (sets);
  struct series_node node = { .name = "n1", .tables = machine.shown, .time_ns = FRAME_NS };
  struct exposition exposition;
  struct buffer text = { 0 };

  machine_sample (root);
  for (size_t i = 0; i < sampler_count; i++)
    machine.shown[i].time_ns = 0;
  node.plan = naming_plan (naming, machine.schema);
  exposition_begin (&exposition, EXPOSITION_TEXT, false, naming, &node, 1);
  while (exposition_next (&exposition, &text, text.length + 1))
    continue;
  buffer_add (&text, "", 1);
  naming_destroy (naming);
  return text.data;
}

static void
assert_all_lines (const char *text, const char *const *lines)
{
  for (; *lines; lines++) {
    const char *at = strstr (text, *lines);
    if (at == NULL || at[-1] != '\n' || at[strlen (*lines)] != '\n')
      fail_msg ("there is no line %s in %s", *lines, text);
  }
}

/* As the recorded files have it. */
static const char *const lines_of_small[] = {
  "node_time_seconds 1795372187.165569123 1795372187165",
  "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 10.3",
  "node_cpu_seconds_total{cpu=\"1\",mode=\"iowait\"} 1.3",
  "node_cpu_guest_seconds_total{cpu=\"0\",mode=\"nice\"} 0.03",
  "node_context_switches_total 1800123",
  "node_memory_MemTotal_bytes 17179869184",
  "node_memory_HugePages_Total 128",
  "node_vmstat_pgpgin 1517449",
  "node_vmstat_pgfault 1698047",
  "node_load1 0.2",
  "node_load15 12.07",
  "node_pressure_memory_waiting_seconds_total 4.74501",
  "node_pressure_memory_stalled_seconds_total 4.672893",
  "node_disk_reads_completed_total{device=\"nvme0n1\"} 5001",
  "node_disk_read_bytes_total{device=\"nvme0n1\"} 204804096",
  "node_disk_read_time_seconds_total{device=\"nvme0n1\"} 1.2",
  "node_disk_io_time_weighted_seconds_total{device=\"nvme0n1\"} 4.6",
  "node_disk_discarded_sectors_total{device=\"nvme0n1\"} 64",
  "node_network_receive_bytes_total{device=\"eth0\"} 28086390",
  "node_network_receive_multicast_total{device=\"eth0\"} 14",
  "node_network_transmit_carrier_total{device=\"eth0\"} 4",
  "node_network_speed_bytes{device=\"eth0\"} 3125000000",
  "node_network_carrier{device=\"eth0\"} 1",
  "node_network_up{device=\"eth0\"} 1",
  "node_network_up{device=\"lo\"} 0",
  "node_network_info{device=\"eth0\",operstate=\"up\",ifalias=\"uplink 1\"} 1",
  "node_network_flags{device=\"eth0\"} 4099",
  "node_network_mtu_bytes{device=\"lo\"} 65536",
  "node_arp_entries{device=\"eth0\"} 2",
  "node_netstat_Udp_InDatagrams 1443",
  "node_netstat_Udp6_InDatagrams 57",
  "node_netstat_TcpExt_TCPOFOQueue 34",
  "node_netstat_Tcp_MaxConn -1",
  "node_netstat_Ip6_InOctets 61",
  "node_sockstat_TCP_tw 2",
  "node_softnet_times_squeezed_total{cpu=\"0\"} 7",
  "node_schedstat_running_seconds_total{cpu=\"0\"} 31.413519337",
  "node_filefd_maximum 9223372036854775807",
  "node_processes_max_processes 4194304",
  "node_nf_conntrack_entries 123",
  "node_nf_conntrack_stat_invalid 19",
  "node_cpu_scaling_frequency_max_hertz{cpu=\"1\"} 3100000000",
  "node_cpu_scaling_governor{cpu=\"0\",governor=\"powersave\"} 1",
  "node_time_clocksource_current_info{device=\"0\",clocksource=\"tsc\"} 1",
  "node_time_clocksource_available_info{device=\"0\",clocksource=\"hpet\"} 1",
  "node_uname_info{sysname=\"Linux\",release=\"6.1.0-9-amd64\",version=\"#1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 "
  "(2023-05-08)\",machine=\"x86_64\",nodename=\"small\",domainname=\"(none)\"} 1",
  "node_os_version{id=\"debian\",id_like=\"\",name=\"Debian GNU/Linux\"} 12",
  "DCGM_FI_DEV_GPU_TEMP{gpu=\"1\",UUID=\"GPU-00000000-0000-0000-0000-000000000001\",pci_bus_id=\"00000000:11:00.0\","
  "device=\"nvidia1\",modelName=\"Stand-in H100 1\",Hostname=\"n1\",DCGM_FI_DRIVER_VERSION=\"550.54.15\"} 41",
  "DCGM_FI_DEV_FB_USED{gpu=\"2\",UUID=\"GPU-00000000-0000-0000-0000-000000000002\",pci_bus_id=\"00000000:12:00.0\","
  "device=\"nvidia2\",modelName=\"Stand-in H100 2\",GPU_I_ID=\"2\",GPU_I_PROFILE=\"1\",mig=\"1\",Hostname=\"n1\","
  "DCGM_FI_DRIVER_VERSION=\"550.54.15\"} 3072",
  "dcgm_gpu_temp{gpu_id=\"1\",gpu_uuid=\"GPU-00000000-0000-0000-0000-000000000001\",job_id=\"None\"} 41",
  NULL,
};
static const char *const lines_of_infiniband[] = {
  "node_infiniband_rate_bytes_per_second{device=\"mlx5_2\",port=\"1\"} 50000000000",
  "node_infiniband_state_id{device=\"mlx5_2\",port=\"1\"} 4",
  "node_infiniband_physical_state_id{device=\"mlx5_2\",port=\"2\"} 3",
  NULL,
};
static const char *const lines_of_hwmon[] = {
  "node_hwmon_chip_names{chip=\"platform_coretemp_0\",chip_name=\"coretemp\"} 1",
  "node_hwmon_sensor_label{chip=\"platform_coretemp_0\",sensor=\"temp1\",label=\"Package id 0\"} 1",
  "node_hwmon_temp_celsius{chip=\"platform_coretemp_0\",sensor=\"temp1\"} 41",
  "node_hwmon_fan_rpm{chip=\"platform_coretemp_0\",sensor=\"fan1\"} 1234",
  NULL,
};
static const char *const lines_of_devices[] = {
  "node_cooling_device_cur_state{name=\"0\",type=\"Processor\"} 2",
  "node_power_supply_online{power_supply=\"AC\"} 1",
  "node_power_supply_capacity{power_supply=\"BAT0\"} 87",
  "node_power_supply_power_watt{power_supply=\"BAT0\"} -7.5",
  "node_edac_correctable_errors_total{controller=\"0\"} 5",
  "node_edac_csrow_correctable_errors_total{controller=\"0\",csrow=\"unknown\"} 2",
  "node_md_state{device=\"md127\",state=\"active\"} 1",
  "node_md_state{device=\"md127\",state=\"recovering\"} 1",
  "node_md_blocks{device=\"md127\"} 976630464",
  "node_nvme_info{device=\"nvme0\",model=\"EXAMPLE MZQL23T8\",firmware_revision=\"GDC5602Q\",state=\"live\"} 1",
  "node_infiniband_info{device=\"mlx5_0\",board_id=\"MT_0000000838\",firmware_version=\"28.39.2048\",hca_type="
  "\"MT4129\"} 1",
  "node_bonding_slaves{master=\"bond0\"} 2",
  "node_bonding_active{master=\"bond0\"} 1",
  NULL,
};

static void
test_values_are_those_of_the_kernel (void **state)
{
  static const char *const thermal[] = { "node_thermal_zone_temp{zone=\"0\",type=\"x86_pkg_temp\"} 61.5", NULL };
  char *text;

  (void) state;
  machine_begin ();
  assert_all_lines (text = text_of (ROOT_SMALL, "node-exporter, dcgm-exporter, moneo"), lines_of_small);
  assert_null (strstr (text, "node_time_clocksource_current_info{device=\"0\",clocksource=\"hpet\"}"));
  free (text);
  assert_all_lines (text = text_of ("tests/roots/infiniband", "node-exporter"), lines_of_infiniband);
  free (text);
  assert_all_lines (text = text_of ("tests/roots/thermal", "node-exporter"), thermal);
  free (text);
  assert_all_lines (text = text_of ("tests/roots/hwmon", "node-exporter"), lines_of_hwmon);
  free (text);
  assert_all_lines (text = text_of ("tests/roots/devices", "node-exporter"), lines_of_devices);
  free (text);
  machine_end ();
}

/* All lines of the sets that come with the programs are of groups and metrics that there are. */
static void
test_every_line_of_a_set_gives_something (void **state)
{
  struct naming *naming = naming_of (SETS);
  struct buffer out = { 0 };

  (void) state;
  machine_begin ();
  if (naming_check (naming, machine.schema, &out) != 0)
    fail_msg ("%.*s", (int) out.length, out.data);
  buffer_free (&out);
  naming_destroy (naming);
  machine_end ();
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_promtool_finds_nothing),
    cmocka_unit_test (test_all_values_of_a_frame_are_there),
    cmocka_unit_test (test_values_are_those_of_the_kernel),
    cmocka_unit_test (test_every_line_of_a_set_gives_something),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
