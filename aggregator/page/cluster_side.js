/* Beside the picture: the mean and its band, their curve, and the nodes with the highest or lowest values. */
import {addTick, addTicks, bucketsOf, stepFor} from './buckets.js';
import {el, replace, setText} from './dom.js';
import {extremesOf} from './levels.js';
import {compareNames} from './order.js';
import {format, parts} from './units.js';

const TOP = 10;
const EXACT_EVERY = 3000;
const AGAIN = 30000;
const FEW = 500; /* nodes, of which each one's value is asked for: combined reports have the lowest and highest of all rows */
const MANY = 100; /* of which frames are too many to make a curve of */
const RECENT = 90; /* ticks that are kept until the history has them */
const PATIENCE = 1500; /* ms that the curve lets the first picture go before it */

/* ---- the figures ---- */

export function createFigures (context) {
  const mean = el('dd');
  const low = el('dd');
  const high = el('dd');
  const element = el('dl', {'class': 'figures'},
    el('div', {'class': 'figure-mean'}, el('dt', {}, 'Mean'), mean),
    el('div', {}, el('dt', {}, 'Lowest'), low),
    el('div', {}, el('dt', {}, 'Highest'), high));
  return {
    element,
    show (picture) {
      const {number, unit} = parts(picture.mean, picture.unit);
      replace(mean, el('span', {}, number), el('span', {'class': 'unit'}, unit && `\u00a0${unit}`));
      extreme(low, picture.min, picture.unit, picture.minNode, context);
      extreme(high, picture.max, picture.unit, picture.maxNode, context);
    },
  };
}

function extreme (place, value, unit, node, {link}) {
  replace(place, el('span', {}, format(value, unit)), node === null ? null : el('a', {href: link('node', {node})}, node));
}

/* ---- the curve ---- */

export function createCurve (root, context, metric, node) {
  const {instant} = context;
  const note = el('p', {'class': 'note'}, 'Asking the history.');
  const place = el('div', {}, note);
  root.append(place);
  let chart = null;
  let unit = null;
  let buckets = null;
  let shown = null; /* {from, to, step} that the buckets are of */
  let count = null; /* of nodes; null: no picture was there yet */
  let recent = [];
  let timer = 0;
  let control = null;

  function stale () {
    const {from, to} = instant.window();
    const step = stepFor((to - from) / 1000, count > MANY);
    return !shown || shown.step !== step || shown.live !== instant.live || from < shown.from - 1000 * step
      || (instant.live ? Date.now() - shown.asked > AGAIN : to > shown.to + 1000 * step);
  }

  async function look () {
    clearTimeout(timer);
    if (count === null || !stale() || document.hidden)
      return;
    const {from, to} = instant.window();
    const step = stepFor((to - from) / 1000, count > MANY);
    control?.abort();
    control = new AbortController();
    const {signal} = control;
    shown = {from, to, step, live: instant.live, asked: Date.now()};
    try {
      const answer = await ask({metric, from: iso(from), to: iso(to), step: `${step}s`}, signal);
      buckets = bucketsOf(answer);
      addTicks(buckets, recent, RECENT);
      if (Number.isFinite(buckets.begin) && buckets.begin > from + 2000 * step)
        instant.setBegin(buckets.begin);
      paint(answer.unit === 'percent' ? '%' : answer.unit);
    } catch (error) {
      if (error.name === 'AbortError')
        return;
      setText(note, `The history has no curve: ${error.message}`);
      timer = setTimeout(() => {
        shown = null;
        look();
      }, AGAIN);
    }
  }

  /* Combined reports have it ready, but for what is computed, and for some of the nodes. */
  async function ask (question, signal) {
    if (!node && count > FEW && !/\s[-+*/]\s/.test(metric))
      try {
        return await context.get('query', {...question, combined: true}, {signal});
      } catch (error) {
        if (error.name === 'AbortError' || error.status !== 400 || count > MANY)
          throw error;
      }
    return context.get('query', {...question, node, fold: 'mean'}, {signal});
  }

  function paint (unitNow) {
    if (!buckets)
      return;
    if (unitNow !== undefined && unitNow !== unit) {
      unit = unitNow;
      chart?.destroy();
      chart = null;
    }
    note.remove();
    chart ??= context.chart(place, {
      label: `${metric}: mean of the nodes, and the band from the lowest to the highest`,
      unit: unit ?? '',
      height: 190,
      series: [{label: 'highest', hidden: true}, {label: 'mean', colour: accent}, {label: 'lowest', hidden: true}],
      band: [0, 2],
    });
    const {from, to} = instant.window();
    chart.set([buckets.times, buckets.high, buckets.mean, buckets.low], {from: from / 1000, to: to / 1000});
  }

  const stop = instant.onChange(() => {
    look();
    paint();
  }, {every: 400});
  timer = setTimeout(look, PATIENCE);
  return {
    tick (picture) {
      count = picture.nodes.length;
      if (instant.live && picture.until === null && Number.isFinite(picture.mean)) {
        const {time, mean, min, max} = picture;
        recent = [...recent, {seconds: time / 1000, mean, min, max}].slice(-RECENT);
        if (buckets) {
          addTick(buckets, recent.at(-1), 600);
          paint();
        }
      }
      look();
    },
    close () {
      stop();
      clearTimeout(timer);
      control?.abort();
      chart?.destroy();
      place.remove();
    },
  };
}

const accent = (dark) => (dark ? '#6cb2f5' : '#0b5cad');
const iso = (ms) => new Date(ms).toISOString();

/* ---- the highest, the lowest ---- */

export function createTop (context, {turn}) {
  const heading = el('h2', {id: 'top-title'}, '');
  const button = el('button', {type: 'button', 'class': 'quiet', on: {click: turn}}, '');
  const body = el('tbody');
  const head = el('th', {scope: 'col', 'class': 'number'}, 'Value');
  const rows = Array.from({length: TOP}, () => {
    const link = el('a');
    const bar = el('span', {'class': 'top-bar', 'aria-hidden': 'true'});
    const value = el('td', {'class': 'number'});
    return {link, bar, value, row: el('tr', {}, el('td', {'class': 'top-node'}, link), el('td', {'class': 'top-track'}, bar), value)};
  });
  const element = el('section', {'class': 'panel top-ten', 'aria-labelledby': 'top-title'},
    el('div', {'class': 'panel-head'}, heading, button),
    el('table', {}, el('thead', {'class': 'unseen'}, el('tr', {}, el('th', {scope: 'col'}, 'Node'), el('td'), head)), body));
  let asked = 0;
  let asking = false;
  let exact = new Map();

  /* Of levels only the order is known well: exact values are asked for, now and then. */
  async function askExact (picture, nodes) {
    if (asking || !context.instant.live || Date.now() - asked < EXACT_EVERY)
      return;
    asking = true;
    asked = Date.now();
    try {
      const answer = await context.get('now', {metric: picture.metric, node: nodes.join(',')});
      exact = new Map((answer.nodes ?? []).map((node, i) => [node, answer.metrics[0].values?.[i] ?? null]));
    } catch {
      exact = new Map();
    }
    asking = false;
  }

  return {
    element,
    show (picture, lowest, low, high) {
      setText(heading, lowest ? 'Lowest ten' : 'Highest ten');
      setText(button, lowest ? 'Show highest' : 'Show lowest');
      let best = extremesOf(picture.values, TOP, lowest ? -1 : 1);
      if (!picture.exact) {
        askExact(picture, best.map((i) => picture.nodes[i]));
        if (context.instant.live)
          best = best.sort((a, b) => (valueOf(picture, b) - valueOf(picture, a)) * (lowest ? -1 : 1) || compareNames(picture.nodes[a], picture.nodes[b]));
      }
      best.forEach((i, at) => {
        const {link, bar, value} = rows[at];
        const node = picture.nodes[i];
        if (link.textContent !== node) {
          setText(link, node);
          link.setAttribute('href', context.link('node', {node}));
          delete link.dataset.own;
        }
        const number = valueOf(picture, i);
        bar.style.setProperty('width', `${Math.min(100, Math.max(0, (number - low) / ((high - low) || 1) * 100))}%`);
        setText(value, format(number, picture.unit));
      });
      if (body.children.length !== best.length)
        replace(body, best.length ? rows.slice(0, best.length).map(({row}) => row)
          : el('tr', {}, el('td', {'class': 'note', colspan: '3'}, 'No node has a value.')));
    },
  };

  function valueOf (picture, i) {
    return (context.instant.live && !picture.exact ? exact.get(picture.nodes[i]) : null) ?? picture.values[i];
  }
}
