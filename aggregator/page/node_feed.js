/* The lines of one node, live or of the page's instant, into its readings. Groups have periods of up to a minute: so many
 * seconds before the instant are read too. */
import {globOf} from './metrics.js';
import {createReadings} from './readings.js';

const BACK = 70000;
const AHEAD = 20000;
const EVERY = 250;

/* take (readings) is called when there is something new; fail (message) when there is nothing, and why; null: all is well. */
export function createNodeFeed (context, node, take, fail) {
  const {instant} = context;
  const readings = createReadings();
  const filter = {type: 'node', node: globOf(node)};
  let stopLines = null;
  let window = null; /* {from, to, lines} in milliseconds: read from the history */
  let busy = false;
  let again = false;
  let closed = false;

  const ask = async (from, to) => (await context.get('lines', {...filter, limit: 200, from: iso(from), to: iso(to)})).lines;

  async function fillIn () {
    try {
      const t = instant.latest();
      (await ask(t - BACK, t + 5000)).forEach(readings.take);
      fail(null);
    } catch (error) {
      fail(`What groups with longer periods had before is not known: ${error.message}`);
    }
    if (!closed && instant.live)
      take(readings);
  }

  function goLive () {
    window = null;
    if (stopLines)
      return;
    readings.clear();
    stopLines = context.lines('stream', filter, (line) => {
      if (line.type !== 'node' || closed)
        return;
      readings.take(line);
      take(readings);
    }, (message) => message && fail(message));
    fillIn();
  }

  /* One question at a time; who moves on meanwhile is answered by the next one. */
  async function goBack () {
    stopLines?.();
    stopLines = null;
    again = true;
    if (busy)
      return;
    busy = true;
    while (again && !closed && !instant.live) {
      again = false;
      await showAt(instant.time());
    }
    busy = false;
  }

  async function showAt (t) {
    if (!window || t - BACK / 2 < window.from || t > window.to) {
      const to = Math.min(t + AHEAD, instant.latest());
      try {
        window = {from: t - BACK, to, lines: await ask(t - BACK, to)};
        fail(null);
      } catch (error) {
        window = null;
        fail(error.message);
      }
    }
    if (closed || instant.live)
      return;
    readings.clear();
    for (const line of window?.lines ?? [])
      if (Date.parse(line.time) <= t)
        readings.take(line);
    take(readings);
  }

  const arrange = () => (instant.live ? goLive() : goBack());
  const stop = instant.onChange(arrange, {every: EVERY});
  arrange();
  return () => {
    closed = true;
    stop();
    stopLines?.();
  };
}

const iso = (ms) => new Date(Math.round(ms)).toISOString();
