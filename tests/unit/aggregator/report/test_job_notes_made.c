/* All notes of reports that are made by hand, whole, word by word: each line of a case is a note as it is read,
 * "name: text advice write". test_job_notes.c has the notes of histories. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/job_advice.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define GIB 1073741824.0
#define NODES 4
#define GPUS 2
#define STARTED (INT64_C (1795271520) * NS_PER_S) /* 2026-11-21 14:32:00 UTC */

struct made {
  struct job_report report;
  struct job_node nodes[NODES];
  struct job_series series[NODES + 1][JOB_ITEM_COUNT]; /* all together behind */
  struct report_gpu gpus[NODES][GPUS];
};

static struct job_gpu_mean
mean_of (double value)
{
  return (struct job_gpu_mean){ .sum = 100 * value, .highest = value, .count = 100 };
}

static void
set (struct made *made, size_t node, enum job_item_id item, double value)
{
  made->series[node][item] =
      (struct job_series){ .known = true, .total = value, .mean = value, .minimum = value / 4, .maximum = value };
}

static void
set_all (struct made *made, enum job_item_id item, double value)
{
  for (size_t i = 0; i <= NODES; i++)
    set (made, i, item, value);
}

/* Two hours on two of its nodes with 8 CPUs each, at 90 %; no memory is asked for, and nothing of the scheduler is known. */
static struct made *
make (void)
{
  struct made *made = memory_new (1, sizeof *made);

  for (size_t i = 0; i <= NODES; i++)
    for (size_t k = 0; k < JOB_ITEM_COUNT; k++)
      made->series[i][k] = (struct job_series){ false, nan (""), nan (""), nan (""), nan (""), NULL, NULL };
  for (size_t i = 0; i < NODES; i++) {
    static const char *const names[] = { "n1", "n2", "n3", "n4" };
    made->nodes[i] = (struct job_node){ .name = names[i],
                                        .cpus = 8,
                                        .samples = 100,
                                        .last_ns = STARTED + (int64_t) (60 * (NODES - i)) * NS_PER_S,
                                        .series = made->series[i],
                                        .gpus = made->gpus[i] };
    made->nodes[i].peaks = (struct job_peaks){ nan (""), nan (""), nan (""), 1e9, 4e9 };
    for (size_t k = 0; k < GPUS; k++)
      made->gpus[i][k] = (struct report_gpu){ .label = { (char) ('0' + k) },
                                              .type = "Tesla T4",
                                              .samples = 100,
                                              .memory_total = nan (""),
                                              .utilization = mean_of (80) };
  }
  made->report = (struct job_report){ .scheduler = "slurm",
                                      .nodes = made->nodes,
                                      .node_count = 2,
                                      .all = made->series[NODES],
                                      .cpus = 16,
                                      .cpu_efficiency = 90,
                                      .slowest = SIZE_MAX,
                                      .started_ns = STARTED,
                                      .until_ns = STARTED + 7200 * NS_PER_S };
  for (size_t i = 0; i < JOB_FACT_NUMBERS; i++)
    made->report.facts.numbers[i] = nan ("");
  set_all (made, JOB_CPU_USAGE, 90);
  set_all (made, JOB_THREADS, 16);
  return made;
}

static void
check (struct made *made, const char *expected)
{
  struct buffer found = { 0 };

  job_advice (&made->report, &advice_limits_default);
  for (size_t i = 0; i < made->report.note_count; i++) {
    const struct job_note *note = &made->report.notes[i];
    buffer_printf (&found, "%s: %s|%s|%s\n", note->name, note->text, note->advice, note->write);
  }
  assert_string_equal (buffer_text (&found), expected);
  buffer_free (&found);
}

static void
free_made (struct made *made)
{
  job_advice_free (&made->report);
  free (made);
}

#define CASE(NAME) static void NAME (void **state)
#define BEGIN()                                                                                                        \
  struct made *made = make ();                                                                                         \
  (void) state
#define END() free_made (made)

CASE (nothing)
{
  BEGIN ();
  check (made, "");
  END ();
}

/* ---- what went wrong ---- */

CASE (killed)
{
  BEGIN ();
  set (made, 1, JOB_OOM_KILLS, 1);
  set (made, NODES, JOB_OOM_KILLS, 1);
  check (made, "killed_for_memory: 1 process was killed for want of memory, on n2.|Ask for more memory|\n");
  set (made, 0, JOB_MEMORY_PEAK, 40 * GIB); /* which is not the node's on which it was killed */
  set (made, 1, JOB_MEMORY_PEAK, 4 * GIB);
  check (made,
         "killed_for_memory: 1 process was killed for want of memory, on n2.|Ask for more, 6.00 GiB on each node for a "
         "start|#SBATCH --mem=6G\n");
  set (made, 0, JOB_OOM_KILLS, 2);
  set (made, NODES, JOB_OOM_KILLS, 3);
  made->series[NODES][JOB_OOM_KILLS].maximum = 2;
  made->series[0][JOB_OOM_KILLS].maximum = 0;
  set (made, 0, JOB_MEMORY_LIMIT, 20 * GIB);
  set (made, 1, JOB_MEMORY_LIMIT, 8 * GIB);
  check (
      made,
      "killed_for_memory: 3 processes were killed for want of memory, on n[1,2]: it had 20.0 GiB on each node.|Ask for "
      "more, 30.0 GiB on each node for a start|#SBATCH --mem=30G\n");
  set (made, 0, JOB_MEMORY_PEAK, GIB); /* what it had is not called unused */
  set (made, 1, JOB_MEMORY_PEAK, GIB);
  check (
      made,
      "killed_for_memory: 3 processes were killed for want of memory, on n[1,2]: it had 20.0 GiB on each node.|Ask for "
      "more, 30.0 GiB on each node for a start|#SBATCH --mem=30G\n");
  set (made, 0, JOB_MEMORY_LIMIT, nan (""));
  set (made, 1, JOB_MEMORY_LIMIT, nan (""));
  set (made, 1, JOB_MEMORY_PEAK, 4 * GIB);
  check (made, "killed_for_memory: 3 processes were killed for want of memory, on n[1,2].|Ask for more, 6.00 GiB on "
               "each node for a start|#SBATCH --mem=6G\n");
  END ();
}

CASE (killed_by_the_scheduler)
{
  BEGIN ();
  made->report.node_count = 1;
  made->report.facts.outcome = JOB_OUTCOME_OUT_OF_MEMORY;
  check (made, ""); /* nothing is known */
  made->report.facts.known = true;
  check (made, "killed_for_memory: It was killed for want of memory.|Ask for more memory|\n");
  made->report.facts.numbers[JOB_FACT_MEMORY_PER_NODE] = 4 * GIB;
  check (made,
         "killed_for_memory: It was killed for want of memory: it had 4.00 GiB.|Ask for more, 6.00 GiB for a start|"
         "#SBATCH --mem=6G\n");
  set (made, 0, JOB_MEMORY_PEAK, GIB); /* what it had is not called unused */
  check (made,
         "killed_for_memory: It was killed for want of memory: it had 4.00 GiB.|Ask for more, 6.00 GiB for a start|"
         "#SBATCH --mem=6G\n");
  END ();
}

CASE (over_its_time)
{
  BEGIN ();
  made->report.facts.outcome = JOB_OUTCOME_TIMEOUT;
  check (made, "");
  made->report.facts.known = true;
  check (made,
         "timeout: It was not done when its time was over.|Ask for more time, or have it save its state and go on from "
         "there|\n");
  made->report.facts.numbers[JOB_FACT_TIME_LIMIT] = 7200;
  check (made, "timeout: It was not done when its time was over, 2 h 0 min 0 s.|Ask for more time, or have it save its "
               "state and "
               "go on from there|#SBATCH --time=04:00:00\n");
  made->report.facts.outcome = JOB_OUTCOME_FAILED;
  check (made, "");
  END ();
}

CASE (lost)
{
  BEGIN ();
  made->report.facts.outcome = JOB_OUTCOME_NODE_FAIL;
  check (made, "");
  made->report.facts.known = true;
  check (made, "lost_nodes: A node failed while the job ran.|Report it to the operators, and submit the job again|\n");
  made->nodes[0].lost = true;
  made->nodes[1].last_ns = STARTED;
  check (made,
         "lost_nodes: n1 was lost while the job ran, at 14:36:00.|Report it to the operators, and submit the job again "
         "without it|#SBATCH --exclude=n1\n");
  made->report.facts.outcome = JOB_OUTCOME_FAILED;
  made->report.node_count = 3;
  made->nodes[1].lost = made->nodes[2].lost = true;
  made->nodes[1].last_ns = STARTED + 30 * NS_PER_S;
  made->nodes[1].samples = 0; /* when it was lost is not known */
  check (made, "lost_nodes: n[1-3] were lost while the job ran, the first one at 14:34:00.|Report it to the operators, "
               "and submit "
               "the job again without them|#SBATCH --exclude=n[1-3]\n");
  made->nodes[0].samples = made->nodes[2].samples = 0;
  check (made,
         "lost_nodes: n[1-3] were lost while the job ran.|Report it to the operators, and submit the job again without "
         "them|#SBATCH --exclude=n[1-3]\n");
  END ();
}

CASE (xids)
{
  BEGIN ();
  made->nodes[0].gpu_count = made->nodes[1].gpu_count = GPUS;
  made->gpus[1][1].xids = 1;
  check (made, "gpu_errors: The driver reported errors (XIDs) of GPU 1 on n2.|Report it to the operators, and leave "
               "the node out "
               "until they have looked|#SBATCH --exclude=n2\n");
  END ();
}

CASE (swap)
{
  BEGIN ();
  set (made, 0, JOB_SWAP, 64 * 1048576.0 - 1);
  check (made, "");
  set (made, 0, JOB_SWAP, 64 * 1048576.0);
  set (made, 1, JOB_SWAP, 1048576);
  set (made, 1, JOB_MEMORY, 50 * GIB);
  check (made, "swap: Its memory did not suffice: up to 64.0 MiB of it lay in swap on n1, which is slow.|Ask for 256 "
               "MiB on each "
               "node|#SBATCH --mem=256M\n");
  set (made, 0, JOB_SWAP, GIB);
  set (made, 0, JOB_MEMORY, 9 * GIB);
  set (made, 0, JOB_MEMORY_LIMIT, 90 * GIB); /* and nothing is said of what it did not use */
  set_all (made, JOB_CPU_USAGE, 10);
  check (made, "swap: Its memory did not suffice: up to 1.00 GiB of it lay in swap on n1, which is slow.|Ask for 12.0 "
               "GiB on each "
               "node|#SBATCH --mem=12G\n");
  END ();
}

/* ---- what was left idle ---- */

static void
leave_idle (struct made *made, size_t node, size_t gpu, uint64_t idle, uint64_t without)
{
  made->nodes[node].gpu_count = GPUS;
  made->gpus[node][gpu].idle = idle;
  made->gpus[node][gpu].without = without;
  made->gpus[node][gpu].utilization = mean_of (0);
}

CASE (idle_gpus)
{
  BEGIN ();
  made->report.node_count = 1;
  leave_idle (made, 0, 1, 94, 94);
  made->gpus[0][0].samples = 50;
  check (made, "");
  leave_idle (made, 0, 1, 97, 94);
  check (
      made,
      "idle_gpus: 1 of 2 GPUs was left idle: GPU 1 on n1 (Tesla T4); nothing ran on it in 97.0 % of 100 samples.|Start "
      "it on all of them, or ask for 1|#SBATCH --gpus-per-node=1\n");
  leave_idle (made, 0, 1, 97, 95);
  check (
      made,
      "idle_gpus: 1 of 2 GPUs was left idle: GPU 1 on n1 (Tesla T4); no process of the job was on it in 95.0 % of 100 "
      "samples.|Start it on all of them, or ask for 1|#SBATCH --gpus-per-node=1\n");
  leave_idle (made, 0, 0, 50, 50);
  check (made, "idle_gpus: 2 of 2 GPUs were left idle: GPU 0,1 on n1 (Tesla T4); no process of the job was on them in "
               "95.0 % of 50 "
               "samples.|See whether the program is built to use GPUs and finds them, or ask for none|\n"
               "gpus_unused: Its GPUs computed in 0 % of the time.|Give them more at a time (larger batches, more "
               "processes that "
               "load data), or ask for fewer|\n");
  leave_idle (made, 0, 0, 96, 0);
  leave_idle (made, 0, 1, 98, 0);
  check (made, "idle_gpus: 2 of 2 GPUs were left idle: GPU 0,1 on n1 (Tesla T4); nothing ran on them in 98.0 % of 50 "
               "samples.|See whether the program is built to use GPUs and finds them, or ask for none|\ngpus_unused: "
               "Its GPUs computed in 0 % of the time.|Give them more at a time (larger batches, more processes that "
               "load data), or ask for fewer|\n");
  END ();
}

CASE (idle_gpus_of_nodes)
{
  BEGIN ();
  leave_idle (made, 0, 1, 100, 100);
  leave_idle (made, 1, 0, 100, 100);
  check (made, "idle_gpus: 2 of 4 GPUs were left idle: GPU 1 on n1, GPU 0 on n2 (Tesla T4); no process of the job was "
               "on them in "
               "100 % of 100 samples.|Start it on all of them, or ask for 1 on each node|#SBATCH --gpus-per-node=1\n");
  leave_idle (made, 1, 0, 0, 0);
  made->gpus[1][0].utilization = mean_of (80);
  check (
      made,
      "idle_gpus: 1 of 4 GPUs was left idle: GPU 1 on n1 (Tesla T4); no process of the job was on it in 100 % of 100 "
      "samples.|Start it on all of them: some nodes had all of theirs in use|\n");
  END ();
}

CASE (idle_gpus_of_types)
{
  BEGIN ();
  leave_idle (made, 0, 1, 100, 100);
  leave_idle (made, 1, 1, 100, 100);
  for (size_t i = 0; i < NODES; i++)
    snprintf (made->gpus[i][0].type, sizeof made->gpus[i][0].type, "NVIDIA L40S");
  check (made, "idle_gpus: 2 of 4 GPUs were left idle: GPU 1 on n[1,2] (Tesla T4); no process of the job was on them "
               "in 100 % of "
               "100 samples.|It used the NVIDIA L40S alone: ask for one of that type|#SBATCH --gpus-per-node=l40s:1\n");
  snprintf (made->gpus[1][1].type, sizeof made->gpus[1][1].type, "Tesla P4");
  check (made,
         "idle_gpus: 2 of 4 GPUs were left idle: GPU 1 on n[1,2]; no process of the job was on them in 100 % of 100 "
         "samples.|Start it on all of them, or ask for 1 on each node|#SBATCH --gpus-per-node=1\n");
  leave_idle (made, 1, 1, 0, 0);
  made->gpus[1][1].utilization = mean_of (80);
  snprintf (made->gpus[1][1].type, sizeof made->gpus[1][1].type, "NVIDIA L40S");
  check (
      made,
      "idle_gpus: 1 of 4 GPUs was left idle: GPU 1 on n1 (Tesla T4); no process of the job was on it in 100 % of 100 "
      "samples.|It used the NVIDIA L40S alone: ask for those of that type|#SBATCH --gpus-per-node=l40s:2\n");
  END ();
}

CASE (idle_nodes)
{
  BEGIN ();
  made->report.node_count = 4;
  made->nodes[2].idle = true;
  set (made, 2, JOB_CPU_USAGE, 1.5);
  check (made, "idle_nodes: 1 of 4 nodes did nothing: n3 used 1.50 % of its CPUs.|Start it on all nodes (srun, "
               "mpirun), or ask for "
               "3|#SBATCH --nodes=3\n");
  made->nodes[0].idle = true;
  set (made, 0, JOB_CPU_USAGE, 0.5);
  check (made,
         "idle_nodes: 2 of 4 nodes did nothing: n[1,3] used 1.50 % of their CPUs at most.|Start it on all nodes (srun, "
         "mpirun), or ask for 2|#SBATCH --nodes=2\n");
  for (size_t i = 0; i < NODES; i++)
    made->nodes[i].idle = true;
  set_all (made, JOB_CPU_USAGE, 99);
  check (made, ""); /* then none stands out */
  END ();
}

/* ---- what it waited for ---- */

CASE (storage)
{
  BEGIN ();
  set_all (made, JOB_CPU_USAGE, 20);
  set (made, NODES, JOB_STORAGE_WAIT, 50);
  made->series[NODES][JOB_STORAGE_WAIT].maximum = 100;
  check (made, "storage_bound: It waited for storage in 50.0 % of the time, and used 20.0 % of its CPUs.|Copy what it "
               "reads to a "
               "disk of the node first ($TMPDIR), and read and write in large pieces|\n");
  set (made, NODES, JOB_READ, 5 * 1048576.0);
  set (made, NODES, JOB_WRITE, 1048576);
  made->series[NODES][JOB_READ].maximum = made->series[NODES][JOB_WRITE].maximum = GIB;
  for (size_t i = 0; i < 2; i++)
    set (made, i, JOB_CPU_USAGE, nan (""));
  check (made, "storage_bound: It waited for storage in 50.0 % of the time: it read 5.00 MiB/s and wrote 1.00 "
               "MiB/s.|Copy what it "
               "reads to a disk of the node first ($TMPDIR), and read and write in large pieces|\n");
  set_all (made, JOB_CPU_USAGE, 75);
  check (made, "");
  set_all (made, JOB_CPU_USAGE, 74);
  set (made, NODES, JOB_STORAGE_WAIT, 49);
  check (made, "");
  END ();
}

CASE (network)
{
  BEGIN ();
  set_all (made, JOB_CPU_USAGE, 20);
  set (made, 0, JOB_NETWORK_SENT, 8e8);
  set (made, 1, JOB_NETWORK_SENT, 6e8);
  set (made, 0, JOB_NETWORK_RECEIVED, 1e8);
  check (
      made,
      "network_bound: It was bound by the network: Ethernet carried 668 MiB/s on each node, 70.0 % of what it can (954 "
      "MiB/s).|Run it on fewer nodes, or send fewer and larger messages|#SBATCH --nodes=1\n");
  made->series[0][JOB_NETWORK_SENT].mean = 7.9e8;
  check (
      made,
      "cpus_unused: It used 1.60 of the 8 CPUs on each node, in the mean.|Start as many threads or processes as CPUs "
      "(OMP_NUM_THREADS=8), or ask for 2|#SBATCH --ntasks-per-node=2\n");
  set (made, 0, JOB_NETWORK_SENT, 9e8);
  set (made, NODES, JOB_INFINIBAND_RECEIVED, 1);
  check (
      made,
      "network_bound: It was bound by the network: Ethernet carried 715 MiB/s on each node, 75.0 % of what it can (954 "
      "MiB/s).|Send its messages over InfiniBand: see which network its MPI is built for|\n");
  set (made, 0, JOB_INFINIBAND_SENT, 3.6e9);
  set (made, 1, JOB_INFINIBAND_SENT, 3.6e9);
  check (made, "network_bound: It was bound by the network: InfiniBand carried 3.35 GiB/s on each node, 90.0 % of what "
               "it can (3.73 "
               "GiB/s).|Run it on fewer nodes, or send fewer and larger messages|#SBATCH --nodes=1\n");
  made->report.node_count = 3;
  made->nodes[2].peaks.infiniband = nan (""); /* of which nothing is known */
  set (made, 2, JOB_INFINIBAND_SENT, 9e9);
  check (made, "network_bound: It was bound by the network: InfiniBand carried 3.35 GiB/s on each node, 90.0 % of what "
               "it can (3.73 "
               "GiB/s).|Run it on fewer nodes, or send fewer and larger messages|#SBATCH --nodes=2\n");
  set_all (made, JOB_CPU_USAGE, 75);
  check (made, "");
  END ();
}

CASE (network_of_one_node)
{
  BEGIN ();
  made->report.node_count = 1;
  set_all (made, JOB_CPU_USAGE, 20);
  set (made, 0, JOB_INFINIBAND_RECEIVED, 3.6e9);
  check (made, "network_bound: It was bound by the network: InfiniBand carried 3.35 GiB/s on each node, 90.0 % of what "
               "it can (3.73 "
               "GiB/s).|Copy what it reads to a disk of the node first ($TMPDIR)|\n");
  END ();
}

/* ---- what was not used ---- */

CASE (slow)
{
  BEGIN ();
  made->report.slowest = 1;
  made->report.slowest_others = 95;
  made->nodes[0].lost = true; /* what others are chosen for stays theirs */
  made->nodes[0].samples = 0;
  set (made, 1, JOB_CPU_USAGE, 60);
  check (made, "lost_nodes: n1 was lost while the job ran.|Report it to the operators, and submit the job again "
               "without it|#SBATCH "
               "--exclude=n1\n"
               "slow_node: n2 was slow: it used 60.0 % of its CPUs, the others 95.0 %.|If all nodes have the same to "
               "do, report it "
               "to the operators and leave it out|#SBATCH --exclude=n2\n");
  END ();
}

CASE (cpus)
{
  BEGIN ();
  made->report.node_count = 1;
  set_all (made, JOB_CPU_USAGE, 50);
  check (made, "");
  set_all (made, JOB_CPU_USAGE, 26);
  set (made, NODES, JOB_THREADS, 3);
  check (made, "cpus_unused: It used 2.08 of the 8 CPUs, in the mean, and had 3 threads at most.|Start as many threads "
               "or processes "
               "as CPUs (OMP_NUM_THREADS=8), or ask for 2|#SBATCH --cpus-per-task=2\n");
  set (made, NODES, JOB_THREADS, 1);
  set_all (made, JOB_CPU_USAGE, 1);
  set (made, NODES, JOB_THREADS, 8);
  check (made, "cpus_unused: It used 0.08 of the 8 CPUs, in the mean.|Start as many threads or processes as CPUs "
               "(OMP_NUM_THREADS=8), or ask for 1|#SBATCH --cpus-per-task=1\n");
  set (made, 0, JOB_GPU_USAGE, 10); /* its CPUs are for its GPUs */
  check (made, "");
  set (made, 0, JOB_GPU_USAGE, 9);
  made->nodes[0].cpus = 1;
  check (made, "");
  made->nodes[0].cpus = 2;
  check (made, "cpus_unused: It used 0.02 of the 2 CPUs, in the mean.|Start as many threads or processes as CPUs "
               "(OMP_NUM_THREADS=2), or ask for 1|#SBATCH --cpus-per-task=1\n");
  END ();
}

CASE (cpus_of_nodes)
{
  BEGIN ();
  made->report.node_count = 3;
  set_all (made, JOB_CPU_USAGE, 20);
  set (made, NODES, JOB_THREADS, 1);
  made->nodes[2].idle = true;
  set (made, 2, JOB_CPU_USAGE, 0);
  check (
      made,
      "idle_nodes: 1 of 3 nodes did nothing: n3 used 0 % of its CPUs.|Start it on all nodes (srun, mpirun), or ask for "
      "2|"
      "#SBATCH --nodes=2\n"
      "cpus_unused: It used 1.60 of the 8 CPUs on each node, in the mean.|Start as many threads or processes as CPUs "
      "(OMP_NUM_THREADS=8), or ask for 2|#SBATCH --ntasks-per-node=2\n");
  END ();
}

CASE (gpus)
{
  BEGIN ();
  made->report.node_count = 1;
  made->nodes[0].gpu_count = GPUS;
  made->gpus[0][0].utilization = mean_of (20);
  made->gpus[0][1].utilization = mean_of (10);
  check (made, "");
  made->gpus[0][1].utilization = mean_of (8);
  check (made, "gpus_unused: Its GPUs computed in 14.0 % of the time.|Give them more at a time (larger batches, more "
               "processes that "
               "load data), or ask for fewer|\n");
  set_all (made, JOB_CPU_USAGE, 20);
  set (made, 0, JOB_GPU_USAGE, 14);
  set (made, NODES, JOB_STORAGE_WAIT, 90);
  check (made, "storage_bound: It waited for storage in 90.0 % of the time, and used 20.0 % of its CPUs.|Copy what it "
               "reads to a "
               "disk of the node first ($TMPDIR), and read and write in large pieces|\n");
  END ();
}

CASE (memory)
{
  BEGIN ();
  for (size_t i = 0; i < 2; i++) {
    set (made, i, JOB_MEMORY_LIMIT, 20 * GIB);
    set (made, i, JOB_MEMORY_PEAK, 10 * GIB);
  }
  check (made, "");
  set (made, 0, JOB_MEMORY_PEAK, GIB);
  set (made, 1, JOB_MEMORY_PEAK, 9 * GIB);
  check (made, "memory_unused: It used at most 9.00 GiB of the 20.0 GiB of memory on each node that it asked for.|Ask "
               "for 11.0 GiB "
               "on each node|#SBATCH --mem=11G\n");
  made->report.node_count = 1;
  check (
      made,
      "memory_unused: It used at most 1.00 GiB of the 20.0 GiB of memory that it asked for.|Ask for 1.25 GiB|#SBATCH "
      "--mem=1280M\n");
  set (made, 0, JOB_MEMORY_LIMIT, 1.5 * GIB);
  set (made, 0, JOB_MEMORY_PEAK, 0.5 * GIB + 1);
  check (made, ""); /* what is unused is little */
  set (made, 0, JOB_MEMORY_PEAK, 0.5 * GIB);
  check (made,
         "memory_unused: It used at most 512 MiB of the 1.50 GiB of memory that it asked for.|Ask for 768 MiB|#SBATCH "
         "--mem=768M\n");
  END ();
}

CASE (heat)
{
  BEGIN ();
  made->nodes[0].gpu_count = made->nodes[1].gpu_count = GPUS;
  made->gpus[0][1].throttled_thermal = mean_of (9.9);
  check (made, "");
  made->gpus[1][0].throttled_thermal = mean_of (10);
  check (made, "gpu_heat: GPU 0 on n2: clocks were held down by heat.|Report it to the operators|\n");
  END ();
}

CASE (time_unused)
{
  BEGIN ();
  made->report.until_ns = STARTED + 359 * NS_PER_S;
  made->report.facts.outcome = JOB_OUTCOME_COMPLETED;
  made->report.facts.numbers[JOB_FACT_TIME_LIMIT] = 3600;
  check (made, "");
  made->report.facts.known = true;
  check (
      made,
      "time_unused: It took 5 min 59 s of the 1 h 0 min 0 s that it asked for.|Ask for less: short jobs start sooner|"
      "#SBATCH --time=00:12:00\n");
  made->report.facts.outcome = JOB_OUTCOME_FAILED;
  check (made, "");
  made->report.facts.outcome = JOB_OUTCOME_COMPLETED;
  made->report.until_ns++;
  made->report.facts.numbers[JOB_FACT_TIME_LIMIT] = 3590;
  check (made, "");
  made->report.until_ns = STARTED + 300 * NS_PER_S;
  made->report.facts.numbers[JOB_FACT_TIME_LIMIT] = 3599;
  check (made, "");
  END ();
}

/* Shorter than [advice] shortest: what it used is not judged. */
CASE (short_ones)
{
  BEGIN ();
  set_all (made, JOB_CPU_USAGE, 1);
  made->report.node_count = 1;
  made->report.until_ns = STARTED + 60 * NS_PER_S - 1;
  made->nodes[0].lost = true;
  made->nodes[0].samples = 0;
  check (made, "lost_nodes: n1 was lost while the job ran.|Report it to the operators, and submit the job again "
               "without it|#SBATCH "
               "--exclude=n1\n");
  made->nodes[0].lost = false;
  check (made, "");
  made->report.until_ns++;
  check (made, "cpus_unused: It used 0.08 of the 8 CPUs, in the mean.|Start as many threads or processes as CPUs "
               "(OMP_NUM_THREADS=8), or ask for 1|#SBATCH --cpus-per-task=1\n");
  END ();
}

/* The first five, in their order. */
CASE (five)
{
  static const char *const names[] = { "timeout", "lost_nodes", "gpu_errors", "swap", "idle_nodes" };
  BEGIN ();
  made->report.facts.known = true;
  made->report.facts.outcome = JOB_OUTCOME_TIMEOUT;
  made->nodes[0].lost = true;
  made->nodes[0].gpu_count = GPUS;
  made->gpus[0][0].xids = 1;
  made->gpus[0][1].throttled_thermal = mean_of (90);
  set (made, 0, JOB_SWAP, GIB);
  made->nodes[1].idle = true;
  made->report.slowest = 0;
  job_advice (&made->report, &advice_limits_default);
  assert_int_equal (made->report.note_count, 5);
  for (size_t i = 0; i < 5; i++)
    assert_string_equal (made->report.notes[i].name, names[i]);
  END ();
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (nothing),
    cmocka_unit_test (killed),
    cmocka_unit_test (killed_by_the_scheduler),
    cmocka_unit_test (over_its_time),
    cmocka_unit_test (lost),
    cmocka_unit_test (xids),
    cmocka_unit_test (swap),
    cmocka_unit_test (idle_gpus),
    cmocka_unit_test (idle_gpus_of_nodes),
    cmocka_unit_test (idle_gpus_of_types),
    cmocka_unit_test (idle_nodes),
    cmocka_unit_test (storage),
    cmocka_unit_test (network),
    cmocka_unit_test (network_of_one_node),
    cmocka_unit_test (slow),
    cmocka_unit_test (cpus),
    cmocka_unit_test (cpus_of_nodes),
    cmocka_unit_test (gpus),
    cmocka_unit_test (memory),
    cmocka_unit_test (heat),
    cmocka_unit_test (time_unused),
    cmocka_unit_test (short_ones),
    cmocka_unit_test (five),
  };

  setenv ("TZ", "UTC", 1);
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
