/* The groups of a node as people read them. Each part: {id, title, groups, make (host) -> {element, update (readings, facts)}};
 * it is shown once one of its groups has been sampled. host: {catalog, link, readings}. */
import {el} from './dom.js';
import {curveOf} from './metrics.js';
import {createCpus} from './node_cpu.js';
import {anatomy} from './readings.js';
import {createStack} from './stack.js';
import {createTable} from './table.js';
import {duration, format} from './units.js';

/* ---- how parts are made ---- */

const rowsOf = (readings, group, catalog) => {
  const table = readings.find(group);
  return table ? (anatomy(table, catalog.group(group)).rows ?? []).map(([label, values]) => ({label, values, period: table.period})) : [];
};
/* Is there something to show: rows, or why there are none? */
const hasRows = (table) => table !== null && (Boolean(table.error) ||
  Object.entries(table.value).some(([name, rows]) => rows && typeof rows === 'object' && !FOLDS.has(name) && Object.keys(rows).length > 0));
const FOLDS = new Set(['total', 'highest']);
const rate = (metric) => ({values, period}) => (Number.isFinite(values[metric]) && period > 0 ? values[metric] / period : null);
const gauge = (metric) => ({values}) => values[metric] ?? null;
const sum = (...gets) => (row) => {
  const known = gets.map((get) => get(row)).filter((value) => value !== null);
  return known.length ? known.reduce((a, b) => a + b) : null;
};

/* A column of numbers; `curve` names the metric that a click shows. */
const number = (id, label, get, unit, curve, more = {}) => ({
  id, label, number: true, text: (row) => format(get(row), unit), order: get,
  curve: curve ? (row) => (get(row) === null ? null : curveOf(...curve, row.label)) : undefined, ...more,
});
const words = (id, label, get, more = {}) => ({id, label, text: (row) => get(row) ?? '', ...more});

/* A part that is one table of one group's rows. */
function rowsPart (id, title, group, columns, more = {}) {
  return {
    id, title, groups: [group],
    shown: (readings) => hasRows(readings.find(group)),
    make (host) {
      const table = createTable({label: title, key: (row) => row.label, most: 24, empty: more.empty, columns: columns(host), sort: more.sort});
      return {
        element: table.element,
        update: (readings) => table.set((more.rows ?? rowsOf)(readings, group, host.catalog)),
      };
    },
  };
}

/* Values with names, as a list of few. */
function list (items) {
  const rows = items.map(({label, curve}) => ({label, value: el(curve ? 'button' : 'span', curve ? {type: 'button', 'class': 'value', 'data-curve': curve} : {})}));
  return {
    element: el('dl', {'class': 'facts'}, rows.map(({label, value}) => el('div', {}, el('dt', {}, label), el('dd', {}, value)))),
    set: (texts) => rows.forEach(({value}, i) => value.textContent !== texts[i] && (value.textContent = texts[i])),
  };
}

/* ---- the parts ---- */

const memory = {
  id: 'memory', title: 'Memory', groups: ['memory_info'],
  make () {
    const main = createStack('What memory is used for', [
      {label: 'Used', curve: curveOf('memory_info', 'used')}, {label: 'Cache that can be given back'},
      {label: 'Free', curve: curveOf('memory_info', 'free'), quiet: true}]);
    const swap = createStack('Swap space', [{label: 'Swap used', curve: curveOf('memory_info', 'swap_used')},
      {label: 'Swap free', curve: curveOf('memory_info', 'swap_free'), quiet: true}]);
    const facts = list([{label: 'Total', curve: curveOf('memory_info', 'total')}, {label: 'Available', curve: curveOf('memory_info', 'available')},
      {label: 'Dirty', curve: curveOf('memory_info', 'dirty')}]);
    return {
      element: el('div', {}, main.element, swap.element, facts.element),
      update (readings) {
        const v = readings.find('memory_info').value;
        const bytes = (value) => format(value, 'bytes');
        main.set([v.used, Number.isFinite(v.available - v.free) ? Math.max(0, v.available - v.free) : null, v.free], v.total, bytes);
        swap.element.hidden = !(v.swap_total > 0);
        swap.set([v.swap_used, v.swap_free], v.swap_total, bytes);
        facts.set([v.total, v.available, v.dirty].map(bytes));
      },
    };
  },
};

const load = {
  id: 'load', title: 'Load', groups: ['load'],
  make () {
    const facts = list([{label: '1 minute', curve: 'load.load_1'}, {label: '5 minutes', curve: 'load.load_5'}, {label: '15 minutes', curve: 'load.load_15'},
      {label: 'Runnable', curve: 'load.runnable'}, {label: 'Threads', curve: 'load.tasks'}, {label: 'Context switches', curve: 'cpu_usage.context_switch_count'}, {label: 'Up for'}]);
    return {
      element: facts.element,
      update (readings) {
        const {value} = readings.find('load');
        const cpu = readings.find('cpu_usage');
        const switches = cpu?.period > 0 ? cpu.value.context_switch_count / cpu.period : null;
        facts.set([...['load_1', 'load_5', 'load_15', 'runnable', 'tasks'].map((name) => format(value[name])), format(switches, '/s'), duration(value.uptime)]);
      },
    };
  },
};

const PRESSURES = [['cpu', 'CPU'], ['memory', 'Memory'], ['io', 'I/O'], ['irq', 'Interrupts']];
const pressure = {
  id: 'pressure', title: 'Pressure: time lost for want of', groups: ['pressure'],
  make () {
    const column = (name, label, help) => ({
      id: name, label, help, number: true, text: (row) => format(row.values[`${row.label}_${name}`] ?? null, 'percent'),
      order: (row) => row.values[`${row.label}_${name}`] ?? null, curve: (row) => (Number.isFinite(row.values[`${row.label}_${name}`]) ? curveOf('pressure', `${row.label}_${name}`) : null),
    });
    const table = createTable({label: 'Pressure', key: (row) => row.label, columns: [
      words('what', 'Resource', (row) => PRESSURES.find(([name]) => name === row.label)[1]),
      column('some_avg10', 'Some, 10 s', 'Share of the last 10 seconds in which some tasks waited'), column('some_avg300', '5 min', 'The same of the last 5 minutes'),
      column('full_avg10', 'All, 10 s', 'Share of the last 10 seconds in which all tasks waited'), column('full_avg300', '5 min', 'The same of the last 5 minutes')]});
    return {
      element: table.element,
      update (readings) {
        const {value} = readings.find('pressure');
        table.set(PRESSURES.filter(([name]) => `${name}_some_avg10` in value || `${name}_full_avg10` in value).map(([label]) => ({label, values: value})));
      },
    };
  },
};

const perOperation = ({values}) => {
  const operations = (values.reads ?? 0) + (values.writes ?? 0);
  return operations > 0 ? ((values.read_time ?? 0) + (values.write_time ?? 0)) / operations : null;
};
const busy = ({values, period}) => (period > 0 && Number.isFinite(values.io_time) ? 100 * values.io_time / period : null);
const disks = rowsPart('disks', 'Disks', 'disk_io', () => [
  words('name', 'Device', (row) => row.label),
  number('read', 'Read', rate('read_bytes'), 'bytes/s', ['disk_io', 'read_bytes']),
  number('write', 'Written', rate('write_bytes'), 'bytes/s', ['disk_io', 'write_bytes']),
  number('reads', 'Reads', rate('reads'), '/s', ['disk_io', 'reads']),
  number('writes', 'Writes', rate('writes'), '/s', ['disk_io', 'writes']),
  number('wait', 'Each takes', perOperation, 'seconds'),
  number('busy', 'Busy', busy, 'percent', ['disk_io', 'io_time'], {bar: (row) => busy(row) / 100}),
  number('flight', 'In flight', gauge('in_flight'), '', ['disk_io', 'in_flight']),
], {sort: '-busy'});

const share = ({values}) => (values.size > 0 ? values.used / values.size : null);
const inodes = ({values}) => (values.inodes_total > 0 ? 100 * values.inodes_used / values.inodes_total : null);
const mounts = rowsPart('mounts', 'File systems', 'filesystem', () => [
  words('name', 'Mounted at', (row) => row.label),
  words('type', 'Type', gauge('type')),
  number('size', 'Size', gauge('size'), 'bytes', ['filesystem', 'size']),
  number('used', 'Used', gauge('used'), 'bytes', ['filesystem', 'used'], {bar: share, mark: (row) => (share(row) > 0.95 ? 'is-bad' : share(row) > 0.85 ? 'is-warn' : '')}),
  number('free', 'Available', gauge('available'), 'bytes', ['filesystem', 'available']),
  number('inodes', 'Inodes', inodes, 'percent', ['filesystem', 'inodes_used']),
  words('state', 'State', ({values}) => [values.read_only ? 'read only' : '', values.shared ? 'shared' : '', values.device_error ? 'errors' : ''].filter(Boolean).join(', '),
    {mark: ({values}) => (values.device_error ? 'is-bad' : '')}),
]);

const network = rowsPart('network', 'Network', 'network', () => [
  words('name', 'Interface', (row) => row.label),
  number('rx', 'Received', rate('rx_bytes'), 'bytes/s', ['network', 'rx_bytes']),
  number('tx', 'Sent', rate('tx_bytes'), 'bytes/s', ['network', 'tx_bytes']),
  number('rxp', 'Packets in', rate('rx_packets'), '/s', ['network', 'rx_packets']),
  number('txp', 'Packets out', rate('tx_packets'), '/s', ['network', 'tx_packets']),
  number('drops', 'Dropped', sum(rate('rx_dropped'), rate('tx_dropped')), '/s', ['network', 'rx_dropped'], {mark: (row) => (sum(rate('rx_dropped'), rate('tx_dropped'))(row) > 0 ? 'is-warn' : '')}),
  number('errors', 'Errors', sum(rate('rx_errors'), rate('tx_errors')), '/s', ['network', 'rx_errors'], {mark: (row) => (sum(rate('rx_errors'), rate('tx_errors'))(row) > 0 ? 'is-bad' : '')}),
  number('speed', 'Speed', gauge('speed'), 'bits_per_second', ['network', 'speed']),
  words('link', 'Link', ({values}) => (values.carrier === 1 ? 'up' : values.carrier === 0 ? 'down' : '')),
], {sort: '-rx'});

const IB_ERRORS = ['port_rcv_errors', 'symbol_error', 'link_downed', 'link_error_recovery', 'port_xmit_discards', 'local_link_integrity_errors'];
const infiniband = rowsPart('infiniband', 'InfiniBand', 'infiniband', () => [
  words('name', 'Port', (row) => row.label),
  words('state', 'State', ({values}) => values.state, {mark: ({values}) => (values.state && !/active/i.test(values.state) ? 'is-bad' : '')}),
  number('rate', 'Rate', gauge('rate'), 'bits_per_second', ['infiniband', 'rate']),
  number('rx', 'Received', rate('port_rcv_data'), 'bytes/s', ['infiniband', 'port_rcv_data']),
  number('tx', 'Sent', rate('port_xmit_data'), 'bytes/s', ['infiniband', 'port_xmit_data']),
  number('wait', 'Waited to send', rate('port_xmit_wait'), '/s', ['infiniband', 'port_xmit_wait']),
  number('errors', 'Errors', sum(...IB_ERRORS.map(rate)), '/s', ['infiniband', 'port_rcv_errors'], {mark: (row) => (sum(...IB_ERRORS.map(rate))(row) > 0 ? 'is-bad' : '')}),
]);

/* Sensors of two groups, as one table. */
const sensors = {
  id: 'sensors', title: 'Sensors', groups: ['thermal', 'hwmon'],
  shown: (readings) => hasRows(readings.find('thermal')) || hasRows(readings.find('hwmon')),
  make ({catalog}) {
    const table = createTable({label: 'Sensors', key: (row) => `${row.group} ${row.label}`, most: 24, empty: 'This machine shows no sensors.', columns: [
      words('name', 'Sensor', (row) => row.values.label || row.values.type || row.label),
      words('chip', 'Chip', (row) => row.values.chip_name ?? row.label),
      number('temperature', 'Temperature', gauge('temperature'), 'celsius', null, {curve: (row) => (Number.isFinite(row.values.temperature) ? curveOf(row.group, 'temperature', row.label) : null),
        mark: ({values}) => (values.temperature >= (values.temperature_critical ?? Infinity) || values.critical_alarm ? 'is-bad' : '')}),
      number('limit', 'Critical at', gauge('temperature_critical'), 'celsius'),
      number('fan', 'Fan', gauge('fan'), 'rpm', null, {curve: (row) => (Number.isFinite(row.values.fan) ? curveOf(row.group, 'fan', row.label) : null)}),
      number('power', 'Power', gauge('power'), 'watts', null, {curve: (row) => (Number.isFinite(row.values.power) ? curveOf(row.group, 'power', row.label) : null)}),
    ]});
    return {
      element: table.element,
      update: (readings) => table.set(['thermal', 'hwmon'].flatMap((group) => rowsOf(readings, group, catalog).map((row) => ({...row, group})))),
    };
  },
};

const energy = {
  id: 'energy', title: 'Power and energy', groups: ['node_power'],
  make ({catalog}) {
    const table = createTable({label: 'Power', key: (row) => row.label, columns: [
      words('name', 'Part', (row) => row.label),
      number('power', 'Power', gauge('power'), 'watts', null, {curve: (row) => curveOf('node_power', 'power', row.whole ? null : row.label)}),
      words('source', 'Measured by', gauge('source'))]});
    return {
      element: table.element,
      update (readings) {
        const {value} = readings.find('node_power');
        const source = value.whole ? 'the whole machine' : 'the sum of the parts: nothing measures the whole';
        table.set([{label: 'node', whole: true, values: {power: value.node?.power ?? null, source}}, ...rowsOf(readings, 'node_power', catalog)]);
      },
    };
  },
};

const cpus = {id: 'cpus', title: 'CPUs', groups: ['cpu_usage'], make: createCpus};

export {number, rate, gauge, words, rowsOf, rowsPart};
export const BASIC_PARTS = {cpus, memory, load, pressure, disks, mounts, network, infiniband, sensors, energy};
