/* What stands around values: events and errors that are alerts, and which jobs ran where, at the page's instant.
 *
 * createAround (context, groups () -> Promise, changed) -> {alertsOf (node) -> [words], jobsOf (node) -> [job], stateOf (node), close ()} */
import {instantOf} from './units.js';

const ALERTS = 'group_failed,group_recovered,gap,clock_offset,clock_step,duplicate_node,rejected,node_up,node_stale,node_down,node_revoked';
const LASTING = 10 * 60000; /* an event that nothing ends is shown so long */
const AGAIN = 15000;
/* Counters whose every change is an alert: what is said of so many. */
const ERRORS = {
  'gpu.xid_errors': (count) => `${count} XID ${count === 1 ? 'error' : 'errors'} of GPUs`,
  'gpu.ecc_uncorrected': (count) => `${count} uncorrected memory errors of GPUs`,
  'edac.uncorrected': (count) => `${count} uncorrected memory errors`,
  'vm.oom_kills': (count) => `${count} ${count === 1 ? 'process' : 'processes'} killed for want of memory`,
};
const ERRORS_AGAIN = 60000;
const LETTERS = {node_up: 'u', node_stale: 's', node_down: 'd', node_revoked: 'd'};

/* What stood at `ms`: alerts and states by node. Events come in order of time. */
export function standing (events, ms) {
  const alerts = new Map();
  const states = new Map();
  const of = (node) => alerts.get(node) ?? alerts.set(node, new Map()).get(node);
  for (const event of events) {
    const t = instantOf(event.time);
    if (t > ms || !event.node)
      continue;
    if (LETTERS[event.event])
      states.set(event.node, LETTERS[event.event]);
    else if (event.event === 'group_recovered')
      (event.groups ?? []).forEach((group) => of(event.node).delete(`group ${group}`));
    else if (event.event === 'group_failed')
      (event.groups ?? []).forEach((group) => of(event.node).set(`group ${group}`, `${group}: ${event.error ?? 'failed'}`));
    else if (t > ms - LASTING)
      of(event.node).set(event.event, sentenceOf(event));
  }
  return {alerts, states};
}

function sentenceOf ({event, seconds, lost, error, what, clock}) {
  switch (event) {
  case 'gap':
    return `${lost ?? 'some'} frames lost`;
  case 'clock_offset':
    return `clock off by ${seconds} s`;
  case 'clock_step':
    return `${clock ?? ''} clock jumped by ${seconds} s`.trim();
  case 'duplicate_node':
    return 'a second agent uses its key';
  default:
    return [what ?? event, error].filter(Boolean).join(': ');
  }
}

/* Changes of these counters, of answers to query with one step. */
export function addErrors (alerts, answers) {
  for (const [metric, answer] of answers)
    for (const {node, points} of answer.series) {
      const count = Math.round(points.reduce((sum, point) => sum + (point[1] ?? 0), 0));
      if (!node || count <= 0)
        continue;
      const of = alerts.get(node) ?? new Map();
      alerts.set(node, of.set(metric, ERRORS[metric](count)));
    }
}

export function createAround (context, groups, changed) {
  const {get, instant} = context;
  let jobs = new Map();
  let list = [];
  let errors = {at: -Infinity, live: null, answers: []};
  let past = {alerts: new Map(), states: new Map()};
  let timer = 0;
  let control = null;
  let asked = null; /* what the answers are of: a minute, or live */

  async function look () {
    clearTimeout(timer);
    if (document.hidden)
      return;
    const t = instant.time();
    const minute = instant.live ? 'live' : Math.floor(t / 60000);
    if (minute !== 'live' && minute === asked)
      return;
    control?.abort();
    control = new AbortController();
    const {signal} = control;
    const to = new Date(instant.live ? t + 60000 : t).toISOString();
    const running = instant.live ? {running: true} : {from: new Date(t).toISOString(), to: new Date(t + 1000).toISOString()};
    try {
      const [events, found] = await Promise.all([
        get('events', {type: ALERTS, from: new Date(t - 6 * 3600000).toISOString(), to, limit: 2000}, {signal}),
        get('jobs', {...running, limit: 2000}, {signal}),
      ]);
      past = standing(events.events, instant.live ? Infinity : t);
      list = found.jobs;
      jobs = byNode(list);
      asked = minute;
      addErrors(past.alerts, errors.live === instant.live && Math.abs(t - errors.at) < LASTING ? errors.answers : []);
      changed();
      if (errors.live !== instant.live || Math.abs(t - errors.at) >= ERRORS_AGAIN) {
        errors = {at: t, live: instant.live, answers: await askErrors(t, signal)};
        addErrors(past.alerts, errors.answers);
        changed();
      }
    } catch (error) {
      if (error.name === 'AbortError')
        return;
      asked = null;
    }
    if (instant.live)
      timer = setTimeout(look, AGAIN);
  }

  /* Of the last ten minutes, from the nodes that count such; one after the other, since the curve is more urgent. */
  async function askErrors (t, signal) {
    const names = new Set((await groups()).flatMap((group) => group.metrics.map((metric) => `${group.name}.${metric.name}`)));
    const to = Math.ceil(t / 60000) * 60000;
    const question = {from: new Date(to - LASTING).toISOString(), to: new Date(to).toISOString(), step: `${LASTING / 1000}s`, top: 100};
    const answers = [];
    for (const metric of Object.keys(ERRORS).filter((one) => names.has(one)))
      answers.push([metric, await get('query', {...question, metric}, {signal})]);
    return answers;
  }

  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(look, 0);
  };
  const stop = instant.onChange(() => (instant.live && asked === 'live') || soon(), {every: 1000});
  document.addEventListener('visibilitychange', soon);
  /* What was in the first picture's way may wait until that is there. */
  timer = setTimeout(look, 200);

  return {
    alertsOf: (node) => [...(past.alerts.get(node)?.values() ?? [])],
    jobsOf: (node) => jobs.get(node) ?? [],
    stateOf: (node) => past.states.get(node) ?? null,
    get alerts () {
      return past.alerts;
    },
    get jobs () {
      return jobs;
    },
    get list () {
      return list;
    },
    close () {
      stop();
      document.removeEventListener('visibilitychange', soon);
      clearTimeout(timer);
      control?.abort();
    },
  };
}

function byNode (list) {
  const jobs = new Map();
  for (const job of list)
    for (const node of job.nodes ?? [])
      if (jobs.has(node))
        jobs.get(node).push(job);
      else
        jobs.set(node, [job]);
  return jobs;
}
