/* What stands around values: alerts, and which jobs ran where, at the page's instant.
 *
 * createAround (context, changed) -> {alertsOf (node) -> [words], jobsOf (node) -> [job], stateOf (node), close ()} */
import {atOf} from './instant.js';

const AGAIN = 15000;
const LETTERS = {node_stale: 's', node_down: 'd'};

/* {alerts: node -> [words], states: node -> letter}: that a node is silent is a state of its cell. */
export function partAlerts (list) {
  const alerts = new Map();
  const states = new Map();
  for (const {node, alert, text} of list)
    if (LETTERS[alert])
      states.set(node, LETTERS[alert]);
    else if (node)
      (alerts.get(node) ?? alerts.set(node, []).get(node)).push(text);
  return {alerts, states};
}

export function createAround (context, changed) {
  const {get, instant} = context;
  let jobs = new Map();
  let list = [];
  let stands = partAlerts([]);
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
    const running = instant.live ? {running: true} : {from: new Date(t).toISOString(), to: new Date(t + 1000).toISOString()};
    try {
      const [wrong, found] = await Promise.all([
        get('alerts', {at: atOf(instant)}, {signal}),
        get('jobs', {...running, limit: 2000}, {signal}),
      ]);
      stands = partAlerts(wrong.alerts);
      list = found.jobs;
      jobs = byNode(list);
      asked = minute;
      changed();
    } catch (error) {
      if (error.name === 'AbortError')
        return;
      asked = null;
    }
    if (instant.live)
      timer = setTimeout(look, AGAIN);
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
    alertsOf: (node) => stands.alerts.get(node) ?? [],
    jobsOf: (node) => jobs.get(node) ?? [],
    stateOf: (node) => stands.states.get(node) ?? null,
    get alerts () {
      return stands.alerts;
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
