/* What jobs waited for, and what they did not use, of reports that are made by hand. */
#include "tests/unit/aggregator/report/job_made.h"

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

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (storage),     cmocka_unit_test (network), cmocka_unit_test (network_of_one_node),
    cmocka_unit_test (slow),        cmocka_unit_test (cpus),    cmocka_unit_test (cpus_of_nodes),
    cmocka_unit_test (gpus),        cmocka_unit_test (memory),  cmocka_unit_test (heat),
    cmocka_unit_test (time_unused),
  };

  setenv ("TZ", "UTC", 1);
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
