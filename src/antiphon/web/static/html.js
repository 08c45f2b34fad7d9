// Elements from templates; nothing in them is ever read as markup.
import { h } from "preact";
import { useEffect, useState } from "preact/hooks";
import htm from "htm";

export const html = htm.bind(h);

// A component that is fetched when it is first seen, or when somebody knows before that it will be; another stands in
// its place until then, and where it cannot be fetched.
export function later(load, Meanwhile) {
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
