import {el} from './dom.js';

export const view = {
  name: 'events',
  title: () => 'Events',
  open (root) {
    root.append(el('h1', {}, 'Events'));
    return {update () {}, close () {}};
  },
};
