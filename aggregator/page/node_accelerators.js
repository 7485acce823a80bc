/* Accelerators and jobs of a node; see node_parts.js. */
import {curveOf} from './metrics.js';
import {gauge, number, rate, rowsOf, rowsPart, words} from './node_parts.js';
import {createTable} from './table.js';
import {format, time} from './units.js';

const memoryShare = ({values}) => (values.memory_total > 0 ? values.memory_used / values.memory_total : null);
const errors = ({values}) => [values.xid ? `XID ${values.xid}` : '', values.ecc_uncorrected > 0 ? 'ECC' : '',
  values.remapped_rows_failed ? 'rows not remapped' : '', values.state && values.state !== 'ok' ? values.state : ''].filter(Boolean).join(', ');
const HELD = [['throttled_hw_thermal', 'heat'], ['throttled_sw_thermal', 'heat'], ['throttled_hw_power_brake', 'power brake'], ['throttled_sw_power_cap', 'power limit'],
  ['throttled_hw_slowdown', 'slowdown']];
const held = ({values}) => [...new Set(HELD.filter(([name]) => values[name] > 0).map(([, why]) => why))].join(', ');

const gpus = rowsPart('gpus', 'GPUs', 'gpu', () => [
  words('name', 'GPU', (row) => row.label),
  words('model', 'Model', (row) => row.model),
  number('use', 'Use', gauge('utilization'), 'percent', ['gpu', 'utilization'], {bar: ({values}) => values.utilization / 100}),
  number('memory', 'Memory', gauge('memory_used'), 'bytes', ['gpu', 'memory_used'], {bar: memoryShare, title: ({values}) => `of ${format(values.memory_total, 'bytes')}`}),
  number('temperature', 'Temperature', gauge('temperature'), 'celsius', ['gpu', 'temperature']),
  number('power', 'Power', gauge('power'), 'watts', ['gpu', 'power'], {bar: ({values}) => values.power / values.power_limit}),
  number('clock', 'SM clock', gauge('clock_sm'), 'hertz', ['gpu', 'clock_sm']),
  words('held', 'Held down by', held, {mark: (row) => (held(row) ? 'is-warn' : '')}),
  words('errors', 'Errors', errors, {mark: (row) => (errors(row) ? 'is-bad' : '')}),
], {
  rows (readings, group, catalog) {
    const models = new Map(rowsOf(readings, 'gpu_info', catalog).map(({label, values}) => [label, values.name]));
    return rowsOf(readings, group, catalog).map((row) => ({...row, model: models.get(row.label) ?? ''}));
  },
});

const processes = rowsPart('gpu-processes', 'Processes on GPUs', 'gpu_processes', ({link}) => [
  words('name', 'GPU/process', (row) => row.label),
  words('command', 'Command', gauge('command')),
  words('job', 'Job', gauge('job'), {href: ({values}) => (values.job ? link('job', {job: values.job}) : null)}),
  number('use', 'Use', gauge('utilization'), 'percent', ['gpu_processes', 'utilization']),
  number('memory', 'Memory', gauge('memory_used'), 'bytes', ['gpu_processes', 'memory_used']),
  words('kind', 'Kind', gauge('kind')),
], {empty: 'No process is on a GPU.'});

/* The cores of all runtimes, each under its runtime. */
const neuron = {
  id: 'neuron', title: 'Neuron cores', groups: [],
  shown: (readings) => readings.all().some(({owner, group}) => owner && group === 'neuroncore_counters'),
  make ({catalog}) {
    const table = createTable({label: 'Neuron cores', key: (row) => `${row.owner}/${row.label}`, columns: [
      words('runtime', 'Runtime', (row) => row.owner), words('core', 'Core', (row) => row.label),
      number('use', 'Use', gauge('neuroncore_utilization'), 'percent', null, {bar: ({values}) => values.neuroncore_utilization / 100, curve: (row) => curveOf('neuroncore_counters', 'neuroncore_utilization', `${row.owner}/${row.label}`)}),
      number('flops', 'FLOP/s', gauge('flops'), ''), number('matmul', 'Matmul use', gauge('matmul_utilization'), 'percent')]});
    const cores = (readings) => readings.all().filter(({owner, group}) => owner && group === 'neuroncore_counters')
      .flatMap(({owner, value}) => Object.entries(value[catalog.group('neuroncore_counters')?.rows_name ?? 'neuroncores_in_use'] ?? {}).map(([label, values]) => ({owner, label, values})));
    return {element: table.element, update: (readings) => table.set(cores(readings))};
  },
};

const ecc = rowsPart('neuron-devices', 'Neuron devices', 'neuron_hw_counters', () => [
  words('name', 'Device', (row) => row.label),
  number('memory', 'Memory ECC, uncorrected', rate('mem_ecc_uncorrected'), '/s', ['neuron_hw_counters', 'mem_ecc_uncorrected']),
  number('sram', 'SRAM ECC, uncorrected', rate('sram_ecc_uncorrected'), '/s', ['neuron_hw_counters', 'sram_ecc_uncorrected']),
  number('power', 'Power', gauge('power_average'), 'percent', ['neuron_hw_counters', 'power_average']),
]);

const of = (group, metric) => ({groups}) => groups[group]?.value[metric] ?? null;
const jobs = {
  id: 'jobs', title: 'Jobs here', groups: [], always: true,
  make ({link}) {
    const column = (id, label, group, metric, unit) => ({id, label, number: true, text: (row) => format(of(group, metric)(row), unit), order: of(group, metric),
      curve: (row) => (of(group, metric)(row) === null ? null : curveOf(group, metric, row.owner))});
    const table = createTable({label: 'Jobs here', key: (row) => row.owner, empty: 'No job runs here.', columns: [
      {id: 'id', label: 'Job', text: (row) => row.owner, href: (row) => link('job', {job: row.owner})},
      words('user', 'User', of('job_info', 'user')), words('name', 'Name', of('job_info', 'name')),
      column('cpu', 'CPU use', 'job_cpu', 'usage', 'percent'), column('cpus', 'CPUs', 'job_info', 'cpus', ''),
      column('memory', 'Memory', 'job_memory', 'rss', 'bytes'), column('processes', 'Processes', 'job_processes', 'processes', ''),
      words('gpus', 'GPUs', of('job_info', 'gpus')), column('power', 'Power', 'job_energy', 'power', 'watts'),
      {id: 'since', label: 'Since', text: (row) => time((of('job_info', 'started')(row) ?? NaN) * 1000, 'short'), order: of('job_info', 'started')}]});
    return {element: table.element, update: (readings) => table.set(readings.owners('job_data'))};
  },
};

export const ACCELERATOR_PARTS = {gpus, processes, neuron, ecc, jobs};
