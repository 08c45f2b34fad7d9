// Third-party modules that render kinds of results. A broken one is reported and blocks nothing.
import { signal } from "@preact/signals";
import { texts } from "./texts.js";

// How long the page waits for all modules, and a module for the one before it, in milliseconds.
const PATIENCE = 2000;

export const broken = signal([]);

const pause = () => new Promise((done) => setTimeout(done, PATIENCE));

async function load(name) {
  try {
    await import(`./renderers/${name}`);
  } catch (error) {
    const said = texts.drawn.broken(`renderers/${name}`, String(error));
    console.error(said);
    broken.value = [...broken.value, said];
  }
}

// Load in order: if two render the same kind, the later one wins.
async function loadAll(names) {
  for (const each of names) await Promise.race([load(each), pause()]);
}

export const loaded = (names) => names.length ? Promise.race([loadAll(names), pause()]) : null;
