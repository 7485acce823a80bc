/* The quantities of a job's report: how they are called and shown, and which metric has their curve. */

/* name: [title, unit, metric of the curve, whether that is a counter] */
const ITEMS = {
  cpu_usage: ['CPU use', 'percent', 'job_cpu.usage'],
  cpu_user: ['CPU time in user space', 'seconds/s', 'job_cpu.user_time', true],
  cpu_system: ['CPU time in the kernel', 'seconds/s', 'job_cpu.system_time', true],
  memory: ['Memory', 'bytes', 'job_memory.rss'],
  memory_peak: ['Peak of memory', 'bytes', null],
  cgroup_peak: ['Peak of the cgroup', 'bytes', null],
  oom_kills: ['Kills for want of memory', '/s', null],
  memory_limit: ['Memory limit', 'bytes', 'job_memory.cgroup_limit'],
  swap: ['Swap', 'bytes', 'job_memory.swap'],
  read: ['Read from storage', 'bytes/s', 'job_io.read_bytes', true],
  write: ['Written to storage', 'bytes/s', 'job_io.write_bytes', true],
  storage_wait: ['Wait for storage', 'percent', 'pressure.io_some_avg10'],
  processes: ['Processes', '', 'job_processes.processes'],
  threads: ['Threads', '', 'job_processes.threads'],
  network_received: ['Network received', 'bytes/s', 'network.rx_bytes', true],
  network_sent: ['Network sent', 'bytes/s', 'network.tx_bytes', true],
  infiniband_received: ['InfiniBand received', 'bytes/s', 'infiniband.port_rcv_data', true],
  infiniband_sent: ['InfiniBand sent', 'bytes/s', 'infiniband.port_xmit_data', true],
  memory_bandwidth: ['Memory bandwidth', 'bytes/s', 'memory_bandwidth.bytes', true],
  memory_read_estimate: ['Memory read, by estimate', 'bytes/s', null],
  memory_written_estimate: ['Memory written, by estimate', 'bytes/s', null],
  flop: ['Floating point', 'FLOP/s', null],
  flop_double: ['Floating point, double', 'FLOP/s', null],
  flop_single: ['Floating point, single', 'FLOP/s', null],
  flop_scalar: ['Floating point, scalar', 'FLOP/s', null],
  cycles: ['Cycles', '/s', null],
  instructions: ['Instructions', '/s', null],
  task_time: ['Time of tasks', 'seconds/s', null],
  energy: ['Power', 'watts', 'job_energy.energy', true],
  energy_estimated: ['Power by estimate', 'watts', null],
  gpu_usage: ['GPU use', 'percent', 'gpu.utilization'],
  gpu_memory: ['GPU memory', 'bytes', 'gpu.memory_used'],
  gpu_energy: ['GPU power', 'watts', 'gpu.energy', true],
};
const TOTALS = {'bytes/s': 'bytes', 'seconds/s': 'seconds', 'watts': 'joules', 'FLOP/s': 'FLOP', '/s': ''};

export const itemNames = Object.keys(ITEMS);

export function itemOf (name) {
  const [title, unit, metric = null, counter = false] = ITEMS[name] ?? [name.replaceAll('_', ' '), ''];
  return {name, title, unit, total: TOTALS[unit] ?? unit, metric, counter};
}

/* Those that a report has, in this order, unknown ones behind. */
export const itemsOf = (report) => [...itemNames.filter((name) => name in report.total), ...Object.keys(report.total).filter((name) => !(name in ITEMS))].map(itemOf);

/* The path of a job in the API: its id may have slashes in it, which stay, but leads nowhere else. */
export const pathOf = (id) => `jobs/${String(id).split('/').map((part) => encodeURIComponent(part.replace(/^\.+$/, ''))).join('/')}`;

export const stateOf = (job) => (job.ended === null ? 'running' : {gone: 'ended', told: 'ended', restart: 'ended'}[job.reason] ?? (job.reason || 'ended'));
