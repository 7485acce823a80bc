/* Time: how far each node's clock is off, how it drifts, how exactly that is known; and how far the samples of a tick lie apart. */
import {el, setText} from './dom.js';
import {globOf} from './metrics.js';
import {createTable, sorted} from './table.js';
import {counted, format, MISSING} from './units.js';

const EVERY = 5000;
const SPAN = 900;
const GROUP = 'load'; /* a small one that every node has: lines are asked for their clocks alone */
const LIMIT = 0.5; /* seconds, as [clock] limit is unless set */

const clock = (name) => (node) => node.clock?.[name] ?? null;
const signed = (value, unit) => (value === null ? MISSING : `${value > 0 ? '+' : ''}${format(value, unit)}`);

export const view = {
  name: 'clocks',
  title: () => 'Clocks',
  open (root, context) {
    let closed = false;
    let busy = false;
    let timer = 0;
    let chosen = null; /* by the address; else the node that is farthest off */
    let first = null;
    const note = el('p', {'class': 'note', role: 'status'});
    const problem = el('p', {'class': 'problem', hidden: true});
    const summary = el('p', {'class': 'clock-summary'});
    const table = createTable({
      label: 'Clocks of the nodes', key: ({node}) => node, sort: context.params.sort ?? '-offset', onSort: (sort) => context.change({sort}), empty: 'No node is listed.',
      columns: [
        {id: 'node', label: 'Node', text: ({node}) => node, href: ({node}) => context.link('node', {node})},
        {id: 'state', label: 'State', text: ({state}) => state, mark: ({state}) => ({stale: 'is-warn', down: 'is-bad'}[state] ?? '')},
        {id: 'offset', label: 'Wall clock off by', help: 'How far its wall clock is ahead of cluster time', number: true, text: (node) => signed(clock('wall_offset')(node), 'seconds'), order: (node) => size(clock('wall_offset')(node)),
          curve: (node) => (node.clock ? `${node.node}` : null), mark: (node) => (size(clock('wall_offset')(node)) > LIMIT ? 'is-bad' : '')},
        {id: 'drift', label: 'Drift', help: 'How fast its monotonic clock is', number: true, text: (node) => (clock('drift_ppm')(node) === null ? MISSING : signed(clock('drift_ppm')(node), 'ppm')), order: (node) => size(clock('drift_ppm')(node))},
        {id: 'bound', label: 'Known to within', help: 'Times of its samples are right to within so much', number: true, text: (node) => format(clock('bound')(node), 'seconds'), order: clock('bound')},
        {id: 'probe', label: 'Last probe', number: true, text: (node) => (clock('probe_age')(node) === null ? MISSING : `${format(clock('probe_age')(node), 'seconds')} ago`), order: clock('probe_age')},
        {id: 'seen', label: 'Last frame', number: true, text: ({last_seen: seen}) => (seen === null ? 'never' : `${format(seen, 'seconds')} ago`), order: ({last_seen: seen}) => seen},
      ],
    });
    const ticks = curvePanel('Spread of a tick, and its error bound', 'How far the first and the last sample of a tick lie apart, and to within what their times are right.');
    const own = curvePanel('Wall clock of one node', 'Asking the history.');
    root.append(el('div', {'class': 'head'}, el('h1', {}, 'Clocks'), summary), problem,
      el('section', {'class': 'panel'}, el('div', {'class': 'curves'}, ticks.element, own.element)),
      el('section', {'class': 'panel'}, table.element, note));
    const spread = context.chart(ticks.area, {label: 'Spread of ticks', unit: 'seconds', height: 160, series: [{label: 'spread'}, {label: 'bound'}]});
    const offset = context.chart(own.area, {label: 'Offset of a node’s wall clock', unit: 'seconds', height: 160, zero: false, series: [{label: 'offset'}]});

    root.addEventListener('click', pick);
    function pick (event) {
      const button = event.target.closest('button[data-curve]');
      if (button)
        put({node: button.dataset.curve});
    }

    function put (params) {
      context.change(params);
      update(context.params);
    }

    async function load () {
      clearTimeout(timer);
      if (!busy && !document.hidden) {
        busy = true;
        const t = context.instant.time();
        await Promise.all([loadNodes(t).then(() => loadOwn(t)), loadTicks(t)].map((work) => work.catch((error) => say(error.message))));
        busy = false;
      }
      if (!closed && context.instant.live)
        timer = setTimeout(load, EVERY);
    }

    async function loadNodes (t) {
      const nodes = context.instant.live ? (await context.get('nodes', {facts: 'no'})).nodes : await nodesAt(t);
      if (closed)
        return;
      table.set(nodes);
      const bounds = nodes.map(clock('bound')).filter((value) => value !== null);
      const off = nodes.filter((node) => size(clock('wall_offset')(node)) > LIMIT).length;
      setText(summary, `${counted(nodes.length)} nodes${bounds.length ? `, ${bounds.length < nodes.length ? `${counted(bounds.length)} ` : 'all '}known to within ${format(Math.max(...bounds), 'seconds')}` : ''}${off ? `, ${off} off by more than ${format(LIMIT, 'seconds')}` : ''}`);
      setText(note, context.instant.live ? '' : 'As the last lines before this instant say.');
      say('');
      first = sorted(nodes.filter((node) => node.clock), (node) => size(clock('wall_offset')(node)), true)[0]?.node ?? null;
    }

    /* The newest line of each node before the instant. */
    async function nodesAt (t) {
      const {lines} = await context.get('lines', {type: 'node', group: GROUP, from: iso(t - 5000), to: iso(t), limit: 10000});
      const newest = new Map(lines.map((line) => [line.node, line]));
      return [...newest.values()].map((line) => ({node: line.node, state: 'up', clock: line.clock, last_seen: (t - Date.parse(line.time)) / 1000}));
    }

    async function loadTicks (t) {
      const {lines} = await context.get('lines', {type: 'cluster', group: GROUP, from: iso(t - SPAN * 1000), to: iso(t + 1000), limit: 2000});
      if (closed)
        return;
      spread.set(withGaps(lines, [(line) => line.spread, (line) => line.bound]), {from: t / 1000 - SPAN, to: t / 1000});
    }

    async function loadOwn (t) {
      const node = chosen ?? first;
      if (!node)
        return;
      const {lines} = await context.get('lines', {type: 'node', group: GROUP, node: globOf(node), from: iso(t - SPAN * 1000), to: iso(t + 1000), limit: 2000});
      if (closed)
        return;
      offset.set(withGaps(lines, [(line) => line.clock?.wall_offset ?? null]), {from: t / 1000 - SPAN, to: t / 1000});
      setText(own.title, `Wall clock of ${node}`);
      setText(own.note, !lines.length ? 'No samples in the last 15 minutes.' : chosen ? '' : 'The node that is farthest off; choose another one’s offset below.');
      press(node);
    }

    function say (message) {
      problem.hidden = !message;
      setText(problem, message);
    }

    function update (params) {
      if ((params.node ?? null) !== chosen) {
        chosen = params.node ?? null;
        load();
      }
    }

    function press (node) {
      for (const button of root.querySelectorAll('button[data-curve]'))
        button.setAttribute('aria-pressed', String(button.dataset.curve === node));
    }

    const stop = context.instant.onChange(load, {every: 1000});
    update(context.params);
    if (!chosen)
      load();
    return {
      update,
      close () {
        closed = true;
        clearTimeout(timer);
        stop();
        root.removeEventListener('click', pick);
        spread.destroy();
        offset.destroy();
      },
    };
  },
};

function curvePanel (title, text) {
  const heading = el('h2', {}, title);
  const area = el('div', {'class': 'curve-area'});
  const note = el('p', {'class': 'curve-note', role: 'status'}, text);
  return {element: el('article', {'class': 'curve'}, heading, area, note), title: heading, area, note};
}

/* Columns of lines in order of time; null between two that lie more than some periods apart. */
export function withGaps (lines, gets) {
  const rows = lines.map((line) => [Date.parse(line.time) / 1000, ...gets.map((get) => get(line))]).sort(([a], [b]) => a - b);
  const steps = rows.slice(1).map(([t], i) => t - rows[i][0]).sort((a, b) => a - b);
  const usual = steps[Math.floor(steps.length / 2)] ?? 1;
  const made = [];
  for (const row of rows) {
    const before = made.at(-1);
    if (before && row[0] - before[0] > usual * 2.5 + 0.5)
      made.push([before[0] + usual, ...gets.map(() => null)]);
    made.push(row);
  }
  return [0, ...gets.map((_, i) => i + 1)].map((column) => made.map((row) => row[column]));
}

const size = (value) => (value === null ? null : Math.abs(value));
const iso = (ms) => new Date(Math.round(ms)).toISOString();
