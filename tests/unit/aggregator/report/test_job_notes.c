/* Jobs of known faults: what the first note of each says, and what it says to write instead. A healthy one has none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aggregator/report/job_advice.h"
#include "aggregator/report/job_request.h"
#include "tests/unit/aggregator/report/job_history.h"

#define GIB (UINT64_C (1) << 30)
#define SECONDS 80

/* What a node does in a second: 8 CPUs, of which 7.6 compute; 10 of 16 GiB; nothing else worth a word. */
static struct job_sample
healthy (uint64_t sequence)
{
  struct job_sample sample = steady (sequence, 8, 7.6, 10 * GIB);

  sample.limit = 16 * GIB;
  sample.threads = 8;
  sample.link = UINT64_C (10000000000);
  sample.waiting = 1;
  return sample;
}

/* Samples of a node from the first second to `last`, each changed by `change`. */
static void
put_node (struct scratch *scratch, const char *node, uint64_t last, void (*change) (struct job_sample *sample))
{
  struct job_chain chain = { 0 };

  for (uint64_t i = 1; i <= last; i++) {
    struct job_sample sample = healthy (i);
    sample.chain = &chain;
    if (change)
      change (&sample);
    put_sample (scratch, node, "123", &sample);
  }
  job_chain_free (&chain);
}

static struct job_report *
advised (struct scratch *scratch, const char *nodes, double seconds)
{
  struct job_report *report = make_job_report (scratch, nodes, seconds, true, NULL);

  job_advice (report, &advice_limits_default);
  return report;
}

/* NULL: there is no note. `text` and `advice` are parts of them; `write` "": nothing is to be written. */
static void
check_first (struct job_report *report, const char *name, const char *text, const char *advice, const char *write)
{
  const struct job_note *note = report->notes;

  for (size_t i = 0; i < report->note_count; i++)
    print_message ("# %s: %s %s%s %s\n", report->notes[i].name, report->notes[i].text, report->notes[i].advice,
                   job_note_end (&report->notes[i]), report->notes[i].write);
  if (!name) {
    assert_int_equal (report->note_count, 0);
    return;
  }
  assert_true (report->note_count > 0);
  assert_string_equal (note->name, name);
  assert_non_null (strstr (note->text, text));
  assert_non_null (strstr (note->advice, advice));
  assert_string_equal (note->write, write);
}

static void
test_healthy (void **state)
{
  struct job_report *report;

  put_node (*state, "n1", SECONDS, NULL);
  put_node (*state, "n2", SECONDS, NULL);
  report = advised (*state, "n1,n2", SECONDS - 1);
  check_first (report, NULL, "", "", "");
  assert_int_equal (report->meter_count, 2);
  assert_string_equal (report->meters[0].name, "cpu");
  assert_float_equal (report->meters[0].percent, 95, 0.1);
  assert_float_equal (report->meters[0].of, 16, 1e-9);
  assert_string_equal (report->meters[1].name, "memory");
  assert_float_equal (report->meters[1].percent, 62.5, 0.1);
  job_report_destroy (report);
}

static void
give_gpus (struct job_sample *sample)
{
  sample->node_gpus = 4;
  sample->gpus = "0,1";
  sample->types[0] = sample->types[1] = sample->types[2] = sample->types[3] = "NVIDIA A100-SXM4-80GB";
  sample->gpu_percent[0] = 92;
  sample->idle = "1";
  sample->used = 1;
}

static void
test_idle_gpu (void **state)
{
  struct job_report *report;

  put_node (*state, "n1", SECONDS, give_gpus);
  report = advised (*state, "n1", SECONDS - 1);
  check_first (report, "idle_gpus",
               "1 of 2 GPUs was left idle: GPU 1 on n1 (NVIDIA A100-SXM4-80GB); no process of the job was on it in "
               "100 % of 80 samples.",
               "Start it on all of them, or ask for 1", "#SBATCH --gpus-per-node=1");
  assert_int_equal (report->meter_count, 4);
  assert_float_equal (report->meters[2].percent, 46, 0.1);
  assert_float_equal (report->meters[3].percent, 25, 0.1);
  job_report_destroy (report);
}

/* Processes on it are seen of no job, and it computes. */
static void
hide_processes (struct job_sample *sample)
{
  give_gpus (sample);
  sample->gpu_percent[1] = 50;
}

/* Its processes are there and do nothing. */
static void
hold_gpu (struct job_sample *sample)
{
  give_gpus (sample);
  sample->used = 2;
}

static void
test_what_is_idle (void **state)
{
  struct job_report *report;

  put_node (*state, "n1", SECONDS, hide_processes);
  put_node (*state, "n2", SECONDS, hold_gpu);
  report = advised (*state, "n1", SECONDS - 1);
  check_first (report, NULL, "", "", "");
  job_report_destroy (report);
  report = advised (*state, "n2", SECONDS - 1);
  check_first (report, "idle_gpus", "nothing ran on it in 100 % of 80 samples.", "", "#SBATCH --gpus-per-node=1");
  job_report_destroy (report);
}

static void
give_two_types (struct job_sample *sample)
{
  give_gpus (sample);
  sample->types[1] = "Tesla T4";
}

static void
test_wrong_type (void **state)
{
  struct job_report *report;

  put_node (*state, "n1", SECONDS, give_two_types);
  report = advised (*state, "n1", SECONDS - 1);
  check_first (report, "idle_gpus", "GPU 1 on n1 (Tesla T4)", "It used the NVIDIA A100-SXM4-80GB alone: ask for one",
               "#SBATCH --gpus-per-node=a100:1");
  job_report_destroy (report);
}

static void
use_one_thread (struct job_sample *sample)
{
  sample->user_ms = 950 * (sample->sequence - 1);
  sample->system_ms = 50 * (sample->sequence - 1);
  sample->threads = 1;
}

static void
test_one_thread (void **state)
{
  struct job_report *report;

  put_node (*state, "n1", SECONDS, use_one_thread);
  report = advised (*state, "n1", SECONDS - 1);
  check_first (report, "cpus_unused", "It used 1.00 of the 8 CPUs, in the mean, and had 1 thread.",
               "Start as many threads or processes as CPUs (OMP_NUM_THREADS=8), or ask for 1",
               "#SBATCH --cpus-per-task=1");
  job_report_destroy (report);
}

/* The same in a job that is too short to be judged. */
static void
test_short (void **state)
{
  struct job_report *report;

  put_node (*state, "n1", 41, use_one_thread);
  report = advised (*state, "n1", 40);
  check_first (report, NULL, "", "", "");
  job_report_destroy (report);
}

static void
ask_for_much (struct job_sample *sample)
{
  sample->limit = 100 * GIB;
}

static void
test_memory_unused (void **state)
{
  struct job_report *report;

  put_node (*state, "n1", SECONDS, ask_for_much);
  report = advised (*state, "n1", SECONDS - 1);
  check_first (report, "memory_unused", "It used at most 10.0 GiB of the 100 GiB of memory that it asked for.",
               "Ask for 13.0 GiB", "#SBATCH --mem=13G");
  job_report_destroy (report);
}

static void
kill_for_memory (struct job_sample *sample)
{
  sample->rss = sample->rss_peak = 10 * GIB;
  sample->limit = 10 * GIB;
  sample->oom_kills = sample->sequence > 40 ? 2 : 0;
}

static void
test_killed (void **state)
{
  struct job_report *report;

  put_node (*state, "n1", SECONDS, kill_for_memory);
  report = advised (*state, "n1", SECONDS - 1);
  check_first (report, "killed_for_memory", "2 processes were killed for want of memory, on n1: it had 10.0 GiB.",
               "Ask for more, 15.0 GiB for a start", "#SBATCH --mem=15G");
  assert_int_equal (report->note_count, 1);
  job_report_destroy (report);
}

/* By cgroup v1 nothing counts them: the scheduler says it. */
static void
test_killed_by_scheduler (void **state)
{
  struct job_report *report;

  put_node (*state, "n1", 20, NULL);
  report = advised (*state, "n1", 19);
  report->facts.known = true;
  report->facts.outcome = JOB_OUTCOME_OUT_OF_MEMORY;
  job_advice (report, &advice_limits_default);
  check_first (report, "killed_for_memory", "It was killed for want of memory: it had 16.0 GiB.", "24.0 GiB",
               "#SBATCH --mem=24G");
  job_report_destroy (report);
}

static void
test_lost_node (void **state)
{
  struct job_report *report;

  put_node (*state, "n1", SECONDS, NULL);
  put_node (*state, "n2", 40, NULL);
  report = advised (*state, "n1,n2", SECONDS - 1);
  check_first (report, "lost_nodes", "n2 was lost while the job ran, at ", "submit the job again without it",
               "#SBATCH --exclude=n2");
  job_report_destroy (report);
}

static void
slow_down (struct job_sample *sample)
{
  sample->user_ms /= 2;
  sample->system_ms /= 2;
}

static void
test_slow_node (void **state)
{
  struct job_report *report;

  put_node (*state, "n1", SECONDS, NULL);
  put_node (*state, "n2", SECONDS, slow_down);
  put_node (*state, "n3", SECONDS, NULL);
  report = advised (*state, "n1,n2,n3", SECONDS - 1);
  check_first (report, "slow_node", "n2 was slow: it used 47.5 % of its CPUs, the others 95.0 %.",
               "report it to the operators and leave it out", "#SBATCH --exclude=n2");
  job_report_destroy (report);
}

static void
do_nothing (struct job_sample *sample)
{
  sample->user_ms = sample->sequence;
  sample->system_ms = 0;
}

/* One that is idle is not slow. */
static void
test_idle_node (void **state)
{
  struct job_report *report;

  put_node (*state, "n1", SECONDS, NULL);
  put_node (*state, "n2", SECONDS, NULL);
  put_node (*state, "n3", SECONDS, do_nothing);
  report = advised (*state, "n1,n2,n3", SECONDS - 1);
  check_first (report, "idle_nodes", "1 of 3 nodes did nothing: n3 used ",
               "Start it on all nodes (srun, mpirun), or ask", "#SBATCH --nodes=2");
  assert_int_equal (report->slowest, SIZE_MAX);
  assert_int_equal (report->note_count, 1);
  job_report_destroy (report);
}

static void
test_timeout (void **state)
{
  struct job_report *report;

  put_node (*state, "n1", SECONDS, NULL);
  report = advised (*state, "n1", SECONDS - 1);
  report->facts.known = true;
  report->facts.outcome = JOB_OUTCOME_TIMEOUT;
  report->facts.numbers[JOB_FACT_TIME_LIMIT] = 5400;
  job_advice (report, &advice_limits_default);
  check_first (report, "timeout", "It was not done when its time was over, 1 h 30 min 0 s.", "Ask for more time",
               "#SBATCH --time=03:00:00");
  job_report_destroy (report);
}

static void
swap_out (struct job_sample *sample)
{
  sample->swap = sample->sequence > 20 ? 6 * GIB : 0;
  sample->user_ms /= 4;
  sample->system_ms /= 4;
}

static void
test_swap (void **state)
{
  struct job_report *report;

  put_node (*state, "n1", SECONDS, swap_out);
  report = advised (*state, "n1", SECONDS - 1);
  check_first (report, "swap", "up to 6.00 GiB of it lay in swap on n1", "Ask for 20.0 GiB", "#SBATCH --mem=20G");
  assert_int_equal (report->note_count, 1); /* that it used few of its CPUs follows from it */
  job_report_destroy (report);
}

static void
load_network (struct job_sample *sample)
{
  sample->received = UINT64_C (1180000000) * sample->sequence;
  sample->user_ms /= 3;
  sample->system_ms /= 3;
}

static void
test_network (void **state)
{
  struct job_report *report;

  for (int i = 1; i <= 4; i++) {
    char name[8];
    snprintf (name, sizeof name, "n%d", i);
    put_node (*state, name, SECONDS, load_network);
  }
  report = advised (*state, "n1,n2,n3,n4", SECONDS - 1);
  check_first (report, "network_bound",
               "It was bound by the network: Ethernet carried 1.10 GiB/s on each node, 94.4 % of what it can "
               "(1.16 GiB/s).",
               "Run it on fewer nodes", "#SBATCH --nodes=2");
  assert_int_equal (report->note_count, 1);
  job_report_destroy (report);
}

static void
wait_for_storage (struct job_sample *sample)
{
  sample->waiting = 86;
  sample->read = 20000000 * (sample->sequence - 1);
  sample->user_ms /= 10;
  sample->system_ms /= 10;
}

static void
test_storage (void **state)
{
  struct job_report *report;

  put_node (*state, "n1", SECONDS, wait_for_storage);
  report = advised (*state, "n1", SECONDS - 1);
  check_first (report, "storage_bound",
               "It waited for storage in 86.0 % of the time, and used 9.50 % of its CPUs: it read 19.1 MiB/s and wrote",
               "Copy what it reads to a disk of the node first ($TMPDIR)", "");
  assert_int_equal (report->note_count, 1);
  job_report_destroy (report);
}

/* ---- the words of schedulers ---- */

static void
test_requests (void **state)
{
  static const struct {
    const char *scheduler, *memory, *cpus, *nodes, *gpus, *time, *without;
  } rows[] = {
    { "slurm", "#SBATCH --mem=3G", "#SBATCH --ntasks-per-node=4", "#SBATCH --nodes=2", "#SBATCH --gpus-per-node=h100:1",
      "#SBATCH --time=01:31:00", "#SBATCH --exclude=n2" },
    { "pbs", "#PBS -l select=2:mem=3gb", "#PBS -l select=2:ncpus=4", "#PBS -l select=2:ncpus=8",
      "#PBS -l select=2:ngpus=1", "#PBS -l walltime=01:31:00", "" },
    { "oar", "", "#OAR -l nodes=2/core=4", "#OAR -l nodes=2", "#OAR -l nodes=2/gpu=1", "#OAR -l walltime=1:31:00", "" },
    { "lsf", "#BSUB -R \"rusage[mem=3GB]\" -M 3GB", "#BSUB -n 8 -R \"span[ptile=4]\"", "#BSUB -n 16",
      "#BSUB -gpu \"num=1\"", "#BSUB -W 1:31", "#BSUB -R \"select[hname!='n2']\"" },
    { "flux", "", "#flux: --nodes=2 --cores=8", "#flux: --nodes=2", "#flux: --nodes=2 --gpus-per-node=1",
      "#flux: --time-limit=91m", "#flux: --requires=-host:n2" },
    { "synop", "", "", "", "", "", "" },
  };
  struct job_node nodes[] = { { .name = "n1" }, { .name = "n2" } };
  const bool second[] = { false, true };

  (void) state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct job_report report = { .scheduler = rows[i].scheduler, .nodes = nodes, .node_count = 2, .cpus = 16 };
    struct buffer texts[6] = { 0 };
    const char *const expected[] = { rows[i].memory, rows[i].cpus, rows[i].nodes,
                                     rows[i].gpus,   rows[i].time, rows[i].without };
    job_request_memory (&texts[0], &report, 2.1 * (double) GIB);
    job_request_cpus (&texts[1], &report, 4);
    job_request_nodes (&texts[2], &report, 2);
    job_request_gpus (&texts[3], &report, 1, "NVIDIA H100 80GB HBM3");
    job_request_time (&texts[4], &report, 5401);
    job_request_without (&texts[5], &report, second);
    for (size_t k = 0; k < 6; k++) {
      assert_string_equal (buffer_text (&texts[k]), expected[k]);
      buffer_free (&texts[k]);
    }
  }
  assert_float_equal (job_request_rounded (1), 256. * 1024 * 1024, 1e-9);
  nodes[1].name = "n2; touch pwned"; /* what is advised is pasted */
  struct job_report report = { .scheduler = "slurm", .nodes = nodes, .node_count = 2 };
  struct buffer text = { 0 };
  job_request_without (&text, &report, second);
  assert_int_equal (text.length, 0);
  buffer_free (&text);
}

static void
test_limits (void **state)
{
  struct advice_limits limits = { 0 };
  struct buffer word = { 0 };

  (void) state;
  advice_limits_put (&word, &advice_limits_default);
  assert_true (advice_limits_parse (&limits, buffer_text (&word)));
  assert_memory_equal (&limits, &advice_limits_default, sizeof limits);
  assert_false (advice_limits_parse (&limits, "60,1"));
  assert_false (advice_limits_parse (&limits, ""));
  buffer_free (&word);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown (NAME, job_scratch_create, scratch_destroy)

int
main (void)
{
  const struct CMUnitTest tests[] = {
    TEST (test_healthy),
    TEST (test_idle_gpu),
    TEST (test_what_is_idle),
    TEST (test_wrong_type),
    TEST (test_one_thread),
    TEST (test_short),
    TEST (test_memory_unused),
    TEST (test_killed),
    TEST (test_killed_by_scheduler),
    TEST (test_lost_node),
    TEST (test_slow_node),
    TEST (test_idle_node),
    TEST (test_timeout),
    TEST (test_swap),
    TEST (test_network),
    TEST (test_storage),
    cmocka_unit_test (test_requests),
    cmocka_unit_test (test_limits),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
