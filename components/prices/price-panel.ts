import type { PricedModel } from "@/lib/contracts/prices";

/** What is open beside the page; a null model makes a new one. */
export type PricePanel =
  | { readonly kind: "model"; readonly model: PricedModel | null }
  | { readonly kind: "price" | "history"; readonly model: PricedModel };
