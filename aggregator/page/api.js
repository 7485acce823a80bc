/* What the aggregator answers: once, or a line each tick. Addresses are relative, so that any path prefix works. */
import {listeners} from './dom.js';

const RETRY_FIRST = 1000;
const RETRY_MOST = 10000;
const SILENCE = 15000; /* a feed that says nothing for so long is cut: comments come each 15 s where lines do not */

/* {metric: ['a', 'b'], top: 10, running: true} -> metric=a&metric=b&top=10&running=true */
function queryText (query = {}) {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(query))
    for (const one of [value].flat())
      if (one !== null && one !== undefined && one !== '' && one !== false)
        words.append(key, one);
  const text = words.toString();
  return text ? `?${text}` : '';
}

/* What first.js has asked already, once. */
function takeFirst (address) {
  const first = window.firstAnswer;
  window.firstAnswer = null;
  return first?.address === address ? first.response : null;
}

class ApiError extends Error {
  constructor (message, status) {
    super(message);
    this.status = status;
  }
}

/* state: 'ok', or 'lost' since `since` (milliseconds): nobody answers. onChange (f) is called when that changes. */
function createConnection () {
  const changed = listeners();
  const connection = {
    state: 'ok',
    since: Date.now(),
    onChange: changed.add,
    heard () {
      const was = connection.state;
      connection.state = 'ok';
      connection.since = Date.now();
      if (was !== 'ok')
        changed.call(connection);
    },
    lost () {
      if (connection.state === 'lost')
        return;
      connection.state = 'lost';
      changed.call(connection);
    },
  };
  return connection;
}

export function createApi (base = 'api/v1/') {
  const connection = createConnection();

  /* The JSON of an address; what the API says is wrong is the error's message. */
  async function get (path, query, {signal} = {}) {
    let response;
    try {
      response = await (takeFirst(base + path + queryText(query)) ?? fetch(base + path + queryText(query), {signal}));
    } catch (error) {
      if (error.name !== 'AbortError')
        connection.lost();
      throw error.name === 'AbortError' ? error : new ApiError('The aggregator does not answer.', 0);
    }
    connection.heard();
    const body = await response.text();
    if (!response.ok)
      throw new ApiError(messageOf(body) ?? `${response.status} ${response.statusText}`, response.status);
    return JSON.parse(body);
  }

  /* Lines of an address, until stop () is called; closed while the page is hidden, and opened again when it ends. A line
   * that is no JSON is left out. fail (message), where given, says why there are no lines. */
  function lines (path, query, take, fail) {
    const address = base + path + queryText(query);
    let source = null;
    let retry = RETRY_FIRST;
    let timer = 0;
    let stopped = false;

    const close = () => {
      clearTimeout(timer);
      source?.close();
      source = null;
    };
    const again = () => {
      close();
      if (stopped || document.hidden)
        return;
      connection.lost();
      timer = setTimeout(open, retry);
      retry = Math.min(retry * 2, RETRY_MOST);
    };
    const patience = () => {
      clearTimeout(timer);
      timer = setTimeout(again, SILENCE * 2);
    };
    const open = () => {
      close();
      source = new EventSource(address);
      source.onopen = () => {
        retry = RETRY_FIRST;
        connection.heard();
        patience();
      };
      source.onmessage = (event) => {
        connection.heard();
        patience();
        let line = null;
        try {
          line = JSON.parse(event.data);
        } catch {
          return;
        }
        take(line);
      };
      source.onerror = async () => {
        again();
        if (fail && !stopped && !document.hidden)
          fail(await reasonOf(address));
      };
      patience();
    };
    const onVisible = () => (document.hidden ? close() : open());
    document.addEventListener('visibilitychange', onVisible);
    if (!document.hidden)
      open();
    return () => {
      stopped = true;
      document.removeEventListener('visibilitychange', onVisible);
      close();
    };
  }

  return {
    connection,
    get,
    lines,
    /* A line each tick of these metrics; of the nodes that match, if node is given. */
    watch: ({metrics, node, encoding}, take, fail) => lines('watch', {metric: metrics, node, encoding}, take, fail),
  };
}

/* EventSource does not say why it was refused: the same is asked once more by fetch, which does. */
async function reasonOf (address) {
  const control = new AbortController();
  try {
    const response = await fetch(address, {signal: control.signal});
    return response.ok ? null : messageOf(await response.text()) ?? `${response.status} ${response.statusText}`;
  } catch {
    return null;
  } finally {
    control.abort();
  }
}

function messageOf (body) {
  try {
    return JSON.parse(body).error.message;
  } catch {
    return null;
  }
}
