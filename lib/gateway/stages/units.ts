/** What a call may use beside tokens, by its request: for the hold, and for answers that do not say. */
import type { Denial } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";
import { pricedTier } from "@/lib/domain/usage-reader";
import type { AskedUse, UsageHints } from "@/lib/domain/usage-reader";
import type { TokenUsage } from "@/lib/domain/usage-event";
import type { boundOf } from "@/lib/pricing/cost";
import type { RouteRequest, ToolFee } from "../wire/routes/route-request";
import { NO_EXTRAS } from "../wire/routes/route-request";

type BoundOptions = Pick<Parameters<typeof boundOf>[0], "units" | "serviceTiers" | "region" | "speed" | "without">;

/** Searches held for where the provider decides how many there are. */
const SEARCHES_HELD = 10;
const SEARCH = /^(web_search|google_search)/u;
/** Tools at the provider whose only price is the tokens they bring. */
const FREE_TOOL = /^(mcp|web_fetch|tool_search|computer|text_editor|bash|memory|url_context|code_execution$)/u;

/** Refuses tools whose fee no price names: what cannot be priced is not sold. */
export function unpricedTool(request: RouteRequest): Denial | undefined {
  const unpriced = request.extras.toolFees.find(({ tool }) => !SEARCH.test(tool) && !FREE_TOOL.test(tool));
  return (
    unpriced && denial("price_missing", { model: request.model, detail: `the tool ${unpriced.tool} has no price` })
  );
}

function contextOf(fees: readonly ToolFee[]): "low" | "medium" | "high" | undefined {
  const size = fees.find(({ tool }) => SEARCH.test(tool))?.size;
  return size === "low" || size === "medium" || size === "high" ? size : undefined;
}

/** Units the request names: exact but for sound, whose length is a bound by the file. */
function unitsAsked({ extras, kind }: RouteRequest): Partial<TokenUsage> {
  const { images, characters, audioSeconds, searchUnits } = extras;
  return {
    ...(images === null
      ? {}
      : {
          images: [
            {
              count: images.count,
              ...(images.size === null ? {} : { size: images.size }),
              ...(images.quality === null ? {} : { quality: images.quality }),
            },
          ],
        }),
    ...(characters > 0 ? { characters } : {}),
    ...(audioSeconds > 0 && kind === "transcription" ? { inputSeconds: audioSeconds } : {}),
    ...(searchUnits > 0 ? { queries: searchUnits } : {}),
  };
}

export const ALL_MEDIA = ["audioInput", "imageInput", "audioOutput", "imageOutput"] as const;

function mediaRuledOut({ kind, extras }: RouteRequest): BoundOptions["without"] {
  if (extras === NO_EXTRAS) return ALL_MEDIA;
  return kind === "chat" && !extras.hasAudioOutput ? ["audioOutput"] : [];
}

/** Tiers that may serve what asks for this one; undefined for any of them. */
function tiersOf(asked: string | null): { readonly serviceTiers?: readonly string[] } {
  // Where nothing is said, the account's own setting decides.
  if (asked === null || asked.toLowerCase() === "auto") return {};
  const named = pricedTier(asked);
  return named === undefined ? {} : { serviceTiers: named === null ? [] : [named] };
}

/** Options for the bound of a price that names more than plain token rates. */
export function boundOptions(request: RouteRequest, region: string | null): BoundOptions {
  const { extras } = request;
  const searches = extras.toolFees.filter(({ tool }) => SEARCH.test(tool));
  const context = contextOf(searches);
  const certain = extras.region ?? region;
  return {
    units: {
      ...unitsAsked(request),
      ...(searches.length === 0
        ? {}
        : { webSearches: searches.reduce((sum, fee) => sum + (fee.maxCalls ?? SEARCHES_HELD), 0) }),
      ...(context === undefined ? {} : { webSearchContext: context }),
    },
    ...tiersOf(extras.serviceTier),
    // In lower case, as the answer's own words are read.
    ...(certain === null ? {} : { region: certain.toLowerCase() }),
    speed: extras.speed?.toLowerCase() ?? "standard",
    without: mediaRuledOut(request) ?? [],
  };
}

const USAGE_ROUTES: Readonly<Partial<Record<RouteRequest["kind"], NonNullable<UsageHints["route"]>>>> = {
  image: "images",
  speech: "speech",
  transcription: "transcription",
};

/** What the reader of usage may take from the request where the answer is silent. */
export function usageHints(request: RouteRequest, vendor: string, region: string | null): UsageHints {
  const { extras, kind } = request;
  const route = USAGE_ROUTES[kind];
  const certain = extras.region ?? region;
  const context = contextOf(extras.toolFees);
  // A search model searches once a call and does not say so (OpenAI chat completions).
  const searchesOnce = kind === "chat" && extras.toolFees.some(({ tool }) => SEARCH.test(tool));
  const asked: AskedUse = {
    ...unitsAsked(request),
    ...(searchesOnce ? { webSearches: 1 } : {}),
    ...(context === undefined ? {} : { webSearchContext: context }),
    ...(extras.speed === null ? {} : { speed: extras.speed.toLowerCase() }),
    ...(certain === null ? {} : { region: certain.toLowerCase() }),
  };
  return {
    vendor,
    ...(route === undefined ? {} : { route }),
    ...(Object.keys(asked).length === 0 ? {} : { asked }),
  };
}

/** Units to book where nothing was measured at all: those of the request. */
export function heldUnits(request: RouteRequest): Partial<TokenUsage> {
  return request.extras === NO_EXTRAS ? {} : unitsAsked(request);
}
