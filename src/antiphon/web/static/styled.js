// Styles of a view that is fetched when it is opened; done when they are there.
const fetched = new Map();

export function styled(file) {
  if (!fetched.has(file)) {
    fetched.set(file, new Promise((done) => document.head.append(
      Object.assign(document.createElement("link"), { rel: "stylesheet", href: file, onload: done, onerror: done }))));
  }
  return fetched.get(file);
}
