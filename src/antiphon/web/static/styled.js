// Load the styles of a view that is opened.
const fetched = new Map();

export function loadStyles(file) {
  if (!fetched.has(file)) {
    fetched.set(file, new Promise((done) => document.head.append(
      Object.assign(document.createElement("link"), { rel: "stylesheet", href: file, onload: done, onerror: done }))));
  }
  return fetched.get(file);
}
