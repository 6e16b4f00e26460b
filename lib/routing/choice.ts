/**
 * The order in which the deployments of a model are tried: lowest priority number first, and within a priority at random by
 * weight, without repetition. Pinned regions and deployments that are switched off do not take part at all; those whose
 * breaker refuses stand aside.
 */
import type { BreakerAdmission } from "./breaker";

export interface Candidate {
  readonly id: string;
  /** Lower is tried first. */
  readonly priority: number;
  /** Share among its priority; 0 takes no calls but as the last resort of its priority. */
  readonly weight: number;
  readonly region: string | null;
}

export interface ChoiceInput<Deployment extends Candidate> {
  readonly deployments: readonly Deployment[];
  /** Regions the data may go to; null means anywhere. A deployment of no stated region is in none. */
  readonly regions: readonly string[] | null;
  readonly admissionOf: (deploymentId: string) => BreakerAdmission;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

export interface Choice<Deployment extends Candidate> {
  /** Those that may be called now, first choice first. */
  readonly order: readonly Deployment[];
  /** Allowed but refused by their breakers. */
  readonly resting: readonly Deployment[];
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

export function chooseDeployments<Deployment extends Candidate>(input: ChoiceInput<Deployment>): Choice<Deployment> {
  const { regions } = input;
  const allowed = input.deployments.filter(
    ({ region }) => regions === null || (region !== null && regions.includes(region)),
  );
  const isResting = (deployment: Deployment) => input.admissionOf(deployment.id) === "refuse";
  const able = allowed.filter((deployment) => !isResting(deployment));
  return {
    order: byPriority(able).flatMap((group) => weightedOrder(group, input.random)),
    resting: allowed.filter(isResting),
  };
}
