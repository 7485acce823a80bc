/* Which job a process belongs to, by what /proc says of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/job/job_identity.h"

#define V1(path) "11:memory:" path "\n4:cpu,cpuacct:" path "\n1:name=systemd:/system.slice/slurmd.service\n0::/\n"
#define V2(path) "0::" path "\n"

static struct job_identity identity;

/* `environment` is lines, which /proc ends with NUL. */
static bool
identify (const char *environment, const char *cgroup)
{
  char bytes[4096];
  size_t length = strlen (environment);

  assert_true (length < sizeof bytes);
  memcpy (bytes, environment, length);
  for (size_t i = 0; i < length; i++)
    if (bytes[i] == '\n')
      bytes[i] = '\0';
  return job_identify (bytes, length, cgroup, strlen (cgroup), "MY_JOB,YOUR_JOB,,HER_JOB", &identity);
}

static void
assert_job (const char *environment, const char *cgroup, enum job_scheduler scheduler, const char *label,
            bool by_cgroup)
{
  if (!identify (environment, cgroup))
    fail_msg ("no job: %s", cgroup);
  assert_string_equal (identity.label, label);
  assert_int_equal (identity.scheduler, scheduler);
  assert_int_equal (identity.by_cgroup, by_cgroup);
}

static void
assert_none (const char *environment, const char *cgroup)
{
  if (identify (environment, cgroup))
    fail_msg ("a job, %s: %s", identity.label, cgroup);
  assert_string_equal (identity.folder, "");
}

static void
test_no_job (void **state)
{
  (void) state;
  assert_none ("", "");
  assert_none ("PATH=/bin\nHOME=/root\n", V1 ("/user.slice/user-0.slice"));
  assert_none ("SLURM_JOB_ID=\nPBS_JOBID=\nSLURM_JOB_ID\n=5\nXSLURM_JOB_ID=5\nSLURM_JOB_IDS=5\n", "0::/\n");
  assert_none ("SLURM_JOB_ID=abc\nOAR_JOB_ID=0\nLSB_JOBID=-1\n", "0::/\n");
  assert_false (job_identify (NULL, 0, NULL, 0, NULL, &identity));
  assert_int_equal (identity.uid, JOB_UID_UNKNOWN);
}

static void
test_environments (void **state)
{
  (void) state;
  assert_job ("SLURM_JOB_ID=123\n", "0::/\n", JOB_SLURM, "123", false);
  assert_job ("SLURM_JOBID=123\n", "", JOB_SLURM, "123", false);
  assert_job ("PBS_JOBID=42[3].pbs\n", "", JOB_PBS, "42[3].pbs", false);
  assert_job ("OAR_JOB_ID=7\n", "", JOB_OAR, "7", false);
  assert_job ("OAR_JOBID=7\n", "", JOB_OAR, "7", false);
  assert_job ("LSB_JOBID=99\nLSB_JOBINDEX=0\n", "", JOB_LSF, "99", false);
  assert_job ("LSB_JOBID=99\nLSB_JOBINDEX=4\n", "", JOB_LSF, "99[4]", false);
  assert_job ("FLUX_JOB_ID=\xc6\x92"
              "58xQ\nFLUX_JOB_NNODES=3\n",
              "", JOB_FLUX, "f58xQ", false);
  assert_int_equal (identity.nodes, 3);
  assert_job ("SYNOP_JOB_ID=train-1\nSYNOP_JOB_NAME=Train\n", "", JOB_SYNOP, "train-1", false);
  assert_string_equal (identity.name, "Train");
  assert_string_equal (identity.folder, "");
}

static void
test_variables_of_the_configuration (void **state)
{
  (void) state;
  assert_job ("HER_JOB=z\nMY_JOB=a/b c\n", "", JOB_OTHER, "a_b_c", false);
  assert_job ("HER_JOB=z\nMY_JOB=\n", "", JOB_OTHER, "z", false);
  assert_job ("MY_JOB=a\nSYNOP_JOB_ID=b\n", "", JOB_SYNOP, "b", false);
  assert_job ("YOUR_JOB=y\n", "", JOB_OTHER, "y", false);
}

static void
test_order (void **state)
{
  (void) state;
  assert_job ("SYNOP_JOB_ID=s\nFLUX_JOB_ID=f1\nLSB_JOBID=1\nOAR_JOB_ID=2\nPBS_JOBID=3\nSLURM_JOB_ID=4\n", "", JOB_SLURM,
              "4", false);
  assert_job ("SYNOP_JOB_ID=s\nFLUX_JOB_ID=f1\nOAR_JOB_ID=2\nPBS_JOBID=3\n", "", JOB_PBS, "3", false);
  assert_job ("SLURM_JOB_ID=5\nSLURM_JOB_ID=6\n", "", JOB_SLURM, "5", false);
}

static void
test_what_slurm_tells (void **state)
{
  (void) state;
  assert_job (
      "SLURM_JOB_ID=103\nSLURM_STEP_ID=2\nSLURM_RESTART_COUNT=3\nSLURM_ARRAY_JOB_ID=100\nSLURM_ARRAY_TASK_ID=3\n"
      "SLURM_JOB_NAME=two words\nSLURM_JOB_USER=ann\nSLURM_JOB_UID=1000\nSLURM_JOB_NODELIST=n[1-3]\n"
      "SLURM_JOB_NUM_NODES=3\nSLURM_JOB_CPUS_PER_NODE=2(x2),4\nSLURM_CPUS_ON_NODE=1\nSLURM_NODEID=2\n"
      "SLURM_JOB_GPUS=0,1\nCUDA_VISIBLE_DEVICES=0\nSLURMD_NODENAME=n3\n",
      V1 ("/slurm/uid_1000/job_103/step_2/task_0"), JOB_SLURM, "103/3", true);
  assert_string_equal (identity.id, "103");
  assert_int_equal (identity.run, 3);
  assert_string_equal (identity.step, "2");
  assert_string_equal (identity.array, "100_3");
  assert_string_equal (identity.name, "two words");
  assert_string_equal (identity.user, "ann");
  assert_int_equal (identity.uid, 1000);
  assert_string_equal (identity.node_list, "n[1-3]");
  assert_int_equal (identity.nodes, 3);
  assert_int_equal (identity.cpus, 4);
  assert_string_equal (identity.gpus, "0,1");
  assert_string_equal (identity.folder, "/slurm/uid_1000/job_103");
}

static uint32_t
slurm_cpus (const char *more)
{
  char text[512];

  snprintf (text, sizeof text, "SLURM_JOB_ID=1\nSLURM_JOB_NUM_NODES=4\n%s", more);
  assert_true (identify (text, ""));
  return identity.cpus;
}

static void
test_cpus_of_slurm (void **state)
{
  (void) state;
  assert_int_equal (slurm_cpus (""), 0);
  assert_int_equal (slurm_cpus ("SLURM_CPUS_ON_NODE=8\n"), 8);
  assert_int_equal (slurm_cpus ("SLURM_JOB_CPUS_PER_NODE=2(x4)\nSLURM_CPUS_ON_NODE=1\n"), 2);
  assert_int_equal (slurm_cpus ("SLURM_JOB_CPUS_PER_NODE=16\n"), 16);
  assert_int_equal (slurm_cpus ("SLURM_JOB_CPUS_PER_NODE=2(x3),8\nSLURM_NODEID=3\nSLURM_STEP_NUM_NODES=4\n"), 8);
  /* The second node of a step on two of them is no one knows which of the job's. */
  assert_int_equal (
      slurm_cpus ("SLURM_JOB_CPUS_PER_NODE=2(x3),8\nSLURM_NODEID=1\nSLURM_STEP_NUM_NODES=2\nSLURM_CPUS_ON_NODE=5\n"),
      5);
  assert_int_equal (slurm_cpus ("SLURM_JOB_CPUS_PER_NODE=2(x3),8\nSLURM_NODEID=4\nSLURM_CPUS_ON_NODE=5\n"), 5);
  assert_int_equal (slurm_cpus ("SLURM_JOB_CPUS_PER_NODE=2(x\nSLURM_CPUS_ON_NODE=99999999999999999999\n"), 0);
  assert_int_equal (slurm_cpus ("SLURM_JOB_CPUS_PER_NODE=,(x2)\nSLURM_NODEID=0\n"), 0);
}

static void
test_what_others_tell (void **state)
{
  (void) state;
  assert_job ("PBS_JOBID=42[3].pbs\nPBS_JOBNAME=sim\nPBS_O_LOGNAME=bob\nPBS_ARRAY_INDEX=3\nNCPUS=12\n"
              "CUDA_VISIBLE_DEVICES=1\n",
              "", JOB_PBS, "42[3].pbs", false);
  assert_string_equal (identity.array, "42_3");
  assert_string_equal (identity.user, "bob");
  assert_string_equal (identity.name, "sim");
  assert_string_equal (identity.gpus, "1");
  assert_int_equal (identity.cpus, 12);
  assert_int_equal (identity.run, 0);
  assert_true (identify ("PBS_JOBID=42.t\nPBS_NUM_NODES=2\nPBS_NUM_PPN=4\nPBS_NP=8\n", ""));
  assert_int_equal (identity.cpus, 4);
  assert_int_equal (identity.nodes, 2);
  assert_true (identify ("OAR_JOB_ID=11\nOAR_JOB_NAME=o\nOAR_USER=cat\nOAR_ARRAY_ID=10\nOAR_ARRAY_INDEX=2\n", ""));
  assert_string_equal (identity.array, "10_2");
  assert_string_equal (identity.user, "cat");
  assert_true (identify ("OAR_JOB_ID=10\nOAR_ARRAY_ID=10\nOAR_ARRAY_INDEX=1\n", ""));
  assert_string_equal (identity.array, "");
  assert_true (identify ("LSB_JOBID=9\nLSB_JOBNAME=l\nLSFUSER=dan\nLSB_MCPU_HOSTS=a 4 b 4 \n", ""));
  assert_int_equal (identity.nodes, 2);
  assert_int_equal (identity.cpus, 4);
  assert_string_equal (identity.node_list, "a,b");
  assert_true (identify ("LSB_JOBID=9\nLSB_MCPU_HOSTS=a 4 b 8\n", ""));
  assert_int_equal (identity.cpus, 0);
}

/* The cgroup alone, as for processes that threw their environment away, or of other users. */
static void
test_folders (void **state)
{
  (void) state;
  assert_job ("", V1 ("/slurm/uid_7/job_5"), JOB_SLURM, "5", true);
  assert_int_equal (identity.uid, 7);
  assert_int_equal (identity.run, -1);
  assert_job ("", V1 ("/slurm_n1/uid_0/job_5/step_batch/task_0"), JOB_SLURM, "5", true);
  assert_string_equal (identity.step, "batch");
  assert_string_equal (identity.folder, "/slurm_n1/uid_0/job_5");
  assert_job ("", V2 ("/system.slice/slurmstepd.scope/job_5/step_0/user/task_0"), JOB_SLURM, "5", true);
  assert_string_equal (identity.folder, "/system.slice/slurmstepd.scope/job_5");
  assert_job ("", V2 ("/system.slice/n1_slurmstepd.scope/job_5/step_extern/user/task_special"), JOB_SLURM, "5", true);
  assert_job ("", V1 ("/docker/0a1b/slurm/uid_0/job_5/step_0"), JOB_SLURM, "5", true);
  assert_string_equal (identity.folder, "/docker/0a1b/slurm/uid_0/job_5");
  assert_job ("", V1 ("/pbs_jobs.service/jobid/42[3].pbs"), JOB_PBS, "42[3].pbs", true);
  assert_job ("", V2 ("/pbs_jobs.service/jobs/42.pbs"), JOB_PBS, "42.pbs", true);
  assert_job ("", V1 ("/pbspro.slice/pbspro-42\\x5b3\\x5d.pbs.slice"), JOB_PBS, "42[3].pbs", true);
  assert_job ("", V1 ("/torque/42.t/R0.t0"), JOB_PBS, "42.t", true);
  assert_string_equal (identity.folder, "/torque/42.t");
  assert_job ("", V1 ("/oar/an_user_11"), JOB_OAR, "11", true);
  assert_job ("", V1 ("/lsf/hpc/job.99.1234.1700000000"), JOB_LSF, "99", true);
  assert_job ("", V1 ("/synop_job_train-1"), JOB_SYNOP, "train-1", true);
  assert_job ("", V2 ("/user.slice/user-0.slice/synop_job_a/synop_job_b"), JOB_SYNOP, "a", true);
  assert_job ("", "3:cpuset:/oar/ann_11\n2:cpuacct:/\n", JOB_OAR, "11", true);
  assert_job ("", "3:cpuset:/oar/ann_11\n2:freezer:/slurm/uid_0/job_5/step_0\n", JOB_SLURM, "5", true);
}

static void
test_folders_of_nobodys (void **state)
{
  static const char *const paths[] = {
    "/",
    "/slurm",
    "/slurm/uid_0",
    "/slurm/uid_0/job_",
    "/slurm/uid_0/job_5x",
    "/slurm/uid_0/other",
    "/slurm/job_5",
    "/slurmy/uid_0/job_5",
    "/system.slice/slurmstepd.scope",
    "/system.slice/slurmstepd.scope/system",
    "/system.slice/slurmstepd.scope/job_5/step_0/slurm",
    "/pbs_jobs.service",
    "/pbs_jobs.service/jobid",
    "/pbs_jobs.service/jobid/x",
    "/torque/cpus",
    "/oar",
    "/oar/ann",
    "/oar/ann_",
    "/oar/_5",
    "/oar/ann_5x",
    "/lsf/hpc",
    "/lsf/hpc/job",
    "/lsf/hpc/job.",
    "/lsf/hpc/job.x.1.2",
    "/synop_job_",
    "/synop_job_a\tb",
    "/user.slice/user-1.slice/user@1.service/slurm/uid_0/job_5",
    "/user.slice/pbs_jobs.service/jobid/5",
  };

  (void) state;
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    char text[512];
    snprintf (text, sizeof text, "4:cpuacct:%s\n0::%s\n", paths[i], paths[i]);
    assert_none ("", text);
  }
  assert_none ("", "slurm/uid_0/job_5\n\n:::\n4:cpuacct\n4:cpuacct:\n4:cpuacct:slurm/uid_0/job_5\n");
}

/* A path of more parts than anybody makes, and one that is cut. */
static void
test_deep_folders (void **state)
{
  char text[4096] = "0::";

  (void) state;
  memset (text, '5', 400);
  memcpy (text, "0::/slurm/uid_0/job_5", 21);
  assert_none ("", text); /* no number is that long */
  strcpy (text, "0::");
  for (int i = 0; i < 40; i++)
    strcat (text, "/a");
  strcat (text, "/slurm/uid_0/job_5");
  assert_none ("", text);
  memset (text, 'a', 600);
  memcpy (text, "0::/", 4);
  strcpy (text + 600, "/slurm/uid_0/job_5");
  assert_true (identify ("", text));
  assert_string_equal (identity.label, "5");
  assert_string_equal (identity.folder, "");
}

/* The kernel's word goes before the process's. */
static void
test_both_differ (void **state)
{
  (void) state;
  assert_job ("SLURM_JOB_ID=6\nSLURM_JOB_NAME=inner\nSLURM_RESTART_COUNT=1\n", V1 ("/slurm/uid_0/job_5/step_0"),
              JOB_SLURM, "5", true);
  assert_string_equal (identity.name, "");
  assert_int_equal (identity.run, -1);
  assert_job ("SLURM_JOB_ID=6\nPBS_JOBID=5.pbs\nPBS_JOBNAME=p\n", V1 ("/pbs_jobs.service/jobid/5.pbs"), JOB_PBS,
              "5.pbs", true);
  assert_string_equal (identity.name, "p");
  assert_job ("SYNOP_JOB_ID=mine\nSLURM_JOB_ID=5\n", V1 ("/slurm/uid_0/job_5/step_0/synop_job_mine"), JOB_SLURM, "5",
              true);
  assert_string_equal (identity.folder, "/slurm/uid_0/job_5");
}

/* Which spelling of one id is taken: the environment's, which has all of it. */
static void
test_both_agree (void **state)
{
  (void) state;
  assert_job ("PBS_JOBID=5.pbs.example.com\nPBS_JOBNAME=p\n", V1 ("/torque/5.pbs"), JOB_PBS, "5.pbs.example.com", true);
  assert_string_equal (identity.name, "p");
  assert_job ("PBS_JOBID=5\n", V1 ("/torque/5.pbs"), JOB_PBS, "5", true);
  assert_job ("LSB_JOBID=99\nLSB_JOBINDEX=4\n", V1 ("/lsf/hpc/job.99.1.2"), JOB_LSF, "99[4]", true);
  assert_job ("PBS_JOBID=5.other\n", V1 ("/torque/5.pbs"), JOB_PBS, "5.pbs", true);
  assert_job ("PBS_JOBID=55.pbs\n", V1 ("/torque/5.pbs"), JOB_PBS, "5.pbs", true);
  assert_job ("LSB_JOBID=990\n", V1 ("/lsf/hpc/job.99.1.2"), JOB_LSF, "99", true);
}

/* A folder that has not the job's id as its name (SLUID): the environment names the job, and without one the folder is
 * the job's that has it. */
static void
test_folders_without_an_id (void **state)
{
  (void) state;
  assert_job ("SLURM_JOB_ID=5\n", V2 ("/system.slice/slurmstepd.scope/s7XYZ/step_0/user/task_0"), JOB_SLURM, "5", true);
  assert_string_equal (identity.folder, "/system.slice/slurmstepd.scope/s7XYZ");
  assert_false (identify ("PATH=/bin\n", V2 ("/system.slice/slurmstepd.scope/s7XYZ/step_0/user/task_0")));
  assert_string_equal (identity.folder, "/system.slice/slurmstepd.scope/s7XYZ");
  assert_job ("SLURM_JOB_ID=5\n", V1 ("/slurm_n1/uid_3/s7XYZ/step_0/task_0"), JOB_SLURM, "5", true);
  assert_int_equal (identity.uid, 3);
  assert_none ("SLURM_JOB_ID=5\n", V2 ("/system.slice/slurmstepd.scope/s7XYZ/step_0/slurm"));
}

/* salloc's shell has its job's environment on a node that is not the job's. */
static void
test_salloc (void **state)
{
  const char *shell = "SLURM_JOB_ID=5\nSLURM_JOB_NODELIST=n[1-2]\n";

  (void) state;
  assert_none (shell, "0::/\n");
  assert_job ("SLURM_JOB_ID=5\nSLURM_JOB_NODELIST=n[1-2]\nSLURMD_NODENAME=n1\n", "0::/\n", JOB_SLURM, "5", false);
  assert_job (shell, V1 ("/slurm/uid_0/job_5/step_interactive"), JOB_SLURM, "5", true);
  assert_job ("SLURM_JOB_ID=5\nSLURM_JOB_NODELIST=n1\nSYNOP_JOB_ID=s\n", "0::/\n", JOB_SYNOP, "s", false);
}

static void
test_hostile_values (void **state)
{
  char text[3000] = "SYNOP_JOB_ID=";

  (void) state;
  memset (text + 13, 'x', 500);
  assert_true (identify (text, ""));
  assert_int_equal (strlen (identity.label), JOB_ID_MAX);
  memset (text, 0, sizeof text);
  strcpy (text, "SLURM_RESTART_COUNT=4294967295\nSLURM_JOB_ID=1\nSLURM_JOB_NAME=a\tb\xff\xc3\xa9\x1b[2J");
  assert_true (identify (text, ""));
  assert_string_equal (identity.label, "1");
  assert_string_equal (identity.name, "a_b_\xc3\xa9_[2J");
  /* A name is cut between characters. */
  strcpy (text, "SYNOP_JOB_ID=1\nSYNOP_JOB_NAME=x");
  for (int i = 0; i < 100; i++)
    strcat (text, "\xc3\xa9");
  assert_true (identify (text, ""));
  assert_int_equal (strlen (identity.name), 127);
  assert_int_equal ((unsigned char) identity.name[126], 0xa9);
  /* The environment ends within a variable. */
  assert_true (job_identify ("A=1\0SLURM_JOB_ID=12", 18, NULL, 0, NULL, &identity));
  assert_string_equal (identity.label, "1");
  assert_true (job_identify ("A=1\0SYNOP_JOB_ID=a\x01\x80 /", 22, NULL, 0, NULL, &identity));
  assert_string_equal (identity.label, "a____");
}

static void
test_names (void **state)
{
  (void) state;
  assert_string_equal (job_scheduler_name (JOB_SLURM), "slurm");
  assert_string_equal (job_scheduler_name (JOB_OTHER), "other");
  assert_true (job_is_daemon ("slurmstepd"));
  assert_false (job_is_daemon ("bash"));
  assert_true (job_id_is_valid ("a-1_[3].pbs@x:y+#"));
  assert_false (job_id_is_valid (""));
  assert_false (job_id_is_valid (".."));
  assert_false (job_id_is_valid ("a/b"));
  assert_false (job_id_is_valid ("a b"));
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_no_job),
    cmocka_unit_test (test_environments),
    cmocka_unit_test (test_variables_of_the_configuration),
    cmocka_unit_test (test_order),
    cmocka_unit_test (test_what_slurm_tells),
    cmocka_unit_test (test_cpus_of_slurm),
    cmocka_unit_test (test_what_others_tell),
    cmocka_unit_test (test_folders),
    cmocka_unit_test (test_folders_of_nobodys),
    cmocka_unit_test (test_deep_folders),
    cmocka_unit_test (test_both_differ),
    cmocka_unit_test (test_both_agree),
    cmocka_unit_test (test_folders_without_an_id),
    cmocka_unit_test (test_salloc),
    cmocka_unit_test (test_hostile_values),
    cmocka_unit_test (test_names),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
