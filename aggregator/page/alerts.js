/* What is wrong at the page's instant: the alerts that the aggregator says stand. A table of them, and those of one node. */
import {el, replace, setText} from './dom.js';
import {atOf} from './instant.js';
import {globOf} from './metrics.js';
import {createTable} from './table.js';
import {counted, time} from './units.js';

const EVERY = 5000;
const RANK = {alarm: 0, warning: 1};
export const CLASSES = {alarm: 'is-bad', warning: 'is-warn'};

/* Asks again and again while it is live, and where the instant moves. take (alerts); fail (message). */
function followAlerts (context, node, take, fail) {
  const {instant} = context;
  let timer = 0;
  let control = null;
  let closed = false;

  async function load () {
    clearTimeout(timer);
    if (closed)
      return;
    if (instant.live)
      timer = setTimeout(load, EVERY);
    if (document.hidden)
      return;
    control?.abort();
    control = new AbortController();
    try {
      const {alerts} = await context.get('alerts', {at: atOf(instant), node: node === null ? null : globOf(node)}, {signal: control.signal});
      take(alerts.filter((one) => node === null || one.node === node));
    } catch (error) {
      if (error.name !== 'AbortError')
        fail(error.message);
    }
  }

  const stop = instant.onChange(load, {every: 1000});
  load();
  return () => {
    closed = true;
    clearTimeout(timer);
    control?.abort();
    stop();
  };
}

export function createAlerts (context) {
  const table = createTable({
    label: 'Alerts that stand', key: ({node, alert, what}) => `${node} ${alert} ${what}`, most: 15, empty: 'No alert stands.',
    columns: [
      {id: 'level', label: 'Level', text: ({level}) => level, order: ({level}) => RANK[level], mark: ({level}) => CLASSES[level]},
      {id: 'node', label: 'Node', text: ({node}) => node, href: ({node}) => (node ? context.link('node', {node}) : null)},
      {id: 'text', label: 'What is wrong', mark: () => 'text', text: ({text}) => text},
      {id: 'since', label: 'Since', text: ({since}) => time(since, 'short'), order: ({since}) => Date.parse(since)},
    ],
  });
  const note = el('p', {'class': 'note', role: 'status'});
  const destroy = followAlerts(context, null, (alerts) => {
    table.set(alerts);
    setText(note, alerts.length ? `${counted(alerts.length)} ${alerts.length === 1 ? 'alert stands' : 'alerts stand'}.` : '');
  }, (message) => setText(note, message));
  return {element: el('div', {}, table.element, note), destroy};
}

/* Those of one node, for the head of its view: nothing where there are none. */
export function createNodeAlerts (context, node) {
  const element = el('ul', {'class': 'node-alerts', 'aria-label': 'Alerts', hidden: true});
  let said = '';
  const destroy = followAlerts(context, node, (alerts) => {
    const now = JSON.stringify(alerts);
    element.hidden = alerts.length === 0;
    if (now !== said)
      replace(element, alerts.map(({level, text, since}) => el('li', {'class': CLASSES[level]}, text, ' ', el('span', {'class': 'dim'}, `since ${time(since, 'short')}`))));
    said = now;
  }, () => {});
  return {element, destroy};
}
