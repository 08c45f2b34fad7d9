import Fastify from "fastify";
import { orders } from "./routes/orders.js";
import { breads } from "./routes/breads.js";

const PORT = 4300;
const app = Fastify({ logger: true });

app.register(orders, { prefix: "/orders" });
app.register(breads, { prefix: "/breads" });
app.listen({ port: PORT });
