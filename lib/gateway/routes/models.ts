/**
 * `GET /models` and `GET /models/{id}`: what this key may use in any class that it may claim, and nothing else, in the shape of the SDK that asks (API
 * references of OpenAI, Anthropic and Google: models).
 */
import type { Denial } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";
import { isModelAllowed } from "@/lib/domain/policy";
import type { ModelDocument } from "@/lib/domain/snapshot";
import type { Authenticated } from "../exchange";
import type { Protocol } from "../wire/routes/route-request";

function usable(caller: Authenticated): ModelDocument[] {
  const { trafficClass, entitledClasses } = caller.key;
  const isTest = caller.key.environment === "test";
  const isAllowed = (name: string): boolean =>
    [trafficClass, ...entitledClasses].some((one) => isModelAllowed(caller.chain.policy, name, one));
  return [...caller.view.models.values()]
    .filter((model) => !model.disabled && isAllowed(model.name))
    .filter((model) => !(isTest && model.isExternal))
    .sort((left, right) => (left.name < right.name ? -1 : 1));
}

interface ModelShape {
  readonly one: (model: ModelDocument) => object;
  readonly list: (models: readonly ModelDocument[]) => object;
}

function openAiModel({ name, createdMs }: ModelDocument): object {
  return { id: name, object: "model", created: Math.floor(createdMs / 1000), owned_by: "spillway" };
}

function anthropicModel({ name, createdMs }: ModelDocument): object {
  return { type: "model", id: name, display_name: name, created_at: new Date(createdMs).toISOString() };
}

function geminiModel({ name, contextTokens, maxOutputTokens }: ModelDocument): object {
  return {
    name: `models/${name}`,
    displayName: name,
    ...(contextTokens === null ? {} : { inputTokenLimit: contextTokens }),
    ...(maxOutputTokens === null ? {} : { outputTokenLimit: maxOutputTokens }),
  };
}

const SHAPES: Readonly<Record<Protocol, ModelShape>> = {
  openai: { one: openAiModel, list: (models) => ({ object: "list", data: models.map(openAiModel) }) },
  anthropic: {
    one: anthropicModel,
    list: (models) => ({
      data: models.map(anthropicModel),
      has_more: false,
      first_id: models[0]?.name ?? null,
      last_id: models.at(-1)?.name ?? null,
    }),
  },
  gemini: { one: geminiModel, list: (models) => ({ models: models.map(geminiModel) }) },
};

/** The list, or one model; unknown and forbidden look the same. */
export function modelsBody(caller: Authenticated, name: string | undefined, protocol: Protocol): Denial | object {
  const models = usable(caller);
  if (name === undefined) return SHAPES[protocol].list(models);
  const model = models.find((candidate) => candidate.name === name);
  return model ? SHAPES[protocol].one(model) : denial("model_not_found", { model: name });
}
