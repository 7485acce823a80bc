/* Elements. What comes from outside is text: it goes in by text nodes and attributes, never as markup. */

/* el ('a', {class: 'x', href: '#/', on: {click: f}, style: {width: '3px'}}, 'text', child, [children], null) */
export function el (name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    put(element, key, value);
  element.append(...nodes(children));
  return element;
}

export function svg (name, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes))
    put(element, key, value);
  element.append(...nodes(children));
  return element;
}

function put (element, key, value) {
  if (value === null || value === undefined || value === false)
    return;
  if (key === 'on')
    for (const [event, take] of Object.entries(value))
      element.addEventListener(event, take);
  else if (key === 'style')
    for (const [property, setting] of Object.entries(value))
      element.style.setProperty(property, setting);
  else
    element.setAttribute(key, value === true ? '' : value);
}

function nodes (children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

/* Sets text only where it differs, so that nothing is laid out again for nothing. */
export function setText (element, text) {
  if (element.textContent !== text)
    element.textContent = text;
}

export function replace (element, ...children) {
  element.replaceChildren(...nodes(children));
}

export function clear (element) {
  element.replaceChildren();
}

/* A function that runs f once in the next frame, however often it is called. */
export function onFrame (f) {
  let asked = 0;
  const ask = () => {
    if (!asked)
      asked = requestAnimationFrame(() => {
        asked = 0;
        f();
      });
  };
  ask.cancel = () => {
    cancelAnimationFrame(asked);
    asked = 0;
  };
  return ask;
}

/* A list of functions to call: add () returns the function that takes one away again. */
export function listeners () {
  const all = new Set();
  return {
    add (f) {
      all.add(f);
      return () => all.delete(f);
    },
    call (...args) {
      for (const f of [...all])
        f(...args);
    },
  };
}
