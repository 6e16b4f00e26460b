/**
 * The order in which the deployments of a model are tried: lowest priority number first, and within a priority at random by
 * weight, without repetition. Those whose breaker refuses stand aside.
 */
import type { BreakerAdmission } from "./breaker";

export interface Candidate {
  readonly id: string;
  /** Lower is tried first. */
  readonly priority: number;
  /** Share among its priority; 0 takes no calls but as the last resort of its priority. */
  readonly weight: number;
}

export interface ChoiceInput<Deployment extends Candidate> {
  /** Those that the call may go to at all. */
  readonly deployments: readonly Deployment[];
  readonly admissionOf: (deployment: Deployment) => BreakerAdmission;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** Draws without replacement, each time in proportion to the weights that are left. Weights must be finite and not negative. */
export function weightedOrder<Item extends { readonly weight: number }>(
  items: readonly Item[],
  random: () => number,
): Item[] {
  const left = [...items];
  const order: Item[] = [];
  while (left.length > 0) {
    const total = left.reduce((sum, item) => sum + item.weight, 0);
    let mark = random() * total;
    // The last one with weight catches what rounding leaves over; where nobody has any, the first.
    let drawn = 0;
    for (const [index, item] of left.entries()) {
      if (item.weight <= 0) continue;
      drawn = index;
      mark -= item.weight;
      if (mark < 0) break;
    }
    order.push(...left.splice(drawn, 1));
  }
  return order;
}

function byPriority<Deployment extends Candidate>(deployments: readonly Deployment[]): Deployment[][] {
  const groups = new Map<number, Deployment[]>();
  for (const deployment of deployments) {
    const group = groups.get(deployment.priority);
    if (group) group.push(deployment);
    else groups.set(deployment.priority, [deployment]);
  }
  return [...groups.entries()].sort(([a], [b]) => a - b).map(([, group]) => group);
}

/** Those that may be called now, first choice first. */
export function chooseDeployments<Deployment extends Candidate>(input: ChoiceInput<Deployment>): Deployment[] {
  const able = input.deployments.filter((deployment) => input.admissionOf(deployment) !== "refuse");
  return byPriority(able).flatMap((group) => weightedOrder(group, input.random));
}
