import { readFile } from "node:fs/promises";

export async function breads(app) {
  app.get("/", async () => JSON.parse(await readFile("recipes/prices.json", "utf8")));
}

export function withTax(price) {
  return Math.round(price * 1.07 * 100) / 100;
}
