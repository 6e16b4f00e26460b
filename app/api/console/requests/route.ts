import { requestList, requestListQuery } from "@/lib/contracts/requests";
import { readRequests } from "@/lib/console/requests";
import { readRoute } from "@/lib/console/route";
import { services } from "@/lib/console/services";

export const GET = readRoute(
  { action: "request.read", query: requestListQuery, answer: requestList },
  ({ who, query }) => readRequests(services(), who, query),
);
