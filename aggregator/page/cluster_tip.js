/* What is said of the cell that is pointed at: name, value, state, jobs, alerts. Exact values are asked for where only levels came. */
import {el, replace, setText} from './dom.js';
import {stateOf} from './levels.js';
import {format} from './units.js';

const REST = 150; /* ms on a cell before its exact value is asked for */

export function createTip (stage, context, valueText) {
  const name = el('p', {'class': 'tip-name'});
  const value = el('p', {'class': 'tip-value'});
  const more = el('div', {'class': 'tip-more'});
  const tip = el('div', {'class': 'tip', hidden: true, 'aria-hidden': 'true'}, name, value, more);
  stage.append(tip);
  let timer = 0;
  let control = null;
  let around = null;
  let rack = null;
  let exact = null; /* {node, text} */

  function fill (picture, i) {
    const node = picture.nodes[i];
    setText(name, node);
    setText(value, exact?.node === node && exact.time === picture.time ? exact.text : valueText(picture, i));
    const jobs = around.jobsOf(node);
    const lines = [
      rack === null ? null : `Rack ${rack}`,
      ...jobs.slice(0, 3).map((job) => `Job ${job.job_id}${job.user ? `, ${job.user}` : ''}${job.name && job.name !== job.job_id ? `: ${job.name}` : ''}`),
      jobs.length > 3 ? `${jobs.length - 3} more jobs` : null,
    ].filter(Boolean);
    const alerts = around.alertsOf(node).slice(0, 3);
    replace(more, lines.map((line) => el('p', {}, line)), alerts.map((line) => el('p', {'class': 'is-bad'}, line)));
  }

  function askExact (picture, i) {
    clearTimeout(timer);
    control?.abort();
    if (picture.exact || stateOf(picture, i) !== 'u')
      return;
    const node = picture.nodes[i];
    timer = setTimeout(async () => {
      control = new AbortController();
      try {
        const number = picture.until === null ? await nowOf(picture.metric, node, control.signal) : await thenOf(picture, node, control.signal);
        if (number === null)
          return;
        exact = {node, time: picture.time, text: format(number, picture.unit)};
        if (!tip.hidden && name.textContent === node)
          setText(value, exact.text);
      } catch {
        /* the level stands */
      }
    }, REST);
  }

  async function nowOf (metric, node, signal) {
    const answer = await context.get('now', {metric, node}, {signal});
    return answer.metrics[0].values[answer.nodes.indexOf(node)] ?? null;
  }

  async function thenOf ({metric, time, until}, node, signal) {
    const iso = (ms) => new Date(ms).toISOString();
    const answer = await context.get('query', {metric, node, from: iso(time), to: iso(until), step: `${(until - time) / 1000}s`}, {signal});
    const series = answer.series.find((one) => one.node === node && one.row === null);
    return series?.points.find((point) => point[0] * 1000 === time)?.[1] ?? null;
  }

  function place ({x, y, w, h, width}) {
    const {offsetWidth, offsetHeight} = tip;
    const left = Math.min(Math.max(0, x + w / 2 - offsetWidth / 2), Math.max(0, width - offsetWidth));
    const above = y - offsetHeight - 8;
    tip.style.setProperty('transform', `translate(${Math.round(left)}px, ${Math.round(above > -60 ? above : y + h + 8)}px)`);
  }

  return {
    show (picture, i, rect, what, inRack) {
      around = what;
      rack = inRack;
      tip.hidden = i < 0;
      if (i < 0) {
        clearTimeout(timer);
        return;
      }
      fill(picture, i);
      place(rect);
      askExact(picture, i);
    },
    /* Another picture under the same cell. */
    refresh (picture, i) {
      if (tip.hidden || i < 0)
        return;
      const moved = exact?.time !== picture.time;
      if (!picture.exact && moved)
        askExact(picture, i);
      if (picture.exact || picture.until !== null || exact?.node !== picture.nodes[i])
        fill(picture, i);
    },
    close () {
      clearTimeout(timer);
      control?.abort();
    },
  };
}
