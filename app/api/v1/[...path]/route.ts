/** The gateway mounted in Next, for anyone who hosts plain Next. The lean host (workers/web-server.ts) costs an eighth of the CPU. */
import { after } from "next/server";
import { getGateway } from "@/lib/wiring/gateway";

export const dynamic = "force-dynamic";

const handle = (request: Request): Promise<Response> => {
  const gateway = getGateway();
  return gateway.handle(request, {
    waitUntil: (promise) => {
      after(promise);
    },
    // A route handler is not told who holds the connection.
    clientAddress: gateway.clientAddress(undefined, request.headers.get("x-forwarded-for") ?? undefined),
  });
};

export { handle as GET, handle as POST, handle as PUT, handle as PATCH, handle as DELETE };
