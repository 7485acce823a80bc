/* All jobs, running and past, as a table that can be searched and sorted; two of them can be compared. */
import {el, setText} from './dom.js';
import {createTable} from './table.js';
import {duration, format, time} from './units.js';

const SPANS = [['-1h', 'last hour', 3600], ['-24h', 'last day', 86400], ['-7d', 'last 7 days', 604800], ['-30d', 'last 30 days', 2592000],
  ['-365d', 'last year', 31536000], ['all', 'whole history', null]];
const STATES = [['', 'running and past'], ['running', 'running'], ['ended', 'past']];
const LIMIT = 5000;
const EVERY = 5000;

const summary = (name) => (job) => job.summary?.[name] ?? null;
const lasted = (job, now) => ((job.ended === null ? now : Date.parse(job.ended)) - Date.parse(job.started)) / 1000;
const GOOD = new Set(['ended', 'completed', 'running', 'pending']);
/* In the scheduler's words where it says them. */
const outcome = (job) => (job.state === 'ended' && job.scheduler_facts?.outcome ? job.scheduler_facts.outcome.replaceAll('_', ' ') : job.state);
const trouble = (job) => [job.summary?.oom_kills ? `${job.summary.oom_kills} killed for want of memory` : '',
  job.summary?.lost_nodes?.length ? `${job.summary.lost_nodes.length} nodes lost` : ''].filter(Boolean).join(', ');

export const view = {
  name: 'jobs',
  title: () => 'Jobs',
  open (root, context) {
    let jobs = [];
    let closed = false;
    let busy = false;
    let timer = 0;
    const chosen = new Map();
    const search = el('input', {type: 'search', id: 'jobs-search', placeholder: 'Id, user, name or node', autocomplete: 'off', spellcheck: 'false', on: {input: () => put({q: search.value})}});
    const state = choice('jobs-state', STATES, (value) => put({state: value}));
    const span = choice('jobs-span', SPANS, (value) => put({over: value}));
    const count = el('p', {'class': 'note', role: 'status'});
    const problem = el('p', {'class': 'problem', hidden: true});
    const both = el('a', {'class': 'button', hidden: true}, 'Compare the two');
    const now = () => context.instant.time();
    const figure = (id, label, get, unit, help) => ({id, label, help, number: true, text: (job) => format(get(job), unit), order: get});
    const table = createTable({
      label: 'Jobs', key: (job) => `${job.scheduler}\n${job.user}\n${job.job_id}`, empty: 'No job is found.', sort: context.params.sort ?? '-started',
      onSort: (sort) => context.change({sort}),
      columns: [
        {id: 'compare', label: 'Compare', check: {is: (job) => chosen.has(job.job_id), set: choose, label: (job) => `Compare ${job.job_id}`}},
        {id: 'id', label: 'Job', text: (job) => job.shown ?? job.job_id, order: (job) => job.job_id, href: (job) => context.link('job', {job: job.job_id, user: job.user, scheduler: job.scheduler})},
        {id: 'user', label: 'User', text: (job) => job.user},
        {id: 'name', label: 'Name', text: (job) => job.name || job.command},
        {id: 'state', label: 'State', text: outcome, mark: (job) => (job.state === 'running' ? 'is-good' : GOOD.has(outcome(job)) ? '' : 'is-bad')},
        {id: 'nodes', label: 'Nodes', number: true, text: (job) => String(job.nodes.length), order: (job) => job.nodes.length, title: (job) => job.nodes.slice(0, 40).join(', ')},
        {id: 'cpus', label: 'CPUs', number: true, text: (job) => format(job.cpus), order: (job) => job.cpus},
        {id: 'started', label: 'Began', text: (job) => time(job.started, 'short'), order: (job) => Date.parse(job.started)},
        {id: 'lasted', label: 'Lasted', number: true, text: (job) => duration(lasted(job, now())), order: (job) => lasted(job, now())},
        figure('cpu', 'CPU use', summary('cpu_efficiency'), 'percent', 'CPU time in percent of what its CPUs had'),
        figure('memory', 'Peak memory', (job) => job.summary?.memory_peak?.bytes ?? null, 'bytes', 'of the node that needed most'),
        figure('read', 'Read', summary('read_bytes'), 'bytes'), figure('write', 'Written', summary('write_bytes'), 'bytes'),
        {id: 'energy', label: 'Energy', number: true, text: (job) => energy(job.summary?.energy_kwh), order: summary('energy_kwh')},
        {id: 'trouble', label: 'Trouble', text: trouble, mark: (job) => (trouble(job) ? 'is-bad' : '')},
      ],
    });
    root.append(el('div', {'class': 'head'}, el('h1', {}, 'Jobs'), count),
      el('div', {'class': 'tools', role: 'search'}, field('jobs-search', 'Search', search), field('jobs-state', 'State', state), field('jobs-span', 'That ran in the', span), both),
      problem, el('div', {'class': 'panel'}, table.element));

    function put (params) {
      context.change(params);
      update(context.params);
    }

    function choose (job, on) {
      if (on)
        chosen.set(job.job_id, job);
      else
        chosen.delete(job.job_id);
      if (chosen.size > 2)
        chosen.delete(chosen.keys().next().value);
      const [a, b] = [...chosen.values()];
      both.hidden = chosen.size < 2;
      if (b)
        both.setAttribute('href', context.link('compare', {a: a.job_id, b: b.job_id}));
      paint();
    }

    function paint () {
      const {q = '', state: wanted = ''} = context.params;
      const words = q.toLowerCase().split(/\s+/).filter(Boolean);
      const found = jobs.filter((job) => (!wanted || job.state === wanted) && words.every((word) => textOf(job).includes(word)));
      table.set(found);
      setText(count, `${found.length === jobs.length ? '' : `${found.length} of `}${jobs.length} ${jobs.length === 1 ? 'job' : 'jobs'}`);
    }

    async function load () {
      clearTimeout(timer);
      if (busy || document.hidden) {
        timer = setTimeout(load, EVERY);
        return;
      }
      busy = true;
      const t = now();
      const [, , seconds] = SPANS.find(([name]) => name === (context.params.over ?? '-24h')) ?? SPANS[1];
      try {
        const answer = await context.get('jobs', {from: new Date(seconds === null ? 0 : t - seconds * 1000).toISOString(), to: new Date(t + (context.instant.live ? 5000 : 0)).toISOString(), limit: LIMIT});
        jobs = answer.jobs.map((job) => asOf(job, t, context.instant.live));
        say([answer.left_out ? `${answer.left_out} older jobs are not shown: choose a shorter time.` : '',
          answer.damaged ? `${answer.damaged} are damaged.` : '',
          answer.others_left_out ? 'Jobs of other users are not shown.' : ''].filter(Boolean).join(' '));
      } catch (error) {
        say(error.message);
      }
      busy = false;
      if (closed)
        return;
      paint();
      if (context.instant.live)
        timer = setTimeout(load, EVERY);
    }

    function say (message) {
      problem.hidden = !message;
      setText(problem, message);
    }

    let asked = null;
    function update (params) {
      if (document.activeElement !== search)
        search.value = params.q ?? '';
      state.value = params.state ?? '';
      span.value = SPANS.some(([name]) => name === params.over) ? params.over : '-24h';
      paint();
      if (asked !== span.value)
        load();
      asked = span.value;
    }

    const stop = context.instant.onChange(load, {every: 1000});
    const stopKeys = context.keys.add({'/': ['Search', () => search.focus()]});
    update(context.params);
    return {
      update,
      close () {
        closed = true;
        clearTimeout(timer);
        stop();
        stopKeys();
      },
    };
  },
};

/* At an instant of the past a job that ended later still ran. */
function asOf (job, t, live) {
  return !live && job.ended !== null && Date.parse(job.ended) > t ? {...job, state: 'running', ended: null, summary: null} : job;
}

const textOf = (job) => (job.searched ??= [job.job_id, job.shown, outcome(job), job.user, job.name, job.command, job.array, job.scheduler, job.state, ...job.nodes].join(' ').toLowerCase());

export const energy = (kwh) => (kwh === null || kwh === undefined ? format(null) : format(kwh * 1000, 'Wh'));

export function field (id, label, control) {
  return el('div', {'class': 'field'}, el('label', {'for': id}, label), control);
}

export function choice (id, options, take) {
  const select = el('select', {id, on: {change: () => take(select.value)}}, options.map(([value, text]) => el('option', {value}, text)));
  return select;
}
