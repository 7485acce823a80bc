/* What went wrong, and what was left idle, of reports that are made by hand; test_job_notes.c has the notes of histories. */
#include "tests/unit/aggregator/report/job_made.h"

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
    cmocka_unit_test (short_ones),
    cmocka_unit_test (five),
  };

  setenv ("TZ", "UTC", 1);
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
