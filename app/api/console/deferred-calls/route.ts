import { deferredList, deferredListQuery } from "@/lib/contracts/deferred-calls";
import { readDeferredCalls } from "@/lib/console/deferred-calls";
import { readRoute } from "@/lib/console/route";
import { services } from "@/lib/console/services";

export const GET = readRoute(
  { action: "request.read", query: deferredListQuery, answer: deferredList },
  ({ who, query }) => readDeferredCalls(services(), who, query),
);
