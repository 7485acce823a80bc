/* What a job's report finds, worst first, and its meters: shares of what the job had. */
import {el} from './dom.js';
import {duration, format, MISSING, time} from './units.js';

const GRAVE = new Set(['killed_for_memory', 'timeout', 'lost_nodes', 'gpu_errors']);

/* The report's own notes where it has them, with its remarks; else what its members say. */
export function notesOf (report) {
  const sentences = sentencesOf(report);
  return sentences.length ? el('ul', {'class': 'finding-list'}, sentences.map(([level, text, advice, write]) => el('li', {'class': `finding is-${level}`}, text,
    advice ? el('span', {'class': 'advice'}, `${advice}${/[.!]$/.test(advice) ? '' : '.'}`) : null, write ? el('code', {'class': 'advice mono'}, write) : null))) : null;
}

/* [[level, text, advice, what to write into the job's script]] */
export function sentencesOf (report) {
  if (!report.notes)
    return findings(report);
  return [...report.notes.map(({note, text, advice, write}) => [GRAVE.has(note) ? 'bad' : 'warn', text, advice, write]), ...report.remarks.map((sentence) => ['warn', sentence])];
}

function findings (report) {
  const list = [];
  for (const node of report.nodes.filter(({lost}) => lost))
    list.push(['bad', `${node.node} was lost: its last sample is of ${time(node.last, 'short')}.`]);
  const kills = report.total.oom_kills?.total;
  if (kills > 0)
    list.push(['bad', `${kills} processes were killed for want of memory.`]);
  for (const {node, gpus} of report.nodes)
    for (const gpu of gpus)
      gpuFindings(list, node, gpu);
  if (report.slowest_node) {
    const {value, others} = report.imbalance.cpu_usage ?? {};
    list.push(['warn', `${report.slowest_node} was slow${Number.isFinite(value) ? `: it used ${format(value, 'percent')} of its CPUs, the others ${format(others, 'percent')}` : ''}.`]);
  }
  for (const {node, gap_seconds: gap} of report.nodes.filter((one) => one.gap_seconds > 0 && !one.lost))
    list.push(['warn', `${node} has no samples for ${duration(gap)} of its time.`]);
  report.remarks.forEach((sentence) => list.push(['warn', sentence]));
  return list.slice(0, 40);
}

function gpuFindings (list, node, gpu) {
  if (gpu.idle >= 95)
    list.push(['warn', `GPU ${gpu.gpu} of ${node} was left idle ${format(gpu.idle, 'percent')} of the time.`]);
  if (gpu.xid_errors > 0)
    list.push(['bad', `GPU ${gpu.gpu} of ${node} has ${gpu.xid_errors} XID errors, the last is ${gpu.xid}.`]);
}

const amount = (value, unit) => (unit === 'B' ? format(value, 'bytes') : `${format(value)} ${unit}`);

/* [{label, share of 0..1, text, more}] */
export function metersFrom (report) {
  if (report.meters?.length)
    return report.meters.map((meter) => ({label: meter.title, share: meter.percent / 100, known: meter.percent !== null, text: format(meter.percent, 'percent'),
      more: `${amount(meter.used, meter.unit)} of ${amount(meter.of, meter.unit)}${meter.node ? ` on ${meter.node}` : ''}`}));
  const {total} = report;
  const made = [{label: 'CPU use', share: report.cpu_efficiency / 100, text: format(report.cpu_efficiency, 'percent'), known: report.cpu_efficiency !== null}];
  if (total.gpu_usage)
    made.push({label: 'GPU use', share: total.gpu_usage.mean / 100, text: format(total.gpu_usage.mean, 'percent'), known: total.gpu_usage.mean !== null});
  for (const [label, key] of [['Floating point, of the peak', 'flops_share'], ['Memory bandwidth, of the peak', 'memory_bandwidth_share']])
    if (Number.isFinite(report.counters?.[key]))
      made.push({label, share: report.counters[key] / 100, text: format(report.counters[key], 'percent')});
  return made;
}

export function metersOf (report) {
  const plain = [
    ['Peak memory', report.memory_peak ? `${format(report.memory_peak.bytes, 'bytes')} on ${report.memory_peak.node}` : null],
    ['Energy', report.energy ? `${format(report.energy.kwh * 1000, 'Wh')}${report.energy.estimated > 0 ? `, ${format(report.energy.estimated, 'percent')} of it by estimate` : ''}` : null],
    ['CO₂', Number.isFinite(report.energy?.co2) ? `${format(report.energy.co2 * 1000, 'g')}` : null],
  ].filter(([, text]) => text);
  return [
    ...metersFrom(report).map(({label, share, text, more = '', known = true}) => el('div', {'class': 'meter', title: more || null}, el('span', {'class': 'meter-name'}, label),
      el('span', {'class': `meter-bar${known ? '' : ' is-none'}`, 'aria-hidden': 'true'}, el('span', {style: {width: `${Math.min(100, Math.max(0, (share || 0) * 100)).toFixed(1)}%`}})),
      el('span', {'class': 'meter-text'}, known ? text : MISSING))),
    ...plain.map(([label, text]) => el('div', {'class': 'meter'}, el('span', {'class': 'meter-name'}, label), el('span', {'class': 'meter-wide'}, text))),
  ];
}
