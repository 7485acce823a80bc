/* Tables of a job's report: its nodes (the worst first), its GPUs, its figures. */
import {itemOf, itemsOf} from './job_items.js';
import {createTable, sorted} from './table.js';
import {duration, format} from './units.js';

const NODE_ITEMS = ['cpu_usage', 'memory', 'memory_peak', 'read', 'write', 'network_received', 'network_sent', 'infiniband_received', 'infiniband_sent', 'gpu_usage', 'gpu_memory', 'energy'];

export function nodesTable (context, mark) {
  let table = null;
  let shape = '';
  const element = document.createElement('div');
  const chosen = new Set();
  const build = (names) => createTable({
    label: 'Nodes of the job', key: ({node}) => node, most: 40, mark: (row) => (row.lost || row.slow ? 'is-marked' : ''),
    columns: [
      {id: 'mark', label: 'Curve', check: {is: ({node}) => chosen.has(node), set: ({node}, on) => mark([...(on ? chosen.add(node) : chosen.delete(node) && chosen)]), label: ({node}) => `Show the curves of ${node}`}},
      {id: 'node', label: 'Node', text: ({node}) => node, href: ({node}) => context.link('node', {node})},
      {id: 'state', label: 'Remarks', text: remarks, mark: (row) => (row.lost ? 'is-bad' : row.slow || row.gap_seconds > 0 ? 'is-warn' : '')},
      {id: 'cpus', label: 'CPUs', number: true, text: ({cpus}) => format(cpus), order: ({cpus}) => cpus},
      ...names.map(itemOf).map((item) => ({id: item.name, label: item.title, number: true, text: (row) => format(valueOf(row, item), item.unit), order: (row) => valueOf(row, item)})),
    ],
  });
  return {
    element,
    set (report) {
      const names = NODE_ITEMS.filter((name) => name in report.total);
      if (names.join() !== shape)
        element.replaceChildren((table = build(names)).element);
      shape = names.join();
      const rows = report.nodes.map((node) => ({...node, slow: node.node === report.slowest_node}));
      table.set(sorted(sorted(rows, (row) => row.report.cpu_usage?.mean ?? null), (row) => (row.lost ? 0 : row.slow ? 1 : 2)));
    },
  };
}

const valueOf = ({report}, {name}) => (name.endsWith('peak') ? report[name]?.maximum : report[name]?.mean) ?? null;
const remarks = (row) => [row.lost ? 'lost' : '', row.slow ? 'slow' : '', row.gap_seconds > 0 ? `no samples for ${duration(row.gap_seconds)}` : ''].filter(Boolean).join(', ');

export function gpusTable (context) {
  const percent = (id, label, get, more = {}) => ({id, label, number: true, text: (gpu) => format(get(gpu), 'percent'), order: get, ...more});
  const table = createTable({
    label: 'GPUs of the job', key: ({node, gpu}) => `${node}/${gpu}`, most: 64, sort: 'use',
    columns: [
      {id: 'node', label: 'Node', text: ({node}) => node, href: ({node}) => context.link('node', {node})},
      {id: 'gpu', label: 'GPU', text: ({gpu}) => gpu},
      percent('use', 'Use', ({utilization}) => utilization?.mean ?? null, {bar: ({utilization}) => (utilization?.mean ?? NaN) / 100}),
      percent('idle', 'Left idle', ({idle}) => idle ?? null, {mark: ({idle}) => (idle >= 95 ? 'is-warn' : '')}),
      {id: 'memory', label: 'Peak memory', number: true, text: ({memory}) => format(memory?.maximum ?? null, 'bytes'), order: ({memory}) => memory?.maximum},
      {id: 'energy', label: 'Energy', number: true, text: ({energy}) => format(Number.isFinite(energy) ? energy / 3600 : null, 'Wh'), order: ({energy}) => energy},
      percent('throttled', 'Held down', ({throttled}) => throttled ?? null, {mark: ({throttled}) => (throttled >= 10 ? 'is-warn' : '')}),
      {id: 'xid', label: 'XIDs', number: true, text: ({xid_errors: count, xid}) => (count > 0 ? `${count}, last ${xid}` : format(count ?? null)), order: ({xid_errors: count}) => count, mark: ({xid_errors: count}) => (count > 0 ? 'is-bad' : '')},
    ],
  });
  return {element: table.element, set: (report) => table.set(report.nodes.flatMap(({node, gpus}) => gpus.map((gpu) => ({...gpu, node}))))};
}

export function figuresTable (context) {
  const value = (id, label, pick) => ({id, label, number: true, text: (row) => pick(row), order: (row) => row.series[id] ?? null});
  const table = createTable({
    label: 'In figures', key: ({item}) => item.name, columns: [
      {id: 'name', label: 'Quantity', text: ({item}) => item.title},
      value('total', 'Total', ({item, series}) => (series.total === undefined ? '' : format(series.total, item.total))),
      value('mean', 'Mean', ({item, series}) => format(series.mean, item.unit)), value('minimum', 'Least', ({item, series}) => format(series.minimum, item.unit)),
      value('maximum', 'Most', ({item, series}) => format(series.maximum, item.unit)),
      {id: 'imbalance', label: 'Highest node above the mean', number: true, text: ({unlike}) => format(unlike?.percent ?? null, 'percent'), order: ({unlike}) => unlike?.percent},
      {id: 'node', label: 'Farthest from the others', text: ({unlike}) => (unlike?.percent >= 1 ? unlike.node ?? '' : ''), href: ({unlike}) => (unlike?.percent >= 1 && unlike.node ? context.link('node', {node: unlike.node}) : null)},
    ],
  });
  return {element: table.element, set: (report) => table.set(itemsOf(report).map((item) => ({item, series: report.total[item.name], unlike: report.imbalance[item.name]})))};
}
