/* Which instant the whole page shows: live, or one of the past, which may be played. Milliseconds since 1970. */
import {listeners} from './dom.js';

export const SPEEDS = [1, 2, 5, 10, 30, 60, 120, 300, 600];
const PLAY_EVERY = 100;

export function createInstant (clock = () => Date.now()) {
  const changed = listeners();
  let span = 3600; /* what the slider and the curves show: seconds; 0 is all of the history */
  let begin = null; /* of the history, where that is known: there is nothing to show before it */
  let end = clock(); /* of what the slider shows: now, or where that was when an instant was chosen */
  let at = null; /* null: live */
  let ahead = 0; /* by how much cluster time is ahead of this clock */
  let playing = false;
  let speed = 10;
  let timer = 0;
  let before = 0;

  const latest = () => clock() + ahead;

  function set (ms) {
    at = Number.isFinite(ms) && ms < latest() - 500 ? ms : null;
    if (at === null)
      playing = false;
    run();
    changed.call(instant);
  }

  /* While it plays, time goes on by what has really gone by, so that a slow machine skips instead of lagging. */
  function run () {
    clearInterval(timer);
    timer = 0;
    if (!playing || document.hidden)
      return;
    before = clock();
    timer = setInterval(() => {
      const t = clock();
      const next = at + (t - before) * speed;
      before = t;
      if (next < latest() - 500) {
        at = next;
        changed.call(instant);
      } else {
        set(null);
      }
    }, PLAY_EVERY);
  }

  const instant = {
    get live () {
      return at === null;
    },
    get playing () {
      return playing;
    },
    get speed () {
      return speed;
    },
    /* What is shown, and the newest that there is. */
    time: () => at ?? latest(),
    latest,
    set,
    goLive: () => set(null),
    step: (ms) => set((at ?? latest()) + ms),
    play () {
      if (at === null)
        at = latest() - 60000;
      playing = true;
      run();
      changed.call(instant);
    },
    pause () {
      if (at === null)
        at = latest() - 1000;
      playing = false;
      run();
      changed.call(instant);
    },
    setSpeed (times) {
      speed = Math.min(SPEEDS.at(-1), Math.max(SPEEDS[0], times || 10));
      run();
      changed.call(instant);
    },
    /* {from, to} of the slider and the curves. It goes on with time, and to where the instant is. */
    window () {
      const now = latest();
      const length = span ? span * 1000 : begin === null ? 3600000 : Math.max(60000, now - begin);
      const t = at ?? now;
      if (at === null || t > end || now - end < length * 0.2)
        end = now;
      if (t < end - length)
        end = Math.min(now, t + length / 2);
      return {from: Math.min(Math.max(end - length, begin ?? -Infinity), end - 60000), to: end};
    },
    get span () {
      return span;
    },
    setSpan (seconds) {
      span = seconds;
      end = latest();
      changed.call(instant);
    },
    setBegin (ms) {
      begin = Math.min(ms, begin ?? Infinity); /* answers say it in steps of their own */
      changed.call(instant);
    },
    /* Cluster time, as an answer has it: the viewer's clock may be off. */
    heard (ms) {
      if (Number.isFinite(ms))
        ahead = ms - clock();
    },
    /* f (instant) at each change; not while it is live. every: at most once in so many milliseconds, the last one always. */
    onChange (f, {every = 0} = {}) {
      return changed.add(every ? seldom(f, every) : f);
    },
  };
  document.addEventListener('visibilitychange', run);
  return instant;
}

/* The instant in a question; null: live. */
export const atOf = (instant) => (instant.live ? null : new Date(Math.round(instant.time())).toISOString());

function seldom (f, every) {
  let last = -Infinity;
  let timer = 0;
  return (value) => {
    clearTimeout(timer);
    const wait = last + every - performance.now();
    const call = () => {
      last = performance.now();
      f(value);
    };
    if (wait <= 0)
      call();
    else
      timer = setTimeout(call, wait);
  };
}
