import { readHealth } from "@/lib/console/health";

export const dynamic = "force-dynamic";

/** Liveness is that this answers at all; readiness is the status: 200 with both stores and the whole snapshot, else 503. */
export async function GET(): Promise<Response> {
  const { ready, checks, usage } = await readHealth();
  return Response.json(
    { live: true, ready, checks, usage },
    { status: ready ? 200 : 503, headers: { "cache-control": "no-store" } },
  );
}
