/* A log of events, the newest first: those of the history, and live ones as they come.
 *
 * createEventList (context, {node, nodes, type, text, from, to, span, live, label, short, jobs}) -> {element, destroy ()}
 *   span: seconds up to the page's instant, or from and to; short: without the column of nodes */
import {el, setText} from './dom.js';
import {wordsOf} from './event_words.js';
import {globOf} from './metrics.js';
import {createTable} from './table.js';
import {time} from './units.js';

const MOST = 500;
const EVERY = 250; /* ms between two paintings of what comes */

export function createEventList (context, options) {
  const {node, nodes, short = false, label, span = 3600} = options;
  let filter = {type: '', node: '', text: '', ...options.filter};
  let events = [];
  let closed = false;
  let stopLines = null;
  let serial = 0;
  let timer = 0;
  const note = el('p', {'class': 'note', role: 'status'});
  const table = createTable({
    label, key: (row) => row.id, most: short ? 20 : 200, empty: 'No events.',
    columns: [
      {id: 'time', label: 'Time', text: (row) => time(row.line.time, 'short'), order: (row) => row.line.time},
      ...(short ? [] : [{id: 'node', label: 'Node', text: ({words}) => words.node, href: ({words}) => (words.node ? context.link('node', {node: words.node}) : null)}]),
      {id: 'type', label: 'Event', text: ({words}) => words.type.replaceAll('_', ' '), mark: ({words}) => (words.level ? `is-${words.level}` : '')},
      {id: 'text', label: 'What happened', mark: () => 'text', text: ({words}) => words.text, href: ({words}) => (words.job ? context.link('job', {job: words.job}) : null)},
    ],
  });
  const element = el('div', {'class': 'events'}, table.element, note);

  const rowOf = (line) => ({id: serial++, line, words: wordsOf(line)});
  const isWanted = ({words, line}) => (!filter.type || words.type === filter.type) && (!filter.text || `${words.text} ${words.type} ${words.node}`.toLowerCase().includes(filter.text.toLowerCase())) &&
    (!filter.node || words.node.toLowerCase().includes(filter.node.toLowerCase())) && (!nodes || nodes.has(words.node)) && line.event !== 'dropped';
  const paint = () => table.set(events.filter(isWanted));
  /* Of a large cluster thousands may come at once. */
  const paintSoon = () => (timer ||= setTimeout(() => {
    timer = 0;
    paint();
  }, EVERY));

  async function load () {
    const t = context.instant.time();
    const range = options.from ? {from: options.from, to: options.to} : {from: iso(t - span * 1000), to: iso(t + (context.instant.live ? 5000 : 1000))};
    try {
      const asked = {...range, node: node === undefined ? null : globOf(node), limit: nodes ? 5000 : MOST};
      const {events: found, left_out: left, damaged, others} = options.jobs ? await withJobs(asked) : await alone(asked);
      if (closed)
        return;
      const newer = events.filter(({live, line}) => live && !found.some((one) => one.time === line.time && one.event === line.event && one.node === line.node && one.job_id === line.job_id));
      events = [...newer, ...found.reverse().map(rowOf)];
      setText(note, [left ? `${left} older ones are not shown.` : '', damaged ? `${damaged} are damaged.` : '',
        others ? 'What is of other users is not shown.' : ''].filter(Boolean).join(' '));
    } catch (error) {
      setText(note, error.message);
    }
    paint();
  }

  async function alone (asked) {
    const answer = await context.get('events', asked);
    return {...answer, others: answer.others_left_out};
  }

  /* Each with a limit of its own: many jobs push no other event out. */
  async function withJobs (asked) {
    const [{events: found, ...events}, {lines, ...jobs}] = await Promise.all([context.get('events', asked), context.get('lines', {...asked, type: 'job'})]);
    return {
      events: [...found, ...lines].sort((a, b) => Date.parse(a.time) - Date.parse(b.time)),
      left_out: events.left_out + jobs.left_out, damaged: events.damaged + jobs.damaged,
      others: events.others_left_out || jobs.others_left_out,
    };
  }

  function follow () {
    const live = context.instant.live && !options.from;
    if (live && !stopLines)
      stopLines = context.lines('stream', {type: options.jobs ? 'event,job' : 'event', node: node === undefined ? null : globOf(node)}, (line) => {
        events.unshift({...rowOf(line), live: true});
        events.length = Math.min(events.length, MOST * 2);
        paintSoon();
      });
    if (!live) {
      stopLines?.();
      stopLines = null;
      events = events.filter((one) => !one.live);
    }
  }

  const stop = options.from ? () => {} : context.instant.onChange(() => {
    follow();
    load();
  }, {every: 1000});
  follow();
  load();

  return {
    element,
    setFilter (wanted) {
      filter = {...filter, ...wanted};
      paint();
    },
    destroy () {
      closed = true;
      clearTimeout(timer);
      stop();
      stopLines?.();
    },
  };
}

const iso = (ms) => new Date(Math.round(ms)).toISOString();
