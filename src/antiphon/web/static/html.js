// Elements from templates; values are never parsed as markup.
import { h } from "preact";
import { useEffect, useState } from "preact/hooks";
import htm from "htm";

export const html = htm.bind(h);

// Return a component that is loaded when it is first rendered, or when `load` is called before. `Meanwhile` stands in
// until then, and if it cannot be loaded.
export function loadLater(load, Meanwhile) {
  let known = null;
  const Later = (given) => {
    const [Drawn, setDrawn] = useState(() => known);
    useEffect(() => { if (!Drawn) Later.load().then(() => setDrawn(() => known), () => {}); }, []);
    const Shown = Drawn ?? Meanwhile;
    return Shown && html`<${Shown} ...${given} />`;
  };
  Later.load = async () => { known ??= await load(); };
  return Later;
}
