import { priceHistory } from "@/lib/contracts/prices";
import { readPriceHistory } from "@/lib/console/prices";
import { noQuery, readRoute } from "@/lib/console/route";
import type { WithId } from "@/lib/console/writes";

export const GET = readRoute<typeof noQuery, typeof priceHistory, WithId>(
  { action: "price.read", query: noQuery, answer: priceHistory },
  ({ who, params }) => readPriceHistory(who, params.id),
);
