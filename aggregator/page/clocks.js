import {el} from './dom.js';

export const view = {
  name: 'clocks',
  title: () => 'Clocks',
  open (root) {
    root.append(el('h1', {}, 'Clocks'));
    return {update () {}, close () {}};
  },
};
