/* In which order nodes are shown, and in which groups.
 *
 * arrange (picture, sort, groupOf) -> {order, groups}: indices of the nodes; [{name, from, count}] of that order, or null. */
import {stateOf} from './levels.js';

const NO_GROUP = {rack: 'no rack', job: 'no job'};
export const SORTS = {name: 'Name', value: 'Highest first', rack: 'Rack', job: 'Job'};

const natural = new Intl.Collator('en', {numeric: true});

export const compareNames = (a, b) => natural.compare(a, b);

/* Nodes come in natural order: their place in the list is their place by name. */
export function arrange (picture, sort, groupOf) {
  const order = Uint32Array.from(picture.nodes, (_, i) => i);
  if (sort === 'value')
    return {order: byValue(order, picture), groups: null};
  return sort === 'rack' || sort === 'job' ? byGroup(order, picture.nodes, groupOf, NO_GROUP[sort]) : {order, groups: null};
}

/* Those without a value come last: the silent before those never heard. */
function byValue (order, picture) {
  const {values} = picture;
  const rest = {s: 1, d: 2, m: 3, n: 4};
  return order.sort((a, b) => {
    const x = values[a], y = values[b];
    if (Number.isNaN(x) || Number.isNaN(y))
      return Number.isNaN(x) - Number.isNaN(y) || rest[stateOf(picture, a)] - rest[stateOf(picture, b)] || a - b;
    return y - x || a - b;
  });
}

/* Those of no group come last. */
function byGroup (order, nodes, groupOf, none) {
  const found = new Map();
  for (const i of order) {
    const name = groupOf(nodes[i]);
    if (!found.has(name))
      found.set(name, []);
    found.get(name).push(i);
  }
  const names = [...found.keys()].sort((a, b) => (a === null) - (b === null) || compareNames(a ?? '', b ?? ''));
  const groups = [];
  let from = 0;
  for (const name of names) {
    const members = found.get(name);
    order.set(members, from);
    groups.push({name: name ?? none, from, count: members.length});
    from += members.length;
  }
  return {order, groups};
}
