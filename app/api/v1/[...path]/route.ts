/** The gateway mounted in Next, for anyone who hosts plain Next. The lean host (workers/web-server.ts) costs an eighth of the CPU. */
import { after } from "next/server";
import { getGateway } from "@/lib/wiring/gateway";

export const dynamic = "force-dynamic";

function clientAddress(request: Request): string | undefined {
  return request.headers.get("x-forwarded-for")?.split(",").at(-1)?.trim();
}

const handle = (request: Request): Promise<Response> =>
  getGateway().handle(request, {
    waitUntil: (promise) => {
      after(promise);
    },
    clientAddress: clientAddress(request),
  });

export { handle as GET, handle as POST, handle as PUT, handle as PATCH, handle as DELETE };
