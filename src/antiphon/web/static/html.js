// Elements from templates; nothing in them is ever read as markup.
import { h } from "preact";
import { useEffect, useState } from "preact/hooks";
import htm from "htm";

export const html = htm.bind(h);

// A component that is fetched when it is first seen.
export function later(load) {
  let known = null;
  return (given) => {
    const [Drawn, setDrawn] = useState(() => known);
    useEffect(() => { if (!Drawn) load().then((found) => { known = found; setDrawn(() => found); }); }, []);
    return Drawn && html`<${Drawn} ...${given} />`;
  };
}
