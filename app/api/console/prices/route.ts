import { writeResult } from "@/lib/contracts/common";
import { addPriceInput } from "@/lib/contracts/models";
import { priceBook, priceBookQuery } from "@/lib/contracts/prices";
import { readPriceBook, writePrice } from "@/lib/console/prices";
import { readRoute, writeRoute } from "@/lib/console/route";

export const GET = readRoute({ action: "price.read", query: priceBookQuery, answer: priceBook }, ({ who, query }) =>
  readPriceBook(who, query),
);

export const POST = writeRoute({ action: "price.write", input: addPriceInput, answer: writeResult }, writePrice);
