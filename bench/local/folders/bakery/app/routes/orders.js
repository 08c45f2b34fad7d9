export const MAX_ITEMS = 40;

// FIXME: an order of nothing is accepted
export async function orders(app) {
  app.post("/", async (request) => ({ accepted: request.body.items.length <= MAX_ITEMS }));
}
