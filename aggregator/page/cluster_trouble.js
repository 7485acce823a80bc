/* Which nodes need a look: those that are silent or have an alert, in words. */
import {el, replace, setText} from './dom.js';
import {STATES, stateOf} from './levels.js';
import {counted} from './units.js';

const SHOWN = 8;
const GRAVE = ['d', 's', 'alert', 'n', 'm'];
const CLASSES = {d: 'is-bad', alert: 'is-bad', s: 'is-warn'};

/* [{node, kind, text}], the gravest first. */
function troublesOf (picture, around) {
  const found = [];
  picture.nodes.forEach((node, i) => {
    const state = stateOf(picture, i);
    const alerts = around.alertsOf(node);
    if (state !== 'u' || alerts.length)
      found.push({
        node,
        kind: alerts.length && (state === 'u' || state === 'm') ? 'alert' : state,
        text: [...(state === 'u' ? [] : [STATES[state]]), ...alerts].join('; '),
      });
  });
  return found.sort((a, b) => GRAVE.indexOf(a.kind) - GRAVE.indexOf(b.kind));
}

export function createTrouble (context) {
  const heading = el('h2', {id: 'trouble-title'}, 'Needs a look');
  const all = el('a', {href: context.link('events'), 'class': 'small'}, 'All events');
  const body = el('div');
  const element = el('section', {'class': 'panel trouble', 'aria-labelledby': 'trouble-title'}, el('div', {'class': 'panel-head'}, heading, all), body);
  let said = null;

  return {
    element,
    show (picture, around) {
      const troubles = troublesOf(picture, around);
      const now = JSON.stringify([picture.count > 0, troubles.length, troubles.slice(0, SHOWN)]);
      if (now === said)
        return;
      said = now;
      setText(heading, troubles.length ? `Needs a look: ${counted(troubles.length)} of ${counted(picture.nodes.length)} nodes` : 'Needs a look');
      if (!troubles.length) {
        replace(body, el('p', {'class': 'note'}, picture.count ? 'Nothing: every node has a value, and no alert stands.' : 'Not known: no node has a value.'));
        return;
      }
      replace(body,
        el('table', {}, el('thead', {'class': 'unseen'}, el('tr', {}, el('th', {scope: 'col'}, 'Node'), el('th', {scope: 'col'}, 'What'))),
          el('tbody', {}, troubles.slice(0, SHOWN).map(({node, kind, text}) => el('tr', {},
            el('td', {'class': 'trouble-node'}, el('a', {href: context.link('node', {node})}, node)),
            el('td', {'class': CLASSES[kind]}, text))))),
        troubles.length > SHOWN ? el('p', {'class': 'note small'}, `and ${counted(troubles.length - SHOWN)} more`) : null);
    },
  };
}
