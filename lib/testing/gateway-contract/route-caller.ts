/** The SDKs of a caller whose company has a model of every kind. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { TestOrganisation, TestOrganisationOptions } from "../factories";
import type { GatewayHost } from "./host";
import { addModel, publish, ROUTE_MODELS } from "./route-models";

export interface RouteCaller {
  readonly made: TestOrganisation;
  readonly openai: OpenAI;
  readonly anthropic: Anthropic;
  readonly ai: {
    readonly openai: ReturnType<typeof createOpenAI>;
    readonly anthropic: ReturnType<typeof createAnthropic>;
  };
  /** Of the last answer. */
  readonly requestId: () => string;
  /** Requests sent, retries of the SDKs included. */
  readonly sent: () => number;
}

export async function routeCallerOf(host: GatewayHost, options: TestOrganisationOptions = {}): Promise<RouteCaller> {
  const made = await host.bench.organisation(options);
  for (const model of ROUTE_MODELS) await addModel(host, made, model);
  await publish(host, made);
  return clientsOf(host, made);
}

export function clientsOf(host: GatewayHost, made: TestOrganisation): RouteCaller {
  let last = "";
  let sent = 0;
  const noting: typeof fetch = async (input, init) => {
    sent += 1;
    const answer = await host.fetch(input, init);
    last = answer.headers.get("x-request-id") ?? "";
    return answer;
  };
  const apiKey = made.apiKey.secret;
  return {
    made,
    openai: new OpenAI({ baseURL: host.baseURL, apiKey, fetch: noting }),
    // It adds /v1 by itself.
    anthropic: new Anthropic({ baseURL: host.baseURL.replace(/\/v1$/u, ""), apiKey, fetch: noting }),
    ai: {
      openai: createOpenAI({ baseURL: host.baseURL, apiKey, fetch: noting }),
      anthropic: createAnthropic({ baseURL: host.baseURL, apiKey, fetch: noting }),
    },
    requestId: () => last,
    sent: () => sent,
  };
}
