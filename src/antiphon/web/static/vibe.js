// Syntax colours of Vibe in Markdown, with the words of `antiphon.lang.highlight`.
const KEYWORDS = "let const function if else for in while break continue return throw try catch finally yield do vibe ask import export and or not is match private async model type tool test input returns from as default local none verbose forget compress py pure";

export default [
  { type: "cmnt", match: /\/\/.*|\/\*[^]*?\*\//g },
  { type: "str", match: /"(\\[^]|[^"\\\n])*"?|'(\\[^]|[^'\\\n])*'?|`(\\[^]|[^`\\])*`?/g },
  { type: "type", match: /\b(text|number|boolean|json|prompt)\b/g },
  { type: "bool", match: /\b(true|false|null)\b/g },
  { type: "kwd", match: new RegExp(`\\b(${KEYWORDS.replaceAll(" ", "|")})\\b`, "g") },
  { expand: "num" },
  { type: "func", match: /[a-zA-Z_]\w*(?=\s*\()/g },
];
