import {el} from './dom.js';

export const view = {
  name: 'job',
  title: () => 'Job',
  open (root) {
    root.append(el('h1', {}, 'Job'));
    return {update () {}, close () {}};
  },
};
