/* The field that finds a metric, by its name, unit or help, as one types: a combobox with a list (ARIA's pattern of that name).
 *
 * createSearch ({load () -> Promise of groups, choose (metric)}) -> {element, input, set (metric), find (metric)} */
import {el, replace, setText} from './dom.js';
import {unitName} from './units.js';

const SHOWN = 40;

/* The metrics that a node has as a whole: {name, unit, help, nodes, words}. Rows without a fold have no value of the node. */
export function metricsOf (groups) {
  const all = [];
  for (const group of groups) {
    if (group.once)
      continue;
    for (const metric of group.metrics)
      if (metric.kind !== 'text' && (metric.of_node || metric.fold !== 'none'))
        all.push({
          name: `${group.name}.${metric.name}`,
          unit: shownUnit(metric),
          help: metric.help,
          nodes: metric.nodes,
          words: `${group.name}.${metric.name} ${metric.unit} ${unitName(metric.unit)} ${metric.help} ${group.help}`.toLowerCase(),
        });
  }
  return all;
}

function shownUnit ({kind, share, unit}) {
  if (share)
    return '%';
  return kind === 'counter' ? `${unit || 1}/s` : unit;
}

/* Those that have every word, the best first: names that begin so, then names with it, then help. */
export function rank (metrics, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  metrics.forEach((metric, place) => {
    if (!words.every((word) => metric.words.includes(word)))
      return;
    const name = metric.name.toLowerCase();
    const points = words.reduce((sum, word) => sum + (name === word ? 8 : name.startsWith(word) ? 6
      : name.split(/[._]/).some((part) => part.startsWith(word)) ? 4 : name.includes(word) ? 3 : 0), 0);
    found.push({metric, points, place});
  });
  return found.sort((a, b) => b.points - a.points || a.place - b.place).map(({metric}) => metric);
}

export function createSearch ({load, choose}) {
  const list = el('ul', {id: 'metric-list', role: 'listbox', 'class': 'options', 'aria-label': 'Metrics', hidden: true});
  const input = el('input', {
    id: 'metric', type: 'text', role: 'combobox', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off',
    'aria-expanded': 'false', 'aria-controls': 'metric-list', 'aria-autocomplete': 'list', placeholder: 'Name, unit or words of its help',
  });
  const count = el('span', {'class': 'unseen', role: 'status'});
  const element = el('div', {'class': 'field search'}, el('label', {'for': 'metric'}, 'Metric'), el('div', {'class': 'search-box'}, input, list), count);

  let metrics = null;
  let loading = null;
  let current = '';
  let options = [];
  let active = -1;

  const loaded = () => (loading ??= load().then((groups) => (metrics = metricsOf(groups)), () => {
    loading = null;
  }));

  function open (text) {
    if (!metrics) {
      loaded().then(() => metrics && document.activeElement === input && open(text));
      return;
    }
    const all = rank(metrics, text);
    options = all.slice(0, SHOWN);
    active = text && options.length ? 0 : -1;
    replace(list,
      options.map((metric, i) => el('li', {id: `metric-${i}`, role: 'option', 'aria-selected': 'false', on: {pointerdown: (event) => {
        event.preventDefault();
        pick(metric.name);
      }}},
      el('span', {'class': 'option-name'}, metric.name), el('span', {'class': 'option-unit'}, unitName(metric.unit)),
      el('span', {'class': 'option-help'}, metric.help))));
    if (!options.length)
      list.append(el('li', {'class': 'option-none', role: 'option', 'aria-disabled': 'true', 'aria-selected': 'false'}, 'No metric has these words.'));
    else if (all.length > SHOWN)
      list.append(el('li', {'class': 'option-none', role: 'option', 'aria-disabled': 'true', 'aria-selected': 'false'}, `${all.length - SHOWN} more; type on`));
    setText(count, `${all.length} metrics`);
    list.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    mark();
  }

  function mark () {
    [...list.children].forEach((item, i) => i < options.length && item.setAttribute('aria-selected', String(i === active)));
    if (active >= 0) {
      input.setAttribute('aria-activedescendant', `metric-${active}`);
      list.children[active].scrollIntoView({block: 'nearest'});
    } else {
      input.removeAttribute('aria-activedescendant');
    }
  }

  function close () {
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
    setText(count, '');
  }

  function pick (name) {
    close();
    input.value = name;
    input.select();
    if (name !== current) {
      current = name;
      choose(name);
    }
  }

  input.addEventListener('focus', () => {
    input.select();
    loaded();
  });
  input.addEventListener('click', () => list.hidden && open(''));
  input.addEventListener('input', () => open(input.value));
  input.addEventListener('blur', () => {
    close();
    input.value = current;
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      if (list.hidden)
        open(input.value === current ? '' : input.value);
      else
        active = (active + (event.key === 'ArrowDown' ? 1 : -1) + options.length) % (options.length || 1);
      if (!list.hidden && options.length)
        mark();
    } else if (event.key === 'Enter' && input.value.trim()) {
      /* What is computed of two metrics is no option: it is taken as it was typed. */
      const typed = /\s[-+*/]\s/.test(input.value) || list.hidden ? input.value.trim() : options[Math.max(0, active)]?.name;
      pick(typed ?? input.value.trim());
    } else if (event.key === 'Escape') {
      input.value = current;
      input.select();
      close();
    } else {
      return;
    }
    event.preventDefault();
  });

  return {
    element,
    input,
    loaded,
    set (metric) {
      current = metric;
      if (document.activeElement !== input)
        input.value = metric;
    },
    find: (name) => metrics?.find((metric) => metric.name === name) ?? null,
  };
}
