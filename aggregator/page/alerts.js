/* What has begun and not ended: nodes that are down or stale, groups that fail, GPUs with errors. Live from the aggregator's
 * state; of an instant of the past from the events before it. */
import {el, setText} from './dom.js';
import {loadCatalog} from './metrics.js';
import {createTable} from './table.js';
import {time} from './units.js';

const EVERY = 5000;
const GPU_SPAN = 3600;
const BACK = 7 * 86400;
const GPU_METRICS = [['gpu.xid_errors', 'XID error'], ['gpu.ecc_uncorrected', 'uncorrected ECC error'], ['gpu.remapped_rows_failed', 'rows that could not be remapped']];
const RANK = {bad: 0, warn: 1};

export function createAlerts (context) {
  const table = createTable({
    label: 'Alerts that stand', key: ({id}) => id, most: 100, empty: 'No alert is known.',
    columns: [
      {id: 'level', label: 'Level', text: ({level}) => ({bad: 'alarm', warn: 'warning'}[level]), order: ({level}) => RANK[level], mark: ({level}) => `is-${level}`},
      {id: 'node', label: 'Node', text: ({node}) => node, href: ({node}) => (node ? context.link('node', {node}) : null)},
      {id: 'text', label: 'What is wrong', mark: () => 'text', text: ({text}) => text},
      {id: 'since', label: 'Since', text: ({since}) => time(since, 'short'), order: ({since}) => (since ? Date.parse(since) : null)},
    ],
  });
  const note = el('p', {'class': 'note', role: 'status'});
  const element = el('div', {}, table.element, note);
  let timer = 0;
  let busy = false;
  let closed = false;
  let gpuAlerts = [];
  let gpuAsked = 0;
  let begun = {at: 0, map: new Map()};

  async function load () {
    clearTimeout(timer);
    if (!busy && !document.hidden) {
      busy = true;
      try {
        const t = context.instant.time();
        const alerts = context.instant.live ? await standing(t) : await standingAt(t);
        if (closed)
          return;
        table.set([...alerts, ...await ofGpus(t)].sort((a, b) => RANK[a.level] - RANK[b.level]));
        setText(note, '');
      } catch (error) {
        setText(note, error.message);
      }
      busy = false;
    }
    if (!closed && context.instant.live)
      timer = setTimeout(load, EVERY);
  }

  async function standing (t) {
    const {nodes} = await context.get('nodes', {facts: 'no'});
    if (Date.now() - begun.at > 30000)
      begun = {at: Date.now(), map: await beginnings(t).catch(() => begun.map)};
    return nodes.flatMap((one) => {
      const silent = one.last_seen === null ? null : new Date(t - one.last_seen * 1000).toISOString();
      const made = [];
      if (one.state === 'down' || one.state === 'stale')
        made.push({id: `${one.node} state`, level: one.state === 'down' ? 'bad' : 'warn', node: one.node, text: one.state === 'down' ? 'down: no frames come' : 'stale: no frame for 3 periods', since: silent});
      for (const {group, error} of one.failing ?? [])
        made.push({id: `${one.node} ${group}`, level: 'warn', node: one.node, text: `${group}: ${error}`, since: begun.map.get(`${one.node} ${group}`) ?? null});
      return made;
    });
  }

  async function beginnings (t) {
    const {events} = await context.get('events', {type: 'group_failed,group_recovered', from: iso(t - BACK * 1000), to: iso(t + 1000), limit: 10000});
    const map = new Map();
    for (const event of events)
      for (const group of event.groups ?? [])
        if (event.event === 'group_recovered')
          map.delete(`${event.node} ${group}`);
        else if (!map.has(`${event.node} ${group}`))
          map.set(`${event.node} ${group}`, event.time);
    return map;
  }

  /* By the events up to then: what began before these is not known. */
  async function standingAt (t) {
    const {events} = await context.get('events', {type: 'node_*,group_*,history_*', from: iso(t - BACK * 1000), to: iso(t), limit: 10000});
    const map = new Map();
    for (const event of events)
      takeEvent(map, event);
    return [...map.values()];
  }

  async function ofGpus (t) {
    if (Math.abs(t - gpuAsked) < 30000)
      return gpuAlerts;
    if (!(await loadCatalog(context)).group('gpu'))
      return [];
    const range = {from: iso(t - GPU_SPAN * 1000), to: iso(t), step: '1m', rows: 'yes', top: 50};
    const found = await Promise.all(GPU_METRICS.map(([metric, text]) => context.get('query', {metric, ...range}).then(({series}) => series.flatMap((one) => gpuAlert(one, metric, text)), () => [])));
    gpuAsked = t;
    gpuAlerts = found.flat();
    return gpuAlerts;
  }

  const stop = context.instant.onChange(load, {every: 1000});
  load();
  return {
    element,
    destroy () {
      closed = true;
      clearTimeout(timer);
      stop();
    },
  };
}

function gpuAlert ({node, row, points}, metric, text) {
  const wrong = points.filter(([, value]) => value > 0);
  if (!wrong.length)
    return [];
  const count = wrong.reduce((all, [, value]) => all + value, 0);
  const what = metric.endsWith('failed') ? text : `${count} ${text}${count === 1 ? '' : 's'}`;
  return [{id: `${node} ${row} ${metric}`, level: 'bad', node, text: `GPU ${row}: ${what} in the last hour`, since: new Date(wrong[0][0] * 1000).toISOString()}];
}

function takeEvent (map, event) {
  const {node, time: since} = event;
  switch (event.event) {
    case 'node_up': case 'node_revoked':
      map.delete(`${node} state`);
      break;
    case 'node_stale':
      map.set(`${node} state`, {id: `${node} state`, level: 'warn', node, text: 'stale: no frame for 3 periods', since});
      break;
    case 'node_down':
      map.set(`${node} state`, {id: `${node} state`, level: 'bad', node, text: 'down: no frames came', since});
      break;
    case 'group_failed':
      for (const group of event.groups ?? [])
        map.set(`${node} ${group}`, {id: `${node} ${group}`, level: 'warn', node, text: `${group}: ${event.error}`, since});
      break;
    case 'group_recovered':
      for (const group of event.groups ?? [])
        map.delete(`${node} ${group}`);
      break;
    case 'history_failed':
      map.set('history', {id: 'history', level: 'bad', node: '', text: `The history cannot be written: ${event.error}`, since});
      break;
    case 'history_resumed':
      map.delete('history');
      break;
    default:
  }
}

const iso = (ms) => new Date(Math.round(ms)).toISOString();
