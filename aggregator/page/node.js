import {el} from './dom.js';

export const view = {
  name: 'node',
  title: () => 'Node',
  open (root) {
    root.append(el('h1', {}, 'Node'));
    return {update () {}, close () {}};
  },
};
