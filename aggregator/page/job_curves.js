/* Curves of a job: up to eight nodes a line each; of more the mean, the band from lowest to highest node, and those chosen. */
import {lineColours} from './colours.js';
import {stepOf} from './curves.js';
import {el, setText} from './dom.js';
import {itemOf, itemNames} from './job_items.js';

const LINES = 8;
const POINTS = 12000; /* of all nodes together */
const ORDER = ['cpu_usage', 'memory', 'gpu_usage', 'gpu_memory', 'read', 'write', 'network_received', 'network_sent', 'infiniband_received', 'infiniband_sent', 'memory_bandwidth', 'energy', 'processes'];
const GREY = (dark) => (dark ? '#949da7' : '#5c6570');

/* A whole number of seconds that gives so many points. */
export const stepFor = (seconds, nodes) => Math.max(stepOf(seconds), Math.ceil(seconds / Math.max(50, POINTS / nodes)));

export const curveItems = (report) => ORDER.filter((name) => itemNames.includes(name) && name in report.total && report.total[name].mean !== null).map(itemOf).filter(({metric}) => metric);

export function questionFor (item, report, {user, scheduler}) {
  return {metric: item.metric, job: report.job_id, user: user || report.user || null, scheduler: scheduler || report.scheduler || null, rate: item.counter ? 'yes' : null,
    from: report.started, to: report.until, step: `${stepFor(report.duration, report.nodes.length)}s`};
}

export function createJobCurves (context, first, who) {
  const grid = el('div', {'class': 'curves'});
  const element = el('section', {'class': 'panel', 'aria-label': 'Curves'}, el('div', {'class': 'head'}, el('h2', {}, 'Curves'), el('span', {'class': 'note'}, first.nodes.length > LINES ? 'The mean of the nodes, and the band from the lowest to the highest.' : '')), grid);
  const panels = new Map();
  const idle = el('p', {'class': 'note'});
  element.append(idle);
  let chosen = [];
  let until = null;

  return {
    element,
    mark (nodes) {
      chosen = nodes.slice(0, LINES - 1);
      panels.forEach((panel) => panel.draw(chosen));
    },
    update (report) {
      const items = curveItems(report);
      const flat = items.filter((item) => isNothing(report, item));
      setText(idle, flat.length ? `0 all the time: ${flat.map(({title}) => title).join(', ')}.` : '');
      for (const item of items)
        if (!panels.has(item.name) && !flat.includes(item)) {
          const panel = createPanel(context, item, report.slowest_node);
          panels.set(item.name, panel);
          grid.append(panel.element);
        }
      element.hidden = panels.size === 0;
      if (report.until !== until)
        loadAll(context, [...panels.values()], report, who, () => chosen);
      until = report.until;
    },
    destroy () {
      panels.forEach((panel) => panel.destroy());
    },
  };
}

const isNothing = (report, {name}) => report.total[name].maximum === 0 && report.total[name].minimum === 0;

/* Two at a time: the aggregator answers one address so many at once. */
async function loadAll (context, panels, report, who, chosen) {
  const left = [...panels];
  const work = async () => {
    for (let panel = left.shift(); panel; panel = left.shift())
      await panel.load(report, who, chosen());
  };
  await Promise.all([work(), work()]);
}

function createPanel (context, item, slow) {
  const area = el('div', {'class': 'curve-area'});
  const note = el('p', {'class': 'curve-note', role: 'status'});
  const element = el('article', {'class': 'curve'}, el('h3', {}, item.title), area, note);
  let chart = null;
  let shape = '';
  let answer = null;
  let gone = false;

  function draw (chosen) {
    if (!answer || gone)
      return;
    const {times, lines} = columnsOf(answer);
    const few = lines.length <= LINES;
    const own = few ? lines : lines.filter(({name}) => chosen.includes(name) || name === slow);
    const series = few ? own.map(({name}) => ({label: name})) : [
      {label: 'mean', colour: (dark) => lineColours(dark)[0], width: 2}, {label: 'highest', hidden: true, colour: (dark) => lineColours(dark)[0]}, {label: 'lowest', hidden: true, colour: GREY},
      ...own.map(({name}, i) => ({label: name, colour: (dark) => lineColours(dark)[1 + i % 7]}))];
    const key = series.map(({label}) => label).join('\n') + answer.unit;
    if (key !== shape) {
      chart?.destroy();
      chart = context.chart(area, {label: `${item.title} of the job`, unit: answer.unit, height: 160, series, band: few ? undefined : [1, 2]});
    }
    shape = key;
    const bands = few ? [] : foldsOf(times, lines);
    chart.set([times, ...bands, ...own.map(({values}) => values)]);
    setText(note, times.length && lines.some(({values}) => values.some((value) => value !== null)) ? '' : 'No samples.');
  }

  return {
    element,
    draw,
    async load (report, who, chosen) {
      try {
        answer = await context.get('query', questionFor(item, report, who));
        draw(chosen);
      } catch (error) {
        setText(note, error.message);
      }
    },
    destroy () {
      gone = true;
      chart?.destroy();
    },
  };
}

/* One line for each node: rows of a node are added up, or for shares their mean. */
export function columnsOf ({series, unit}) {
  const times = series[0]?.points.map(([t]) => t) ?? [];
  const nodes = new Map();
  for (const {node, points} of series)
    (nodes.get(node) ?? nodes.set(node, []).get(node)).push(points);
  const mean = unit === '%' || unit === 'percent';
  const lines = [...nodes].map(([name, rows]) => ({name: name ?? 'all', values: times.map((_, i) => {
    const known = rows.map((points) => points[i]?.[1] ?? null).filter((value) => value !== null);
    return known.length ? known.reduce((a, b) => a + b) / (mean ? known.length : 1) : null;
  })}));
  return {times, lines};
}

/* [means, highest, lowest] */
function foldsOf (times, lines) {
  const made = [[], [], []];
  times.forEach((_, i) => {
    const known = lines.map(({values}) => values[i]).filter((value) => value !== null);
    made[0].push(known.length ? known.reduce((a, b) => a + b) / known.length : null);
    made[1].push(known.length ? Math.max(...known) : null);
    made[2].push(known.length ? Math.min(...known) : null);
  });
  return made;
}
