/* Everything that is shown has an address, in location.hash: #/cluster?metric=cpu_usage.user&at=2026-11-23T04:00:00Z. */
import {listeners} from './dom.js';

/* What belongs to the whole page, and goes along from view to view. */
const SHARED = ['at', 'speed', 'span'];
const WRITE_AFTER = 250;

/* "#/node?node=n1" -> {name: 'node', params: {node: 'n1'}} */
export function parse (hash) {
  const [path, query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const params = {};
  for (const [key, value] of new URLSearchParams(query))
    params[key] = value;
  return {name: safeDecode(path), params};
}

function safeDecode (text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/* Parameters that are null, undefined or '' are left out. What people may read in a link stays readable. */
export function format (name, params = {}) {
  const pairs = Object.entries(params)
    .filter(([, value]) => value !== null && value !== undefined && value !== '')
    .map(([key, value]) => `${encodeURIComponent(key)}=${readable(String(value))}`);
  return `#/${encodeURIComponent(name)}${pairs.length ? `?${pairs.join('&')}` : ''}`;
}

function readable (text) {
  return encodeURIComponent(text.toWellFormed ? text.toWellFormed() : text)
    .replace(/%(2C|3A|2F|5B|5D|40)/g, (code) => decodeURIComponent(code));
}

export function createAddress () {
  let place = parse(location.hash);
  let timer = 0;
  const changed = listeners();

  const write = () => {
    timer = 0;
    history.replaceState(null, '', format(place.name, place.params));
  };
  const arrive = () => {
    clearTimeout(timer);
    timer = 0;
    place = parse(location.hash);
    changed.call(place);
  };
  window.addEventListener('hashchange', arrive);

  const withShared = (params) => {
    const shared = Object.fromEntries(SHARED.map((key) => [key, place.params[key]]));
    return {...shared, ...params};
  };

  return {
    get name () {
      return place.name;
    },
    get params () {
      return place.params;
    },
    onChange: changed.add,

    /* The instant and its speed go along, unless params say otherwise (at: '' is live). */
    link: (name, params = {}) => format(name, params),
    go (name, params = {}) {
      if (timer) {
        clearTimeout(timer);
        write();
      }
      location.hash = format(name, withShared(params));
    },

    /* Another state of the same view: not a step that "back" goes through. Browsers want it written seldom. */
    change (params) {
      place = {name: place.name, params: {...place.params, ...params}};
      timer ||= setTimeout(write, WRITE_AFTER);
    },

    /* A link is given the page's instant when it is about to be used, since that moves on while the link stays. */
    carry (link) {
      const {name, params} = parse(link.getAttribute('href'));
      const own = (link.dataset.own ??= SHARED.filter((key) => key in params).join(' '));
      for (const key of SHARED)
        if (!own.split(' ').includes(key))
          params[key] = place.params[key];
      link.setAttribute('href', format(name, params));
    },
  };
}
