/**
 * The least a gateway on this host can be: @hono/node-server in front, undici behind, nothing between. What Spillway's
 * chain costs is measured against it. A program of its own; `SPILLWAY_PORT` and `BARE_PROXY_TARGET` say where.
 */
import { serve } from "@hono/node-server";
import { Agent, request as undiciRequest } from "undici";

const target = process.env.BARE_PROXY_TARGET ?? "";
const agent = new Agent({ connections: 512, pipelining: 1, keepAliveTimeout: 30_000 });

async function forward(request: Request): Promise<Response> {
  if (request.method !== "POST") return new Response(null, { status: 404 });
  const path = request.url.slice(request.url.indexOf("/", "http://".length));
  const answer = await undiciRequest(target + path, {
    dispatcher: agent,
    method: "POST",
    headers: {
      "content-type": request.headers.get("content-type") ?? "application/json",
      authorization: request.headers.get("authorization") ?? "",
    },
    body: new Uint8Array(await request.arrayBuffer()),
  });
  const bytes = await answer.body.bytes();
  return new Response(Buffer.from(bytes), {
    status: answer.statusCode,
    headers: { "content-type": String(answer.headers["content-type"]) },
  });
}

serve({ fetch: forward, hostname: "127.0.0.1", port: Number(process.env.SPILLWAY_PORT) });
process.on("SIGTERM", () => process.exit(0));
