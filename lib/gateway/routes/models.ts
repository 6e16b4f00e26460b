/** `GET /models` and `GET /models/{id}` (OpenAI API reference: models): what this key may use, and nothing else. */
import type { Denial } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";
import { isModelAllowed } from "@/lib/domain/policy";
import type { ModelDocument } from "@/lib/domain/snapshot";
import type { Authenticated } from "../exchange";

function entry(model: ModelDocument) {
  return { id: model.name, object: "model", created: Math.floor(model.createdMs / 1000), owned_by: "spillway" };
}

function usable(caller: Authenticated): ModelDocument[] {
  const isTest = caller.key.environment === "test";
  return [...caller.view.models.values()]
    .filter((model) => !model.disabled && isModelAllowed(caller.chain.policy, model.name))
    .filter((model) => !(isTest && model.isExternal))
    .sort((left, right) => (left.name < right.name ? -1 : 1));
}

/** The list, or one model; unknown and forbidden look the same. */
export function modelsBody(caller: Authenticated, name: string | undefined): Denial | object {
  const models = usable(caller);
  if (name === undefined) return { object: "list", data: models.map(entry) };
  const model = models.find((candidate) => candidate.name === name);
  return model ? entry(model) : denial("model_not_found", { model: name });
}
