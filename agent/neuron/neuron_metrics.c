/* The groups of AWS Neuron and where their values lie in neuron-monitor's reports, in both of its generations. Names are
 * those that its users know; nested values are flat here, with the name of the object around them where they need one.
 */
#include <string.h>

#include "agent/neuron/neuron_report.h"
#include "synop/report.h"

#define COUNT(NAME, SOURCE, HELP)                                                                                      \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_COUNT, FOLD_SUM, .source = SOURCE, .help = HELP                                                \
  }
#define BYTES(NAME, SOURCE, HELP)                                                                                      \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_BYTES, FOLD_SUM, .source = SOURCE, .help = HELP                                                  \
  }
#define VALUE(NAME, UNIT, FOLD, SOURCE, HELP)                                                                          \
  {                                                                                                                    \
    NAME, GAUGE, UNIT, FOLD, .source = SOURCE, .help = HELP                                                            \
  }
#define VALUE_TO(MOST, NAME, UNIT, FOLD, SOURCE, HELP)                                                                 \
  {                                                                                                                    \
    NAME, GAUGE, UNIT, FOLD, .source = SOURCE, .bound = { .most = MOST }, .help = HELP                                 \
  }
#define WORDS(NAME, SOURCE, HELP)                                                                                      \
  {                                                                                                                    \
    NAME, TEXT, UNIT_NONE, FOLD_NONE, .source = SOURCE, .help = HELP                                                   \
  }
#define ROW_ERROR(HELP) WORDS (REPORT_ROW_ERROR, "error", HELP)
#define GROUP_ERROR ROW_ERROR ("Why this runtime's values are missing.")

static const struct metric runtimes[] = {
  VALUE ("pid", UNIT_COUNT, FOLD_NONE, "pid", "Process id of the runtime (newer neuron-monitor)."),
  VALUE ("runtime_index", UNIT_COUNT, FOLD_NONE, "runtime_index", "Number of the runtime (older neuron-monitor)."),
  WORDS ("address", "address", "Address of the runtime."),
  WORDS ("neuron_runtime_tag", "neuron_runtime_tag", "Tag that the application was given."),
  WORDS ("job", "", "The job that its process belongs to, where jobs are sampled; of a new process one sample later."),
  WORDS ("source", "", "Where the values come from: neuron-monitor, or driver (all runtimes together)."),
  ROW_ERROR ("Why there are no values of this runtime."),
};

static const struct metric cores[] = {
  VALUE ("neuroncore_utilization", UNIT_PERCENT, FOLD_MEAN, "neuroncore_utilization", "Time that the core was busy."),
  VALUE_TO (1e21, "flops", UNIT_COUNT, FOLD_SUM, "flops", "Floating point operations per second."),
  VALUE_TO (1e21, "effective_flops", UNIT_COUNT, FOLD_SUM, "effective_flops",
            "Floating point operations per second that the model itself needs."),
  VALUE ("matmul_utilization", UNIT_PERCENT, FOLD_MEAN, "matmul_utilization",
         "Use of the matrix multiplier (older neuron-monitor)."),
  COUNT ("alignment_corrections", "alignment_corrections", "Corrections of alignment (older neuron-monitor)."),
  WORDS ("active_models", "active_models", "Models and subgraphs that ran, MODEL:SUBGRAPH (older neuron-monitor)."),
  VALUE_TO (1e19, "estimated_cycles", UNIT_COUNT, FOLD_MAX, "/estimated_cycles",
            "Estimated cycles of the runtime's cores (older neuron-monitor)."),
  GROUP_ERROR,
};

#define LATENCY(NAME, PART, HELP)                                                                                      \
  VALUE (NAME "_latency_" PART, UNIT_SECONDS, FOLD_MAX, "latency_stats/" NAME "_latency/" PART, HELP)
#define LATENCIES(NAME, OF)                                                                                            \
  LATENCY (NAME, "p0", "Least " OF " in the period."), LATENCY (NAME, "p1", "1 % had no greater " OF "."),             \
      LATENCY (NAME, "p25", "25 % had no greater " OF "."), LATENCY (NAME, "p50", "Half had no greater " OF "."),      \
      LATENCY (NAME, "p75", "75 % had no greater " OF "."), LATENCY (NAME, "p99", "99 % had no greater " OF "."),      \
      LATENCY (NAME, "p100", "Greatest " OF " in the period.")
#define OUTCOME(NAME, HELP) COUNT (NAME, "execution_summary/" NAME " inference_summary/" NAME, HELP)

static const struct metric executions[] = {
  OUTCOME ("completed", "Executions that completed."),
  OUTCOME ("completed_with_err", "Executions that ended in an error other than a numerical one."),
  OUTCOME ("completed_with_num_err", "Executions that ended in a numerical error."),
  OUTCOME ("timed_out", "Executions that took longer than the runtime allows."),
  OUTCOME ("incorrect_input", "Executions that did not start because of their input."),
  OUTCOME ("failed_to_queue", "Executions that could not be queued."),
  COUNT ("errors_generic", "error_summary/generic", "Errors of no other kind."),
  COUNT ("errors_numerical", "error_summary/numerical error_summary/numeric", "Numerical errors, NaN."),
  COUNT ("errors_transient", "error_summary/transient", "Errors that passed, as ECC corrections."),
  COUNT ("errors_model", "error_summary/model", "Errors of models."),
  COUNT ("errors_runtime", "error_summary/runtime", "Errors of the Neuron runtime."),
  COUNT ("errors_hardware", "error_summary/hardware", "Errors of the hardware."),
  LATENCIES ("total", "latency as the runtime measures it"),
  LATENCIES ("device", "time on the device"),
  GROUP_ERROR,
};

#define USED "neuron_runtime_used_bytes/"
#define OF_HOST(NAME, HELP) BYTES ("host_" NAME, USED "usage_breakdown/host/" NAME, HELP)

static const struct metric memory[] = {
  BYTES ("host", USED "host runtime_memory/host", "Memory of the host that is used."),
  BYTES ("neuron_device", USED "neuron_device " USED "device runtime_memory/device",
         "Memory of the Neuron devices that is used."),
  OF_HOST ("application_memory", "Of the host: of the application, and what is in no other part."),
  OF_HOST ("constants", "Of the host: constants, or weights."),
  OF_HOST ("dma_buffers", "Of the host: buffers for DMA."),
  OF_HOST ("tensors", "Of the host: tensors."),
  GROUP_ERROR,
};

static const struct metric core_memory[] = {
  BYTES ("constants", "constants", "Constants, or weights."),
  BYTES ("model_code", "model_code", "Code of models."),
  BYTES ("model_shared_scratchpad", "model_shared_scratchpad", "Scratchpad that models share."),
  BYTES ("runtime_memory", "runtime_memory", "Memory of the runtime."),
  BYTES ("tensors", "tensors", "Tensors."),
  GROUP_ERROR,
};

#define OF_GRAPH(NAME) "memory_used_bytes/" NAME

static const struct metric models[] = {
  WORDS ("name", "/name", "Name of the model."),
  WORDS ("uuid", "/uuid", "UUID of the model."),
  VALUE ("is_running", UNIT_BOOLEAN, FOLD_SUM, "/is_running", "Whether it runs."),
  BYTES ("host", OF_GRAPH ("host") " memory_usage/host", "Memory of the host that the subgraph uses."),
  BYTES ("neuron_device", OF_GRAPH ("neuron_device") " memory_usage/device",
         "Memory of the Neuron device that the subgraph uses."),
  VALUE ("neuroncore_index", UNIT_COUNT, FOLD_NONE, "neuroncore_index neuron_core", "Core that it is loaded on."),
  VALUE ("neuron_device_index", UNIT_COUNT, FOLD_NONE, "neuron_device_index neuron_device",
         "Device that it is loaded on."),
  GROUP_ERROR,
};

static const struct metric vcpu[] = {
  VALUE_TO (1e6, "user", UNIT_PERCENT, FOLD_SUM, "vcpu_usage/user cpu_usage/user",
            "CPU time of the runtime in user mode."),
  VALUE_TO (1e6, "system", UNIT_PERCENT, FOLD_SUM, "vcpu_usage/system cpu_usage/system",
            "CPU time of the runtime in the kernel."),
  GROUP_ERROR,
};

static const struct metric devices[] = {
  COUNT ("mem_ecc_corrected", "mem_ecc_corrected", "Corrected ECC events of the device's memory."),
  COUNT ("mem_ecc_uncorrected", "mem_ecc_uncorrected", "Uncorrected ECC events of the device's memory."),
  COUNT ("mem_ecc_repairable_uncorrected", "mem_ecc_repairable_uncorrected",
         "Uncorrected ECC events of the device's memory that can be repaired."),
  COUNT ("sram_ecc_corrected", "sram_ecc_corrected", "Corrected ECC events of the device's SRAM."),
  COUNT ("sram_ecc_uncorrected", "sram_ecc_uncorrected", "Uncorrected ECC events of the device's SRAM."),
  VALUE_TO (1000, "power_average", UNIT_PERCENT, FOLD_MEAN, "",
            "Mean power of a minute, of the maximum (from the driver)."),
  VALUE_TO (1000, "power_max", UNIT_PERCENT, FOLD_MAX, "",
            "Highest power in a minute, of the maximum (from the driver)."),
  ROW_ERROR ("Why the device's values are missing."),
};

static const struct metric hardware[] = {
  { "neuron_device_count", GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = "neuron_device_count",
    .help = "Neuron devices." },
  WORDS ("neuron_device_type", "neuron_device_type", "What the device is: inferentia2, trainium2 ..."),
  WORDS ("neuron_device_version", "neuron_device_version", "Version of the device: v4."),
  WORDS ("neuroncore_version", "neuroncore_version", "Version of its cores: v3d."),
  VALUE ("neuroncore_per_device_count", UNIT_COUNT, FOLD_SUM, "neuroncore_per_device_count", "Its cores."),
  BYTES ("neuron_device_memory_size", "neuron_device_memory_size", "Its memory."),
  VALUE ("logical_neuroncore_config", UNIT_COUNT, FOLD_NONE, "logical_neuroncore_config",
         "How many cores make a logical one."),
  WORDS ("connected_devices", "", "Devices that it is connected to."),
  WORDS ("serial_number", "", "Its serial number."),
};

static const struct metric instance[] = {
  WORDS ("instance_id", "instance_id", "."), WORDS ("instance_type", "instance_type", "."),
  WORDS ("ami_id", "ami_id", "."),           WORDS ("availability_zone", "instance_availability_zone", "."),
  WORDS ("region", "instance_region", "."),
};

#define OF_RUNTIME(NAME, ROW, ROWS)                                                                                    \
  .name = NAME, .section = REPORT_RUNTIMES, .row = ROW, .rows_name = ROWS, .of_users = true

const struct group neuron_groups[NEURON_KINDS] = {
  [NEURON_RUNTIMES] = { OF_RUNTIME (REPORT_RUNTIME_INFO, REPORT_RUNTIME_ROW, "runtimes"), .fold_name = "",
                        .help = "What each Neuron runtime on this node is.", GROUP_METRICS (runtimes) },
  [NEURON_CORES] = { OF_RUNTIME ("neuroncore_counters", "core", "neuroncores_in_use"), .fold_name = "total",
                     .flags = GROUP_ROWS, .help = "Activity of NeuronCores, for each runtime.", GROUP_METRICS (cores) },
  [NEURON_EXECUTIONS] = { OF_RUNTIME ("execution_stats", REPORT_RUNTIME_ROW, "runtimes"), .fold_name = "total",
                          .help = "How executions on Neuron devices ended, and how long they took.",
                          GROUP_METRICS (executions) },
  [NEURON_MEMORY] = { OF_RUNTIME ("memory_used", REPORT_RUNTIME_ROW, "runtimes"), .fold_name = "total",
                      .help = "Memory that Neuron runtimes use.", GROUP_METRICS (memory) },
  [NEURON_CORE_MEMORY] = { OF_RUNTIME ("neuroncore_memory_usage", "core", "neuroncores"), .fold_name = "total",
                           .flags = GROUP_ROWS, .help = "Memory of Neuron devices, by the NeuronCore that it is for.",
                           GROUP_METRICS (core_memory) },
  [NEURON_MODELS] = { OF_RUNTIME ("loaded_models", "subgraph", "models"), .fold_name = "total",
                      .help = "Models that are loaded, a row a subgraph: MODEL:SUBGRAPH.", GROUP_METRICS (models) },
  [NEURON_VCPU] = { OF_RUNTIME ("neuron_runtime_vcpu_usage", REPORT_RUNTIME_ROW, "runtimes"), .fold_name = "total",
                    .help = "CPU time that Neuron runtimes use.", GROUP_METRICS (vcpu) },
  [NEURON_DEVICES] = { .name = "neuron_hw_counters",
                       .section = "system_data",
                       .row = "device",
                       .rows_name = "neuron_devices",
                       .fold_name = "total",
                       .flags = GROUP_ROWS,
                       .help = "Hardware counters of the Neuron devices.",
                       GROUP_METRICS (devices) },
  [NEURON_HARDWARE] = { .name = "neuron_hardware_info",
                        .section = "",
                        .row = "device",
                        .rows_name = "devices",
                        .fold_name = "",
                        .flags = GROUP_ONCE,
                        .help = "The node's Neuron devices.",
                        GROUP_METRICS (hardware) },
  [NEURON_INSTANCE] = { .name = "instance_info",
                        .section = "",
                        .row = "",
                        .rows_name = "",
                        .fold_name = "",
                        .help = "The instance, as neuron-monitor reports it.",
                        GROUP_METRICS (instance) },
};

size_t
neuron_column (enum neuron_kind kind, const char *metric)
{
  const struct group *group = &neuron_groups[kind];

  for (size_t i = 0; i < group->metric_count; i++)
    if (strcmp (group->metrics[i].name, metric) == 0)
      return i;
  return NEURON_COLUMN_NONE;
}
