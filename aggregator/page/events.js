/* What is wrong now, and what happened: alerts that have begun and not ended, then the log of events with filters. */
import {createAlerts} from './alerts.js';
import {el} from './dom.js';
import {createEventList} from './event_list.js';
import {EVENT_TYPES} from './event_words.js';
import {choice, field} from './jobs.js';

const SPANS = [['900', 'last 15 minutes'], ['3600', 'last hour'], ['86400', 'last day'], ['604800', 'last 7 days'], ['2592000', 'last 30 days']];
const JOB_TYPES = ['job_started', 'job_resumed', 'job_ended'];

export const view = {
  name: 'events',
  title: () => 'Alerts and events',
  open (root, context) {
    const type = choice('events-type', [['', 'all'], ...[...EVENT_TYPES, ...JOB_TYPES].map((name) => [name, name.replaceAll('_', ' ')])], (value) => put({type: value}));
    const node = text('events-node', 'Part of its name', (value) => put({node: value}));
    const words = text('events-text', 'Any word', (value) => put({q: value}));
    const span = choice('events-span', SPANS, (value) => put({over: value}));
    const alerts = createAlerts(context);
    const place = el('div');
    let list = null;
    let shown = '';
    root.append(el('div', {'class': 'head'}, el('h1', {}, 'Alerts and events')),
      el('section', {'class': 'panel', 'aria-labelledby': 'alerts-title'}, el('h2', {id: 'alerts-title'}, 'Alerts that stand'), alerts.element),
      el('section', {'class': 'panel', 'aria-labelledby': 'events-title'}, el('h2', {id: 'events-title'}, 'Events'),
        el('div', {'class': 'tools', role: 'search'}, field('events-type', 'Event', type), field('events-node', 'Node', node), field('events-text', 'Text', words), field('events-span', 'Of the', span)), place));

    function put (params) {
      context.change(params);
      update(context.params);
    }

    function update (params) {
      const filter = {type: params.type ?? '', node: params.node ?? '', text: params.q ?? ''};
      const over = SPANS.some(([name]) => name === params.over) ? params.over : '3600';
      for (const [input, value] of [[type, filter.type], [node, filter.node], [words, filter.text], [span, over]])
        if (document.activeElement !== input)
          input.value = value;
      if (shown !== over) {
        list?.destroy();
        list = createEventList(context, {label: 'Events', span: Number(over), filter, jobs: true});
        place.replaceChildren(list.element);
      }
      shown = over;
      list.setFilter(filter);
    }

    const stopKeys = context.keys.add({'/': ['Search', () => words.focus()]});
    update(context.params);
    return {
      update,
      close () {
        stopKeys();
        list.destroy();
        alerts.destroy();
      },
    };
  },
};

function text (id, placeholder, take) {
  const input = el('input', {type: 'search', id, placeholder, autocomplete: 'off', spellcheck: 'false', on: {input: () => take(input.value)}});
  return input;
}
