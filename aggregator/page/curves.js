/* Curves of whatever was clicked, beside each other: the mean, and the band from lowest to highest sample, over 5 minutes to
 * 5 years. They follow the page's instant; what is missing is a gap, and is said.
 *
 * createCurves (context, {node, label, toggled}) -> {element, show (curves, span), destroy ()}
 *   toggled (curves, span)   somebody added, took away, or chose another span */
import {lineColours} from './colours.js';
import {el, replace, setText} from './dom.js';
import {loadCatalog, partsOf, questionOf} from './metrics.js';

export const SPANS = [['5m', '5 minutes', 300], ['15m', '15 minutes', 900], ['1h', '1 hour', 3600], ['6h', '6 hours', 21600],
  ['1d', '1 day', 86400], ['7d', '7 days', 604800], ['30d', '30 days', 2592000], ['1y', '1 year', 31536000], ['5y', '5 years', 157680000]];
const STEPS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400, 604800, 1209600];
const POINTS = 400;
const REFRESH_LEAST = 5000;
const AHEAD = 0.25; /* of the span, behind an instant of the past */

export const secondsOf = (span) => SPANS.find(([name]) => name === span)?.[2] ?? 900;
export const stepOf = (seconds) => STEPS.find((step) => seconds / step <= POINTS) ?? STEPS.at(-1);

/* Which time is shown, in seconds since 1970: up to now, or around the instant. */
export function windowOf (instant, seconds, before = null) {
  const t = instant.time() / 1000;
  if (instant.live)
    return {from: t - seconds, to: t};
  const still = before && before.to - before.from === seconds && t >= before.from + seconds * 0.1 && t <= before.to;
  return still ? before : {from: t - seconds * (1 - AHEAD), to: Math.min(t + seconds * AHEAD, instant.latest() / 1000)};
}

export function createCurves (context, {node, label, toggled}) {
  let curves = [];
  let span = '15m';
  let shown = null;
  const panels = new Map();
  const grid = el('div', {'class': 'curves'});
  const choose = el('select', {id: 'curves-span', on: {change: () => toggled(curves, choose.value)}},
    SPANS.map(([name, text]) => el('option', {value: name}, text)));
  const hint = el('p', {'class': 'note'}, 'Choose any value below: its curve comes here.');
  const element = el('section', {'class': 'panel curves-panel', 'aria-label': label},
    el('div', {'class': 'head'}, el('h2', {}, 'Curves'), el('label', {'class': 'inline', 'for': 'curves-span'}, 'over ', choose)), hint, grid);

  let timer = 0;
  const stop = context.instant.onChange(() => refresh(), {every: 400});

  function refresh () {
    clearTimeout(timer);
    const seconds = secondsOf(span);
    const next = windowOf(context.instant, seconds, shown);
    if (next !== shown || context.instant.live)
      panels.forEach((panel) => panel.load(next, stepOf(seconds)));
    shown = next;
    if (context.instant.live)
      timer = setTimeout(() => (document.hidden ? 0 : refresh()), Math.max(REFRESH_LEAST, stepOf(seconds) * 1000 / 2));
  }
  const onVisible = () => !document.hidden && refresh();
  document.addEventListener('visibilitychange', onVisible);

  return {
    element,
    get curves () {
      return curves;
    },
    show (wanted, over) {
      const later = over !== span;
      curves = wanted;
      span = SPANS.some(([name]) => name === over) ? over : '15m';
      choose.value = span;
      for (const [name, panel] of panels)
        if (!curves.includes(name)) {
          panel.destroy();
          panels.delete(name);
        }
      const fresh = curves.filter((name) => !panels.has(name));
      for (const name of fresh)
        panels.set(name, createPanel(context, node, name, () => toggled(curves.filter((one) => one !== name), span)));
      replace(grid, curves.map((name) => panels.get(name).element));
      hint.hidden = curves.length > 0;
      if (fresh.length || later) {
        shown = null;
        refresh();
      }
    },
    destroy () {
      clearTimeout(timer);
      stop();
      document.removeEventListener('visibilitychange', onVisible);
      panels.forEach((panel) => panel.destroy());
    },
  };
}

/* One curve: asked for one question at a time, the newest window last. */
function createPanel (context, node, name, remove) {
  const {metric, row} = partsOf(name);
  const title = el('h3', {}, metric, row === null ? null : [' ', el('span', {'class': 'row-name'}, row)]);
  const area = el('div', {'class': 'curve-area'});
  const remark = el('p', {'class': 'curve-note', role: 'status'}, 'Asking the history.');
  const close = el('button', {'class': 'quiet', type: 'button', 'aria-label': `Take away the curve of ${name}`, on: {click: remove}}, '×');
  const element = el('article', {'class': 'curve'}, el('div', {'class': 'curve-head'}, title, close), area, remark);
  let chart = null;
  let unit = null;
  let asked = null;
  let busy = false;
  let gone = false;

  async function load (window, step) {
    asked = {window, step};
    if (busy)
      return;
    busy = true;
    while (asked && !gone) {
      const {window: at, step: every} = asked;
      asked = null;
      try {
        const question = questionOf(name, await loadCatalog(context));
        show(await context.get('query', {...question, node, from: iso(at.from), to: iso(at.to), step: `${every}s`}), at);
      } catch (error) {
        setText(remark, error.message);
      }
    }
    busy = false;
  }

  function show (answer, at) {
    if (gone)
      return;
    const series = row === null ? answer.series[0] : answer.series.find((one) => one.row === row) ?? answer.series[0];
    if (!chart || unit !== answer.unit) {
      chart?.destroy();
      unit = answer.unit;
      const one = (more) => ({colour: (dark) => lineColours(dark)[0], ...more});
      chart = context.chart(area, {label: `${name} of ${node}`, unit, height: 150, band: [1, 2],
        series: [one({}), one({label: 'highest', hidden: true}), one({label: 'lowest', hidden: true})]});
    }
    const points = series?.points ?? [];
    chart.set([0, 1, 3, 2].map((column) => points.map((point) => point[column])), {from: at.from, to: at.to});
    setText(remark, noteOf(answer, points, context));
  }

  return {
    element,
    load,
    destroy () {
      gone = true;
      chart?.destroy();
    },
  };
}

const iso = (seconds) => new Date(Math.round(seconds) * 1000).toISOString();

/* What is missing, and what the curve was made of. */
function noteOf (answer, points, {time}) {
  if (!points.some((point) => point[4] > 0))
    return 'No samples in this time.';
  const gaps = (answer.missing ?? []).filter((gap) => Date.parse(gap.to) - Date.parse(gap.from) >= 2000 * answer.step);
  const words = gaps.slice(0, 2).map((gap) => `${time(gap.from, 'short')} to ${time(gap.to, 'short')}`);
  const tiers = [...new Set(answer.tiers.map((one) => one.tier))].filter((tier) => tier !== 'frames');
  return [words.length ? `No samples ${words.join(', ')}${gaps.length > 2 ? `, and ${gaps.length - 2} more` : ''}.` : '',
    tiers.length ? `From ${tiers.join(' and ')}.` : '',
    answer.broken ? `${answer.broken} pieces of the history are damaged.` : '',
    answer.others_left_out ? 'Rows of other users are not shown.' : ''].filter(Boolean).join(' ');
}
