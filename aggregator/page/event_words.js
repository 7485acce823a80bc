/* Events as sentences, and what has begun and not ended among them. */
import {duration, format} from './units.js';

const STATES = {up: 'is-good', stale: 'is-warn', down: 'is-bad', never: ''};
export const stateClass = (state) => STATES[state] ?? '';

const many = (count, one) => `${count} ${one}${count === 1 ? '' : 's'}`;
const list = (names) => (names ?? []).join(', ');
const signed = (seconds) => `${seconds > 0 ? '+' : ''}${format(seconds, 'seconds')}`;

/* type: [how bad it is, the sentence] */
const WORDS = {
  aggregator_started: ['', (e) => `The aggregator listens, with ${many(e.nodes, 'key')} listed`],
  node_up: ['good', (e) => `Frames come (${{'new': 'a new node', restart: 'its agent was started', back: 'after a silence'}[e.reason] ?? e.reason})`],
  node_stale: ['warn', () => 'No frame for 3 periods'],
  node_down: ['bad', () => 'No frame for 10 periods: the node is down'],
  group_failed: ['bad', (e) => `${list(e.groups)}: ${e.error}`],
  group_recovered: ['good', (e) => `${list(e.groups)}: no error any more${e.error ? ` (${e.error})` : ''}`],
  node_revoked: ['warn', (e) => `Its key was ${e.reason}`],
  replayed: ['', (e) => `${many(e.count, 'frame')} came late, which took ${duration(e.took)}`],
  gap: ['warn', (e) => `${many(e.lost, 'frame')} lost for good`],
  duplicate_node: ['bad', (e) => `A second agent uses this node’s key${e.detail ? `: ${e.detail}` : ''}`],
  rejected: ['bad', (e) => `${many(e.count, 'message')} dropped (${e.what})${e.error ? `: ${e.error}` : ''}`],
  schema_new: ['', (e) => `An agent brought a new schema of ${e.count} groups`],
  key_refused: ['warn', (e) => `${many(e.count, 'connection')} with a key that is not listed: ${e.error}`],
  connections_ended: ['warn', (e) => `${many(e.count, 'connection')} ended that did not say whose they are`],
  keys_reloaded: ['', (e) => `The keys were read again, ${many(e.nodes, 'node')} listed${e.error ? `: ${e.error}` : ''}`],
  clock_offset: ['warn', (e) => `The node’s clock is off by ${signed(e.seconds)}`],
  clock_step: ['warn', (e) => `The clock jumped by ${signed(e.seconds)} (${e.clock})`],
  jobs_held_back: ['warn', (e) => `Refused ${e.count} ${e.what} of jobs: ${e.error}`],
  job_disputed: ['warn', (e) => `Job ${e.job_id} is shown as another one’s: ${e.detail}`],
  trace_begun: ['', (e) => `Job ${e.job_id} is traced: ${e.detail}`],
  trace_ended: ['', (e) => `Traces of job ${e.job_id}: ${e.detail}`],
  history_failed: ['bad', (e) => `The history cannot be written: ${e.error}`],
  history_resumed: ['good', (e) => `The history is written again${e.not_stored ? `; ${many(e.not_stored, 'frame')} missing in it` : ''}`],
  fault: ['bad', (e) => (e.count > 1 ? `${e.text} (${e.count} in all)` : e.text)],
  fault_over: ['good', (e) => `${e.metric}: over`],
  over_share: ['warn', (e) => `It was held to its share of ${e.what}${e.detail ? `: ${e.detail}` : ''}`],
  dropped: ['', (e) => `This page was too slow for ${many(e.lines, 'line')}`],
};
const JOBS = {started: 'began', resumed: 'goes on', ended: 'ended', node: 'was seen on', facts: 'is known to its scheduler'};

export const EVENT_TYPES = Object.keys(WORDS).filter((type) => type !== 'dropped');

/* {type, level: '' | good | warn | bad, node, job, text} of a line of type event or job; what is not known is shown as it is. */
export function wordsOf (line) {
  if (line.type === 'job')
    return {type: `job_${line.event}`, level: '', node: line.node ?? '', job: line.job_id,
      text: `Job ${line.job_id} ${JOBS[line.event] ?? line.event}${line.event === 'node' ? ` ${line.node}` : ''}${line.user ? ` (${line.user})` : ''}`};
  const [level, sentence] = WORDS[line.event] ?? ['', restOf];
  return {type: line.event, level, node: line.node ?? '', job: null, text: sentence(line)};
}

function restOf (line) {
  return Object.entries(line).filter(([key]) => !['type', 'time', 'event', 'node'].includes(key))
    .map(([key, value]) => `${key} ${typeof value === 'object' ? JSON.stringify(value) : value}`).join(', ');
}
